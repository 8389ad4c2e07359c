"""Edits and other answers are branches: arrows go between them, and nothing of any is lost (S4.6)."""

from __future__ import annotations

import httpx2
import pytest
from playwright.async_api import Locator, Page, expect

from tests.support.browsing import Visit, violations
from tests.support.chat_client import said
from tests.support.http_conversations import add, conversation
from tests.support.server_process import Served

pytestmark = pytest.mark.spec("S4.6")


def branched(client: httpx2.Client, *, length: int = 2) -> str:
    """Return a conversation with two branches of this many messages each after its first message."""
    name = conversation(client, "How do I brew tea?")
    for word in ("Green", "Black"):
        parent = "m1"
        for n in range(1, length + 1):
            role = "assistant" if n % 2 else "user"
            one = {"id": f"{word}{n}", "role": role, "content": f"{word} {n}", "parent_id": parent}
            add(client, name, one)
            parent = one["id"]
    return name


def version(shown: Page, text: str) -> Locator:
    """Return the arrows of the message that says this."""
    said_it = shown.get_by_role("article").filter(has=shown.get_by_text(text, exact=True))
    return said_it.get_by_role("group", name="Versions")


async def test_arrows_show_each_branch_to_its_end_in_both_directions_by_keyboard(talk: Visit, talking: Served) -> None:
    name = branched(talking.client, length=4)
    shown = await talk.open(f"#/c/{name}")
    await expect(version(shown, "Black 1")).to_contain_text("2 / 2")
    await version(shown, "Black 1").get_by_role("button", name="Previous version").focus()
    await shown.keyboard.press("Enter")
    await expect(shown.get_by_text("Green 4", exact=True)).to_be_visible()
    await expect(shown.get_by_text("Black 4", exact=True)).to_have_count(0)
    # The arrow that was pressed is gone with its message; its neighbour can be pressed at once.
    await expect(version(shown, "Green 1").get_by_role("button", name="Next version")).to_be_focused()
    assert await violations(shown) == []
    await shown.keyboard.press("Enter")
    await expect(shown.get_by_text("Black 4", exact=True)).to_be_visible()
    await expect(shown.get_by_text("Green 1", exact=True)).to_have_count(0)
    await shown.reload()
    await expect(shown.get_by_text("Black 4", exact=True)).to_be_visible()


async def test_long_branches_are_gone_between_where_they_part(talk: Visit, talking: Served) -> None:
    name = branched(talking.client, length=70)
    shown = await talk.open(f"#/c/{name}/m/Black1")
    await version(shown, "Black 1").get_by_role("button", name="Previous version").click()
    await expect(version(shown, "Green 1")).to_be_in_viewport()
    await expect(version(shown, "Green 1")).to_contain_text("1 / 2")
    assert talking.client.get(f"/api/conversations/{name}").json()["head_id"] == "Green70"


async def test_an_edit_keeps_what_was_said_before_on_its_own_branch(talk: Visit, talking: Served) -> None:
    name = said(talking.client, "First words")["conversation_id"]
    shown = await talk.open(f"#/c/{name}")
    first = shown.get_by_role("article", name="You").filter(has_text="First words")
    await first.hover()
    await first.get_by_role("button", name="Edit").click()
    await shown.get_by_role("textbox", name="Edit the message").fill("Other words")
    await shown.keyboard.press("Enter")
    await expect(version(shown, "Other words").first).to_contain_text("2 / 2")
    await version(shown, "Other words").first.get_by_role("button", name="Previous version").click()
    await expect(shown.get_by_role("article", name="Assistant").get_by_text("First words")).to_be_visible()


async def test_another_answer_stands_beside_the_first(talk: Visit, talking: Served) -> None:
    name = said(talking.client, "Say it")["conversation_id"]
    shown = await talk.open(f"#/c/{name}")
    await shown.get_by_role("button", name="Answer again").click()
    answer = shown.get_by_role("article", name="Assistant")
    await expect(answer.get_by_role("group", name="Versions")).to_contain_text("2 / 2")
    await answer.get_by_role("button", name="Previous version").click()
    await expect(answer.get_by_role("group", name="Versions")).to_contain_text("1 / 2")


async def test_a_link_to_a_message_of_another_branch_shows_it_and_the_way_back(talk: Visit, talking: Served) -> None:
    name = branched(talking.client, length=4)
    shown = await talk.open(f"#/c/{name}/m/Green2")
    await expect(shown.get_by_text("Green 4", exact=True)).to_be_visible()
    await shown.get_by_role("button", name="Go back").click()
    await expect(shown.get_by_text("Black 4", exact=True)).to_be_visible()
