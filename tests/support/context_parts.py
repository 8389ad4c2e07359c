"""Parts of a prompt with as little said as possible, and ways to look at what became of them."""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.domain.appending import stored_message
from recollect.domain.context import BlockKind, Context, PromptMessage, Recalled
from recollect.domain.memory import Memory, memory_from
from recollect.domain.message import Message, ToolCall
from recollect.domain.note import Note
from recollect.domain.summary import Summary
from recollect.domain.tokens import estimate_tokens
from recollect.domain.tool_pairs import message_cost
from recollect.testing import samples
from recollect.testing.clock import START


def a_memory(memory_id: str, content: str | None = None, **more: Any) -> Memory:
    """Return a stored memory, said by the user unless more is given; also in states that only a change leads to."""
    changed = {name: more.pop(name) for name in ("is_archived", "deleted_at", "superseded_by") if name in more}
    made = memory_from(samples.memory(memory_id, content, **{"origin": "user", **more}))
    return msgspec.structs.replace(made, **changed)


def a_message(message_id: str, content: str = "words", **more: Any) -> Message:
    """Return a stored message of conversation c1."""
    conversation_id, seq = more.pop("conversation_id", "c1"), more.pop("seq", 1)
    return stored_message(samples.message(message_id, content, **more), conversation_id, seq, None, None)


def a_call(message_id: str, *call_ids: str, content: str = "", output: object = None) -> Message:
    """Return an assistant's message that calls tools."""
    calls = tuple(ToolCall(id=one, tool_name="look", input={"for": one}, output=output) for one in call_ids)
    return a_message(message_id, content, role="assistant", tool_calls=calls)


def a_result(message_id: str, call_id: str, content: str = "found") -> Message:
    """Return what a tool returned."""
    return a_message(message_id, content, role="tool", tool_call_id=call_id)


def a_summary(summary_id: str, content: str, *, number: int = 1, **metadata: Any) -> Summary:
    """Return a stored summary of one message."""
    return Summary(
        id=summary_id,
        message_id=f"message-{summary_id}",
        conversation_id="c1",
        content=content,
        generator="test",
        level=0,
        first_seq=number,
        last_seq=number,
        last_message_id=f"m{number}",
        message_count=1,
        start_at=START,
        end_at=START,
        created_at=START,
        metadata=metadata,
    )


def a_note(notes: str, version: int = 1) -> Note:
    """Return the note of the usual agent."""
    return Note(agent="assistant", notes=notes, version=version, created_at=START, updated_at=START)


def found(item: Memory | Message, score: float = 1.0, why: str = "it fits") -> Recalled:
    """Return the item as recall gives it."""
    if isinstance(item, Memory):
        return Recalled(memory=item, score=score, why=why)
    return Recalled(message=item, score=score, why=why)


def told(context: Context, kind: BlockKind) -> list[str]:
    """Return the ids of what is told of this kind."""
    return [item.id for block in context.blocks if block.kind == kind for item in block.items]


def left(context: Context, kind: BlockKind) -> list[str]:
    """Return the ids of what is left out of this kind."""
    return [item.id for item in context.left_out if item.kind == kind]


def cost(prompt: str, messages: tuple[PromptMessage, ...]) -> int:
    """Return what the prompt costs, counted on what is sent."""
    return estimate_tokens(prompt) + sum(map(message_cost, messages))


def by_user(context: Context) -> str:
    """Return everything that stands outside the system role."""
    return "\n".join(message.text for message in context.messages)
