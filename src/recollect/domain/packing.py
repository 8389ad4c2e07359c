"""Choose what stands in a prompt, so that it keeps a budget of tokens and its beginning stays the same.

The system text holds the system prompt, the user's instructions, pinned memories, notes and summaries; which of them
fit depends on the budget and on themselves, not on the question, so that its bytes can be cached.
What was recalled for the question, the window and the new message share the rest; `tail_packing.py` parts it.
What no person said here or wrote is told as data, on the user's side, and never in the system text.
`docs/context.md` says the order in which things give way, and why.
"""

from __future__ import annotations

import msgspec

from recollect.domain.checks import check_count
from recollect.domain.context import (
    BLOCK_KINDS,
    NOTES_PLACEHOLDER,
    UNTRUSTED,
    Context,
    ContextItem,
    ContextParts,
    PromptMessage,
    may_be_told,
    may_instruct,
)
from recollect.domain.memory import Memory
from recollect.domain.note import Note
from recollect.domain.parcel import JOIN, NO_ROOM, WAITS, Parcel, line
from recollect.domain.rendering import (
    INSTRUCTIONS_HEADER,
    NO_NOTES,
    NOTE_CUT,
    NOTES_HEADER,
    SUMMARY_HEADER,
    as_data,
    cut_notes,
    defused,
    joined,
    memory_block,
    memory_line,
    passage_block,
    rendered_notes,
    unheaded,
)
from recollect.domain.tail_packing import pack_tail
from recollect.domain.tokens import estimate_tokens
from recollect.domain.tool_pairs import MESSAGE_COST, message_cost


def build(parts: ContextParts, budget: int) -> Context:
    """Return the prompt of these parts in at most so many tokens, by estimate.

    The system prompt, the user's instructions and the new message are never left out; if they alone exceed the budget,
    `over` says by how much.
    The same parts and budget give the same prompt, byte for byte.
    """
    check_count(budget, "budget")
    parcel = Parcel()
    free = _put_fixed(parcel, parts, budget)
    allowance = _allowance(parcel, budget, free)
    parcel.room = allowance
    told_as_data = _pack_pinned(parcel, parts)
    _pack_summaries(parcel, parts)
    _pack_note(parcel, parts)
    parcel.room += free - allowance
    window = pack_tail(parcel, parts, told_as_data)
    return assembled(parcel, parts, budget, window)


def _put_fixed(parcel: Parcel, parts: ContextParts, budget: int) -> int:
    """Tell what is never left out, and return the room beside it."""
    parcel.room = budget
    if parts.system:
        text = filled(parts.system, NO_NOTES)
        parcel.put("system", ContextItem(id="system", text=text, tokens=estimate_tokens(text), why="always"))
    if parts.instructions.strip():
        text = INSTRUCTIONS_HEADER + parts.instructions
        cost = estimate_tokens(text) + 2 * JOIN
        parcel.put("system", ContextItem(id="instructions", text=text, tokens=cost, why="what the user wants"))
    if parts.given:
        text = as_data("application_context", defused(parts.given))
        cost = message_cost(PromptMessage(role="user", text=text))
        parcel.put("given", ContextItem(id="given", text=text, tokens=cost, why="what the application gave"))
    if parts.message:
        cost = message_cost(PromptMessage(role="user", text=parts.message))
        parcel.put("message", ContextItem(id="message", text=parts.message, tokens=cost, why="the new message"))
    return max(parcel.room, 0)


def _allowance(parcel: Parcel, budget: int, free: int) -> int:
    """Return how much of the system text may be remembered: half of what the system prompt leaves.

    A new message that needs more than the other half makes it smaller in steps, so that its length shows as seldom as
    possible.
    """
    allowance = max(budget - sum(item.tokens for item in parcel.items("system")), 0) // 2
    while allowance > free:
        allowance //= 2
    return allowance


def _pack_pinned(parcel: Parcel, parts: ContextParts) -> tuple[Memory, ...]:
    """Tell what is pinned, the most important first if there is no room for all; return what is to be told as data."""
    pinned = {memory.id: memory for memory in parts.pinned}
    around = estimate_tokens(memory_block((), parts.format)) + 2 * JOIN
    for memory in sorted(pinned.values(), key=lambda one: (-one.importance, one.created_at, one.id)):
        item = line(memory.id, memory_line(memory, parts.format), "pinned")
        if not may_be_told(memory):
            parcel.leave("pinned", memory.id, item.tokens, WAITS)
        elif may_instruct(memory) and not parcel.take("pinned", item, around):
            parcel.leave("pinned", memory.id, item.tokens)
    in_time = sorted(pinned.values(), key=lambda one: (one.created_at, one.id))
    parcel.sort("pinned", {memory.id: at for at, memory in enumerate(in_time)})
    return tuple(memory for memory in in_time if may_be_told(memory) and not may_instruct(memory))


def _pack_summaries(parcel: Parcel, parts: ContextParts) -> None:
    """Tell the summaries, the newest first if there is no room for all; none is told beyond one that is missing."""
    cost = estimate_tokens(as_data("earlier_conversation", "")) + MESSAGE_COST if _as_data(parts) else 0
    around = cost + estimate_tokens(SUMMARY_HEADER) + 2 * JOIN
    is_full = False
    for summary in reversed(parts.summaries):
        why = f"stands for messages {summary.first_seq} to {summary.last_seq}"
        item = line(summary.id, unheaded(summary.content), why)
        is_full = is_full or not parcel.take("summaries", item, around)
        if is_full:
            parcel.leave("summaries", summary.id, item.tokens)
    parcel.items("summaries").reverse()


def _as_data(parts: ContextParts) -> bool:
    """Tell whether a summary tells of what no person said here; then none of them is told in the system text."""
    return any(summary.metadata.get(UNTRUSTED) for summary in parts.summaries)


def _pack_note(parcel: Parcel, parts: ContextParts) -> None:
    """Tell the notes, or as many of their first sections as there is room for."""
    note = parts.note
    if note is None or not note.notes.strip():
        return
    around = 0 if NOTES_PLACEHOLDER in parts.system else estimate_tokens(NOTES_HEADER) + 2 * JOIN
    whole = _note_item(parts, note, note.notes, f"the notes of {note.agent}, version {note.version}")
    if parcel.take("notes", whole, around):
        return
    cut = _cut_note(parts, note, parcel.room - around)
    if cut is None or not parcel.take("notes", cut, around):
        parcel.leave("notes", whole.id, whole.tokens, f"{NO_ROOM}; the agent can read it with its tool")


def _cut_note(parts: ContextParts, note: Note, room: int) -> ContextItem | None:
    why = f"the notes of {note.agent}, version {note.version}, cut to fit"
    around = _note_item(parts, note, "-", "").tokens
    times = max(parts.system.count(NOTES_PLACEHOLDER), 1)
    text = cut_notes(note.notes, (room - around) // times)
    if text is None:
        return None
    return msgspec.structs.replace(_note_item(parts, note, text, why), kept=len(text) - len(NOTE_CUT))


def _note_item(parts: ContextParts, note: Note, text: str, why: str) -> ContextItem:
    told = rendered_notes(text)
    if NOTES_PLACEHOLDER not in parts.system:
        return line(note.agent, told, why)
    full, empty = (estimate_tokens(filled(parts.system, one)) for one in (told, NO_NOTES))
    return ContextItem(id=note.agent, text=told, tokens=max(full - empty, 0), why=why)


def filled(system: str, notes: str) -> str:
    """Return the system prompt with the notes where it wants them."""
    return system.replace(NOTES_PLACEHOLDER, notes)


def assembled(parcel: Parcel, parts: ContextParts, budget: int, window: tuple[PromptMessage, ...]) -> Context:
    """Return the prompt of what is in the parcel, with the messages of the window as they are."""
    blocks = parcel.blocks()
    tokens = sum(block.tokens for block in blocks)
    summaries = _section(SUMMARY_HEADER, parcel.texts("summaries"))
    tail = _recalled(parcel, parts)
    data = [as_data("earlier_conversation", summaries)] if summaries and _as_data(parts) else []
    data += [tail] if tail else []
    said = [*parcel.texts("given"), *parcel.texts("message")]
    return Context(
        budget=budget,
        tokens=tokens,
        over=max(tokens - budget, 0),
        blocks=blocks,
        left_out=tuple(sorted(parcel.left_out, key=lambda one: BLOCK_KINDS.index(one.kind))),
        prompt=_prompt(parcel, parts, "" if _as_data(parts) else summaries),
        tail=tail,
        messages=(
            *(PromptMessage(role="user", text=text) for text in data),
            *window,
            *(PromptMessage(role="user", text=text) for text in said),
        ),
    )


def _prompt(parcel: Parcel, parts: ContextParts, summaries: str) -> str:
    pinned = parcel.texts("pinned")
    notes = parcel.texts("notes")
    is_template = NOTES_PLACEHOLDER in parts.system
    return joined(
        (
            filled(parts.system, notes[0] if notes else NO_NOTES),
            *(item.text for item in parcel.items("system") if item.id == "instructions"),
            memory_block(pinned, parts.format) if pinned else "",
            "" if is_template else _section(NOTES_HEADER, notes),
            summaries,
        )
    )


def _recalled(parcel: Parcel, parts: ContextParts) -> str:
    memories, passages = parcel.texts("memories"), parcel.texts("passages")
    if not memories and not passages:
        return ""
    return as_data(
        "recalled",
        memory_block(memories, parts.format) if memories else "",
        passage_block(passages) if passages else "",
    )


def _section(header: str, texts: list[str]) -> str:
    return header + "\n\n".join(texts) if texts else ""
