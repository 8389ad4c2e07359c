"""Write the messages of a window for a model, with each tool call beside its result.

Providers refuse a call without its result right after it and a result without its call.
So a call that has no result, and a result whose call is not shown, are told as text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy

import msgspec

from recollect.domain.context import PromptMessage
from recollect.domain.message import Message, ToolCall
from recollect.domain.rendering import tool_result
from recollect.domain.tokens import estimate_tokens

#: What a message costs besides its text, and a call besides its words.
MESSAGE_COST, CALL_COST = 4, 8


class Told(msgspec.Struct, frozen=True):
    """A stored message and what the model is given for it."""

    message: Message
    prompts: tuple[PromptMessage, ...]
    tokens: int


def groups(messages: Sequence[Message]) -> list[list[Message]]:
    """Part the messages into those that belong together: a call, its results, and what was said between them."""
    made: dict[str, int] = {}
    joined: set[int] = set()
    for at, message in enumerate(messages):
        if message.role == "tool" and message.tool_call_id in made:
            joined.update(range(made[message.tool_call_id] + 1, at + 1))
        made |= dict.fromkeys((call.id for call in message.tool_calls), at)
    parts: list[list[Message]] = []
    for at, message in enumerate(messages):
        if at in joined:
            parts[-1].append(message)
        else:
            parts.append([message])
    return parts


def told(group: Sequence[Message]) -> list[Told]:
    """Return what the model is given for the messages of one group; a message without content gives nothing."""
    results = {one.tool_call_id: one for one in reversed(group) if one.role == "tool" and one.tool_call_id}
    shown: dict[str, Told] = {}
    for message in group:
        if message.id in shown:
            continue
        free = {call_id: result for call_id, result in results.items() if result.id not in shown}
        calls = {call.id: call for call in message.tool_calls if call.id in free or call.output is not None}
        shown[message.id] = _told(message, _spoken(message, calls, free))
        for result in (free[call_id] for call_id in calls if call_id in free):
            answer = PromptMessage(role="tool", text=result.content, tool_call_id=result.tool_call_id)
            shown[result.id] = _told(result, (answer,))
    return [one for one in shown.values() if one.prompts]


def unanswered(messages: Sequence[Message]) -> list[tuple[int, str]]:
    """Return the calls that have no output here: the place of their message, and the id of each."""
    return list(_paired(messages)[0])


def joined(messages: Sequence[Message], following: Sequence[Message] = ()) -> tuple[Message, ...]:
    """Return the messages with the result of each tool call as its output, found here or in what follows.

    A call that says its output itself keeps it; of several results the first counts.
    """
    _, outputs = _paired((*messages, *following))
    if not outputs:
        return tuple(messages)
    read = list(messages)
    for at, message in enumerate(messages):
        calls = tuple(
            _with_output(call, outputs[at, call.id]) if (at, call.id) in outputs else call
            for call in message.tool_calls
        )
        if calls != message.tool_calls:
            read[at] = msgspec.structs.replace(message, tool_calls=calls)
    return tuple(read)


def _with_output(call: ToolCall, output: str) -> ToolCall:
    """Return the call with the text of a message, which may be longer than what a client may send as an output."""
    answered = copy(call)
    msgspec.structs.force_setattr(answered, "output", output)
    return answered


def _paired(messages: Sequence[Message]) -> tuple[dict[tuple[int, str], None], dict[tuple[int, str], str]]:
    """Return the calls without a result and the results of the others; a result is of the newest such call before it.

    Ids of calls are those of a provider and may come again.
    """
    asked: dict[str, int] = {}
    waiting: dict[tuple[int, str], None] = {}
    outputs: dict[tuple[int, str], str] = {}
    for at, message in enumerate(messages):
        for call in message.tool_calls:
            asked[call.id] = at
            if call.output is None:
                waiting[at, call.id] = None
        if message.role == "tool" and message.tool_call_id in asked:
            place = asked[message.tool_call_id], message.tool_call_id
            if place in waiting:
                del waiting[place]
                outputs[place] = message.content
    return waiting, outputs


def in_words(message: PromptMessage) -> PromptMessage:
    """Return the message for a model that is offered no tools: calls and results are told as text."""
    if message.role == "tool":
        return PromptMessage(role="user", text=tool_result(message.text))
    if not message.tool_calls:
        return message
    calls = [f"[called {call.tool_name} {as_text(call.input)}]" for call in message.tool_calls]
    return PromptMessage(role=message.role, text="\n".join(filter(None, (message.text, *calls))))


def message_cost(message: PromptMessage) -> int:
    """Return about how many tokens the message takes, also if it is told in words."""
    return estimate_tokens(in_words(message).text) + CALL_COST * len(message.tool_calls) + MESSAGE_COST


def as_text(value: object) -> str:
    """Return what a tool takes or returns as text."""
    if isinstance(value, str):
        return value
    return "" if value is None else msgspec.json.encode(value).decode()


def _told(message: Message, prompts: tuple[PromptMessage, ...]) -> Told:
    return Told(message, prompts, sum(map(message_cost, prompts)))


def _spoken(
    message: Message, calls: Mapping[str, ToolCall], results: Mapping[str, Message]
) -> tuple[PromptMessage, ...]:
    """Return the message itself, with the results that stand in it because no message of their own does."""
    text = message.content if message.content.strip() else ""
    match message.role:
        case "assistant":
            text = _with_unanswered(text, [call for call in message.tool_calls if call.id not in calls])
            own = [PromptMessage(role="assistant", text=text, tool_calls=tuple(map(_asked, calls.values())))]
            outputs = [
                PromptMessage(role="tool", text=as_text(call.output), tool_call_id=call.id)
                for call in calls.values()
                if call.id not in results
            ]
            if not text and not calls:
                return ()
            return (*own, *outputs)
        case "user" if text:
            return (PromptMessage(role="user", text=text),)
        case "system" if text:
            return (PromptMessage(role="user", text=f"[system message] {text}"),)
        case "tool" if text:
            return (PromptMessage(role="user", text=tool_result(text)),)
    return ()


def _asked(call: ToolCall) -> ToolCall:
    """Return the call as providers take it: its input is an object, and its output stands elsewhere."""
    given = call.input if isinstance(call.input, Mapping) else {} if call.input is None else {"input": call.input}
    return ToolCall(id=call.id, tool_name=call.tool_name, input=given)


def _with_unanswered(text: str, calls: Sequence[ToolCall]) -> str:
    lines = [text] if text else []
    return "\n".join([*lines, *(f"[called {call.tool_name}; no result]" for call in calls)])
