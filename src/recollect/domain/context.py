"""What a model is given: the parts that are at hand, and what became of each under a budget.

Only values; `packing.py` chooses and `rendering.py` writes.
Nothing here knows where the parts come from or which model reads them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

import msgspec

from recollect.domain.checks import check_items, check_limit, check_one_of, check_text
from recollect.domain.memory import Memory, holds
from recollect.domain.message import Message, ToolCall
from recollect.domain.note import Note
from recollect.domain.summary import Summary
from recollect.errors import InvalidInputError

MemoryFormat = Literal["s4", "s1"]
#: In the order in which the model reads them.
BlockKind = Literal["system", "pinned", "notes", "summaries", "memories", "passages", "window", "given", "message"]
PromptRole = Literal["user", "assistant", "tool"]
#: What became of something since it was told: its exact words can be had, or only what it says now, or nothing.
ItemState = Literal["same", "changed", "erased"]

FORMATS: tuple[str, ...] = get_args(MemoryFormat)
BLOCK_KINDS: tuple[str, ...] = get_args(BlockKind)
#: Where a template wants the notes; without it they stand after the pinned memories.
NOTES_PLACEHOLDER = "{long_term_memory_notes}"
#: The key in a summary's metadata that says that it tells of what no person said here: tool output or an import.
UNTRUSTED = "untrusted"
#: Only what a person said or wrote may speak with the voice of the system.
TRUSTED_ORIGINS = ("user", "manual")


class Recalled(msgspec.Struct, frozen=True, kw_only=True):
    """A memory or a message that recall found, never both."""

    memory: Memory | None = None
    message: Message | None = None
    score: float = 0.0
    why: str = ""

    def __post_init__(self) -> None:
        if (self.memory is None) == (self.message is None):
            raise InvalidInputError("give a memory or a message")


class ContextParts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that may stand in a prompt."""

    #: What the application tells the model; it may hold `{long_term_memory_notes}`.
    system: str = ""
    #: What the user wants every reply to follow.
    instructions: str = ""
    pinned: tuple[Memory, ...] = ()
    note: Note | None = None
    #: Those that stand for older messages, oldest first.
    summaries: tuple[Summary, ...] = ()
    #: Best first.
    recalled: tuple[Recalled, ...] = ()
    #: The newest messages, oldest first, without the new one.
    window: tuple[Message, ...] = ()
    #: What the application says of the moment, such as the page that is open; told as data before the message.
    given: str = ""
    #: What the user says now; empty for a preview without a question.
    message: str = ""
    format: MemoryFormat = "s4"

    def __post_init__(self) -> None:
        check_text(self.system, "system prompt")
        check_text(self.instructions, "instructions")
        check_text(self.given, "context")
        check_text(self.message, "message")
        check_one_of(self.format, FORMATS, "format")
        for what, kind in (("pinned", Memory), ("summaries", Summary), ("recalled", Recalled), ("window", Message)):
            check_items(getattr(self, what), kind, what, at_most=10_000)


class ContextItem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that stands in the prompt, as it is written there."""

    id: str
    text: str
    tokens: int
    why: str
    #: How many characters of it are told, if it was cut.
    kept: int | None = None
    #: Other than `same` only where an earlier prompt is told again.
    state: ItemState = "same"


class ContextBlock(msgspec.Struct, frozen=True, kw_only=True):
    """What stands together; its tokens are those of its items and of what surrounds them."""

    kind: BlockKind
    tokens: int
    items: tuple[ContextItem, ...]


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that does not stand in the prompt."""

    kind: BlockKind
    id: str
    tokens: int
    why: str


class PromptMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message for the model; each tool call has an object as its input and is followed at once by its result."""

    role: PromptRole
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    #: On a tool message: the call that it answers.
    tool_call_id: str | None = None


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt under a budget, and what it is made of."""

    budget: int
    tokens: int
    #: By how much the system prompt, instructions and the new message alone exceed the budget; nothing else ever does.
    over: int
    blocks: tuple[ContextBlock, ...]
    left_out: tuple[LeftOut, ...]
    #: The text for the system role; it changes only when what it tells changes, not with the question.
    prompt: str
    #: What is told for this question, as it stands in the messages; empty if nothing was recalled.
    tail: str
    #: What follows the system text: data, then the window, then the new message.
    messages: tuple[PromptMessage, ...]

    @property
    def memory_ids(self) -> tuple[str, ...]:
        """Return the ids of the memories that are told, pinned ones first."""
        return tuple(item.id for block in self.blocks if block.kind in ("pinned", "memories") for item in block.items)


def recent(memories: Iterable[Memory], limit: int) -> tuple[Recalled, ...]:
    """Return the newest memories that hold, for a prompt without a question."""
    check_limit(limit)
    usable = [one for one in memories if may_be_told(one) and holds(one, None) and not one.is_pinned]
    usable.sort(key=lambda one: (one.created_at, one.id), reverse=True)
    return tuple(Recalled(memory=one, why="learned lately") for one in usable[:limit])


def may_be_told(memory: Memory) -> bool:
    """Tell whether the memory may stand in a prompt: it waits for no review and is not set aside."""
    return memory.trust == "active" and not memory.is_archived and memory.deleted_at is None


def may_instruct(memory: Memory) -> bool:
    """Tell whether the memory may stand in the system role."""
    return may_be_told(memory) and memory.origin in TRUSTED_ORIGINS
