"""A reply while it is written: what was heard of it, and the messages that it becomes, however far it came."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from recollect.domain.checks import MAX_CONTENT, check_text
from recollect.domain.message import MessageStatus, NewMessage, ToolCall
from recollect.domain.repeating import repeating
from recollect.errors import ProviderOutputError
from recollect.ports.chat_model import TextDelta, ToolCallRequest
from recollect.ports.responder import ReplyEvent, ToolReturned


class Signing(msgspec.Struct, frozen=True, kw_only=True):
    """What the messages of a reply are given besides what they say."""

    #: The id of the message that ends the reply.
    message_id: str
    at: datetime
    status: MessageStatus
    #: What the reply answers; unset is the message before it.
    parent_id: str | None | UnsetType = UNSET
    metadata: Mapping[str, Any] = {}
    #: Make the id of another message of the reply from its number.
    other_id: Callable[[int], str]


class _Round(msgspec.Struct):
    """What was said and called before the results were read."""

    text: list[str] = msgspec.field(default_factory=list)
    calls: list[ToolCallRequest] = msgspec.field(default_factory=list)
    outputs: dict[str, ToolReturned] = msgspec.field(default_factory=dict)

    @property
    def is_answered(self) -> bool:
        """Tell whether each call has its result."""
        return bool(self.calls) and all(call.id in self.outputs for call in self.calls)


class Draft:
    """What was heard of a reply so far."""

    def __init__(self) -> None:
        self._rounds = [_Round()]
        self._length = 0

    def hear(self, event: ReplyEvent) -> None:
        """Take in what comes next."""
        if self._rounds[-1].is_answered:
            self._rounds.append(_Round())
        now = self._rounds[-1]
        match event:
            case TextDelta():
                self._length += len(check_text(event.text, "a reply", error=ProviderOutputError))
                if self._length > MAX_CONTENT:
                    raise ProviderOutputError(f"a reply has more than {MAX_CONTENT} characters")
                now.text.append(event.text)
            case ToolCallRequest():
                now.calls.append(event)
            case ToolReturned():
                check_text(event.output, "a tool's result", error=ProviderOutputError)
                now.outputs[event.id] = event

    def check(self) -> None:
        """Refuse a reply that ended and says nothing, and waits for no result either."""
        waits = bool(self._rounds[-1].calls) and not self._rounds[-1].is_answered
        if not waits and not any(piece.strip() for one in self._rounds for piece in one.text):
            raise ProviderOutputError("a reply says nothing")

    def messages(self, sign: Signing) -> tuple[NewMessage, ...]:
        """Return the messages of the reply: each round of calls with its results, then what was said last.

        A reply that was cut during a round keeps what was said, and no call without its result.
        """
        done = [one for one in self._rounds if one.is_answered]
        last = _Round() if self._rounds[-1].is_answered else self._rounds[-1]
        if not last.text and not last.calls:
            _let_speak_last(done, last)
        calls = last.calls if sign.status == "complete" else []
        made: list[NewMessage] = []
        for one in done:
            made += self._of_round(one, sign, len(made))
        results = self._results(last, sign, len(made)) if calls else []
        final = NewMessage(
            id=sign.message_id,
            role="assistant",
            content="".join(last.text),
            created_at=sign.at,
            status=sign.status,
            tool_calls=tuple(map(_stored, calls)),
            metadata=sign.metadata,
        )
        made += [final, *results]
        return (msgspec.structs.replace(made[0], parent_id=sign.parent_id), *made[1:])

    def _of_round(self, one: _Round, sign: Signing, made: int) -> list[NewMessage]:
        said = NewMessage(
            id=sign.other_id(made),
            role="assistant",
            content="".join(one.text),
            created_at=sign.at,
            tool_calls=tuple(map(_stored, one.calls)),
            metadata=sign.metadata,
        )
        return [said, *self._results(one, sign, made + 1)]

    def _results(self, one: _Round, sign: Signing, made: int) -> list[NewMessage]:
        return [
            NewMessage(
                id=sign.other_id(made + at),
                role="tool",
                name=call.tool_name,
                content=one.outputs[call.id].output,
                created_at=sign.at,
                tool_call_id=call.id,
                metadata=repeating(repeats) if (repeats := one.outputs[call.id].repeats) else {},
            )
            for at, call in enumerate(call for call in one.calls if call.id in one.outputs)
        ]


def _let_speak_last(done: list[_Round], last: _Round) -> None:
    """Let what was said before the last calls end the reply, since nothing was said after them."""
    spoke = next((one for one in reversed(done) if one.text), None)
    if spoke is not None:
        last.text, spoke.text = spoke.text, []


def _stored(call: ToolCallRequest) -> ToolCall:
    return ToolCall(id=call.id, tool_name=call.tool_name, input=call.input)
