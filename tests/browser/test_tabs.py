"""Several tabs of one browser, and tabs that come and go: each shows the same, and nothing is lost or doubled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Route, expect

from tests.support.browsing import Visit, visiting
from tests.support.talking import (
    Talk,
    answered,
    composer,
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

pytestmark = [pytest.mark.spec("S2.1")]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def talk(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Talk]:
    async with talking(tmp_path_factory.mktemp("tabs")) as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def keeping(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Talk]:
    """A server that leaves storing to its clients."""
    async with talking(tmp_path_factory.mktemp("keeping"), {"RECOLLECT_STORAGE_WRITE_POLICY": "client"}) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="session")
async def visit(browser: Browser, talk: Talk) -> AsyncIterator[Visit]:
    async with visiting(browser, talk.origin) as opened:
        yield opened


async def test_a_reload_in_the_middle_of_a_reply_goes_on_with_it(visit: Visit, talk: Talk) -> None:
    page = await visit.open("#/new")
    asked = talk.model.begun
    async with talk.model.holding():
        await say(page, "a long tale")
        await expect(page.get_by_role("article", name="Assistant")).to_contain_text("I heard:")
        await page.reload()
        await expect(page.get_by_role("article", name="Assistant")).to_contain_text("I heard:")
    await answered(page, "a long tale")
    assert await shown(page) == ["a long tale", reply_to("a long tale")]
    assert talk.stored(id_of(page)) == turns("a long tale")
    assert talk.model.begun == asked + 1


async def test_a_reload_opens_the_conversation_that_was_open(visit: Visit, talk: Talk) -> None:
    page = await visit.open("#/new")
    await say_and_hear(page, "here I am")
    opened = id_of(page)
    talk.new("A newer one", "hello")
    await page.reload()
    await answered(page, "here I am")
    assert id_of(page) == opened


async def test_a_newcomer_lands_in_the_newest_conversation(visit: Visit, talk: Talk) -> None:
    newest = talk.new("The newest", "nothing is newer")
    page = await visit.open("")
    await expect(page.get_by_text("nothing is newer")).to_be_visible()
    assert id_of(page) == newest


async def test_what_is_typed_before_the_conversation_is_there_stays(visit: Visit, talk: Talk) -> None:
    talk.new("Slow to open", "a slow one")
    page = await visit.context.new_page()
    is_open = asyncio.Event()

    async def slow(route: Route) -> None:
        await is_open.wait()
        await route.continue_()

    await page.route("**/api/conversations/current", slow)
    await page.goto(visit.origin)
    await composer(page).fill("half a thought")
    is_open.set()
    await expect(page.get_by_text("a slow one")).to_be_visible()
    await expect(composer(page)).to_have_value("half a thought")


async def test_what_is_said_in_one_tab_is_seen_in_the_other(visit: Visit, talk: Talk) -> None:
    one = await visit.open("#/new")
    await say_and_hear(one, "first")
    other = await visit.open(f"#/c/{id_of(one)}")
    await answered(other, "first")
    await say_and_hear(one, "second")
    await answered(other, "second")
    await say_and_hear(other, "third")
    await answered(one, "third")
    assert await shown(one) == await shown(other)
    assert talk.stored(id_of(one)) == turns("first", "second", "third")


async def test_a_reply_that_one_tab_waits_for_is_followed_by_a_tab_that_comes(visit: Visit, talk: Talk) -> None:
    one = await visit.open("#/new")
    asked = talk.model.begun
    async with talk.model.holding():
        await say(one, "a long tale")
        await expect(one.get_by_role("article", name="Assistant")).to_contain_text("I heard:")
        other = await visit.open(f"#/c/{id_of(one)}")
        await expect(other.get_by_role("article", name="Assistant")).to_contain_text("I heard:")
    for page in (one, other):
        await answered(page, "a long tale")
        assert await shown(page) == ["a long tale", reply_to("a long tale")]
    assert talk.stored(id_of(one)) == turns("a long tale")
    assert talk.model.begun == asked + 1


async def test_two_tabs_that_speak_at_once_are_both_heard(visit: Visit, talk: Talk) -> None:
    one = await visit.open("#/new")
    await say_and_hear(one, "first")
    other = await visit.open(f"#/c/{id_of(one)}")
    await answered(other, "first")
    async with talk.model.holding():
        await asyncio.gather(say(one, "from the left"), say(other, "from the right"))
        await eventually(lambda: talk.model.begun > 1, True)
    for page, text in ((one, "from the left"), (other, "from the right")):
        await answered(page, text)
    exported = talk.site.client.get(f"/api/conversations/{id_of(one)}/export", params={"format": "json"}).json()
    said = [one["content"] for one in exported if one["kind"] == "message" and one["role"] == "user"]
    assert sorted(said) == ["first", "from the left", "from the right"]


async def test_a_tab_does_not_take_what_another_one_sends_for_unsent(visit: Visit, talk: Talk) -> None:
    elsewhere = talk.new("Elsewhere", "a quiet place")
    one = await visit.open("#/new")
    unsent = "A message was not sent yet"
    async with talk.model.holding():
        await say(one, "a long tale")
        await expect(one.get_by_role("article", name="Assistant")).to_contain_text("I heard:")
        other = await visit.open(f"#/c/{elsewhere}")
        await expect(other.get_by_text("a quiet place")).to_be_visible()
        await expect(other.get_by_text(unsent)).to_be_hidden()
        await one.close()
        await hide(other)
        await hide(other, is_hidden=False)
        await other.get_by_role("link", name=unsent).click()
        await expect(other.get_by_role("article", name="Assistant")).to_contain_text("I heard:")
    await answered(other, "a long tale")
    await expect(other.get_by_text(unsent)).to_be_hidden()


async def test_a_tab_that_was_hidden_shows_what_it_missed(visit: Visit, talk: Talk) -> None:
    opened = talk.new("Missed", "early")
    page = await visit.open(f"#/c/{opened}")
    await expect(page.get_by_text("early", exact=True)).to_be_visible()
    await hide(page)
    messages = [{"role": "user", "content": "meanwhile"}]
    talk.site.client.post(f"/api/conversations/{opened}/messages", json={"messages": messages})
    talk.new("Made meanwhile", "hello")
    await hide(page, is_hidden=False)
    await expect(page.get_by_text("meanwhile", exact=True)).to_be_visible()
    await expect(page.get_by_role("link", name="Made meanwhile")).to_be_visible()


async def test_what_is_deleted_in_one_tab_goes_from_the_other(visit: Visit, talk: Talk) -> None:
    gone = talk.new("Soon gone", "hello")
    page = await visit.open("#/new")
    await expect(page.get_by_role("link", name="Soon gone")).to_be_visible()
    assert talk.site.client.delete(f"/api/conversations/{gone}").status_code == 204
    await expect(page.get_by_role("link", name="Soon gone")).to_be_hidden()


@pytest.mark.spec("S2.2")
async def test_two_tabs_archive_one_conversation_once(browser: Browser, keeping: Talk) -> None:
    async with visiting(browser, keeping.origin) as visit:
        one = await visit.open("#/new")
        await say_and_hear(one, "first")
        left = id_of(one)
        # The second tab archives what the first one keeps, which does not know of it.
        other = await visit.open(f"#/c/{left}")
        await answered(other, "first")
        await say_and_hear(one, "second")
        await one.close(run_before_unload=True)
        await eventually(lambda: keeping.stored(left), turns("first", "second"))
        await answered(other, "second")
        await say_and_hear(other, "third")
        await other.close(run_before_unload=True)
        await eventually(lambda: keeping.stored(left), turns("first", "second", "third"))
