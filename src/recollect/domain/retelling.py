"""Tell again what a model was told for a turn, from its record and from what is still stored.

The words are rendered by the same functions that wrote the prompt; what was erased since is empty, and what it says now
stands for a text that can no longer be had.
Nothing here reads a store; `service/retelling.py` does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from recollect.domain.context import (
    BlockKind,
    Context,
    ContextBlock,
    ContextItem,
    ContextParts,
    ItemState,
    LeftOut,
    PromptMessage,
)
from recollect.domain.context_record import ContextRecord, RecordedItem, text_check, usual_reason
from recollect.domain.memory import Memory
from recollect.domain.message import Message
from recollect.domain.packing import assembled, filled
from recollect.domain.parcel import JOIN, Parcel
from recollect.domain.reasons import Spoken, reason
from recollect.domain.rendering import (
    INSTRUCTIONS_HEADER,
    NO_NOTES,
    NOTE_CUT,
    as_data,
    cut_again,
    defused,
    memory_line,
    passage_line,
    rendered_notes,
    unheaded,
)
from recollect.domain.summary import Summary
from recollect.domain.tokens import estimate_tokens
from recollect.domain.tool_pairs import groups, told


class Remains(msgspec.Struct, frozen=True, kw_only=True):
    """What is left of what a record names; whatever is missing was erased."""

    #: As they are now, for they have no versions.
    system: str = ""
    instructions: str = ""
    given: str = ""
    question: Message | None = None
    #: As they were then, if that can be had.
    memories: Mapping[str, Memory] = {}
    note: str | None = None
    summaries: Mapping[str, Summary] = {}
    #: By the id of the conversation, None if it is the same, and their own.
    passages: Mapping[tuple[str | None, str], Message] = {}
    #: The messages that stood before the reply, oldest first.
    window: Sequence[Message] = ()


def item_reason(kind: BlockKind, item: RecordedItem, question: str) -> str:
    """Return why something was told, as far as what the reason quotes is known."""
    if not item.why:
        return usual_reason(kind, is_told=True)
    return reason(item.why, Spoken(question=question, agent=str(item.ref)))


def retold(record: ContextRecord, remains: Remains) -> Context:
    """Return the prompt as it was, as far as it can be had."""
    return _Retelling(record, remains).context()


class _Retelling:
    def __init__(self, record: ContextRecord, remains: Remains) -> None:
        self._record = record
        self._remains = remains
        by_ref = {ref: message for message in remains.window for ref in (message.seq, message.id)}
        self._window = {item.ref: by_ref[item.ref] for item in record.items("window") if item.ref in by_ref}
        self._messages = by_ref
        shown = [
            msgspec.structs.replace(self._window[item.ref], content=_cut(self._window[item.ref], item))
            for item in record.items("window")
            if item.ref in self._window
        ]
        self._told = {one.message.id: one for group in groups(shown) for one in told(group)}

    def context(self) -> Context:
        record, remains = self._record, self._remains
        blocks = tuple(
            ContextBlock(
                kind=block.kind,
                tokens=block.tokens,
                items=tuple(self._item(block.kind, item) for item in block.items),
            )
            for block in record.blocks
        )
        parcel = Parcel()
        for block in blocks:
            parcel.items(block.kind).extend(item for item in block.items if item.text)
        wanted = {item.ref for item in record.items("system")}
        parts = ContextParts(
            system=remains.system if "system" in wanted else "",
            format=record.format,
            summaries=tuple(remains.summaries.values()),
        )
        made = assembled(parcel, parts, record.budget, self._prompts())
        return msgspec.structs.replace(
            made,
            tokens=record.tokens,
            over=max(record.tokens - record.budget, 0),
            blocks=blocks,
            left_out=tuple(self._left_out(kind, item) for kind, item in record.left_out),
        )

    def _prompts(self) -> tuple[PromptMessage, ...]:
        return tuple(prompt for one in self._told.values() for prompt in one.prompts)

    def _item(self, kind: BlockKind, item: RecordedItem) -> ContextItem:
        text, is_same = self._text(kind, item)
        state: ItemState = "erased" if text is None else "same" if is_same else "changed"
        return ContextItem(
            id=self._id(kind, item),
            text=text or "",
            tokens=item.tokens,
            why=self._why(kind, item, is_told=True, is_erased=text is None),
            kept=item.kept,
            state=state,
        )

    def _left_out(self, kind: BlockKind, item: RecordedItem) -> LeftOut:
        why = self._why(kind, item, is_told=False, is_erased=True)
        return LeftOut(kind=kind, id=self._id(kind, item), tokens=item.tokens, why=why)

    def _id(self, kind: BlockKind, item: RecordedItem) -> str:
        if isinstance(item.ref, str):
            return item.ref
        found = self._messages.get(item.ref)
        return "" if found is None else found.id

    def _why(self, kind: BlockKind, item: RecordedItem, *, is_told: bool, is_erased: bool) -> str:
        """Return the reason; what says something of an erased thing is not quoted."""
        if not item.why:
            return usual_reason(kind, is_told=is_told)
        question, agent = self._remains.question, str(item.ref)
        if is_erased or question is None:
            return reason(item.why, Spoken(agent=agent))
        passage = self._passage(item) if kind == "passages" else None
        return reason(item.why, Spoken(question=question.content, message=passage, agent=agent))

    def _text(self, kind: BlockKind, item: RecordedItem) -> tuple[str | None, bool]:
        """Return the text, None if it was erased, and whether it is the text that was told."""
        remains = self._remains
        match kind:
            case "system" | "given" | "notes":
                text = self._unversioned(kind, item)
                return text, text is not None and text_check(text) == item.check
            case "message":
                return (None, False) if remains.question is None else (remains.question.content, True)
            case "window":
                found = self._told.get(self._id(kind, item))
                if found is None:
                    return None, False
                return "\n".join(prompt.text for prompt in found.prompts), found.tokens == item.tokens
        text = self._line(kind, item)
        return text, text is not None and estimate_tokens(text) + JOIN == item.tokens and self._is_then(kind, item)

    def _unversioned(self, kind: BlockKind, item: RecordedItem) -> str | None:
        remains = self._remains
        if kind == "notes":
            note = remains.note
            return None if not note else rendered_notes(cut_again(note, item.kept, NOTE_CUT))
        if kind == "given":
            return as_data("application_context", defused(remains.given)) if remains.given else None
        if item.ref == "instructions":
            return INSTRUCTIONS_HEADER + remains.instructions if remains.instructions.strip() else ""
        return filled(remains.system, NO_NOTES)

    def _line(self, kind: BlockKind, item: RecordedItem) -> str | None:
        if kind == "summaries":
            summary = self._remains.summaries.get(str(item.ref))
            return None if summary is None or not summary.content else unheaded(summary.content)
        if kind == "passages":
            message = self._passage(item)
            if message is None:
                return None
            return passage_line(msgspec.structs.replace(message, content=_cut(message, item)))
        memory = self._remains.memories.get(str(item.ref))
        return None if memory is None else memory_line(memory, self._record.format)

    def _is_then(self, kind: BlockKind, item: RecordedItem) -> bool:
        memory = self._remains.memories.get(str(item.ref)) if kind in ("pinned", "memories") else None
        return memory is None or memory.version == item.version

    def _passage(self, item: RecordedItem) -> Message | None:
        return self._remains.passages.get((item.conversation_id, str(item.ref)))


def _cut(message: Message, item: RecordedItem) -> str:
    return cut_again(message.content, item.kept)
