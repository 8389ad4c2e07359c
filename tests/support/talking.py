"""What people do with the app in browser tests: they say something, wait for the reply, and come back later."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from playwright.async_api import Locator, Page, expect

from tests.support.gated_model import BEGINNING, LONGEST, GatedModel
from tests.support.played_model import ALONE
from tests.support.server_process import Served, served

PATIENCE_SECONDS = 30
_PAUSE = 0.02


class Talk:
    """A server whose model waits for the test, and that can be killed and started again on its port."""

    def __init__(self, folder: Path, model: GatedModel, environ: Mapping[str, str]) -> None:
        self.model = model
        self.database = folder / "recollect.db"
        self._folder = folder
        self._environ = {**ALONE, "RECOLLECT_MODEL_URL": model.url, **environ}
        self._running = ExitStack()
        self.site = self.start(None)

    @property
    def origin(self) -> str:
        """Give the address of the app."""
        return f"http://127.0.0.1:{self.site.port}"

    def start(self, port: int | None) -> Served:
        """Start the server, on the port that it had."""
        opened = served(f"sqlite:///{self.database}", self._folder, self._environ, port=port)
        self.site = self._running.enter_context(opened)
        return self.site

    def kill(self) -> None:
        """Kill the server as a crash would."""
        self.site.process.kill()
        self._running.close()

    def end(self) -> None:
        """End the server."""
        self._running.close()

    def stored(self, conversation_id: str) -> list[tuple[str, str]]:
        """Return who said what, as the server has it; nothing if there is no such conversation."""
        answer = self.site.client.get(f"/api/conversations/{conversation_id}/messages", params={"limit": 200})
        if answer.status_code == 404:
            return []
        assert answer.status_code == 200, answer.text
        return [(one["role"], one["content"]) for one in answer.json()["items"]]

    def new(self, title: str, *said: str) -> str:
        """Make a conversation in which this was said."""
        made = self.site.client.post("/api/conversations", json={"title": title})
        assert made.status_code == 201, made.text
        conversation_id: str = made.json()["id"]
        if said:
            messages = [{"role": "user", "content": text} for text in said]
            answer = self.site.client.post(
                f"/api/conversations/{conversation_id}/messages", json={"messages": messages}
            )
            assert answer.status_code == 201, answer.text
        return conversation_id


@asynccontextmanager
async def talking(folder: Path, environ: Mapping[str, str] | None = None) -> AsyncIterator[Talk]:
    """Give a server with a model that waits for the test."""
    async with GatedModel() as model:
        talk = Talk(folder, model, environ or {})
        try:
            yield talk
        finally:
            talk.end()


def composer(page: Page) -> Locator:
    """Find where messages are written."""
    return page.get_by_role("textbox", name="Message", exact=True)


async def say(page: Page, text: str) -> None:
    """Send a message."""
    await composer(page).fill(text)
    await composer(page).press("Enter")


async def answered(page: Page, text: str) -> None:
    """Wait until the reply to a message is complete."""
    await expect(page.get_by_role("article", name="Assistant").get_by_text(reply_to(text))).to_be_visible()
    await expect(page.get_by_role("button", name="Stop")).to_be_hidden()


async def say_and_hear(page: Page, *texts: str) -> None:
    """Send messages, each after the reply to the one before."""
    for text in texts:
        await say(page, text)
        await answered(page, text)


def reply_to(text: str) -> str:
    """Return what the model answers."""
    return BEGINNING + text[:LONGEST]


def turns(*texts: str) -> list[tuple[str, str]]:
    """Return what is stored once these were said and answered."""
    return [one for text in texts for one in (("user", text), ("assistant", reply_to(text)))]


def id_of(page: Page) -> str:
    """Return the id of the conversation that a page shows."""
    _, found, rest = page.url.partition("#/c/")
    assert found, page.url
    return rest.partition("/")[0]


async def shown(page: Page) -> list[str]:
    """Return the messages that a page shows, from top to bottom."""
    articles = page.get_by_role("article")
    texts = await articles.evaluate_all(
        """all => all
            .sort((one, other) => one.getBoundingClientRect().top - other.getBoundingClientRect().top)
            .map(one => one.innerText.trim().split("\\n")[0])"""
    )
    return list(texts)


async def eventually(found: Callable[[], Any], expected: Any) -> None:
    """Wait until something on the server is as expected; what a page shows is waited for by `expect`."""
    for _ in range(int(PATIENCE_SECONDS / _PAUSE)):
        if found() == expected:
            return
        await asyncio.sleep(_PAUSE)
    assert found() == expected


async def hide(page: Page, *, is_hidden: bool = True) -> None:
    """Have a page believe that it is hidden, as when another tab is looked at; headless pages are always seen."""
    await page.evaluate(
        """state => {
            Object.defineProperty(document, "visibilityState", {value: state, configurable: true});
            document.dispatchEvent(new Event("visibilitychange"));
        }""",
        "hidden" if is_hidden else "visible",
    )
