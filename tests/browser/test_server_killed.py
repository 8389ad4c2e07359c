"""The server goes away without a word, in the middle of things: what was said is kept, told of, and stored once."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from tests.support.browsing import Visit, visiting
from tests.support.talking import (
    Talk,
    answered,
    eventually,
    id_of,
    reply_to,
    say,
    say_and_hear,
    shown,
    talking,
    turns,
)

pytestmark = [pytest.mark.spec("S2.2")]

STEP_MS = 1_000
MOST_STEPS = 600
CLIENT = {"RECOLLECT_STORAGE_WRITE_POLICY": "client", "RECOLLECT_ARCHIVE_EVERY_MESSAGES": "4"}


@pytest_asyncio.fixture(loop_scope="session", params=[{}, CLIENT], ids=["turn", "client"])
async def talk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Talk]:
    async with talking(tmp_path_factory.mktemp("killed"), request.param) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="session")
async def visit(browser: Browser, talk: Talk) -> AsyncIterator[Visit]:
    async with visiting(browser, talk.origin) as opened:
        yield opened


async def hurried(visit: Visit) -> Page:
    """Open a page whose waits the test cuts short."""
    page = await visit.context.new_page()
    await page.clock.install()
    await page.goto(f"{visit.origin}/#/new")
    return page


async def hurry(page: Page, *, until: Locator) -> None:
    """Have the time of a page pass quickly until something is there."""
    for _ in range(MOST_STEPS):
        if await until.is_visible():
            return
        await page.clock.fast_forward(STEP_MS)
    await expect(until).to_be_visible()


def let_leases_end(talk: Talk) -> None:
    """Have the time pass after which a server that answered a request is known to be dead."""
    with closing(sqlite3.connect(talk.database)) as database, database:
        database.execute("DELETE FROM requests WHERE status IS NULL")


async def test_a_server_killed_in_the_middle_of_a_reply_answers_once_it_is_back(visit: Visit, talk: Talk) -> None:
    page = await visit.open("#/new")
    await say_and_hear(page, "before")
    async with talk.model.holding():
        await say(page, "a long tale")
        await expect(page.get_by_text("I heard:").last).to_be_visible()
        talk.kill()
        let_leases_end(talk)
    talk.start(talk.site.port)
    await answered(page, "a long tale")
    assert await shown(page) == ["before", reply_to("before"), "a long tale", reply_to("a long tale")]
    await page.get_by_role("button", name="New conversation").click()
    await page.go_back()
    await answered(page, "a long tale")
    await eventually(lambda: talk.stored(id_of(page)), turns("before", "a long tale"))


async def test_what_is_said_to_a_server_that_is_away_is_sent_when_it_is_back(visit: Visit, talk: Talk) -> None:
    page = await hurried(visit)
    await say_and_hear(page, "before")
    talk.kill()
    await say(page, "anyone there?")
    await hurry(page, until=page.get_by_text("Not sent: The server cannot be reached.").first)
    talk.start(talk.site.port)
    await hurry(page, until=page.get_by_role("article").get_by_text(reply_to("anyone there?")))
    await answered(page, "anyone there?")
    assert await shown(page) == ["before", reply_to("before"), "anyone there?", reply_to("anyone there?")]


@pytest.mark.parametrize("talk", [CLIENT], indirect=True)
async def test_archiving_that_fails_is_told_calmly_and_made_up_for(visit: Visit, talk: Talk) -> None:
    page = await hurried(visit)
    await say_and_hear(page, "one")
    left = id_of(page)
    talk.kill()
    await page.get_by_role("button", name="New conversation").click()
    notice = page.get_by_role("status").filter(has_text="Not archived yet")
    await expect(notice).to_contain_text("It is kept in this browser and tried again.")
    talk.start(talk.site.port)
    await hurry(page, until=page.get_by_role("link", name="one"))
    await expect(notice).to_be_hidden()
    assert talk.stored(left) == turns("one")


@pytest.mark.parametrize("talk", [CLIENT], indirect=True)
async def test_what_could_not_be_archived_is_archived_by_the_next_page(visit: Visit, talk: Talk) -> None:
    page = await visit.open("#/new")
    await say_and_hear(page, "one")
    left = id_of(page)
    talk.kill()
    await page.close(run_before_unload=True)
    talk.start(talk.site.port)
    again = await visit.open(f"#/c/{left}")
    await answered(again, "one")
    assert talk.stored(left) == turns("one")
