"""What the service needs to tell where the time of one piece of work went; the names are part of the product.

They are those of the OpenTelemetry conventions for generative AI, where these have one.
An attribute holds an id, a count or a word of ours: never anything that was said, and never the text of an error.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Final, Literal, NamedTuple, Protocol

Value = str | int | float | bool
#: The operations of the conventions that happen here.
Operation = Literal[
    "invoke_agent",
    "chat",
    "execute_tool",
    "search_memory",
    "create_memory",
    "update_memory",
    "upsert_memory",
    "delete_memory",
]

AGENT: Final = "gen_ai.agent.name"
CONVERSATION: Final = "gen_ai.conversation.id"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
MAX_TOKENS: Final = "gen_ai.request.max_tokens"
MODEL: Final = "gen_ai.request.model"
OPERATION: Final = "gen_ai.operation.name"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
PROVIDER: Final = "gen_ai.provider.name"
RECORD: Final = "gen_ai.memory.record.id"
RECORDS: Final = "gen_ai.memory.record.count"
STREAM: Final = "gen_ai.request.stream"
TEMPERATURE: Final = "gen_ai.request.temperature"
TOOL: Final = "gen_ai.tool.name"
TOOL_TYPE: Final = "gen_ai.tool.type"


class Origin(NamedTuple):
    """Where a piece of work comes from, and where it is done."""

    #: `internal` and `client`: part of what is under way, done here or asked of another server.
    #: `server`: a request, part of its caller's work if the headers say so.
    #: `consumer`: work from a queue, part of nothing that happens to be under way.
    kind: Literal["internal", "client", "server", "consumer"] = "internal"
    headers: Iterable[tuple[bytes, bytes]] = ()


INSIDE: Final = Origin()
OUTWARD: Final = Origin("client")
QUEUED: Final = Origin("consumer")


class Span(Protocol):
    """One piece of work, from its begin to its end."""

    def set(self, name: str, value: Value) -> None:
        """Note what is known only now."""

    def rename(self, name: str) -> None:
        """Give it the name that is known only now."""

    def fail(self, error_type: str) -> None:
        """Say that the work failed, by the class or the code of the error."""


class Tracer(Protocol):
    """Trace work; it never fails and never waits."""

    def span(self, name: str, origin: Origin = INSIDE, /, **attributes: Value) -> AbstractContextManager[Span]:
        """Trace the block, and what is traced inside it as its parts.

        An error that leaves the block is noted by its class, never by its text.
        """


class _NoSpan:
    """Note nothing."""

    __slots__ = ()

    def set(self, name: str, value: Value) -> None:
        """Do nothing."""

    def rename(self, name: str) -> None:
        """Do nothing."""

    def fail(self, error_type: str) -> None:
        """Do nothing."""

    def __enter__(self) -> Span:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


_NO_SPAN = _NoSpan()


class NoTracer:
    """Trace nothing."""

    def span(self, name: str, origin: Origin = INSIDE, /, **attributes: Value) -> AbstractContextManager[Span]:
        """Return what does nothing."""
        return _NO_SPAN


def operation(
    tracer: Tracer, name: Operation, on: str = "", origin: Origin = INSIDE, /, **attributes: Value
) -> AbstractContextManager[Span]:
    """Trace an operation of the conventions, named with what it is done on where they say so."""
    return tracer.span(f"{name} {on}" if on else name, origin, **{OPERATION: name, **attributes})
