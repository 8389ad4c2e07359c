"""What the model saw for a turn: each block with its tokens and why, and what was left out (S4.6)."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.support.browsing import Visit, violations, visiting
from tests.support.chat_client import said, unique
from tests.support.http_conversations import add, conversation
from tests.support.server_process import Served

pytestmark = pytest.mark.spec("S4.6")


def informed_turn(talking: Served) -> tuple[str, str, dict[str, Any]]:
    """Return a conversation whose last reply was told a memory, a word of that memory, and the memory."""
    town = unique("Town")
    made = {"content": f"The user lives in {town}.", "memory_type": "fact"}
    memory: dict[str, Any] = talking.client.post("/api/memories", json=made).json()
    name: str = said(talking.client, "Good morning")["conversation_id"]
    said(talking.client, f"Is it far to {town}?", conversation_id=name)
    return name, town, memory


async def inspected(shown: Page) -> Locator:
    """Ask what the model saw for the newest reply, and return the panel."""
    await shown.get_by_role("button", name="What the model saw").last.click()
    panel = shown.get_by_role("region", name="What the model saw")
    await expect(panel.get_by_text(re.compile(r"of 8,000 tokens"))).to_be_visible()
    return panel


def block(panel: Locator, name: str) -> Locator:
    return panel.get_by_role("group").filter(has_text=re.compile(f"^{name}"))


async def test_a_reply_tells_what_the_model_saw_block_by_block(talk: Visit, talking: Served) -> None:
    name, town, memory = informed_turn(talking)
    shown = await talk.open(f"#/c/{name}")
    panel = await inspected(shown)
    await expect(panel.get_by_role("img", name=re.compile("Tokens: System prompt .*Your message"))).to_be_visible()
    recalled = block(panel, "Recalled memories")
    await expect(recalled).to_contain_text(f"The user lives in {town}.")
    await expect(recalled).to_contain_text(re.compile(r"\d+ tokens · \w+"))
    await expect(block(panel, "Your message")).to_contain_text(f"Is it far to {town}?")
    await panel.get_by_text("Newest messages").click()
    await expect(block(panel, "Newest messages")).to_contain_text("Good morning")
    await expect(panel.get_by_role("region", name="Left out")).to_contain_text("Nothing: all that was at hand")
    await panel.get_by_role("link", name="Open the memory").first.click()
    await expect(shown).to_have_url(re.compile(f"#/memories/{memory['id']}"))


async def test_what_was_changed_or_erased_since_is_told_as_it_was_or_as_gone(talk: Visit, talking: Served) -> None:
    name, town, memory = informed_turn(talking)
    path = f"/api/memories/{memory['id']}"
    talking.client.patch(path, json={"content": f"The user left {town}."}).raise_for_status()
    shown = await talk.open(f"#/c/{name}")
    recalled = block(await inspected(shown), "Recalled memories")
    await expect(recalled).to_contain_text(f"The user lives in {town}.")
    talking.client.delete(path, params={"now": True}).raise_for_status()
    await shown.reload()
    await expect(block(await inspected(shown), "Recalled memories")).to_contain_text("Erased since")


async def test_what_was_left_out_is_told_with_the_reason(talk: Visit, talking: Served) -> None:
    name = conversation(talking.client, *("A long story. " * 300 for _ in range(9)))
    said(talking.client, "And then?", conversation_id=name)
    shown = await talk.open(f"#/c/{name}")
    left = (await inspected(shown)).get_by_role("region", name="Left out")
    await expect(left).to_contain_text("Newest messages")
    await expect(left).to_contain_text(re.compile("no room", re.IGNORECASE))
    await left.get_by_role("link", name="Open newest messages 1", exact=True).click()
    await expect(shown).to_have_url(re.compile(f"#/c/{name}/m/"))


async def test_the_panel_is_closed_by_escape_and_gives_the_focus_back(talk: Visit, talking: Served) -> None:
    name, _, _ = informed_turn(talking)
    shown = await talk.open(f"#/c/{name}")
    button = shown.get_by_role("button", name="What the model saw").last
    await button.focus()
    await shown.keyboard.press("Enter")
    panel = shown.get_by_role("region", name="What the model saw")
    await expect(panel.get_by_role("heading", name="What the model saw")).to_be_focused()
    await shown.keyboard.press("Escape")
    await expect(panel).to_have_count(0)
    await expect(button).to_be_focused()


async def test_the_prompt_can_be_copied_whole(talk: Visit, talking: Served) -> None:
    name, town, _ = informed_turn(talking)
    await talk.context.grant_permissions(["clipboard-read", "clipboard-write"])
    shown = await talk.open(f"#/c/{name}")
    panel = await inspected(shown)
    await panel.get_by_role("button", name="Copy prompt").click()
    await expect(panel.get_by_role("button", name="Copied")).to_be_visible()
    copied = await shown.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("## system")
    assert all(words in copied for words in ("## user", f"The user lives in {town}.", f"Is it far to {town}?"))


async def test_what_is_being_written_shows_what_the_model_would_see(talk: Visit, talking: Served) -> None:
    name, town, _ = informed_turn(talking)
    shown = await talk.open(f"#/c/{name}")
    await shown.get_by_role("textbox", name="Message").fill(f"Does it rain in {town}?")
    await shown.get_by_role("button", name="What the model would see").click()
    panel = shown.get_by_role("region", name="What the model would see")
    await expect(block(panel, "Your message")).to_contain_text(f"Does it rain in {town}?")
    await expect(block(panel, "Recalled memories")).to_contain_text(f"The user lives in {town}.")
    assert talking.client.get(f"/api/conversations/{name}").json()["message_count"] == 4


async def test_a_reply_without_a_record_says_why(talk: Visit, talking: Served) -> None:
    name = conversation(talking.client)
    add(talking.client, name, {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"})
    shown = await talk.open(f"#/c/{name}")
    await shown.get_by_role("button", name="What the model saw").click()
    panel = shown.get_by_role("region", name="What the model saw")
    await expect(panel.get_by_role("heading", name="There is no record")).to_be_visible()
    assert await violations(shown) == []


@pytest.mark.parametrize(("scheme", "is_phone"), [("light", False), ("dark", False), ("light", True)])
async def test_the_panel_has_no_barrier(browser: Browser, talking: Served, scheme: Any, is_phone: bool) -> None:
    name, _, _ = informed_turn(talking)
    async with visiting(browser, f"http://127.0.0.1:{talking.port}", scheme=scheme, is_phone=is_phone) as visit:
        shown = await visit.open(f"#/c/{name}")
        await shown.get_by_role("button", name="What the model saw").last.click()
        panel = shown.get_by_role("dialog" if is_phone else "region", name="What the model saw")
        await expect(panel.get_by_text("Recalled memories")).to_be_visible()
        assert await violations(shown) == []
        await panel.get_by_role("button", name="Close").click()
        await expect(panel).to_have_count(0)
