"""A server that stores nothing by itself: the page keeps what is said, and archives it before it can be lost."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect
from playwright.async_api import Error as PlaywrightError

from tests.support.browsing import Visit, visiting
from tests.support.talking import (
    Talk,
    answered,
    eventually,
    hide,
    id_of,
    reply_to,
    say,
    say_and_hear,
    shown,
    talking,
    turns,
)

pytestmark = [pytest.mark.spec("S2.1", "S2.2")]

RULES = {
    "RECOLLECT_STORAGE_WRITE_POLICY": "client",
    "RECOLLECT_ARCHIVE_EVERY_MESSAGES": "6",
    "RECOLLECT_ARCHIVE_EVERY_MINUTES": "5",
}
MINUTES_5 = 5 * 60 * 1000


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def talk(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Talk]:
    async with talking(tmp_path_factory.mktemp("archival"), RULES) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="session")
async def visit(browser: Browser, talk: Talk) -> AsyncIterator[Visit]:
    async with visiting(browser, talk.origin) as opened:
        yield opened


async def test_so_many_messages_are_archived_together_and_in_order(visit: Visit, talk: Talk) -> None:
    page = await visit.open("#/new")
    await say_and_hear(page, "one", "two")
    assert talk.stored(id_of(page)) == []
    await say_and_hear(page, "three")
    await eventually(lambda: talk.stored(id_of(page)), turns("one", "two", "three"))
    await say_and_hear(page, "four")
    assert talk.stored(id_of(page)) == turns("one", "two", "three")


async def test_after_some_minutes_what_waits_is_archived_each_time(visit: Visit, talk: Talk) -> None:
    page = await visit.context.new_page()
    await page.clock.install()
    await page.goto(f"{visit.origin}/#/new")
    said: list[str] = []
    for text in ("early", "late"):
        await say_and_hear(page, text)
        assert talk.stored(id_of(page)) == turns(*said)
        said.append(text)
        await page.clock.fast_forward(MINUTES_5)
        await eventually(lambda: talk.stored(id_of(page)), turns(*said))


async def test_leaving_a_conversation_archives_it(visit: Visit, talk: Talk) -> None:
    page = await visit.open("#/new")
    await say_and_hear(page, "before I go")
    left = id_of(page)
    await page.get_by_role("button", name="New conversation").click()
    await eventually(lambda: talk.stored(left), turns("before I go"))
    await page.get_by_role("link", name="before I go").click()
    await answered(page, "before I go")


async def test_closing_the_tab_archives(visit: Visit, talk: Talk) -> None:
    page = await visit.open("#/new")
    await say_and_hear(page, "last words")
    left = id_of(page)
    await page.close(run_before_unload=True)
    await eventually(lambda: talk.stored(left), turns("last words"))


async def test_hiding_the_page_archives_and_showing_it_again_doubles_nothing(visit: Visit, talk: Talk) -> None:
    page = await visit.open("#/new")
    await say_and_hear(page, "in my pocket")
    await hide(page)
    await eventually(lambda: talk.stored(id_of(page)), turns("in my pocket"))
    await hide(page, is_hidden=False)
    await say_and_hear(page, "and out", "again")
    left = id_of(page)
    await page.get_by_role("button", name="New conversation").click()
    await eventually(lambda: talk.stored(left), turns("in my pocket", "and out", "again"))


async def test_what_no_beacon_can_carry_is_archived_by_the_next_page_in_order(visit: Visit, talk: Talk) -> None:
    long = "-".join(["word"] * 20_000)
    page = await visit.open("#/new")
    await say_and_hear(page, "short")
    await say(page, long)
    await answered(page, long)
    left = id_of(page)
    await page.close(run_before_unload=True)
    await eventually(lambda: talk.stored(left), turns("short"))
    again = await visit.open(f"#/c/{left}")
    await eventually(lambda: talk.stored(left), turns("short", long))
    await answered(again, long)


async def test_a_tab_that_crashes_loses_nothing_and_mixes_nothing_up(visit: Visit, talk: Talk) -> None:
    page = await visit.open("#/new")
    await say_and_hear(page, "one", "two")
    left = id_of(page)
    await crash(page)
    assert talk.stored(left) == []
    again = await visit.open(f"#/c/{left}")
    await answered(again, "two")
    assert talk.stored(left) == turns("one", "two")


async def test_a_reply_is_followed_after_a_reload_and_archived_once(visit: Visit, talk: Talk) -> None:
    page = await visit.open("#/new")
    async with talk.model.holding():
        await say(page, "a long tale")
        await expect(page.get_by_text("I heard:").first).to_be_visible()
        asked = talk.model.begun
        await page.reload()
        await expect(page.get_by_text("a long tale").first).to_be_visible()
        await expect(page.get_by_text("I heard:").first).to_be_visible()
    await answered(page, "a long tale")
    assert await shown(page) == ["a long tale", reply_to("a long tale")]
    assert talk.model.begun == asked
    left = id_of(page)
    await page.close(run_before_unload=True)
    await eventually(lambda: talk.stored(left), turns("a long tale"))


async def crash(page: Page) -> None:
    """End the process of a page without a word to it."""
    async with page.expect_event("crash"):
        with suppress(PlaywrightError):
            await page.goto("chrome://crash")
