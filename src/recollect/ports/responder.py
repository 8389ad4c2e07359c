"""What a chat turn needs of whoever answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

import msgspec

from recollect.domain.checks import check_ids
from recollect.domain.context import Context, Recalled
from recollect.domain.repeating import Repeated
from recollect.domain.turn import Usage
from recollect.ports.chat_model import TextDelta, ToolCallRequest, ToolSpec

#: Messages and memories that one reply may repeat.
MAX_REPEATED = 1_000


class ToolOutput(msgspec.Struct, frozen=True):
    """What a tool says to a call."""

    text: str
    #: The messages and memories whose words it holds; when one of them is erased, the stored output goes too.
    repeats: tuple[Repeated, ...] = ()


#: Do what a call asks, and return what the model is told; nothing is raised.
RunTool = Callable[[Mapping[str, Any]], Awaitable[ToolOutput]]


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that may be used to answer."""

    spec: ToolSpec
    #: None if whoever asks runs it: then the reply ends with the call.
    run: RunTool | None = None


class Sampling(msgspec.Struct, frozen=True, kw_only=True):
    """How a model is to write; None leaves it to the model."""

    temperature: float | None = None
    max_output_tokens: int | None = None
    #: The reply is to be JSON of this schema; not together with tools.
    json_schema: Mapping[str, Any] | None = None


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is known when a reply is due."""

    text: str
    #: The prompt that ends with the question.
    context: Context
    #: What was found for it among memories and earlier messages, best first.
    recalled: tuple[Recalled, ...] = ()
    tools: tuple[Tool, ...] = ()
    sampling: Sampling = Sampling()


class ToolReturned(msgspec.Struct, frozen=True):
    """What a tool said to a call."""

    id: str
    output: str
    repeats: tuple[Repeated, ...] = ()


#: What is heard of a reply while it is written: text, calls with what they returned, more text.
ReplyEvent = TextDelta | ToolCallRequest | ToolReturned
#: Take in what comes; it never waits.
Hear = Callable[[ReplyEvent], None]


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What a reply cost, once all of it was heard."""

    usage: Usage = Usage()
    #: Whether a limit of tokens ended it before its end.
    is_cut: bool = False
    #: Set if it only says again what was said, and so is not recalled itself: the ids of the messages and memories
    #: whose words it holds. When one of them is erased, the reply goes too.
    repeats: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.repeats is not None:
            check_ids(self.repeats, "repeats", at_most=MAX_REPEATED)


class Responder(Protocol):
    """Answer a question from its context."""

    @property
    def name(self) -> str:
        """Tell the name under which replies are recorded."""

    async def reply(self, question: Question, hear: Hear) -> Reply:
        """Let the answer be heard as it comes, or raise `ProviderError`; what was heard before stays said.

        A call of a tool that is run here is heard before what it returned, all calls of one round together.
        """
