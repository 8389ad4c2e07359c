"""Draw what people, assistants and tools say, and generators that fail, hang, lie or say nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any

import msgspec
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from recollect.domain.message import Message, NewMessage, ToolCall
from recollect.errors import CircuitOpenError, ConflictError, ProviderOutputError, ProviderUnavailableError
from recollect.settings import HistorySettings
from recollect.testing.clock import START
from tests.support.compaction import Generator

TEXTS = (
    *("I moved to Oslo in May. The flat is small.", "Tea, not coffee!", "我喜欢喝茶。咖啡不行。", "お茶が好きです。"),
    *(
        "שלום עולם",
        "مرحبا بك في البيت",
        "กินข้าวแล้ว",
        "मुझे चाय पसंद है।",
        "한국어를 배운다",
        "🍕🍕",
        "…",
        " x ",
        "a\nb\r\nc\t",
    ),
    *("'; DROP TABLE messages; --", "e\u0301 \u202e \ufeff", "word " * 300),
)
#: Any text that can be kept.
texts = st.sampled_from(TEXTS) | st.text(
    st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=40
).filter(lambda text: not text.isspace())
#: Any id that a client may give.
client_ids = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=128)
json_values: SearchStrategy[Any] = st.sampled_from((None, True, -1, 0.5, "茶", [], {"k": [None, {"x": "🍕"}]}))
#: Times that clients tell, right or wrong.
times = st.integers(-(10**9), 10**9).map(lambda seconds: START + timedelta(seconds=seconds))


class Said(msgspec.Struct, frozen=True):
    """What a message will say once it has an id."""

    role: str
    content: str
    #: Whether it calls so many tools; the results of most come next.
    calls: int = 0
    #: Of the calls, those whose result comes.
    answered: int = 0
    #: Whether the outputs stand in the calls.
    inline: bool = False


@st.composite
def said(draw: DrawFn, *, tools: bool = True) -> Said:
    """Draw one message, or a call of tools with its results."""
    kind = draw(st.sampled_from(("user", "user", "assistant", "assistant", "system", "call")))
    if kind != "call" or not tools:
        return Said("user" if kind == "call" else kind, draw(texts))
    calls = draw(st.integers(1, 3))
    answered = draw(st.sampled_from((calls, calls, calls, calls - 1)))
    return Said("assistant", draw(st.sampled_from(("", *TEXTS))), calls, answered, draw(st.booleans()))


def talks(*, least: int = 1, most: int = 12, tools: bool = True) -> SearchStrategy[list[Said]]:
    """Draw a piece of a conversation."""
    return st.lists(said(tools=tools), min_size=least, max_size=most)


class Speaker:
    """Give ids and times to what was drawn; no id is given twice."""

    def __init__(self, prefix: str = "m") -> None:
        self._prefix = prefix
        self._number = 0

    def messages(self, talk: Sequence[Said]) -> tuple[NewMessage, ...]:
        """Return the messages of a talk."""
        return tuple(message for one in talk for message in self._messages(one))

    def _messages(self, one: Said) -> list[NewMessage]:
        first = self._new(one.role, one.content)
        output = "done" if one.inline else None
        calls = tuple(ToolCall(id=f"{first.id}-{at}", tool_name="look", output=output) for at in range(one.calls))
        results = [self._new("tool", f"result {at}", tool_call_id=calls[at].id) for at in range(one.answered)]
        return [msgspec.structs.replace(first, tool_calls=calls) if calls else first, *results]

    def _new(self, role: Any, content: str, **more: Any) -> NewMessage:
        self._number += 1
        at = START + timedelta(seconds=self._number)
        # An assistant that only calls tools says nothing, which is checked once the calls are there.
        text = content or "calls"
        return NewMessage(id=f"{self._prefix}{self._number}", role=role, content=text, created_at=at, **more)


@st.composite
def histories(draw: DrawFn, /, **more: Any) -> HistorySettings:
    """Draw how short a conversation is kept: often the defaults, else any numbers that fit a short test."""
    keep, distance = draw(st.sampled_from(((6, 4), (6, 4), (1, 1), (2, 5), (3, 1), (5, 8), (9, 2))))
    when = draw(st.sampled_from(("background", "inline")))
    return HistorySettings(**{"threshold": keep + distance, "keep_verbatim": keep, "when": when, **more})


# Generators that cannot be trusted


async def never() -> str:
    """Hang."""
    await asyncio.Event().wait()
    raise AssertionError("it waits for ever")


async def deaf() -> str:
    """Go on although it is told to stop, and then answer."""
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "too late"


async def gives_up() -> str:
    """End as if it had been cancelled."""
    raise asyncio.CancelledError


async def slow() -> str:
    """Take a while, but not too long."""
    for _ in range(5):
        await asyncio.sleep(0)
    return "They talked for a while."


#: What a generator may do instead of writing a summary.
BAD_ANSWERS: tuple[Any, ...] = (
    ProviderUnavailableError("down"),
    CircuitOpenError("open"),
    ProviderOutputError("no JSON"),
    ConflictError("not its business"),
    ZeroDivisionError("a bug"),
    RecursionError(),
    *("", " \n\t", "\u200b\u2060", "\0", "a\0b", "\udc80", None, b"text", 7, ["text"], {"text": "x"}),
    *("x" * 2_000_000, "word " * 100_000, Ellipsis, never, deaf, gives_up),
)


def by_place(values: Sequence[Any]) -> SearchStrategy[Any]:
    """Draw one of some values that are too large to be printed."""
    return st.integers(0, len(values) - 1).map(lambda at: values[at])


bad_answers = by_place(BAD_ANSWERS)


class BadName(Generator):
    """Write well under a name that cannot be kept."""

    def __init__(self) -> None:
        super().__init__("They talked.", name="a\nb")


class Absent(Generator):
    """Tell that it is not available, and fail if it is asked all the same."""

    def __init__(self) -> None:
        super().__init__(AssertionError("it said that it is not available"))
        self.available = False


def bad_generators() -> SearchStrategy[Generator]:
    """Draw a generator that never writes a summary that can be kept."""
    makers: tuple[Callable[[], Generator], ...] = (BadName, Absent)
    return bad_answers.map(Generator) | st.sampled_from(makers).map(lambda make: make())


class Fickle(Generator):
    """Do something else each time it is asked; a text is a good answer."""

    def __init__(self, answers: Sequence[Any]) -> None:
        super().__init__()
        self._given = tuple(answers)
        self._answers = list(answers)

    def __repr__(self) -> str:
        return f"Fickle({self._given!r:.300})"

    def heal(self) -> None:
        """Write well from now on."""
        self._answers.clear()

    async def _answered(self) -> Any:
        self.answer = self._answers.pop(0) if self._answers else "They talked."
        return await super()._answered()


good_answers = st.sampled_from(("They talked.", "Вони говорили.", "他们聊了天。", slow))
fickle = st.lists(bad_answers | good_answers, max_size=6).map(Fickle)

Work = Callable[[], Awaitable[Any]]


def waits_for(path: Sequence[Message], cut: int, patience: int) -> bool:
    """Tell whether a tool call before the cut has its result after it, or still waits for one."""
    for at, message in enumerate(path[:cut]):
        for call in message.tool_calls:
            answers = [place for place, one in enumerate(path) if one.tool_call_id == call.id]
            if any(place >= cut for place in answers):
                return True
            if not answers and call.output is None:
                rest = [one for one in path[at + 1 :] if one.role != "tool"]
                if len(rest) < patience and all(one.role != "user" for one in rest):
                    return True
    return False
