"""What goes with every message: the work it makes necessary, in its transaction, and the strategy after it.

One place for chat, plain adding and archiving.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

import msgspec

from recollect.domain.checks import check_items
from recollect.domain.job import NewJob
from recollect.domain.message import Message, NewMessage
from recollect.domain.scope import Scope
from recollect.domain.turn import Append, Appended, Mode
from recollect.domain.vector import MessageVector
from recollect.domain.window import Window
from recollect.errors import ConversationNotFoundError, RecollectError, StrategyError
from recollect.ports.clock import Clock
from recollect.ports.store import Store
from recollect.ports.strategy import Strategy, Work

if TYPE_CHECKING:
    from recollect.service.embedding import Embedding

#: The kind of the job that looks after a user's conversations once they are idle.
TIDY = "tidy"
#: The kind of the job that finds a better title.
TITLE = "title"
#: The kind of the job that learns from a conversation.
EXTRACT = "extract"

_log = logging.getLogger(__name__)
T = TypeVar("T")


def no_wake(at: datetime) -> None:
    """Wake nobody: workers find their jobs by themselves."""


class KeeperOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How conversations are looked after."""

    #: A conversation is looked at after this time without activity.
    idle: timedelta = timedelta(hours=24)
    #: How long work about a conversation waits for more messages; ten times this at the very most.
    debounce: timedelta = timedelta(0)
    #: Whether a model can find better titles.
    titles: bool = False
    #: Whether memories are learned from what is said.
    extract: bool = False
    #: Whether a strategy that fails makes the call fail that added the messages.
    propagate_errors: bool = False
    #: Tell a worker of this process that there is work from this time on.
    wake: Callable[[datetime], None] = no_wake


class Keeper:
    """Know what a conversation needs when messages are added to it."""

    def __init__(
        self,
        store: Store,
        strategy: Strategy,
        *,
        clock: Clock,
        new_id: Callable[[], str],
        options: KeeperOptions,
        embedding: Embedding | None = None,
    ) -> None:
        self._store = store
        self._strategy = strategy
        self._embedding = embedding
        self._clock = clock
        self._new_id = new_id
        self._options = options

    async def require_window(self, scope: Scope, conversation_id: str) -> Window:
        """Return the window, or raise `ConversationNotFoundError`."""
        return await self._store.get_window(scope, conversation_id)

    async def window(self, scope: Scope, conversation_id: str) -> Window | None:
        """Return the window, or None if there is no such conversation yet."""
        try:
            return await self._store.get_window(scope, conversation_id)
        except ConversationNotFoundError:
            return None

    def shown(self, window: Window | None) -> tuple[Message, ...]:
        """Return the messages that stand in the prompt word for word."""
        if window is None:
            return ()
        return self._asked(lambda: self._strategy.shown(window), window.uncovered, window)

    async def append(
        self,
        window: Window | None,
        conversation_id: str,
        messages: tuple[NewMessage, ...],
        *,
        create: bool = True,
        mode: Mode = "chat",
    ) -> Append:
        """Return what stores these messages with their vectors and the work that they make necessary."""
        check_items(messages, NewMessage, "messages", at_least=1)
        jobs = self.jobs(window, conversation_id, len(messages), mode)
        vectors: tuple[MessageVector, ...] = ()
        if self._embedding is not None:
            vectors = await self._embedding.of_messages(messages)
            embed = self._embedding.job(messages, vectors)
            jobs += () if embed is None else (embed,)
        return Append(
            conversation_id=conversation_id,
            messages=messages,
            at=self._clock(),
            jobs=jobs,
            create=create,
            vectors=vectors,
        )

    def jobs(self, window: Window | None, conversation_id: str, added: int, mode: Mode = "chat") -> tuple[NewJob, ...]:
        """Return the jobs to store with so many messages."""
        jobs = []
        if window is None or not window.conversation.is_active:
            jobs.append(self.tidy_job())
        if self._options.titles and (window is None or not window.conversation.message_count):
            jobs.append(self._job(Work(kind=TITLE), conversation_id))
        if self._options.extract:
            jobs.append(self._job(Work(kind=EXTRACT, payload={"mode": mode}), conversation_id))
        if window is not None:
            none: tuple[Work, ...] = ()
            works = self._asked(lambda: self._strategy.work(window, added), none, window)
            jobs += [self._job(work, conversation_id) for work in works]
        return tuple(jobs)

    def _asked(self, ask: Callable[[], T], otherwise: T, window: Window) -> T:
        """Return what the strategy says, or something else if it fails, for no message may depend on it."""
        try:
            return ask()
        except Exception as exc:  # noqa: BLE001  # a strategy may be anyone's code
            _log.warning("the strategy failed for %s: %s", window.conversation.id, type(exc).__name__)
            return otherwise

    def _job(self, work: Work, conversation_id: str) -> NewJob:
        """Return the job that does this once nothing was added for a moment."""
        wait = timedelta(0) if work.urgent else self._options.debounce
        if not self._options.debounce:
            # Nothing waits for more messages, so nothing needs to overtake it.
            work = msgspec.structs.replace(work, urgent=False)
        job = work.job(conversation_id, self._new_id(), self._clock() + wait)
        return msgspec.structs.replace(job, max_delay=10 * wait)

    def tidy_job(self) -> NewJob:
        """Return the job that looks at the user's conversations when the first may be idle."""
        run_at = self._clock() + self._options.idle
        return NewJob(id=self._new_id(), kind=TIDY, key=TIDY, run_at=run_at, max_delay=self._options.idle)

    async def added(
        self, scope: Scope, before: Window | None, appended: Appended, jobs: tuple[NewJob, ...] = ()
    ) -> None:
        """Tell the strategy of messages that are stored with these jobs; what it fails with never loses them."""
        if not appended.messages:
            return
        after = appended.conversation
        alone = before is not None and after.revision == before.conversation.revision + 1
        await self.look_again(scope, after.id, len(appended.messages), after.message_count, queued=alone)
        self._wake(jobs)

    async def look_again(
        self, scope: Scope, conversation_id: str, added: int, total: int, *, queued: bool = False
    ) -> None:
        """Tell the strategy that there is something new, and queue its work unless that was done with the messages.

        Two who add at the same time may each see too few messages to name any work.
        """
        try:
            if not queued:
                await self._queue(scope, conversation_id)
            await self._strategy.post_add_messages_hook(scope, conversation_id, added, total)
        except Exception as exc:  # a strategy may be anyone's code
            code = exc.code if isinstance(exc, RecollectError) else type(exc).__name__
            _log.warning("the strategy failed after %d messages were added to %s: %s", added, conversation_id, code)
            if self._options.propagate_errors:
                raise StrategyError(f"the messages are stored, but the strategy failed: {code}") from exc

    async def _queue(self, scope: Scope, conversation_id: str) -> None:
        window = await self._store.get_window(scope, conversation_id)
        jobs = tuple(self._job(work, conversation_id) for work in self._strategy.work(window, 0))
        for job in jobs:
            await self._store.enqueue_job(scope, job, self._clock())
        self._wake(jobs)

    def _wake(self, jobs: tuple[NewJob, ...]) -> None:
        """Tell the worker of this process when to look; one that was told nothing takes no transaction."""
        for job in jobs:
            self._options.wake(job.run_at)
