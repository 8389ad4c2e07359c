"""Gather what a model is given for a turn, and pack it under the budget.

Memory that fails in any way leaves chat working: what cannot be had is left out, and said in the log.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec

from recollect.domain.checks import check_count, check_text
from recollect.domain.context import Context, ContextParts, MemoryFormat, Recalled, recent
from recollect.domain.memory import Memory
from recollect.domain.message import Message
from recollect.domain.note import Note
from recollect.domain.packing import build
from recollect.domain.preferences import Preferences
from recollect.domain.recalling import RecallRequest
from recollect.domain.scope import Scope
from recollect.domain.secrets import redacted
from recollect.domain.window import Window
from recollect.errors import RecollectError
from recollect.ports.store import Store
from recollect.service.keeping import Keeper
from recollect.service.retelling import memories_told, retell

if TYPE_CHECKING:
    from recollect.service.recall import Recall

T = TypeVar("T")
_log = logging.getLogger(__name__)


class ContextOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a prompt is made of."""

    system: str = ""
    format: MemoryFormat = "s4"
    #: Tokens of the whole prompt.
    budget: int = 8_000
    #: Memories recalled for a question.
    memories: int = 5
    #: Earlier messages recalled for a question.
    passages: int = 5
    #: Memories given when there is no question.
    recent: int = 10


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt, and what it was made of."""

    context: Context
    #: What it was made of.
    parts: ContextParts
    #: Whether anything may be remembered in this turn, and so whether tools for that are offered.
    remembers: bool = True

    @property
    def recalled(self) -> tuple[Recalled, ...]:
        """Return what was recalled for the question, best first."""
        return self.parts.recalled

    @property
    def memories(self) -> tuple[Recalled, ...]:
        """Return the memories that stand in the prompt, pinned ones first, each with why it is there."""
        told = set(self.context.memory_ids)
        pinned = tuple(Recalled(memory=one, why="pinned") for one in self.parts.pinned)
        return tuple(one for one in (*pinned, *self.recalled) if one.memory is not None and one.memory.id in told)


class Telling(msgspec.Struct, frozen=True, kw_only=True):
    """What a model is to be told besides what is stored."""

    #: What the user says now; empty if the prompt ends with something else, or for a preview.
    message: str = ""
    #: What to recall for; None is the message.
    question: str | None = None
    #: What the application says of the moment, told as data.
    given: str = ""
    #: What the application tells the model in this turn, besides the settings.
    instructions: str = ""
    #: Whether memories, notes and earlier conversations are told.
    remembers: bool = True
    #: Ids of messages that are not recalled: the question itself, and what this turn leaves for a branch of its own.
    without: frozenset[str] = frozenset()
    #: Tokens of the whole prompt; None is what the settings say.
    budget: int | None = None


class Contexts:
    """Make prompts; `recall` is None where memory is switched off."""

    def __init__(self, store: Store, keeper: Keeper, recall: Recall | None, options: ContextOptions) -> None:
        self._store = store
        self._keeper = keeper
        self._recall = recall
        self._options = options

    async def preview(
        self, scope: Scope, conversation_id: str, *, query: str = "", budget: int | None = None
    ) -> Context:
        """Return what a model would be given for this question, or for none, in a conversation."""
        check_text(query, "query")
        if budget is not None:
            check_count(budget, "budget")
        window = await self._keeper.require_window(scope, conversation_id)
        told = await self.tell(scope, window, self._keeper.shown(window), Telling(message=query, budget=budget))
        return told.context

    async def told(self, scope: Scope, conversation_id: str, message_id: str) -> Context:
        """Return what the model was told for the turn of this message, each thing as it was then.

        Raise `MessageNotFoundError` if it is not there, `ContextNotFoundError` if it is not known what was told.
        """
        return await retell(self._store, scope, conversation_id, message_id, self._options.system)

    async def memories_told(
        self, scope: Scope, conversation_id: str, messages: Sequence[Message]
    ) -> Mapping[str, tuple[Recalled, ...]]:
        """Return, by the ids of replies among these messages, the memories that the model was told for them.

        Those that were deleted since or may no longer be told are left out; the others are as they are now.
        It takes two reads, however many messages there are.
        """
        return await memories_told(self._store, scope, conversation_id, messages)

    async def tell(self, scope: Scope, window: Window | None, shown: Sequence[Message], telling: Telling) -> Told:
        """Return the prompt for what the user says now, with what the user set obeyed."""
        wanted = await self._wanted(scope)
        recall = self._recall if telling.remembers and wanted.memory_enabled else None
        pinned: tuple[Memory, ...] = ()
        recalled: tuple[Recalled, ...] = ()
        note: Note | None = None
        if recall is not None:
            question = telling.message if telling.question is None else telling.question
            pinned = tuple(map(_without_secrets, await _or_none(recall.pinned(scope)) or ()))
            told = telling.without | {one.id for one in pinned} | {one.id for one in shown}
            recalled = await self._recalled(scope, recall, told, question)
            note = await _or_none(self._store.get_note(scope))
        options = self._options
        parts = ContextParts(
            system="\n\n".join(filter(None, (options.system, telling.instructions))),
            instructions=wanted.instructions,
            pinned=pinned,
            note=note,
            summaries=() if window is None else window.summaries,
            recalled=recalled,
            window=tuple(shown),
            given=telling.given,
            message=telling.message,
            format=options.format,
        )
        context = build(parts, options.budget if telling.budget is None else telling.budget)
        return Told(context=context, parts=parts, remembers=recall is not None)

    async def _wanted(self, scope: Scope) -> Preferences:
        """Return what the user set, or the defaults if that cannot be had; without memory nothing is read."""
        if self._recall is None:
            return Preferences()
        return await _or_none(self._store.get_preferences(scope)) or Preferences()

    async def _recalled(self, scope: Scope, recall: Recall, told: frozenset[str], text: str) -> tuple[Recalled, ...]:
        """Return what may answer the question; what cannot be had takes nothing else with it."""
        options = self._options
        if not text.strip():
            known = await _or_none(recall.known(scope)) or ()
            return recent(map(_without_secrets, known), options.recent) if options.recent else ()
        asked = RecallRequest(text=text, without=told)
        found: tuple[Recalled, ...] = ()
        for limit, what in ((options.memories, "memories"), (options.passages, "messages")):
            if limit:
                wanted = {"memories": what == "memories", "messages": what == "messages"}
                request = msgspec.structs.replace(asked, limit=limit, **wanted)
                found += await _or_none(recall.search(scope, request)) or ()
        return found


def _without_secrets(memory: Memory) -> Memory:
    """Return the memory without what was not known to be secret when it was stored."""
    return msgspec.structs.replace(memory, content=redacted(memory.content).text)


async def _or_none(asked: Awaitable[T]) -> T | None:
    try:
        return await asked
    except Exception as exc:  # noqa: BLE001  # whatever fails here, the user gets an answer
        _log.warning(
            "nothing could be remembered: %s", exc.code if isinstance(exc, RecollectError) else type(exc).__name__
        )
        return None
