"""What decides how a conversation is kept short; anyone can register one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Protocol

import msgspec

from recollect.domain.checks import check_flag, check_id, check_object, check_text
from recollect.domain.job import NewJob
from recollect.domain.message import Message
from recollect.domain.scope import Scope
from recollect.domain.window import Window
from recollect.ports.clock import Clock
from recollect.ports.store import Store
from recollect.settings import HistorySettings

MAX_KIND = 100


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """Background work that a strategy wants done for a conversation; of one kind only one waits at a time."""

    kind: str
    payload: Mapping[str, Any] = {}
    #: Whether it does not wait for more messages; then it waits beside work of its kind that does.
    urgent: bool = False

    def __post_init__(self) -> None:
        check_flag(self.urgent, "urgent")
        check_id(self.kind, "kind of work")
        check_text(self.kind, "kind of work", at_most=MAX_KIND)
        check_object(self.payload, "payload")

    def job(self, conversation_id: str, job_id: str, at: datetime) -> NewJob:
        """Return the job that does this for a conversation."""
        return NewJob(
            id=job_id,
            kind=self.kind,
            run_at=at,
            conversation_id=conversation_id,
            key=f"{self.kind}:{'now:' if self.urgent else ''}{conversation_id}",
            payload=self.payload,
        )


class Strategy(Protocol):
    """Keep the prompt of a conversation short.

    It is told of every message that is added and chooses what stands in the prompt word for word.
    The summaries of the window stand in the prompt as well, so what they cover need not.
    A strategy that fails never loses a message: the messages are durable before it is told.
    """

    def work(self, window: Window, added: int) -> tuple[Work, ...]:
        """Name the work that so many more messages make necessary; it is queued in the transaction that adds them."""

    async def post_add_messages_hook(self, scope: Scope, conversation_id: str, added: int, total: int) -> None:
        """React to messages that were added, `total` being how many there are now.

        What it raises is logged, and fails the call that added them only if the settings say so.
        """

    def shown(self, window: Window) -> tuple[Message, ...]:
        """Choose the messages that stand in the prompt word for word, oldest first."""


class Compacted(msgspec.Struct, frozen=True, kw_only=True):
    """What was done to keep a conversation short."""

    #: Summaries of messages that were written.
    summaries: int = 0
    #: Summaries of summaries that were written.
    folds: int = 0
    #: Whether there is more to do than was done in one call.
    more: bool = False
    #: Whether the rest waits until memories are learned from it.
    waits: bool = False


class Compaction(Protocol):
    """Summarise and fold what is due in a conversation."""

    async def compact(self, scope: Scope, conversation_id: str) -> Compacted:
        """Write the summaries that are due, a bounded number of them.

        Each is one transaction, so that whatever fails leaves every message verbatim or covered once.
        Raise `ConversationNotFoundError` if there is no such conversation, `ProviderError` if nobody could write a
        summary, `ConflictError` if others kept writing summaries of the same messages.
        """


class StrategyParts(msgspec.Struct, frozen=True, kw_only=True):
    """What a strategy may use; a factory of strategies gets it."""

    store: Store
    compaction: Compaction
    settings: HistorySettings
    clock: Clock
    new_id: Callable[[], str]
    #: How many of the newest messages a window holds at least, if there are so many.
    window_size: int


StrategyFactory = Callable[[StrategyParts], Strategy]
