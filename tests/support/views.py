"""Every view of the app, and how one gets there: what is checked for everybody and what is photographed."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

from playwright.async_api import Page, expect

from tests.support.showcase import DINNER_ID, TRIP_ID

#: More than lead from the newest message of the showcase to its summary.
MOST_SCROLLS = 40
ROUTES = Path(__file__).parents[2] / "web" / "src" / "state" / "route.ts"


async def _ready(page: Page) -> None:
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    # What is read meanwhile is shown as grey lines.
    await expect(page.locator("[aria-hidden=true].pulses")).to_have_count(0)


class View(NamedTuple):
    """One view."""

    name: str
    #: The page of the route that it belongs to.
    page: str
    address: str
    #: What is done once the page is there.
    then: Callable[[Page], Awaitable[None]] = _ready


async def _sidebar(page: Page) -> None:
    """Have the list at hand, also on a phone."""
    await _ready(page)
    drawer = page.get_by_role("button", name="Conversations", exact=True)
    if await drawer.is_visible():
        await drawer.tap()
        await expect(page.get_by_role("dialog", name="Conversations")).to_be_visible()
    await expect(page.get_by_role("link", name="A week in Lofoten")).to_be_visible()


async def _search(page: Page) -> None:
    await _sidebar(page)
    await page.get_by_role("searchbox", name="Search conversations").fill("Ines")
    await expect(page.locator("mark").first).to_be_visible()


async def _archived(page: Page) -> None:
    await _sidebar(page)
    await page.get_by_role("navigation", name="Pages").get_by_role("button", name="Archived conversations").click()
    await expect(page.get_by_role("link", name="Tax return")).to_be_visible()


async def _row_menu(page: Page) -> None:
    await _sidebar(page)
    await page.get_by_role("button", name="More for A week in Lofoten").click()
    await expect(page.get_by_role("menu")).to_be_visible()


async def _renaming(page: Page) -> None:
    await _row_menu(page)
    await page.get_by_role("menuitem", name="Rename").click()
    await expect(page.get_by_role("textbox", name="Title")).to_be_focused()


async def _notice(page: Page) -> None:
    await _ready(page)
    await page.get_by_role("button", name="More for this conversation").click()
    await page.get_by_role("menuitem", name=re.compile("Archive|Restore")).click()
    await expect(page.get_by_role("button", name="Undo")).to_be_visible()


async def _menu(page: Page) -> None:
    await _ready(page)
    await page.get_by_role("button", name="More for this conversation").click()
    await expect(page.get_by_role("menu")).to_be_visible()


async def _clearing(page: Page) -> None:
    await _menu(page)
    await page.get_by_role("menuitem", name="Clear messages").click()
    await expect(page.get_by_role("dialog")).to_be_visible()


async def _keyboard(page: Page) -> None:
    await _sidebar(page)
    await page.get_by_role("button", name="Keyboard map").click()
    await expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()


async def _conversation(page: Page) -> None:
    await _ready(page)
    await expect(page.get_by_text("That leaves")).to_be_visible()


async def _unfolded(page: Page) -> None:
    """Show the tool call and the summary in full."""
    await _conversation(page)
    messages = page.get_by_role("region", name="Messages")
    summary = page.get_by_role("button", name="Summarised up to here")
    tool = messages.get_by_text("search_memory")
    # Only what is near is rendered, so each is unfolded where it is passed, from the newest up.
    for one in (tool, summary):
        for _ in range(MOST_SCROLLS):
            if await one.count():
                break
            await messages.evaluate("one => one.scrollBy(0, -300)")
        await one.click()
    await expect(page.get_by_text("plans a week in Lofoten")).to_be_visible()
    await summary.evaluate("one => one.scrollIntoView({block: 'start'})")


async def _inspector(page: Page) -> None:
    await _conversation(page)
    await page.get_by_role("button", name="What the model saw").last.click()
    await expect(page.get_by_role("img", name="Tokens: ")).to_be_visible()


async def _memory(page: Page) -> None:
    await expect(page.get_by_text("Lives in Bergen").first).to_be_visible()


VIEWS = (
    View("start", "start", "", _conversation),
    View("new", "new", "#/new"),
    View("temporary", "temporary", "#/temporary"),
    View("conversation", "conversation", f"#/c/{TRIP_ID}", _conversation),
    View("unfolded", "conversation", f"#/c/{TRIP_ID}", _unfolded),
    View("suggestions", "conversation", f"#/c/{DINNER_ID}"),
    View("inspector", "conversation", f"#/c/{TRIP_ID}", _inspector),
    View("missing", "conversation", "#/c/none"),
    View("menu", "conversation", f"#/c/{TRIP_ID}", _menu),
    View("clearing", "conversation", f"#/c/{TRIP_ID}", _clearing),
    View("notice", "conversation", f"#/c/{DINNER_ID}", _notice),
    View("list", "new", "#/new", _sidebar),
    View("search", "new", "#/new", _search),
    View("archived", "new", "#/new", _archived),
    View("row-menu", "new", "#/new", _row_menu),
    View("renaming", "new", "#/new", _renaming),
    View("keyboard", "new", "#/new", _keyboard),
    View("memories", "memories", "#/memories"),
    View("memory", "memories", "#/memories/home-now", _memory),
    View("review", "memories", "#/memories?tab=review"),
    View("forgotten", "memories", "#/memories?tab=archived"),
    View("notes", "memories", "#/memories?tab=notes"),
    View("overview", "overview", "#/overview"),
    View("settings", "settings", "#/settings"),
)


def routed() -> set[str]:
    """Return the pages that the router knows."""
    declared, _, _ = ROUTES.read_text().partition("const PLAIN")
    return set(re.findall(r'\{ page: "(\w+)"', declared))
