"""A whole session without a mouse: everything can be reached, the focus is always seen and never lost."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.support.browsing import visiting
from tests.support.talking import Talk, answered, composer, eventually, id_of, reply_to, talking

pytestmark = [pytest.mark.spec("S4.6")]

#: More steps than any page has places to stop at.
MOST_STOPS = 80
#: How long what loses the focus may take to give it to something else.
MOST_FRAMES = 300
#: Say where the focus is, and whether that is to be seen: by a ring around it or around the field that it is in, by the
#: colour of a line in a menu, or by the cursor.
FOCUS = """() => {
    const at = document.activeElement;
    if (!at || at === document.body) return {name: "", isLost: true, isSeen: false};
    const name = at.getAttribute("aria-label") ?? at.innerText?.trim().split("\\n")[0] ?? "";
    const hasRing = one => {
        const style = getComputedStyle(one);
        return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
    };
    const around = [at, at.parentElement, at.parentElement?.parentElement].filter(Boolean);
    return {name, isLost: false, isSeen: around.some(hasRing) || at.matches("textarea, [data-highlighted]")};
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def talk(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Talk]:
    async with talking(tmp_path_factory.mktemp("keyboard")) as opened:
        for title in ("Alpha", "Beta", "Gamma"):
            opened.new(title, f"said in {title}")
        yield opened


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser, talk: Talk) -> AsyncIterator[Page]:
    async with visiting(browser, talk.origin) as visit:
        opened = await visit.open("#/new")
        await expect(opened.get_by_role("link", name="Alpha")).to_be_visible()
        yield opened


async def press(page: Page, *keys: str) -> None:
    """Press keys, and see after each where the focus is."""
    for key in keys:
        await page.keyboard.press(key)
        await seen(page)


async def seen(page: Page) -> None:
    """Wait until the focus is somewhere, and is seen there."""
    at = await page.evaluate(FOCUS)
    for _ in range(MOST_FRAMES):
        if at["isSeen"]:
            return
        await page.evaluate("new Promise(requestAnimationFrame)")
        at = await page.evaluate(FOCUS)
    assert not at["isLost"], "the focus is lost"
    assert at["isSeen"], f"the focus on {at['name']} is not seen"


async def go_to(page: Page, name: str, key: str = "Tab") -> None:
    """Go on until the focus is on what has this name."""
    for _ in range(MOST_STOPS):
        await page.keyboard.press(key)
        at = await page.evaluate(FOCUS)
        if at["name"] == name:
            assert at["isSeen"], f"the focus on {name} is not seen"
            return
        assert at["isLost"] or at["isSeen"], f"the focus on {at['name']} is not seen"
    raise AssertionError(f"{name} cannot be reached by {key}")


async def test_a_conversation_is_held(page: Page, talk: Talk) -> None:
    await expect(composer(page)).to_be_focused()
    await page.keyboard.type("hello")
    await press(page, "Enter")
    await answered(page, "hello")
    async with talk.model.holding():
        await page.keyboard.type("tell me more")
        await press(page, "Enter")
        await expect(page.get_by_role("article", name="Assistant").last).to_contain_text("I heard:")
        await press(page, "Escape")
        await expect(page.get_by_text("Stopped here")).to_be_visible()
    await expect(composer(page)).to_be_focused()
    await go_to(page, "Answer again", "Shift+Tab")
    await press(page, "Enter")
    await answered(page, "tell me more")
    await seen(page)
    await press(page, "Escape")
    await page.keyboard.press("c")
    await expect(composer(page)).to_be_focused()
    await go_to(page, "Edit", "Shift+Tab")
    await press(page, "Enter")
    await expect(page.get_by_role("textbox", name="Edit the message")).to_be_focused()
    await page.keyboard.type(", please")
    await press(page, "Escape")
    await expect(page.get_by_role("textbox", name="Edit the message")).to_be_hidden()
    await page.keyboard.press("c")
    await go_to(page, "Edit", "Shift+Tab")
    await press(page, "Enter")
    await page.keyboard.type(" then")
    await press(page, "Enter")
    await answered(page, "tell me more then")
    await seen(page)
    stored = [text for _, text in talk.stored(id_of(page))]
    assert stored == ["hello", reply_to("hello"), "tell me more then", reply_to("tell me more then")]


async def test_conversations_are_searched_opened_and_gone_through(page: Page) -> None:
    await press(page, "Control+k")
    await page.keyboard.type("said in beta")
    await expect(page.get_by_role("link", name="Alpha")).to_be_hidden()
    await expect(page.get_by_role("link", name="Beta said in Beta")).to_be_visible()
    await press(page, "ArrowDown")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("article").get_by_text("said in Beta")).to_be_visible()
    await press(page, "Control+k", "Escape")
    await expect(page.get_by_role("link", name="Alpha")).to_be_visible()
    await press(page, "Escape", "]")
    await expect(page.get_by_role("article").get_by_text("said in Alpha")).to_be_visible()
    await press(page, "Escape", "[")
    await expect(page.get_by_role("article").get_by_text("said in Beta")).to_be_visible()


async def test_a_conversation_is_renamed_pinned_archived_deleted_and_taken_back(page: Page, talk: Talk) -> None:
    mine = talk.new("Mine", "hello")
    link = page.get_by_role("link", name="Mine")
    await expect(link).to_be_visible()
    await press(page, "Control+k", "ArrowDown", "F2")
    await expect(page.get_by_role("textbox", name="Title")).to_be_focused()
    await page.keyboard.type("Renamed")
    await press(page, "Enter")
    link = page.get_by_role("link", name="Renamed")
    await expect(link).to_be_focused()
    await press(page, "Tab", "Enter")
    await expect(page.get_by_role("menu")).to_be_visible()
    await go_to(page, "Pin", "ArrowDown")
    await press(page, "Enter")
    await expect(page.get_by_role("heading", name="Pinned")).to_be_visible()
    await eventually(lambda: talk.site.client.get(f"/api/conversations/{mine}").json()["is_pinned"], True)
    await seen(page)
    await press(page, "Control+k", "ArrowDown", "Delete")
    await expect(link).to_be_hidden()
    await press(page, "z")
    await expect(link).to_be_visible()
    await press(page, "Control+k", "ArrowDown", "Tab", "Enter")
    await go_to(page, "Archive", "ArrowDown")
    await press(page, "Enter")
    await expect(link).to_be_hidden()
    await seen(page)
    await expect(page.get_by_text("Conversation archived")).to_be_visible()
    await press(page, "z")
    await expect(link).to_be_visible()


async def test_every_page_and_the_map_of_keys_are_a_key_away(page: Page) -> None:
    await press(page, "Escape")
    for key, title in (("m", "Memories"), ("o", "Overview"), (",", "Settings")):
        await press(page, key)
        await expect(page.get_by_role("heading", level=1, name=title)).to_be_visible()
    await press(page, "?")
    keys = page.get_by_role("dialog", name="Keyboard")
    await expect(keys.get_by_text("New conversation")).to_be_visible()
    await press(page, "Tab")
    await expect(keys.get_by_role("button", name="Close")).to_be_focused()
    await press(page, "Escape")
    await expect(keys).to_be_hidden()
    await press(page, "Shift+N")
    await expect(page.get_by_role("heading", level=1, name="Temporary conversation")).to_be_visible()
    await expect(composer(page)).to_be_focused()
    await press(page, "Escape", "n")
    await expect(page.get_by_role("heading", level=1, name="New conversation")).to_be_visible()
    await expect(composer(page)).to_be_focused()


async def test_the_first_stop_leads_past_the_list(page: Page) -> None:
    await page.reload()
    await expect(composer(page)).to_be_visible()
    await page.evaluate("document.activeElement.blur()")
    await page.evaluate("window.getSelection().setPosition(document.body, 0)")
    await go_to(page, "Skip to the conversation")
    await press(page, "Enter")
    await expect(page.get_by_role("main")).to_be_focused()
