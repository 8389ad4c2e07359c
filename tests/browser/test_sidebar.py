"""The list of conversations: by day, pinned, archived, searched, changed, and without an end (S4.6)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, Request, expect

from tests.support.browsing import Visit, visiting
from tests.support.seeding import seed_titles
from tests.support.talking import Talk, composer, eventually, id_of, talking

pytestmark = [pytest.mark.spec("S4.6")]

#: More than any screen shows and than a page of the server holds.
MANY = 2_000
#: What may be rendered at once, however long the list is.
MOST_RENDERED = 60
UNDO_MS = 8_000


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def talk(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Talk]:
    folder = tmp_path_factory.mktemp("sidebar")
    long_ago = datetime.now(UTC) - timedelta(days=400)
    await seed_titles(folder / "recollect.db", [f"Old {number:04}" for number in range(MANY)], long_ago)
    async with talking(folder) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="session")
async def visit(browser: Browser, talk: Talk) -> AsyncIterator[Visit]:
    async with visiting(browser, talk.origin) as opened:
        yield opened


def row(page: Page, title: str) -> Locator:
    return page.get_by_role("complementary").get_by_role("link", name=title)


async def choose(page: Page, title: str, action: str) -> None:
    """Choose an action of a row's menu."""
    await row(page, title).hover()
    await page.get_by_role("button", name=f"More for {title}").click()
    await page.get_by_role("menuitem", name=action).click()


async def lines(page: Page) -> list[str]:
    """Return the names of groups and conversations that are rendered, from top to bottom."""
    found = (
        await page.get_by_role("complementary")
        .get_by_role("listitem")
        .evaluate_all(
            """all => all
            .sort((one, other) => one.getBoundingClientRect().top - other.getBoundingClientRect().top)
            .map(one => one.querySelector("h2,a")?.innerText.trim() ?? "")"""
        )
    )
    return list(found)


async def scroll_to(page: Page, number: int) -> None:
    """Turn the wheel until one of the old conversations is rendered, and back if it was passed."""
    while not await row(page, f"Old {number:04}").is_visible():
        shown = [int(name[4:8]) for name in await lines(page) if name.startswith("Old ")]
        await page.mouse.wheel(0, 600 if max(shown, default=0) < number else -300)
        await page.evaluate("new Promise(requestAnimationFrame)")


async def test_conversations_stand_under_their_day_and_pinned_ones_above_all(visit: Visit, talk: Talk) -> None:
    today = talk.new("Of today")
    client = talk.site.client
    oldest = client.get("/api/conversations", params={"q": f"Old {MANY - 1:04}"}).json()["items"][0]["id"]
    client.patch(f"/api/conversations/{oldest}", json={"is_pinned": True})
    page = await visit.open("#/new")
    month = (datetime.now(UTC) - timedelta(days=400)).strftime("%B %Y")
    await expect(row(page, "Old 0000")).to_be_visible()
    assert (await lines(page))[:5] == ["Pinned", f"Old {MANY - 1:04}", "Today", "Of today", month]
    await choose(page, f"Old {MANY - 1:04}", "Unpin")
    await expect(page.get_by_role("heading", name="Pinned")).to_be_hidden()
    await choose(page, "Of today", "Pin")
    await expect(page.get_by_role("heading", name="Pinned")).to_be_visible()
    assert (await lines(page))[:3] == ["Pinned", "Of today", month]
    await eventually(lambda: client.get(f"/api/conversations/{today}").json()["is_pinned"], True)
    await choose(page, "Of today", "Unpin")
    await expect(page.get_by_role("heading", name="Today")).to_be_visible()


async def test_thousands_are_read_in_pages_and_few_are_rendered(visit: Visit) -> None:
    page = await visit.context.new_page()
    asked: list[str] = []

    def note(request: Request) -> None:
        if "/api/conversations?" in request.url:
            asked.append(request.url)

    page.on("request", note)
    await page.goto(f"{visit.origin}/#/new")
    await expect(row(page, "Old 0000")).to_be_visible()
    assert len(asked) <= 3, asked
    await row(page, "Old 0000").hover()
    for target in (100, 200):
        await scroll_to(page, target)
        assert await page.get_by_role("complementary").get_by_role("listitem").count() <= MOST_RENDERED
    pages = [one for one in asked if "cursor=" in one]
    assert 4 <= len(pages) <= 7, pages
    assert len(set(pages)) == len(pages), "a page was read twice"
    assert all("limit=50" in one for one in asked)


async def test_a_search_finds_titles_and_what_was_said_and_shows_where(visit: Visit, talk: Talk) -> None:
    talk.new("A trip", "We take the night train to Narvik in March.")
    archived = talk.new("Narvik by boat", "hello")
    talk.site.client.patch(f"/api/conversations/{archived}", json={"is_archived": True})
    page = await visit.open("#/new")
    search = page.get_by_role("searchbox", name="Search conversations")
    await search.fill("narvik")
    await expect(row(page, "A trip")).to_contain_text("night train to Narvik")
    await expect(row(page, "A trip").locator("mark")).to_have_text("Narvik")
    await expect(row(page, "Narvik by boat")).to_contain_text("archived")
    await expect(row(page, "Old 0000")).to_be_hidden()
    await row(page, "A trip").click()
    await expect(page.get_by_role("article").get_by_text("night train")).to_be_visible()
    await search.fill("nobody ever said this")
    await expect(page.get_by_text("Nothing was found.")).to_be_visible()
    await search.press("Escape")
    await expect(row(page, "Old 0000")).to_be_visible()


async def test_a_new_conversation_is_listed_once_something_was_said(visit: Visit) -> None:
    page = await visit.open("#/memories")
    await page.get_by_role("button", name="New conversation").click()
    await composer(page).fill("Let us begin")
    await composer(page).press("Enter")
    await expect(row(page, "Let us begin")).to_have_attribute("aria-current", "page")
    assert (await lines(page))[1] == "Let us begin"


async def test_a_conversation_is_renamed_in_its_row_and_in_the_header(visit: Visit, talk: Talk) -> None:
    opened = talk.new("A working title", "hello")
    page = await visit.open(f"#/c/{opened}")
    await choose(page, "A working title", "Rename")
    await page.get_by_role("textbox", name="Title").fill("A better title")
    await page.get_by_role("textbox", name="Title").press("Enter")
    await expect(row(page, "A better title")).to_be_visible()
    await page.get_by_role("heading", level=1).get_by_role("button", name="A better title").click()
    await page.get_by_role("textbox", name="Title").fill("The best title")
    await composer(page).click()
    await expect(row(page, "The best title")).to_be_visible()
    await choose(page, "The best title", "Rename")
    await page.get_by_role("textbox", name="Title").fill("no")
    await page.get_by_role("textbox", name="Title").press("Escape")
    await expect(row(page, "The best title")).to_be_visible()
    told = talk.site.client.get(f"/api/conversations/{opened}").json()
    assert (told["title"], told["title_source"]) == ("The best title", "user")


async def test_what_is_archived_is_in_a_list_of_its_own_and_comes_back(visit: Visit, talk: Talk) -> None:
    talk.new("Set aside", "hello")
    page = await visit.open("#/new")
    await choose(page, "Set aside", "Archive")
    await expect(page.get_by_text("Conversation archived")).to_be_visible()
    await expect(row(page, "Set aside")).to_be_hidden()
    await page.get_by_role("button", name="Undo").click()
    await expect(row(page, "Set aside")).to_be_visible()
    await choose(page, "Set aside", "Archive")
    await expect(row(page, "Set aside")).to_be_hidden()
    await page.get_by_role("navigation", name="Pages").get_by_role("button", name="Archived conversations").click()
    await expect(row(page, "Set aside")).to_be_visible()
    await expect(row(page, "Old 0000")).to_be_hidden()
    await choose(page, "Set aside", "Restore")
    await expect(row(page, "Set aside")).to_be_hidden()
    await page.get_by_role("navigation", name="Pages").get_by_role("button", name="Archived conversations").click()
    await expect(row(page, "Set aside")).to_be_visible()


def is_there(talk: Talk, conversation_id: str) -> bool:
    status = talk.site.client.get(f"/api/conversations/{conversation_id}").status_code
    assert status in (200, 404)
    return status == 200


async def test_what_is_deleted_can_be_taken_back_and_is_erased_when_that_time_is_over(visit: Visit, talk: Talk) -> None:
    opened = talk.new("A mistake", "hello")
    page = await visit.context.new_page()
    await page.clock.install()
    await page.goto(f"{visit.origin}/#/c/{opened}")
    await choose(page, "A mistake", "Delete")
    await expect(row(page, "A mistake")).to_be_hidden()
    await expect(page.get_by_role("heading", level=1, name="New conversation")).to_be_visible()
    await page.get_by_role("button", name="Undo").click()
    await expect(row(page, "A mistake")).to_be_visible()
    assert id_of(page) == opened
    await page.clock.fast_forward(2 * UNDO_MS)
    assert is_there(talk, opened)
    await choose(page, "A mistake", "Delete")
    await expect(page.get_by_role("button", name="Undo")).to_be_visible()
    assert is_there(talk, opened)
    await page.clock.fast_forward(UNDO_MS)
    await eventually(lambda: is_there(talk, opened), False)
    await expect(page.get_by_role("button", name="Undo")).to_be_hidden()


@pytest.mark.parametrize("leaving", ["closed", "reloaded"])
async def test_what_is_deleted_stays_deleted_when_the_page_is_left_at_once(
    visit: Visit, talk: Talk, leaving: str
) -> None:
    opened = talk.new(f"To be {leaving}", "hello")
    page = await visit.open("#/new")
    await choose(page, f"To be {leaving}", "Delete")
    await expect(row(page, f"To be {leaving}")).to_be_hidden()
    if leaving == "closed":
        await page.close(run_before_unload=True)
    else:
        await page.reload()
        await expect(row(page, "Old 0000")).to_be_visible()
        await expect(row(page, f"To be {leaving}")).to_be_hidden()
    await eventually(lambda: is_there(talk, opened), False)


async def test_a_deletion_that_fails_is_told_and_the_conversation_is_back(visit: Visit, talk: Talk) -> None:
    opened = talk.new("Not to be deleted", "hello")
    page = await visit.context.new_page()
    await page.clock.install()
    await page.route(f"**/api/conversations/{opened}", lambda route: route.abort())
    await page.goto(f"{visit.origin}/#/new")
    await choose(page, "Not to be deleted", "Delete")
    await expect(row(page, "Not to be deleted")).to_be_hidden()
    await page.clock.fast_forward(UNDO_MS)
    await expect(page.get_by_text("Not deleted: The server cannot be reached.")).to_be_visible()
    await expect(row(page, "Not to be deleted")).to_be_visible()
