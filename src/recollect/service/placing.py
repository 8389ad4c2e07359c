"""Where in a conversation a turn goes on: after the newest message, or on a branch of its own."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from recollect.domain.message import Message, NewMessage
from recollect.domain.scope import Scope
from recollect.domain.window import Window, until
from recollect.errors import ConflictError
from recollect.ports.conversations import ConversationStore


class Place(NamedTuple):
    """Where a turn goes on."""

    window: Window | None
    #: What is said in it, to be stored.
    said: tuple[NewMessage, ...]
    #: What is answered.
    question: NewMessage | Message
    #: The message that the reply answers on a branch of its own; unset is the newest one.
    parent_id: str | UnsetType = UNSET
    #: The ids of what stands after this place and is left for a branch of its own.
    aside: frozenset[str] = frozenset()
    #: Whether the store is away, so that nothing is known of the conversation.
    is_unknown: bool = False


async def answered_by(store: ConversationStore, scope: Scope, conversation_id: str, message_id: str) -> Message:
    """Return the user's message that this one answers, or the message itself if it is the user's."""
    while True:
        message = await store.get_message(scope, conversation_id, message_id)
        if message.role == "user":
            return message
        if message.parent_id is None:
            raise ConflictError("this message answers nothing that the user said")
        message_id = message.parent_id


def newest(window: Window | None, said: tuple[NewMessage, ...]) -> Place:
    """Go on after the newest message; what was said before is given another answer, from what was before it."""
    question = said[-1]
    known = next((one for one in (window.messages if window else ()) if one.id == question.id), None)
    if window is None or known is None:
        return Place(window, said, question)
    shown = emptied(window) if known.parent_id is None else until(window, known.parent_id) or window
    return Place(shown, said, question, known.id, aside(window, shown))


def aside(window: Window | None, shown: Window | None) -> frozenset[str]:
    """Return the ids of what stands in the window and is not shown in this place."""
    if window is None or shown is None:
        return frozenset()
    return frozenset(one.id for one in window.messages) - {one.id for one in shown.messages}


def emptied(window: Window) -> Window:
    """Return the window before the first message."""
    return msgspec.structs.replace(window, summaries=(), messages=())
