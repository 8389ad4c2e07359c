"""The memory page as a person meets it: what is remembered before they come, and where they find it."""

from __future__ import annotations

import uuid
from typing import Any

from playwright.async_api import Locator, Page

from tests.support.server_process import Served

MEMORIES = "#/memories"


def add(site: Served, content: str, memory_type: str = "fact", category: str | None = None, **more: Any) -> str:
    """Add a memory and return its id."""
    sent = {"content": content, "memory_type": memory_type, "category": category, **more}
    answer = site.client.post("/api/memories", json=sent)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def stored(site: Served, memory_id: str) -> dict[str, Any]:
    """Return a memory as the server has it; nothing if it is not there."""
    answer = site.client.get(f"/api/memories/{memory_id}")
    return answer.json() if answer.status_code == 200 else {}


def say(site: Served, *texts: str, to: str | None = None, is_learned: bool = True, **more: Any) -> str:
    """Say something in a conversation, have it learned from, and return the id of the conversation."""
    # What was erased cannot be made again by its id.
    to = to or str(uuid.uuid4())
    site.client.post("/api/conversations", json={"id": to, "title": "A conversation"})
    messages = [{"role": "user", "content": text, **more} for text in texts]
    answer = site.client.post(f"/api/conversations/{to}/messages", json={"messages": messages})
    assert answer.is_success, answer.text
    if is_learned:
        learned = site.client.post("/api/memories/extract?wait=true", json={"conversation_id": to})
        assert learned.status_code == 200, learned.text
    return to


def row(page: Page, content: str) -> Locator:
    """Return the row of a memory in the list."""
    return page.get_by_role("list", name="Memories").get_by_role("link", name=content)


def notice(page: Page, text: str) -> Locator:
    """Return what the user is told in passing."""
    return page.get_by_role("region", name="Notices").get_by_text(text)


async def undo(page: Page) -> None:
    """Take back what was told last."""
    await page.get_by_role("region", name="Notices").get_by_role("button", name="Undo").last.click()
