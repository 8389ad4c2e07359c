"""Going to a message from elsewhere: it is shown among its neighbours, its quote marked, the end a step away (S4.6)."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

import pytest
from playwright.async_api import Browser, Page, expect

from tests.support.browsing import Visit, violations, visiting
from tests.support.chat_client import unique
from tests.support.http_conversations import add, conversation
from tests.support.server_process import Served

pytestmark = pytest.mark.spec("S4.6")

MARKED = "[...(CSS.highlights.get('quote') ?? [])].map(range => range.toString())"

#: Keep at one end of what is read until a message that says this has come.
SCROLL_TO = """async ([end, text]) => {
  const box = document.querySelector("section[aria-label=Messages]");
  while (![...box.querySelectorAll("[data-said]")].some(one => one.textContent.trim() === text)) {
    box.scrollTop = end;
    await new Promise(requestAnimationFrame);
  }
}"""


def long_talk(site: Served, *, at: int, text: str, count: int = 300) -> str:
    """Return a conversation of so many messages, one of which says this."""
    name = conversation(site.client, title="Long")
    texts = [text if n == at else f"Message number {n}" for n in range(1, count + 1)]
    roles = ("assistant", "user")
    add(site.client, name, *({"id": f"m{n}", "role": roles[n % 2], "content": one} for n, one in enumerate(texts, 1)))
    return name


async def marked(shown: Page, *texts: str) -> None:
    """Wait until these texts are marked."""
    await shown.wait_for_function(f"texts => JSON.stringify({MARKED}) === JSON.stringify(texts)", arg=list(texts))


async def test_a_link_to_a_message_far_above_shows_it_with_its_quote_marked(talk: Visit, talking: Served) -> None:
    name = long_talk(talking, at=41, text="We moved to **Bergen** in May, with the cat.")
    shown = await talk.open(f"#/c/{name}/m/m41?quote={quote('moved to **Bergen** in May')}")
    message = shown.get_by_role("article").filter(has_text="Bergen")
    await expect(message).to_be_in_viewport()
    await marked(shown, "moved to **Bergen** in May")
    await expect(shown.get_by_text(re.compile("^Message of .* Marked: moved to"))).to_be_attached()
    for n in (40, 42):
        await expect(shown.get_by_text(f"Message number {n}", exact=True)).to_be_in_viewport()
    assert await shown.evaluate("document.activeElement.textContent.includes('Bergen')")
    await shown.reload()
    await expect(message).to_be_in_viewport()


async def test_from_there_one_reads_on_to_both_ends_and_comes_back_to_the_newest(talk: Visit, talking: Served) -> None:
    name = long_talk(talking, at=150, text="The middle")
    shown = await talk.open(f"#/c/{name}/m/m150")
    await expect(shown.get_by_text("The middle", exact=True)).to_be_in_viewport()
    await shown.evaluate(SCROLL_TO, [0, "Message number 1"])
    await shown.get_by_role("button", name="Back to the newest").click()
    await expect(shown.get_by_text("Message number 300", exact=True)).to_be_in_viewport()
    await expect(shown).to_have_url(re.compile(f"#/c/{name}$"))
    await shown.goto(f"{talk.origin}/#/c/{name}/m/m150")
    await expect(shown.get_by_role("button", name="Back to the newest")).to_be_visible()
    await shown.evaluate(SCROLL_TO, [1e9, "Message number 300"])
    await expect(shown.get_by_role("button", name="Back to the newest")).to_have_count(0)


async def test_what_is_said_far_above_is_said_and_shown_at_the_end(talk: Visit, talking: Served) -> None:
    name = long_talk(talking, at=20, text="Long ago")
    shown = await talk.open(f"#/c/{name}/m/m20")
    await expect(shown.get_by_text("Long ago", exact=True)).to_be_in_viewport()
    await shown.get_by_role("textbox", name="Message").fill("Now")
    await shown.keyboard.press("Enter")
    await expect(shown.get_by_role("article", name="You").get_by_text("Now", exact=True)).to_be_in_viewport()
    await expect(shown.get_by_text("Message number 300", exact=True)).to_be_attached()


async def test_a_search_leads_to_the_message_that_was_found(talk: Visit, talking: Served) -> None:
    word = unique("heron")
    name = long_talk(talking, at=33, text=f"I saw a {word} at the lake.")
    shown = await talk.open("#/new")
    await shown.get_by_role("searchbox", name="Search conversations").fill(word)
    await shown.get_by_role("link", name=re.compile(word)).click()
    await expect(shown).to_have_url(re.compile(f"#/c/{name}/m/m33"))
    await expect(shown.get_by_role("article").filter(has_text=word)).to_be_in_viewport()
    await marked(shown, word)


async def test_a_message_that_is_gone_is_told_of_and_the_newest_are_shown(talk: Visit, talking: Served) -> None:
    name = long_talk(talking, at=1, text="First", count=60)
    shown = await talk.open(f"#/c/{name}/m/nowhere")
    await expect(shown.get_by_text("That message is no longer there")).to_be_visible()
    await expect(shown.get_by_text("Message number 60", exact=True)).to_be_in_viewport()


@pytest.mark.parametrize(("scheme", "is_phone"), [("dark", False), ("light", True)])
async def test_a_message_that_was_gone_to_has_no_barrier(
    browser: Browser, talking: Served, scheme: Any, is_phone: bool
) -> None:
    name = long_talk(talking, at=90, text="Here it is")
    async with visiting(browser, f"http://127.0.0.1:{talking.port}", scheme=scheme, is_phone=is_phone) as visit:
        shown = await visit.open(f"#/c/{name}/m/m90?quote=it")
        await expect(shown.get_by_text("Here it is", exact=True)).to_be_in_viewport()
        assert await violations(shown) == []
