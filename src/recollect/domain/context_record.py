"""What is kept of a prompt: which things were told and which were not, how long they were and why; none of their words.

A turn keeps it for good, so it is small and names things by their place or id and version.
Whoever wants the words again reads them where they are stored, and finds nothing of what was erased.
"""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from recollect.domain.checks import check_count, check_id, check_items, check_one_of, check_optional_id, check_type
from recollect.domain.context import BlockKind, Context, ContextItem, ContextParts, MemoryFormat
from recollect.domain.message import Message
from recollect.domain.reasons import Part, reason_parts
from recollect.errors import InvalidInputError

#: The seq of a message of the same conversation, else an id.
Ref = int | str

#: The place of each is stored: new ones are added at the end.
KINDS: Final[tuple[BlockKind, ...]] = (
    *("system", "pinned", "notes", "summaries", "memories", "passages", "window", "given", "message"),
)
_FORMATS: Final[tuple[MemoryFormat, ...]] = ("s4", "s1")
#: What needs no reason: that of most things of this kind, told or not.
_USUAL: Final[Mapping[BlockKind, tuple[str, ...]]] = {
    "window": ("said lately", "there is no room for it in the budget, as for all that is older"),
    "message": ("the new message",),
    "pinned": ("pinned",),
}
_VERSION: Final = 1
#: Texts that have no versions, or whose versions can lose words.
_CHECKED: Final = ("system", "given", "notes")


class RecordedItem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was told, or that was not."""

    ref: Ref
    tokens: int
    why: tuple[Part, ...]
    #: Of a memory or a note.
    version: int = 0
    #: Of a passage of another conversation.
    conversation_id: str | None = None
    #: How many of its characters were told, if it was cut.
    kept: int | None = None
    #: What the text is known by if it is not kept in versions.
    check: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.ref, str):
            check_id(self.ref, "ref")
        else:
            check_count(self.ref, "ref")
        check_count(self.tokens, "tokens")
        if self.why != ():
            check_items(self.why, tuple, "why")
            for part in self.why:
                check_items(part, int, "why", at_least=1)
                for number in part:
                    check_count(number, "why")
        check_count(self.version, "version")
        check_optional_id(self.conversation_id, "conversation id")
        for what in ("kept", "check"):
            if (value := getattr(self, what)) is not None:
                check_count(value, what)


class RecordedBlock(msgspec.Struct, frozen=True, kw_only=True):
    """What stood together."""

    kind: BlockKind
    tokens: int
    items: tuple[RecordedItem, ...]

    def __post_init__(self) -> None:
        check_one_of(self.kind, KINDS, "kind")
        check_count(self.tokens, "tokens")
        check_items(self.items, RecordedItem, "items")


class ContextRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt without its words."""

    budget: int
    tokens: int
    format: MemoryFormat = "s4"
    #: The message of the same conversation whose words were looked for.
    question_id: str | None = None
    blocks: tuple[RecordedBlock, ...] = ()
    left_out: tuple[tuple[BlockKind, RecordedItem], ...] = ()

    def __post_init__(self) -> None:
        check_count(self.budget, "budget")
        check_count(self.tokens, "tokens")
        check_one_of(self.format, _FORMATS, "format")
        check_optional_id(self.question_id, "question id")
        check_items(self.blocks, RecordedBlock, "blocks")
        check_items(self.left_out, tuple, "left_out")
        for one in self.left_out:
            if len(one) != 2:
                raise InvalidInputError("left_out must hold pairs of a kind and an item")
            check_one_of(one[0], KINDS, "kind")
            check_type(one[1], RecordedItem, "an item that is left out")

    def items(self, *kinds: BlockKind) -> tuple[RecordedItem, ...]:
        """Return what was told of these kinds, in order."""
        return tuple(item for block in self.blocks if block.kind in kinds for item in block.items)


class Asked(msgspec.Struct, frozen=True):
    """The message whose words were looked for."""

    id: str
    text: str


def record_of(parts: ContextParts, context: Context, conversation_id: str, asked: Asked | None) -> ContextRecord:
    """Return what is kept of the prompt that was made of these parts in a conversation."""
    recorder = _Recorder(parts, conversation_id, "" if asked is None else asked.text)
    return ContextRecord(
        budget=context.budget,
        tokens=context.tokens,
        format=parts.format,
        question_id=None if asked is None else asked.id,
        blocks=tuple(
            RecordedBlock(
                kind=block.kind,
                tokens=block.tokens,
                items=tuple(recorder.item(block.kind, item) for item in block.items),
            )
            for block in context.blocks
        ),
        left_out=tuple(
            (one.kind, recorder.item(one.kind, ContextItem(id=one.id, text="", tokens=one.tokens, why=one.why)))
            for one in context.left_out
        ),
    )


def text_check(text: str) -> int:
    """Return what tells whether the text is another now."""
    return zlib.crc32(text.encode())


def packed_record(record: ContextRecord) -> bytes:
    """Return the record in few bytes."""
    blocks = [(KINDS.index(one.kind), one.tokens, [_packed(item) for item in one.items]) for one in record.blocks]
    left_out = [(KINDS.index(kind), *_packed(item)) for kind, item in record.left_out]
    head = (_VERSION, record.budget, record.tokens, _FORMATS.index(record.format), _short(record.question_id))
    return msgspec.msgpack.encode((*head, blocks, left_out))


def unpacked_record(packed: bytes) -> ContextRecord:
    """Return the record of these bytes."""
    _, budget, tokens, form, question_id, blocks, left_out = msgspec.msgpack.decode(packed)
    return ContextRecord(
        budget=budget,
        tokens=tokens,
        format=_FORMATS[form],
        question_id=_long(question_id),
        blocks=tuple(
            RecordedBlock(kind=KINDS[kind], tokens=cost, items=tuple(map(_unpacked, items)))
            for kind, cost, items in blocks
        ),
        left_out=tuple((KINDS[kind], _unpacked(item)) for kind, *item in left_out),
    )


class _Recorder:
    """What is known of the things in a prompt, by their ids."""

    def __init__(self, parts: ContextParts, conversation_id: str, question: str) -> None:
        found = [one.memory for one in parts.recalled if one.memory is not None]
        self._versions = {memory.id: memory.version for memory in (*parts.pinned, *found)}
        self._passages: dict[str, Message] = {}
        for one in parts.recalled:
            if one.message is not None:
                self._passages.setdefault(one.message.id, one.message)
        self._seqs = {message.id: message.seq for message in parts.window}
        self._note_version = 0 if parts.note is None else parts.note.version
        self._conversation_id = conversation_id
        self._question = question

    def item(self, kind: BlockKind, item: ContextItem) -> RecordedItem:
        """Return what is kept of an item."""
        passage = self._passages.get(item.id) if kind == "passages" else None
        home = None if passage is None else passage.conversation_id
        is_usual = item.why in _USUAL.get(kind, ())
        version = self._versions.get(item.id, 0) if kind in ("pinned", "memories") else 0
        return RecordedItem(
            # A message that is stored only with this turn has no seq yet.
            ref=(self._seqs.get(item.id) or item.id) if kind == "window" else item.id,
            tokens=item.tokens,
            why=() if is_usual else reason_parts(item.why, self._question),
            version=self._note_version if kind == "notes" else version,
            conversation_id=None if home == self._conversation_id else home,
            kept=item.kept,
            check=text_check(item.text) if kind in _CHECKED and item.text else None,
        )


def usual_reason(kind: BlockKind, *, is_told: bool) -> str:
    """Return the reason of what has none of its own."""
    reasons = _USUAL.get(kind, ("",))
    return reasons[0] if is_told else reasons[-1]


def _packed(item: RecordedItem) -> list[Any]:
    """Return the values of an item, without those at the end that it does not have."""
    why = tuple(part[0] if len(part) == 1 else part for part in item.why)
    ref = item.ref if isinstance(item.ref, int) else _short(item.ref)
    values: list[Any] = [ref, item.tokens, why, item.version, _short(item.conversation_id), item.kept, item.check]
    while len(values) > _ALWAYS and values[-1] == _NOTHING[len(values) - 1]:
        values.pop()
    return values


def _unpacked(values: list[Any]) -> RecordedItem:
    ref, tokens, why, version, home, kept, check = [*values, *_NOTHING[len(values) :]]
    return RecordedItem(
        ref=ref if isinstance(ref, int) else _long(ref) or "",
        tokens=tokens,
        why=tuple((part,) if isinstance(part, int) else tuple(part) for part in why),
        version=version,
        conversation_id=_long(home),
        kept=kept,
        check=check,
    )


#: The values of an item that has none of its own, and how many every item has.
_NOTHING: Final[tuple[Any, ...]] = (None, 0, (), 0, None, None, None)
_ALWAYS: Final = 2


def _short(name: str | None) -> bytes | str | None:
    """Return an id as it takes the least room."""
    if name is None or len(name) != 36:
        return name
    try:
        number = uuid.UUID(name)
    except ValueError:
        return name
    return number.bytes if str(number) == name else name


def _long(short: bytes | str | None) -> str | None:
    return str(uuid.UUID(bytes=short)) if isinstance(short, bytes) else short
