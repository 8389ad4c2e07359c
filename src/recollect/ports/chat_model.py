"""What the service needs of a language model, whoever makes it and wherever it runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Literal, Protocol, get_args

import msgspec

from recollect.domain.checks import (
    check_count,
    check_id,
    check_items,
    check_json,
    check_object,
    check_one_of,
    check_optional_text,
    check_text,
)
from recollect.domain.message import MAX_NAME, MAX_TOOL_CALLS
from recollect.domain.turn import Usage
from recollect.errors import InvalidInputError, ProviderUnavailableError

ModelRole = Literal["user", "assistant", "tool"]
#: `stop`: the model was done. `length`: a limit cut the reply. `tool_calls`: it waits for results.
#: `refused`: the model or its provider declined to answer; the text, if any, says so.
FinishReason = Literal["stop", "length", "tool_calls", "refused"]
#: `ready`: calls are made. `open`: calls fail at once until `retry_at`. `half_open`: one call tries.
Circuit = Literal["ready", "open", "half_open"]

MODEL_ROLES: tuple[str, ...] = get_args(ModelRole)
MAX_MESSAGES = 10_000
MAX_TOOLS = 128
MAX_SIGNATURE = 100_000


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that the model may call."""

    name: str
    description: str
    #: The JSON schema of its input, an object.
    parameters: Mapping[str, Any] = msgspec.field(default_factory=lambda: {"type": "object", "properties": {}})

    def __post_init__(self) -> None:
        check_id(self.name, "tool name")
        check_text(self.description, "tool description")
        check_schema(self.parameters, "tool parameters")


class ToolCallRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A whole call that the model asks for; whether the input fits the tool is for the tool to say."""

    id: str
    tool_name: str
    input: Mapping[str, Any] = {}
    #: What the provider wants back with the call; nobody else reads it.
    signature: str | None = None

    def __post_init__(self) -> None:
        check_id(self.id, "tool call id")
        check_text(self.tool_name, "tool name", at_most=MAX_NAME, at_least=1)
        check_object(self.input, "tool input")
        check_optional_text(self.signature, "signature", at_most=MAX_SIGNATURE)


class ModelMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message of the prompt."""

    role: ModelRole
    text: str = ""
    #: On an assistant message: the calls that it made.
    tool_calls: tuple[ToolCallRequest, ...] = ()
    #: On a tool message: the call whose output the text is.
    tool_call_id: str | None = None

    def __post_init__(self) -> None:
        check_one_of(self.role, MODEL_ROLES, "role")
        check_text(self.text, "text", at_least=1 if self.role == "user" else 0)
        check_items(self.tool_calls, ToolCallRequest, "tool_calls", at_most=MAX_TOOL_CALLS)
        if self.tool_calls and self.role != "assistant":
            raise InvalidInputError("only an assistant message has tool_calls")
        if self.role == "tool":
            check_id(self.tool_call_id, "tool_call_id of a tool message")
        elif self.tool_call_id is not None:
            raise InvalidInputError("only a tool message has a tool_call_id")


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a model is asked; the last message is the user's or a tool's."""

    messages: tuple[ModelMessage, ...]
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    #: Ask for a text that is JSON of this schema, an object; not together with tools.
    json_schema: Mapping[str, Any] | None = None
    max_output_tokens: int = 2048
    #: None leaves it to the provider.
    temperature: float | None = None

    def __post_init__(self) -> None:
        check_items(self.messages, ModelMessage, "messages", at_most=MAX_MESSAGES, at_least=1)
        if self.messages[-1].role == "assistant":
            raise InvalidInputError("the last message must be the user's or a tool's")
        check_text(self.system, "system")
        check_items(self.tools, ToolSpec, "tools", at_most=MAX_TOOLS)
        if len({tool.name for tool in self.tools}) < len(self.tools):
            raise InvalidInputError("two tools have the same name")
        if self.json_schema is not None:
            check_schema(self.json_schema, "json_schema")
            if self.tools:
                raise InvalidInputError("json_schema and tools exclude each other")
        check_count(self.max_output_tokens, "max_output_tokens", at_least=1)
        _check_temperature(self.temperature)


class TextDelta(msgspec.Struct, frozen=True):
    """More of the reply's text: never empty, valid Unicode, without NUL."""

    text: str


class UsageReport(msgspec.Struct, frozen=True):
    """What the whole call cost, as the provider counts it."""

    usage: Usage


class Finished(msgspec.Struct, frozen=True):
    """The reply is complete."""

    reason: FinishReason


ModelEvent = TextDelta | ToolCallRequest | UsageReport | Finished


class ModelReply(msgspec.Struct, frozen=True, kw_only=True):
    """A whole reply."""

    text: str
    reason: FinishReason
    tool_calls: tuple[ToolCallRequest, ...] = ()
    #: None if the provider did not say.
    usage: Usage | None = None


class ModelCounters(msgspec.Struct, frozen=True, kw_only=True):
    """What happened since the model was opened."""

    #: Calls that were made, without those that an open circuit refused.
    calls: int = 0
    #: Calls that ended in an error.
    failures: int = 0
    #: Attempts beyond the first of a call.
    retries: int = 0
    #: Calls that an open circuit refused.
    refused: int = 0


class ModelState(msgspec.Struct, frozen=True, kw_only=True):
    """How a model fares, for people and for the scheduling of jobs."""

    circuit: Circuit = "ready"
    #: Since when the circuit is in this state; None where there is no breaker.
    since: datetime | None = None
    #: A call before this time is pointless: the circuit is open, or the provider asked to wait.
    retry_at: datetime | None = None
    #: The code of the last error.
    last_error: str | None = None
    counters: ModelCounters = ModelCounters()


class ChatModel(Protocol):
    """Answer a request with a stream of events.

    A stream is any number of `TextDelta`, then any number of `ToolCallRequest`, at most one `UsageReport`,
    and `Finished`, exactly once and last.
    Text and tool input are valid Unicode without NUL: what is not is replaced by U+FFFD.
    A reply longer than a message may be, or than its tokens can make it, is cut there and finishes with `length`.
    A tool call comes whole or not at all: its input is parsed, ids are unique in the reply, a repeated call comes once;
    one that the output limit cut is left out, and the reason is `length`.
    With `json_schema` the text is what the model wrote: it may be fenced, cut, prose, or of another schema.
    A refusal finishes with `refused`; it is the only reply that may be empty.

    What is raised, before or after some events came:

    - `ProviderUnavailableError`: it cannot be reached, is overloaded, too slow, or hung up. Another time it may work.
    - `CircuitOpenError`, one of those: it failed repeatedly and was not called.
    - `ProviderRejectedError`: it does not accept the request, the key or the address. Trying again does not help.
    - `ProviderOutputError`: it sent what is no reply: nothing, another protocol, half a tool call, no end of bytes.

    Errors hold no prompt, no reply and no key.
    Time and memory are bounded, whatever the provider does.
    An attempt is repeated only while no token has come, so no text comes twice.
    """

    @property
    def name(self) -> str:
        """Tell the name under which replies are recorded."""

    @property
    def state(self) -> ModelState:
        """Tell how the model fares; never waits."""

    def is_available(self) -> bool:
        """Tell whether a call would be tried now; never waits and calls nobody."""

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        """Give the events of the reply inside an `async with`.

        Nothing is sent before the first event is asked for.
        Leaving the block, or being cancelled in it, closes the connection, and the provider stops.
        """

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Return the whole reply; what came before an error is lost."""
        text: list[str] = []
        calls: list[ToolCallRequest] = []
        usage: Usage | None = None
        async with self.stream(request) as events:
            async for event in events:
                match event:
                    case TextDelta():
                        text.append(event.text)
                    case ToolCallRequest():
                        calls.append(event)
                    case UsageReport():
                        usage = event.usage
                    case Finished():
                        return ModelReply(text="".join(text), reason=event.reason, tool_calls=tuple(calls), usage=usage)
        raise ProviderUnavailableError(f"{self.name}: the reply has no end")

    async def close(self) -> None:
        """Release the connections; a closed model raises `ProviderUnavailableError`."""


def check_schema(value: object, what: str) -> None:
    """Refuse what is no JSON schema of an object."""
    check_object(value, what)
    if not isinstance(value, Mapping) or value.get("type") != "object":
        raise InvalidInputError(f'{what} must be a schema of "type": "object"')


def _check_temperature(value: object) -> None:
    check_json(value, "temperature")
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 2):
        raise InvalidInputError("temperature must be a number from 0 to 2")
