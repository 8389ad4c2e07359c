"""Parts of the service that fail when told, and a look at what was logged."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from recollect.domain.message import Message
from recollect.domain.scope import Scope
from recollect.domain.window import Window
from recollect.ports.chat_model import TextDelta
from recollect.ports.responder import Hear, Question, Reply
from recollect.ports.store import Store
from recollect.ports.strategy import Strategy, Work


class FaultyStore:
    """A store some methods of which fail."""

    def __init__(self, store: Store, failing: dict[str, Exception]) -> None:
        self._store = store
        self._failing = failing

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name not in self._failing:
            return found

        async def fails(*_given: Any, **_more: Any) -> None:
            raise self._failing[name].with_traceback(None)

        return fails


def failing_store(store: Store, failing: dict[str, Exception]) -> Store:
    """Return the store with methods that fail as long as they are named."""
    return cast("Store", FaultyStore(store, failing))


class FaultyStrategy:
    """A strategy some methods of which fail."""

    def __init__(self, strategy: Strategy, failing: dict[str, Exception]) -> None:
        self._strategy = strategy
        self._failing = failing

    def work(self, window: Window, added: int) -> tuple[Work, ...]:
        self._fail("work")
        return self._strategy.work(window, added)

    async def post_add_messages_hook(self, scope: Scope, conversation_id: str, added: int, total: int) -> None:
        self._fail("hook")
        await self._strategy.post_add_messages_hook(scope, conversation_id, added, total)

    def shown(self, window: Window) -> tuple[Message, ...]:
        self._fail("shown")
        return self._strategy.shown(window)

    def _fail(self, what: str) -> None:
        if what in self._failing:
            raise self._failing[what].with_traceback(None)


class FaultyResponder:
    """Raise what it is given, or say it, whatever it is."""

    name = "faulty"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def reply(self, question: Question, hear: Hear) -> Reply:
        if isinstance(self.answer, Exception):
            raise self.answer.with_traceback(None)
        hear(TextDelta(self.answer))
        return Reply()


class _Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.WARNING:
            self.lines.append(record.getMessage())


@contextmanager
def warnings_logged() -> Iterator[list[str]]:
    """Collect the warnings and errors that the package logs."""
    handler = _Kept()
    logger = logging.getLogger("recollect")
    logger.addHandler(handler)
    try:
        yield handler.lines
    finally:
        logger.removeHandler(handler)
