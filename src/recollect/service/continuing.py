"""Find the conversation that a client goes on with, for clients that send their whole history and no id."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from recollect.domain.history_prefix import Resumed, Spoken, answered, chained_ids, is_opening, resumed
from recollect.domain.message import NewMessage
from recollect.domain.scope import Scope
from recollect.domain.window import Window
from recollect.errors import ConversationNotFoundError, CorruptRecordError, InvalidInputError, MessageNotFoundError
from recollect.ports.clock import Clock
from recollect.ports.store import Store
from recollect.service.chat_request import MAX_NEW

#: Conversations with the same words that are looked into, the newest first.
MOST_LIKE = 10
#: Messages of a history that are looked for before it counts as new; several, since some may have been erased.
MOST_SOUGHT = 5
_PURPOSE = "history of a client"


class Continued(msgspec.Struct, frozen=True, kw_only=True):
    """Where a client's history goes on, and what is new of it."""

    #: None begins a new conversation.
    conversation_id: str | None
    #: What is to be stored, oldest first; the last is what is answered.
    said: tuple[NewMessage, ...]


class Continuing:
    """Know conversations again by their history."""

    def __init__(self, store: Store, *, clock: Clock, new_id: Callable[[], str]) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id

    async def find(self, scope: Scope, history: Sequence[Spoken], conversation_id: str | None = None) -> Continued:
        """Return where the history goes on: in the conversation that is named, or in the newest that it is of.

        In a conversation that is named all but what comes after the last reply counts as stored, unless it is empty.
        Where nothing is found, all of the history is new.
        """
        if not history or history[-1].role == "assistant":
            raise InvalidInputError("the last message must be the user's or a tool's")
        ids = chained_ids(await self._store.signing_key(scope, _PURPOSE), history)
        if conversation_id is not None:
            return await self._named(scope, history, ids, conversation_id)
        for sought in _sought(history, ids):
            for found in await self._store.conversations_holding(scope, sought, MOST_LIKE):
                window = await self._window(scope, found)
                if window is None or window.conversation.agent != scope.agent:
                    continue
                place = resumed(window.messages, history, ids)
                if place is not None:
                    if not await self._are_free(scope, window, ids[place.stored]):
                        ids = self._fresh(ids)
                    return self._going_on(history, ids, found, place)
        return Continued(conversation_id=None, said=self._new(history, ids))

    async def _named(
        self, scope: Scope, history: Sequence[Spoken], ids: tuple[str, ...], conversation_id: str
    ) -> Continued:
        window = await self._window(scope, conversation_id)
        if window is None or not (window.messages or window.summaries):
            return Continued(conversation_id=conversation_id, said=self._new(history, ids))
        place = resumed(window.messages, history, ids, whole=False) or Resumed(stored=answered(history))
        # A client that names its conversation may send no history, or a part; then the same words are not the same.
        return self._going_on(history, self._fresh(ids), conversation_id, place)

    def _going_on(
        self, history: Sequence[Spoken], ids: tuple[str, ...], conversation_id: str, place: Resumed
    ) -> Continued:
        new, new_ids = history[place.stored :], ids[place.stored :]
        if place.again is not None:
            new, new_ids = history[-1:], (place.again,)
        return Continued(conversation_id=conversation_id, said=self._new(new, new_ids))

    def _fresh(self, ids: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self._new_id() for _ in ids)

    async def _are_free(self, scope: Scope, window: Window, message_id: str) -> bool:
        """Tell whether nothing was ever said here after the newest message that is read.

        What was, on a branch that is left or until it was erased, has the ids that the same words would get now.
        """
        is_newest = window.messages[-1].seq + 1 == window.conversation.next_seq
        return is_newest and not await self._is_stored(scope, window.conversation.id, message_id)

    async def _is_stored(self, scope: Scope, conversation_id: str, message_id: str) -> bool:
        try:
            await self._store.get_message(scope, conversation_id, message_id)
        except MessageNotFoundError:
            return False
        except CorruptRecordError:
            return True
        return True

    async def _window(self, scope: Scope, conversation_id: str) -> Window | None:
        """Return the window, or None if the conversation was erased meanwhile or is damaged."""
        try:
            return await self._store.get_window(scope, conversation_id)
        except (ConversationNotFoundError, CorruptRecordError):
            return None

    def _new(self, history: Sequence[Spoken], ids: Sequence[str]) -> tuple[NewMessage, ...]:
        if len(history) > MAX_NEW:
            raise InvalidInputError(
                f"a history that is not known here may have at most {MAX_NEW} messages; "
                "leave the oldest out, or name the conversation in the header Recollect-Conversation"
            )
        now = self._clock()
        return tuple(
            NewMessage(
                id=message_id,
                role=one.role,
                content=one.text,
                created_at=now,
                name=one.name,
                tool_calls=one.calls,
                tool_call_id=one.answers,
            )
            for one, message_id in zip(history, ids, strict=True)
        )


def _sought(history: Sequence[Spoken], ids: Sequence[str]) -> tuple[str, ...]:
    """Return the ids by which the conversation can be found, the best first."""
    if is_opening(history):
        return (ids[answered(history)],)
    said = [at for at in range(answered(history)) if history[at].role != "assistant"]
    return tuple(ids[at] for at in said[: -MOST_SOUGHT - 1 : -1])
