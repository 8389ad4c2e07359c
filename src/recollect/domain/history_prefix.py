"""Know a conversation again by the history that a client sends with each request.

Such a client knows no id of its conversation: it sends all that was said. Each message has an id made of a digest over
everything up to it, so that a store finds by its index where it was said before; what came after it there must then be
what the client holds. Pure: nothing here reads a store.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Sequence
from typing import Literal

import msgspec

from recollect.domain.message import Message, ToolCall

#: Metadata by which a reply that was written here is told from one that a client handed in.
WRITTEN_HERE = "responder"


class Spoken(msgspec.Struct, frozen=True, kw_only=True):
    """A message as a client tells it."""

    role: Literal["user", "assistant", "tool"]
    text: str = ""
    name: str | None = None
    #: On an assistant message: the tools that the client was asked to run.
    calls: tuple[ToolCall, ...] = ()
    #: On a tool message: the call whose result it is.
    answers: str | None = None


class Resumed(msgspec.Struct, frozen=True, kw_only=True):
    """Where a stored conversation and a client's history meet."""

    #: How many messages of the history are stored already.
    stored: int
    #: The stored message that is to be answered once more; None if the client has something new to say.
    again: str | None = None


class _Heard(msgspec.Struct):
    """A stored message, or a whole reply, as the client has seen it."""

    id: str
    role: str
    text: str
    calls: set[str]
    answers: str | None
    is_cut: bool
    #: The turn, if the reply was written here.
    turn_id: str | None


def chained_ids(key: bytes, history: Sequence[Spoken]) -> tuple[str, ...]:
    r"""Return an id for each message, which it has wherever the same was said before it.

    Spaces at the ends and how arguments are written do not count: clients change them.

    >>> one, two = (chained_ids(b"k", [Spoken(role="user", text=text)]) for text in ("hi", " hi\n"))
    >>> one == two
    True
    """
    before, ids = b"", []
    for one in history:
        said = msgspec.json.encode((one.role, one.text.strip(), [call.id for call in one.calls], one.answers))
        before = hashlib.blake2b(before + said, key=key, digest_size=16, person=b"history").digest()
        raw = bytearray(before)
        raw[6], raw[8] = raw[6] & 0x0F | 0x80, raw[8] & 0x3F | 0x80  # version 8: made by a rule of one's own
        ids.append(str(uuid.UUID(bytes=bytes(raw))))
    return tuple(ids)


def answered(history: Sequence[Spoken]) -> int:
    """Return how many messages there are up to the last reply, that one included."""
    return next((at for at in range(len(history), 0, -1) if history[at - 1].role == "assistant"), 0)


def is_opening(history: Sequence[Spoken]) -> bool:
    """Tell whether nothing was said yet that has a reply; a greeting of the assistant counts as nothing."""
    return all(one.role == "assistant" for one in history[: answered(history)])


def resumed(
    path: Sequence[Message], history: Sequence[Spoken], ids: Sequence[str], *, whole: bool = True
) -> Resumed | None:
    """Return where the history goes on after the newest messages of a conversation, or None if it does not.

    All that is stored must stand in the history; it may hold more, for something may have been erased.
    Unless it is `whole`: then only the end counts.
    An opening that was answered in full is another chat that begins in the same words.
    A reply that was cut counts for those who hold a part of it and for those who got none.
    """
    heard, start = _heard(path), answered(history)
    opens = is_opening(history)
    if not start:
        is_whole = bool(path) and path[0].parent_id is None
        return _matched(heard, history, ids, start, opens=True) if is_whole and heard else None
    for at in range(len(heard) - 1, -1, -1):
        if _is_same(heard[at], history[start - 1], ids[start - 1]) and (
            not whole or _stand_in(heard[:at], history[: start - 1], ids)
        ):
            found = _matched(heard[at + 1 :], history, ids, start, opens=opens)
            if found is not None:
                return found
    return None


def _stand_in(heard: Sequence[_Heard], history: Sequence[Spoken], ids: Sequence[str]) -> bool:
    """Tell whether all of this was said, in this order; replies that were cut may be unknown to the client."""
    said = iter(zip(history, ids, strict=False))
    return all(any(_is_same(one, *other) for other in said) for one in heard if not one.is_cut)


def _matched(
    after: Sequence[_Heard], history: Sequence[Spoken], ids: Sequence[str], start: int, *, opens: bool
) -> Resumed | None:
    """Compare what is stored after the last reply that the client holds with what it says now."""
    reply = after[-1] if after and after[-1].role == "assistant" else None
    said = after[:-1] if reply is not None else after
    new = history[start:]
    if len(said) > len(new) or (reply is not None and not said):
        return None
    if not all(map(_is_same, said, new, ids[start:])):
        return None
    is_whole = reply is not None and not reply.is_cut
    if len(said) == len(new):
        return None if opens and is_whole else Resumed(stored=len(history) - 1, again=said[-1].id)
    return None if is_whole else Resumed(stored=start + len(said))


def _is_same(heard: _Heard, spoken: Spoken, message_id: str) -> bool:
    if heard.role != spoken.role:
        return False
    text = spoken.text.strip()
    match spoken.role:
        case "user":
            return heard.id == message_id or heard.text.strip() == text
        case "tool":
            return heard.answers == spoken.answers
    if heard.is_cut and text and heard.text.strip().startswith(text):
        return True
    return heard.text.strip() == text and heard.calls == {call.id for call in spoken.calls}


def _heard(path: Sequence[Message]) -> list[_Heard]:
    """Return what the client has seen: each reply as one, without the tools that were run here."""
    heard: list[_Heard] = []
    for message in path:
        last = heard[-1] if heard else None
        is_reply = last is not None and last.turn_id is not None and last.turn_id == message.turn_id
        if message.role == "tool" and is_reply and last is not None and message.tool_call_id in last.calls:
            last.calls.discard(message.tool_call_id)
        elif message.role == "assistant" and is_reply and last is not None and WRITTEN_HERE in message.metadata:
            last.text += message.content
            last.calls |= {call.id for call in message.tool_calls}
            last.is_cut = message.status != "complete"
        elif message.role in ("user", "assistant", "tool"):
            heard.append(_one(message))
    return heard


def _one(message: Message) -> _Heard:
    return _Heard(
        id=message.id,
        role=message.role,
        text=message.content,
        calls={call.id for call in message.tool_calls},
        answers=message.tool_call_id,
        is_cut=message.status != "complete",
        turn_id=message.turn_id if WRITTEN_HERE in message.metadata else None,
    )
