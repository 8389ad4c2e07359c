"""The notes of the assistant: read, edited by section, joined with what came meanwhile, looked back on, undone."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.support.browsing import Visit, violations, visiting
from tests.support.server_process import Served

NOTES = "#/memories?tab=notes"
TEXT = "Speaks Norwegian.\n\n# Work\nNurse.\n\n# Food\nLikes rice.\n\n## Tea\nGreen.\n"


def write(site: Served, text: str) -> dict[str, Any]:
    """Overwrite the notes as a model would, and return them."""
    return operate(site, operation="overwrite", content=text)


def operate(site: Served, **body: Any) -> dict[str, Any]:
    answer = site.client.post("/api/notes/operations", json=body)
    assert answer.status_code == 200, answer.text
    note: dict[str, Any] = answer.json()
    return note


def stored(site: Served) -> str:
    return str(site.client.get("/api/notes").json()["notes"])


async def saved(page: Page) -> None:
    await expect(notice(page, "Notes saved")).to_be_visible()


def notice(page: Page, text: str) -> Locator:
    return page.get_by_role("region", name="Notices").get_by_text(text)


@pytest.mark.spec("S4.6")
async def test_a_section_is_edited_in_its_place_by_keyboard_and_that_is_undone(visit: Visit, site: Served) -> None:
    write(site, TEXT)
    page = await visit.open(NOTES)
    edit = page.get_by_role("button", name="Edit “Work”")
    await edit.focus()
    await page.keyboard.press("Enter")
    field = page.get_by_role("textbox", name="Section")
    await expect(field).to_be_focused()
    await expect(field).to_have_value("# Work\nNurse.\n\n")
    await field.fill("# Work\nNurse on night shifts.\n\n")
    await page.keyboard.press("Control+Enter")
    await saved(page)
    await expect(page.get_by_text("Nurse on night shifts.")).to_be_visible()
    await expect(edit).to_be_focused()
    assert stored(site) == TEXT.replace("Nurse.", "Nurse on night shifts.")
    await page.get_by_role("region", name="Notices").get_by_role("button", name="Undo").click()
    await expect(page.get_by_text("Nurse.", exact=True)).to_be_visible()
    assert stored(site) == TEXT


async def test_sections_are_added_renamed_and_deleted(visit: Visit, site: Served) -> None:
    write(site, TEXT)
    page = await visit.open(NOTES)
    await page.get_by_role("button", name="Add a section").click()
    await page.get_by_role("textbox", name="Title of the new section").fill("Family")
    await page.get_by_role("textbox", name="Text of the new section").fill("A sister in Bergen.")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("heading", name="Family")).to_be_visible()
    await page.get_by_role("button", name="More for “Tea”").click()
    await page.get_by_role("menuitem", name="Rename").click()
    await page.get_by_role("textbox", name="Title").fill("Drinks")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Drinks")).to_be_visible()
    await page.get_by_role("button", name="More for “Work”").click()
    await page.get_by_role("menuitem", name="Delete").click()
    await expect(page.get_by_role("heading", name="Work")).to_have_count(0)
    assert stored(site) == (
        "Speaks Norwegian.\n\n# Food\nLikes rice.\n\n## Drinks\nGreen.\n\n# Family\nA sister in Bergen.\n"
    )


async def test_what_the_model_notes_meanwhile_is_shown_at_once_and_joined_on_saving(visit: Visit, site: Served) -> None:
    write(site, TEXT)
    page = await visit.open(NOTES)
    await expect(page.get_by_text("Likes rice.")).to_be_visible()
    operate(site, operation="append", content="# Music\nPlays the cello.\n")
    await expect(page.get_by_role("heading", name="Music")).to_be_visible()
    await page.get_by_role("button", name="Edit “Work”").click()
    await page.get_by_role("textbox", name="Section").fill("# Work\nRetired.\n\n")
    operate(site, operation="replace_section_by_header", section_header="Tea", content="Black.")
    await expect(page.get_by_text("The notes were changed while you write.")).to_be_visible()
    await page.get_by_role("button", name="Save").click()
    await expect(notice(page, "together with what changed meanwhile")).to_be_visible()
    assert stored(site) == (
        "Speaks Norwegian.\n\n# Work\nRetired.\n\n# Food\nLikes rice.\n\n## Tea\nBlack.\n# Music\nPlays the cello.\n"
    )


@pytest.mark.spec("S4.6")
async def test_a_conflict_shows_both_and_the_user_decides(visit: Visit, site: Served) -> None:
    write(site, TEXT)
    page = await visit.open(NOTES)
    await page.get_by_role("button", name="Edit “Work”").click()
    field = page.get_by_role("textbox", name="Section")
    await field.fill("# Work\nMine.\n\n")
    operate(site, operation="replace_section_by_header", section_header="Work", content="Theirs.\n")
    await page.get_by_role("button", name="Save").click()
    decide = page.get_by_role("region", name="Decide")
    await expect(decide.get_by_text("Mine.")).to_be_visible()
    await expect(decide.get_by_text("Theirs.")).to_be_visible()
    assert await violations(page) == []
    await decide.get_by_role("button", name="Back to my text").click()
    await expect(field).to_have_value("# Work\nMine.\n\n")
    await page.get_by_role("button", name="Save").click()
    await decide.get_by_role("radio", name="Keep mine").check()
    await decide.get_by_role("button", name="Save").click()
    await saved(page)
    assert "Mine." in stored(site)
    assert "Theirs." not in stored(site)


async def test_typed_text_survives_a_reload_a_lost_server_and_escape(visit: Visit, site: Served) -> None:
    write(site, TEXT)
    page = await visit.open(NOTES)
    await page.get_by_role("button", name="Edit all").click()
    field = page.get_by_role("textbox", name="All notes")
    await field.fill("Half a sen")
    await page.reload()
    await expect(field).to_have_value("Half a sen")
    await visit.context.set_offline(True)
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Your text is kept here.")).to_be_visible()
    await visit.context.set_offline(False)
    await field.press("Escape")
    await expect(field).to_have_count(0)
    await page.get_by_role("button", name="Bring back").click()
    await field.press_sequentially("tence.")
    await expect(field).to_have_value("Half a sentence.")
    await page.get_by_role("button", name="Save").click()
    await saved(page)
    assert stored(site) == "Half a sentence."


@pytest.mark.spec("S4.6")
async def test_versions_tell_what_each_changed_and_one_is_restored(visit: Visit, site: Served) -> None:
    write(site, "# Work\nNurse.\n")
    version = write(site, "# Work\nDoctor.\n")["version"]
    page = await visit.open(NOTES)
    await page.get_by_role("button", name="Versions").click()
    row = page.get_by_role("list", name="Versions").get_by_role("button", name=f"Version {version - 1},")
    await expect(row).to_contain_text("by hand")
    newest = page.get_by_role("button", name=f"Version {version},")
    await newest.click()
    changed = page.get_by_role("region", name="What it changed")
    await expect(changed.get_by_role("deletion")).to_have_text("Nurse.")
    await expect(changed.get_by_role("insertion")).to_have_text("Doctor.")
    await row.click()
    await page.get_by_role("button", name="What changed since").click()
    since = page.get_by_role("region", name="What changed since")
    await expect(since.get_by_role("insertion")).to_have_text("Doctor.")
    assert await violations(page) == []
    await page.get_by_role("button", name="Restore this version").click()
    await expect(page.get_by_text("Nurse.", exact=True)).to_be_visible()
    assert stored(site) == "# Work\nNurse.\n"
    await page.get_by_role("button", name="Undo the last change").click()
    await expect(page.get_by_text("Doctor.", exact=True)).to_be_visible()
    assert stored(site) == "# Work\nDoctor.\n"


async def test_a_secret_that_is_taken_out_is_told(visit: Visit, site: Served) -> None:
    write(site, "")
    page = await visit.open(NOTES)
    await page.get_by_role("button", name="Add a section").click()
    await page.get_by_role("textbox", name="Title of the new section").fill("Access")
    await page.get_by_role("textbox", name="Text of the new section").fill("password: hunter2hunter2")
    await page.get_by_role("button", name="Save").click()
    await expect(notice(page, "looked like a secret")).to_be_visible()
    assert "hunter2" not in stored(site)


@pytest.mark.spec("S4.6")
@pytest.mark.parametrize(("scheme", "is_phone"), [("light", False), ("dark", False), ("light", True)])
async def test_the_notes_are_accessible(browser: Browser, site: Served, scheme: Any, is_phone: bool) -> None:
    write(site, TEXT)
    write(site, TEXT.replace("Green", "Black"))
    async with visiting(browser, f"http://127.0.0.1:{site.port}", scheme=scheme, is_phone=is_phone) as visit:
        page = await visit.open(NOTES)
        await expect(page.get_by_role("heading", name="Tea")).to_be_visible()
        assert await violations(page) == []
        await page.get_by_role("button", name="Edit “Food”").click()
        await expect(page.get_by_role("textbox", name="Section")).to_have_value(
            "# Food\nLikes rice.\n\n## Tea\nBlack.\n"
        )
        assert await violations(page) == []
        await page.get_by_role("button", name="Cancel").click()
        await page.get_by_role("button", name="Versions").click()
        await page.get_by_role("list", name="Versions").get_by_role("button").first.click()
        await expect(page.get_by_role("region", name="What it changed")).to_be_visible()
        assert await violations(page) == []
