"""The review inbox, extraction, and how the memory page looks to everybody, on every screen."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from playwright.async_api import Browser, Route, expect

from tests.support.browsing import Visit, violations, visiting
from tests.support.memory_page import MEMORIES, add, notice, row, say, undo
from tests.support.server_process import Served

pytestmark = pytest.mark.spec("S4.6")

#: What was erased is not learned again, so everybody lives elsewhere.
LOOKS = (("light", False, "Vienna"), ("dark", False, "Zagreb"), ("dark", True, "Hanoi"))


@pytest.fixture(autouse=True)
def nothing_is_remembered(site: Served) -> None:
    """Let each test begin with an empty memory."""
    assert site.client.delete("/api/me").status_code == 200


async def test_the_inbox_counts_what_waits_and_decides_one_or_many(visit: Visit, site: Served) -> None:
    said = ("My name is Robin Hansen.", "I have a dog named Balder.", "I love climbing.", "I work as a nurse.")
    say(site, *said, metadata={"origin": "import"})
    page = await visit.open(MEMORIES)
    await page.get_by_role("tab", name="Review 4 waiting").click()
    climbing = page.get_by_role("listitem").filter(has_text="climbing")
    await expect(climbing.get_by_text("Imported")).to_be_visible()
    await expect(climbing.get_by_text("“I love climbing”")).to_be_visible()
    await climbing.get_by_role("button", name="Edit").click()
    await page.get_by_role("textbox", name="What is remembered").fill("Loves bouldering")
    await page.keyboard.press("Control+Enter")
    await expect(page.get_by_role("tab", name="Review 3 waiting")).to_be_visible()
    await page.get_by_role("listitem").filter(has_text="nurse").get_by_role("button", name="Reject").click()
    await expect(page.get_by_role("tab", name="Review 2 waiting")).to_be_visible()
    await expect(notice(page, "Memory rejected")).to_be_visible()
    await undo(page)
    await expect(page.get_by_role("tab", name="Review 3 waiting")).to_be_visible()
    await page.get_by_role("checkbox", name="Select all that are loaded").click()
    await page.get_by_role("button", name="Approve", exact=True).first.click()
    await expect(page.get_by_text("Nothing waits for review")).to_be_visible()
    kept = {one["content"] for one in site.client.get("/api/memories").json()["items"]}
    assert len(kept) == 4
    assert "Loves bouldering" in kept


async def test_a_conversation_is_learned_from_with_progress_from_its_menu_and_from_the_page(
    visit: Visit, site: Served
) -> None:
    moving = say(site, "I live in Porto.", is_learned=False)
    page = await visit.open(f"#/c/{moving}")

    async def told(route: Route) -> None:
        answer = await route.fetch()
        await route.fulfill(response=answer, json={**await answer.json(), **states[0]})

    states: list[dict[str, Any]] = [{"state": "running"}]
    await page.route("**/api/jobs/*", told)
    await page.get_by_role("button", name="More for this conversation").click()
    await page.get_by_role("menuitem", name="Extract memories").click()
    dialog = page.get_by_role("dialog", name="Extract from this conversation")
    await dialog.get_by_role("button", name="Extract").click()
    await expect(dialog.get_by_text("Reading the messages…")).to_be_visible()
    states[0] = {"state": "dead", "attempts": 8, "error": "the model is away"}
    await expect(dialog.get_by_role("alert")).to_contain_text("the model is away")
    await expect(dialog.get_by_role("button", name="Try again")).to_be_visible()
    await page.unroute("**/api/jobs/*")
    await dialog.get_by_role("button", name="Close").last.click()
    await page.get_by_role("link", name="Memories").click()
    await page.get_by_role("button", name="Extract", exact=True).click()
    other = page.get_by_role("dialog", name="Extract from a conversation")
    await expect(other.get_by_label("Conversation")).to_have_value(moving)
    await other.get_by_role("button", name="Extract").click()
    await expect(other.get_by_text("Nothing new was found")).to_be_visible()
    await other.get_by_role("link", name="lives in Porto").click()
    await expect(page.get_by_role("region", name="Memory", exact=True)).to_contain_text("lives in Porto")


async def test_what_is_learned_elsewhere_appears_by_itself(visit: Visit, site: Served) -> None:
    page = await visit.open(MEMORIES)
    await expect(page.get_by_text("Nothing is remembered yet")).to_be_visible()
    tea = add(site, "Prefers green tea")
    await row(page, "Prefers green tea").click()
    await expect(page.get_by_role("region", name="Memory", exact=True)).to_contain_text("Prefers green tea")
    site.client.delete(f"/api/memories/{tea}")
    await expect(page.get_by_text("This memory is not there")).to_be_visible()
    await expect(row(page, "Prefers green tea")).to_be_hidden()


@pytest.mark.parametrize(("scheme", "is_phone", "city"), LOOKS)
async def test_every_view_passes_the_accessibility_rules(
    browser: Browser, site: Served, scheme: Literal["light", "dark"], is_phone: bool, city: str
) -> None:
    add(site, "Prefers green tea", "preference", "food", is_pinned=True)
    say(site, f"I live in {city}.")
    say(site, f"I have a cat named {city}.", metadata={"origin": "import"})
    origin = f"http://127.0.0.1:{site.port}"
    async with visiting(browser, origin, scheme=scheme, is_phone=is_phone) as visit:
        page = await visit.open(MEMORIES)
        await page.get_by_role("button", name="Filters").click()
        await page.get_by_role("checkbox", name="Select: Prefers green tea").click()
        await expect(page.get_by_text("1 selected")).to_be_visible()
        assert await violations(page) == []
        await page.get_by_role("button", name="Filters").click()
        await row(page, f"lives in {city}").click()
        await expect(page.get_by_role("heading", name="Timeline")).to_be_visible()
        assert await violations(page) == []
        await page.get_by_role("button", name="Edit", exact=True).click()
        assert await violations(page) == []
        await page.keyboard.press("Escape")
        await page.get_by_role("button", name="Close", exact=True).click()
        await page.get_by_role("tab", name="Review").click()
        await expect(page.get_by_role("button", name="Reject")).to_be_visible()
        assert await violations(page) == []
        await page.get_by_role("button", name="Question").click()
        await page.get_by_role("tab", name="All").click()
        await page.get_by_role("searchbox", name="Ask what is remembered").fill("Which tea?")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("list", name="Answers")).to_be_visible()
        assert await violations(page) == []
        await page.get_by_role("button", name="Add", exact=True).click()
        await expect(page.get_by_role("dialog", name="Add a memory")).to_be_visible()
        assert await violations(page) == []


async def test_on_a_phone_a_memory_opens_over_the_list_and_goes_by_back(browser: Browser, site: Served) -> None:
    add(site, "Prefers green tea")
    async with visiting(browser, f"http://127.0.0.1:{site.port}", is_phone=True) as visit:
        page = await visit.open(MEMORIES)
        await row(page, "Prefers green tea").tap()
        sheet = page.get_by_role("dialog", name="Memory")
        await expect(sheet.get_by_role("heading", name="Timeline")).to_be_visible()
        for button in await sheet.get_by_role("button").all():
            box = await button.bounding_box()
            assert box is not None
            assert min(box["width"], box["height"]) >= 44
        await sheet.get_by_role("button", name="Pin").tap()
        await expect(sheet.get_by_role("button", name="Unpin")).to_be_visible()
        await page.go_back()
        await expect(sheet).to_be_hidden()
        await expect(row(page, "Prefers green tea")).to_contain_text("Pinned")
        assert await page.evaluate("document.documentElement.scrollWidth") == 390
