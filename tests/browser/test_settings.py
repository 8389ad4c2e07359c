"""The settings: appearance, preferences, data taken out, in and away, and signing in where a server asks for a key."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.async_api import Browser, Page, expect

from tests.support.browsing import Visit, violations, visiting
from tests.support.server_process import Served, clean_environ, served

SETTINGS = "#/settings"


def preferences(site: Served) -> dict[str, Any]:
    told: dict[str, Any] = site.client.get("/api/settings").json()["user"]
    return told


async def told(page: Page, text: str) -> None:
    await expect(page.get_by_role("region", name="Notices")).to_contain_text(text)


async def test_a_theme_holds_after_a_reload(visit: Visit) -> None:
    page = await visit.open(SETTINGS)
    await page.get_by_role("button", name="Dark").click()
    await page.reload()
    await expect(page.get_by_role("button", name="Dark")).to_have_attribute("aria-pressed", "true")
    assert await page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"


async def test_single_keys_do_nothing_once_they_are_turned_off(visit: Visit) -> None:
    page = await visit.open(SETTINGS)
    switch = page.get_by_role("switch", name="Single-key shortcuts")
    await switch.click()
    await page.keyboard.press("m")
    await page.reload()
    await expect(switch).not_to_be_checked()
    await page.keyboard.press("m")
    await expect(page.get_by_role("heading", name="Settings", level=1)).to_be_visible()
    await switch.click()
    await page.keyboard.press("m")
    await expect(page.get_by_role("heading", name="Memories", level=1)).to_be_visible()


@pytest.mark.spec("S4.6")
async def test_memory_is_turned_off_by_keyboard_and_that_is_undone(visit: Visit, site: Served) -> None:
    page = await visit.open(SETTINGS)
    switch = page.get_by_role("switch", name="Memory")
    await expect(switch).to_be_checked()
    await switch.focus()
    await page.keyboard.press("Space")
    await expect(switch).not_to_be_checked()
    await told(page, "Memory is off")
    assert preferences(site)["memory_enabled"] is False
    await page.get_by_role("button", name="Undo").click()
    await expect(switch).to_be_checked()
    assert preferences(site)["memory_enabled"] is True


@pytest.mark.spec("S4.6")
async def test_instructions_are_saved_and_those_of_another_device_are_not_overwritten_unseen(
    visit: Visit, site: Served
) -> None:
    page = await visit.open(SETTINGS)
    field = page.get_by_role("textbox", name="Instructions")
    await field.fill("Answer briefly.")
    await page.keyboard.press("Control+Enter")
    await told(page, "Instructions saved")
    assert preferences(site)["instructions"] == "Answer briefly."
    await field.fill("Answer at length.")
    site.client.patch("/api/settings", json={"instructions": "Answer in Norwegian."})
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("They are now: “Answer in Norwegian.”")).to_be_visible()
    await expect(field).to_have_value("Answer at length.")
    await page.get_by_role("button", name="Save mine").click()
    await expect(page.get_by_text("They are now:")).to_have_count(0)
    await expect(page.get_by_role("button", name="Discard")).to_have_count(0)
    assert preferences(site)["instructions"] == "Answer at length."
    await field.fill("x" * 4_001)
    await expect(page.get_by_text("1 characters too long")).to_be_visible()
    await expect(page.get_by_role("button", name="Save")).to_be_disabled()


async def test_typed_instructions_survive_a_reload(visit: Visit) -> None:
    page = await visit.open(SETTINGS)
    field = page.get_by_role("textbox", name="Instructions")
    await field.fill("Half a sen")
    await page.reload()
    await expect(field).to_have_value("Half a sen")
    await page.get_by_role("button", name="Discard").click()
    await page.get_by_role("button", name="Bring mine back").click()
    await expect(field).to_have_value("Half a sen")


async def test_what_is_set_elsewhere_is_shown_at_once(visit: Visit, site: Served) -> None:
    page = await visit.open(SETTINGS)
    switch = page.get_by_role("switch", name="Memory")
    await expect(switch).to_be_checked()
    site.client.patch("/api/settings", json={"memory_enabled": False})
    await expect(switch).not_to_be_checked()
    site.client.patch("/api/settings", json={"memory_enabled": True})
    await expect(switch).to_be_checked()


async def test_the_server_tells_of_itself_and_the_keyboard_map_opens(visit: Visit) -> None:
    page = await visit.open(SETTINGS)
    server = page.get_by_role("region", name="This server")
    await expect(server).to_contain_text("The built-in responder")
    await expect(server).to_contain_text("every 20 messages or 5 minutes")
    await expect(page.get_by_role("button", name="Sign out")).to_have_count(0)
    await page.get_by_role("region", name="Appearance").get_by_role("button", name="Keyboard map").click()
    await expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()


@pytest.mark.spec("S4.6")
async def test_an_export_is_a_whole_file_that_can_be_imported_again(visit: Visit, site: Served, tmp_path: Path) -> None:
    site.client.post("/api/memories", json={"content": "Plays the cello.", "memory_type": "fact"})
    page = await visit.open(SETTINGS)
    async with page.expect_download() as downloading:
        await page.get_by_role("link", name="Export everything").click()
    file = tmp_path / "export.jsonl"
    await (await downloading.value).save_as(file)
    lines = file.read_text().splitlines()
    assert json.loads(lines[-1])["kind"] == "end"
    assert any('"Plays the cello."' in line for line in lines)
    await page.get_by_label("File to import").set_input_files(file)
    await expect(page.get_by_text("Nothing new was in it.")).to_be_visible()


async def test_an_import_tells_what_it_stored_and_names_the_line_that_is_wrong(visit: Visit, tmp_path: Path) -> None:
    at = "2026-05-17T09:30:00Z"
    head = {"kind": "memory", "agent": "assistant", "memory_type": "fact", "created_at": at, "updated_at": at}
    good = tmp_path / "good.jsonl"
    good.write_text("".join(json.dumps({**head, "id": f"m-{n}", "content": f"Knows {n}."}) + "\n" for n in range(3)))
    bad = tmp_path / "bad.jsonl"
    bad.write_text(json.dumps({**head, "id": "m-9", "content": "Knows 9."}) + "\nno record\n")
    page = await visit.open(SETTINGS)
    await page.get_by_label("File to import").set_input_files(good)
    await expect(page.get_by_text("Stored: 3 memories.")).to_be_visible()
    await page.get_by_label("File to import").set_input_files(bad)
    await expect(page.get_by_text("The import ended early: line 2:")).to_be_visible()
    assert await violations(page) == []


@pytest.mark.spec("S4.6")
async def test_everything_is_erased_only_after_that_was_typed_and_a_receipt_is_shown(
    browser: Browser, tmp_path: Path
) -> None:
    with served(f"sqlite:///{tmp_path / 'recollect.db'}", tmp_path) as site:
        for name in ("the cello", "the harp"):
            site.client.post("/api/memories", json={"content": f"Plays {name}.", "memory_type": "fact"})
        async with visiting(browser, f"http://127.0.0.1:{site.port}") as visit:
            page = await visit.open(SETTINGS)
            await page.get_by_role("button", name="Erase everything…").click()
            dialog = page.get_by_role("dialog", name="Erase everything?")
            erase = dialog.get_by_role("button", name="Erase everything", exact=True)
            await expect(erase).to_be_disabled()
            assert await violations(page) == []
            await page.keyboard.press("Escape")
            await expect(dialog).to_have_count(0)
            await expect(page.get_by_role("button", name="Erase everything…")).to_be_focused()
            await page.keyboard.press("Enter")
            await dialog.get_by_role("textbox").fill("erase everything")
            await page.keyboard.press("Enter")
            receipt = page.get_by_role("dialog", name="Everything is erased")
            await expect(receipt).to_contain_text("memories2")
            assert await violations(page) == []
            assert site.client.get("/api/memories").json()["items"] == []
            await receipt.get_by_role("button", name="Begin anew").click()
            await expect(page.get_by_role("textbox", name="Message")).to_be_visible()


@pytest.mark.spec("S4.6")
@pytest.mark.parametrize(("scheme", "is_phone"), [("light", False), ("dark", False), ("light", True)])
async def test_the_settings_are_accessible(browser: Browser, site: Served, scheme: Any, is_phone: bool) -> None:
    async with visiting(browser, f"http://127.0.0.1:{site.port}", scheme=scheme, is_phone=is_phone) as visit:
        page = await visit.open(SETTINGS)
        await expect(page.get_by_role("region", name="This server")).to_be_visible()
        assert await violations(page) == []
        assert await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


# A server that asks who calls


class Guarded(NamedTuple):
    """A server that asks for a key, and keys of two users."""

    origin: str
    ada: str
    bob: str


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder = tmp_path_factory.mktemp("guarded")
    database = f"sqlite:///{folder / 'recollect.db'}"
    with served(database, folder, {"RECOLLECT_AUTH_MODE": "token"}) as opened:
        ada, bob = (new_key(database, folder, user) for user in ("ada", "bob"))
        yield Guarded(f"http://127.0.0.1:{opened.port}", ada, bob)


def new_key(database: str, folder: Path, user: str) -> str:
    """Return a key of a user, made by our own command."""
    command = [sys.executable, "-m", "recollect", "keys", "create", "browser", "--user", user, "--database", database]
    made = subprocess.run(
        command, cwd=folder, env=clean_environ(), capture_output=True, text=True, timeout=60, check=True
    )
    return made.stdout.strip()


@pytest.mark.spec("S4.6")
async def test_a_key_signs_in_beyond_a_reload_and_signing_out_forgets_it_and_what_only_this_browser_had(
    browser: Browser, guarded: Guarded
) -> None:
    async with visiting(browser, guarded.origin) as visit:
        page = await visit.open(SETTINGS)
        field = page.get_by_label("API key or token")
        await expect(field).to_be_focused()
        await field.fill("rk_wrong")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("alert")).to_contain_text("The server does not know this key.")
        await expect(field).to_be_focused()
        await field.fill(f" {guarded.ada} ")
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("Signed in as ada")).to_be_visible()
        assert await page.evaluate("document.cookie") == ""
        await page.reload()
        await expect(page.get_by_text("Signed in as ada")).to_be_visible()
        await page.get_by_role("textbox", name="Instructions").fill("Never saved")
        await page.get_by_role("button", name="Sign out").click()
        await page.get_by_role("button", name="Delete them and sign out").click()
        await expect(field).to_be_visible()
        assert await page.evaluate("Object.keys(localStorage).filter(name => name.includes('draft'))") == []
        await page.reload()
        await expect(field).to_be_visible()


@pytest.mark.parametrize(("scheme", "is_phone"), [("light", False), ("dark", False), ("light", True)])
async def test_signing_in_is_accessible(browser: Browser, guarded: Guarded, scheme: Any, is_phone: bool) -> None:
    async with visiting(browser, guarded.origin, scheme=scheme, is_phone=is_phone) as visit:
        page = await visit.open()
        await page.get_by_text("Where do I get a key?").click()
        await expect(page.get_by_text("recollect keys create")).to_be_visible()
        assert await violations(page) == []


async def test_a_user_whose_key_was_erased_still_reads_the_receipt_and_is_then_asked_to_sign_in(
    browser: Browser, guarded: Guarded
) -> None:
    async with visiting(browser, guarded.origin) as visit:
        page = await visit.open(SETTINGS)
        await page.get_by_label("API key or token").fill(guarded.bob)
        await page.keyboard.press("Enter")
        await page.get_by_role("button", name="Erase everything…").click()
        await page.get_by_role("dialog").get_by_role("textbox").fill("Erase everything")
        await page.keyboard.press("Enter")
        receipt = page.get_by_role("dialog", name="Everything is erased")
        await expect(receipt).to_contain_text("API keys1")
        await receipt.get_by_role("button", name="Begin anew").click()
        await expect(page.get_by_label("API key or token")).to_be_visible()
