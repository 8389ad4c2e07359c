"""What is remembered: listed, searched, corrected, decided about, taken back, and traced to where it was said."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Page, expect

from tests.support.browsing import Visit
from tests.support.memory_page import MEMORIES, add, notice, row, say, stored, undo
from tests.support.server_process import Served

pytestmark = pytest.mark.spec("S4.6")

KINDS = (
    ("Prefers green tea", "preference", "food"),
    ("Is allergic to walnuts", "fact", "health"),
    ("Decided to use Postgres", "decision", "work"),
)


@pytest.fixture(autouse=True)
def nothing_is_remembered(site: Served) -> None:
    """Let each test begin with an empty memory."""
    assert site.client.delete("/api/me").status_code == 200


async def choose(page: Page, label: str, option: str) -> None:
    await page.get_by_role("region", name="Filters").get_by_label(label).select_option(label=option)


async def test_a_long_list_is_read_as_far_as_it_is_looked_at_and_words_narrow_it(visit: Visit, site: Served) -> None:
    for number in range(120):
        add(site, f"Keeps diary entry {number * 7919} on shelf s{number}")
    page = await visit.open(MEMORIES)
    await expect(row(page, "shelf s119")).to_be_visible()
    await expect(page.get_by_text("100 memories so far")).to_be_visible()
    assert await page.get_by_role("list", name="Memories").get_by_role("link").count() < 40
    await row(page, "shelf s119").hover()
    last = row(page, "Keeps diary entry 0 on shelf s0")
    while not await last.is_visible():
        await page.mouse.wheel(0, 3_000)
        await page.evaluate("() => new Promise(requestAnimationFrame)")
    await expect(page.get_by_text("120 memories", exact=True)).to_be_visible()
    search = page.get_by_role("searchbox", name="Search memories")
    await search.fill("shelf s77")
    await expect(row(page, "shelf s77")).to_be_visible()
    await expect(page.get_by_text("1 memory", exact=True)).to_be_visible()
    await search.press("Escape")
    await expect(
        page.get_by_text("100 memories so far").or_(page.get_by_text("120 memories", exact=True))
    ).to_be_visible()


async def test_filters_narrow_the_list_and_each_can_be_taken_away(visit: Visit, site: Served) -> None:
    for content, kind, category in KINDS:
        add(site, content, kind, category, is_pinned=kind == "fact")
    page = await visit.open(MEMORIES)
    await expect(row(page, "Prefers green tea")).to_be_visible()
    await page.get_by_role("button", name="Filters").click()
    await choose(page, "Type", "Preference")
    await expect(page.get_by_text("1 memory", exact=True)).to_be_visible()
    await page.get_by_role("button", name="Without: Preference").click()
    await page.get_by_label("Category").fill("work")
    await expect(row(page, "Decided to use Postgres")).to_be_visible()
    await expect(page.get_by_text("1 memory", exact=True)).to_be_visible()
    await page.get_by_role("button", name="Without: Category: work").click()
    await choose(page, "Origin", "You said it")
    await expect(page.get_by_text("Nothing matches")).to_be_visible()
    await page.get_by_role("button", name="Show all").click()
    await choose(page, "Learned", "Range…")
    await page.get_by_label("To", exact=True).fill("2020-01-01")
    await expect(page.get_by_text("Nothing matches")).to_be_visible()
    await choose(page, "Learned", "Today")
    await expect(page.get_by_text("3 memories", exact=True)).to_be_visible()
    await page.get_by_role("switch", name="Only pinned").click()
    await expect(row(page, "Is allergic to walnuts")).to_be_visible()
    await expect(page.get_by_text("1 memory", exact=True)).to_be_visible()
    await choose(page, "Trust", "Rejected")
    await expect(page.get_by_text("Nothing matches")).to_be_visible()
    await page.get_by_role("button", name="Clear all").click()
    await page.get_by_label("Order").select_option(label="Oldest first")
    await expect(page.get_by_role("list", name="Memories").get_by_role("link").first).to_contain_text("green tea")


async def test_a_question_is_answered_with_the_reason_of_each_answer(visit: Visit, site: Served) -> None:
    for content, kind, category in KINDS:
        add(site, content, kind, category)
    travel = say(site, "We went to Lisbon by train.", is_learned=False)
    page = await visit.open(MEMORIES)
    await page.get_by_role("button", name="Question").click()
    field = page.get_by_role("searchbox", name="Ask what is remembered")
    await expect(field).to_be_focused()
    await field.fill("Which tea do I like?")
    await field.press("Enter")
    best = page.get_by_role("list", name="Answers").get_by_role("listitem").first
    await expect(best).to_contain_text("Prefers green tea")
    await expect(best.get_by_text(re.compile(r"^Why: .*tea.* · score"))).to_be_visible()
    await page.get_by_role("switch", name="Also what was said").click()
    await field.fill("How did we go to Lisbon?")
    await page.get_by_role("button", name="Ask", exact=True).click()
    said = page.get_by_role("list", name="Answers").get_by_role("link", name="We went to Lisbon by train.")
    await said.click()
    await expect(page).to_have_url(re.compile(rf"#/c/{travel}/m/"))


async def test_a_memory_is_edited_in_its_row_by_keyboard_and_that_is_undone(visit: Visit, site: Served) -> None:
    tea = add(site, "Prefers green tea", "preference", "food")
    page = await visit.open(MEMORIES)
    await row(page, "Prefers green tea").focus()
    await page.keyboard.press("F2")
    field = page.get_by_role("textbox", name="What is remembered")
    await expect(field).to_be_focused()
    await field.fill("Something else")
    await page.keyboard.press("Escape")
    await expect(row(page, "Prefers green tea")).to_be_focused()
    await page.keyboard.press("F2")
    await field.fill("Prefers black tea")
    await page.get_by_label("Category").fill("drinks")
    await page.keyboard.press("Control+Enter")
    await expect(row(page, "Prefers black tea")).to_be_focused()
    await expect(notice(page, "Memory changed")).to_be_visible()
    now = stored(site, tea)
    assert (now["content"], now["category"], now["memory_type"]) == ("Prefers black tea", "drinks", "preference")
    await undo(page)
    await expect(row(page, "Prefers green tea")).to_be_visible()
    assert stored(site, tea)["category"] == "food"


async def test_what_was_changed_meanwhile_is_shown_before_it_is_written_over(visit: Visit, site: Served) -> None:
    tea = add(site, "Prefers green tea")
    page = await visit.open(f"{MEMORIES}/{tea}")
    pane = page.get_by_role("region", name="Memory", exact=True)
    await pane.get_by_role("button", name="Edit").click()
    field = pane.get_by_role("textbox", name="What is remembered")
    await field.fill("Prefers white tea")
    assert site.client.patch(f"/api/memories/{tea}", json={"content": "Prefers mint tea"}).status_code == 200
    await page.keyboard.press("Control+Enter")
    await expect(pane.get_by_role("alert")).to_contain_text("now says: “Prefers mint tea”")
    await expect(field).to_have_value("Prefers white tea")
    await page.keyboard.press("Control+Enter")
    await expect(row(page, "Prefers white tea")).to_be_visible()
    assert stored(site, tea)["content"] == "Prefers white tea"


async def test_pin_archive_and_delete_from_a_row_are_taken_back(visit: Visit, site: Served) -> None:
    tea = add(site, "Prefers green tea")
    page = await visit.open(MEMORIES)
    more = page.get_by_role("button", name="More for: Prefers green tea")
    await page.get_by_role("button", name="Pin: Prefers green tea").click()
    await expect(row(page, "Pinned")).to_be_visible()
    await undo(page)
    await expect(row(page, "Pinned")).to_be_hidden()
    await more.click()
    await page.get_by_role("menuitem", name="Archive").click()
    await expect(page.get_by_text("Nothing is remembered yet")).to_be_visible()
    await page.get_by_role("tab", name="Archived").click()
    await expect(row(page, "Prefers green tea")).to_be_visible()
    await undo(page)
    await expect(page.get_by_text("Nothing is archived")).to_be_visible()
    await page.get_by_role("tab", name="All").click()
    await row(page, "Prefers green tea").focus()
    await page.keyboard.press("Delete")
    await expect(row(page, "Prefers green tea")).to_be_hidden()
    await expect(notice(page, "Memory deleted")).to_be_visible()
    assert stored(site, tea) == {}
    await undo(page)
    await expect(row(page, "Prefers green tea")).to_be_visible()
    assert stored(site, tea)["is_pinned"] is False


async def test_a_range_is_chosen_with_shift_and_deleted_together_and_comes_back(visit: Visit, site: Served) -> None:
    for number in range(12):
        add(site, f"Keeps diary entry {number * 7919} on shelf s{number}")
    page = await visit.open(MEMORIES)
    boxes = page.get_by_role("checkbox", name="Select: Keeps")
    await boxes.nth(1).click()
    await boxes.nth(8).click(modifiers=["Shift"])
    await expect(page.get_by_text("8 selected")).to_be_visible()
    await page.get_by_role("button", name="Delete", exact=True).click()
    await expect(notice(page, "8 memories deleted")).to_be_visible()
    await expect(page.get_by_text("4 memories", exact=True)).to_be_visible()
    await undo(page)
    await expect(page.get_by_text("12 memories", exact=True)).to_be_visible()
    await row(page, "shelf s11").focus()
    await page.keyboard.press("Space")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Shift+Space")
    await expect(page.get_by_text("3 selected")).to_be_visible()
    await page.get_by_role("button", name="Pin", exact=True).click()
    await expect(notice(page, "3 memories pinned")).to_be_visible()
    await page.get_by_role("checkbox", name="Select all that are loaded").click()
    await expect(page.get_by_text("12 selected")).to_be_visible()
    await page.get_by_role("button", name="Archive", exact=True).click()
    await expect(page.get_by_text("Nothing is remembered yet")).to_be_visible()
    assert len(site.client.get("/api/memories?archived=true").json()["items"]) == 12


async def test_a_memory_shows_its_superseded_values_and_leads_to_the_words_that_say_so(
    visit: Visit, site: Served
) -> None:
    moving = say(site, "I live in Bergen.")
    say(site, "I moved to Oslo last week.", to=moving)
    page = await visit.open(MEMORIES)
    await row(page, "lives in Oslo").click()
    pane = page.get_by_role("region", name="Memory", exact=True)
    await expect(pane).to_be_focused()
    timeline = pane.get_by_role("list").last.get_by_role("listitem")
    await expect(timeline).to_have_count(2)
    await expect(timeline.first).to_contain_text("Superseded by what you said")
    await expect(timeline.first).to_contain_text("The user lives in Bergen.")
    await expect(timeline.first).to_contain_text("“I moved to Oslo last week”")
    await page.reload()
    await timeline.first.get_by_role("link", name="lives in Bergen").click()
    await expect(pane.get_by_text("This holds no longer")).to_be_visible()
    await pane.get_by_role("link", name="What holds now").click()
    await expect(pane.get_by_text("I moved to Oslo last week", exact=True)).to_be_visible()
    await pane.get_by_role("link", name="Show the message").click()
    await expect(page).to_have_url(re.compile(rf"#/c/{moving}/m/[^?]+\?quote=I\+moved\+to\+Oslo\+last\+week"))
    await expect(page.get_by_role("main").get_by_text("I moved to Oslo last week.")).to_be_visible()
    await page.go_back()
    await page.keyboard.press("Escape")
    await pane.get_by_role("button", name="Close").click()
    await expect(row(page, "lives in Oslo")).to_be_focused()


async def test_what_was_known_on_a_day_is_shown_with_what_was_superseded_since(visit: Visit, site: Served) -> None:
    moving = say(site, "I live in Lyon.", created_at="2026-01-05T10:00:00Z")
    say(site, "I moved to Nantes last week.", to=moving)
    page = await visit.open(MEMORIES)
    await expect(row(page, "lives in Nantes")).to_be_visible()
    await page.get_by_role("button", name="Filters").click()
    await page.get_by_role("switch", name="What was known on a day").click()
    await page.get_by_label("Day", exact=True).fill("2026-02-01")
    await expect(row(page, "lives in Lyon")).to_contain_text("held until")
    await expect(row(page, "lives in Nantes")).to_be_hidden()
    await page.get_by_role("button", name="Without: Known on 2026-02-01").click()
    await expect(row(page, "lives in Nantes")).to_be_visible()


async def test_a_memory_is_added_by_hand_once_and_opened(visit: Visit, site: Served) -> None:
    page = await visit.open(MEMORIES)
    for told in ("Memory added", "This is remembered already"):
        await page.get_by_role("button", name="Add", exact=True).click()
        dialog = page.get_by_role("dialog", name="Add a memory")
        await dialog.get_by_role("textbox", name="What is remembered").fill("Prefers green tea")
        await dialog.get_by_label("Type").select_option(label="Preference")
        await dialog.get_by_label("Category").fill("food")
        await dialog.get_by_role("slider", name="Importance").fill("80")
        await dialog.get_by_role("switch", name="Pin it").click()
        await page.keyboard.press("Control+Enter")
        await expect(notice(page, told)).to_be_visible()
        await expect(
            page.get_by_role("region", name="Memory", exact=True).get_by_text("Prefers green tea").first
        ).to_be_visible()
    (one,) = site.client.get("/api/memories").json()["items"]
    assert (one["memory_type"], one["category"], one["is_pinned"], one["origin"]) == (
        "preference",
        "food",
        True,
        "manual",
    )
    assert one["importance"] >= 0.8
