"""The app in a hand: a drawer, a composer above the keyboard, targets for fingers, and nothing beyond the edge."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.support.browsing import PHONE, Visit, visiting
from tests.support.showcase import DINNER_ID, TRIP_ID, seed_showcase
from tests.support.talking import Talk, answered, composer, id_of, say, talking

pytestmark = [pytest.mark.spec("S4.6")]

#: What a keyboard on the screen covers.
KEYBOARD = 330
#: Whatever can be pushed sideways, except for code and tables, which scroll by themselves.
PUSHED = """() => [...document.querySelectorAll("body, body *")]
    .filter(one => !one.closest("pre, table, .sr-only, [data-scrolls]"))
    .filter(one => /auto|scroll/.test(getComputedStyle(one).overflowX) || one === document.body)
    .filter(one => one.scrollWidth > one.clientWidth + 1)
    .map(one => `${one.tagName} ${one.className} ${one.scrollWidth} > ${one.clientWidth}`)"""
#: Buttons and links that a finger misses; links inside of text are as high as their line.
SMALL = """() => [...document.querySelectorAll("button, a, input, textarea, [role=tab], [role=switch], summary")]
    .filter(one => one.checkVisibility({opacityProperty: true, visibilityProperty: true}))
    .filter(one => !one.closest("p, li p, .sr-only, [aria-hidden=true]"))
    .map(one => [one.getAttribute("aria-label") ?? one.innerText, one.closest("label") ?? one])
    .map(([name, target]) => [name, target.getBoundingClientRect()])
    .filter(([, box]) => box.width > 1 && box.bottom > 0 && box.top < innerHeight)
    .filter(([, box]) => box.height < 43.5 || box.width < 43.5)
    .map(([name, box]) => `${name}: ${Math.round(box.width)} x ${Math.round(box.height)}`)"""
PAGES = [
    "#/new",
    "#/temporary",
    f"#/c/{TRIP_ID}",
    f"#/c/{DINNER_ID}",
    "#/c/none",
    "#/memories",
    "#/overview",
    "#/settings",
]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def talk(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Talk]:
    folder = tmp_path_factory.mktemp("phone")
    await seed_showcase(folder / "recollect.db", datetime.now(UTC))
    async with talking(folder) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="session")
async def visit(browser: Browser, talk: Talk) -> AsyncIterator[Visit]:
    async with visiting(browser, talk.origin, is_phone=True) as opened:
        yield opened


async def open_drawer(page: Page) -> None:
    await page.get_by_role("button", name="Conversations", exact=True).tap()
    await expect(page.get_by_role("dialog", name="Conversations")).to_be_visible()


@pytest.mark.parametrize("address", PAGES)
async def test_nothing_is_pushed_sideways_and_every_target_fits_a_finger(visit: Visit, address: str) -> None:
    page = await visit.open(address)
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert await page.evaluate(PUSHED) == []
    assert await page.evaluate(SMALL) == []


async def test_the_drawer_leads_everywhere_and_closes_behind(visit: Visit) -> None:
    page = await visit.open(f"#/c/{DINNER_ID}")
    drawer = page.get_by_role("dialog", name="Conversations")
    await open_drawer(page)
    assert await page.evaluate(PUSHED) == []
    await drawer.get_by_role("link", name="A week in Lofoten").tap()
    await expect(drawer).to_be_hidden()
    assert id_of(page) == TRIP_ID
    for link, title in (("Memories", "Memories"), ("Overview", "Overview"), ("Settings", "Settings")):
        await open_drawer(page)
        await drawer.get_by_role("link", name=link, exact=True).tap()
        await expect(drawer).to_be_hidden()
        await expect(page.get_by_role("heading", level=1, name=title)).to_be_visible()
    await open_drawer(page)
    await page.keyboard.press("Escape")
    await expect(drawer).to_be_hidden()
    await expect(page.get_by_role("button", name="Conversations", exact=True)).to_be_focused()


async def test_a_row_has_its_menu_without_hovering(visit: Visit, talk: Talk) -> None:
    talk.new("In my hand", "hello")
    page = await visit.open("#/new")
    await open_drawer(page)
    await page.get_by_role("button", name="More for In my hand").tap()
    await page.get_by_role("menuitem", name="Rename").tap()
    await page.get_by_role("textbox", name="Title").fill("In my pocket")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("link", name="In my pocket")).to_be_visible()


async def test_the_composer_and_the_newest_words_stay_above_the_keyboard(visit: Visit) -> None:
    page = await visit.open("#/new")
    await say(page, "hello")
    await answered(page, "hello")
    await composer(page).tap()
    await page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"] - KEYBOARD})
    await composer(page).fill("\n".join(f"line {number}" for number in range(30)))
    for seen in (composer(page), page.get_by_role("button", name="Send"), page.get_by_role("heading", level=1)):
        await expect(seen).to_be_in_viewport(ratio=1)
    await composer(page).fill("short")
    await expect(page.get_by_role("button", name="Answer again")).to_be_in_viewport()
    await page.get_by_role("button", name="Send").tap()
    await answered(page, "short")
