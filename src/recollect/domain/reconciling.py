"""Decide how a new memory meets the stored ones: skip, merge, supersede, precede or add.

Pure rules over values, so they are tested without a store, a model or a clock.
What counts as the same statement is decided in `likeness.py`, what a statement speaks of in `slots.py`.
A statement that names no slot takes the place of nothing, however similar it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

import msgspec
from msgspec import UNSET

from recollect.domain.checks import as_utc
from recollect.domain.likeness import DEFAULT_THRESHOLDS, Said, Thresholds, are_same, has_more, names
from recollect.domain.memory import (
    MAX_SOURCES,
    Memory,
    MemoryChanges,
    MemoryEdit,
    NewMemory,
    Source,
    holds,
)
from recollect.domain.slots import Slot, slot_of

#: How far a statement from another source moves the importance of a memory towards 1.
RAISE: Final = 0.2

_OWN_WORDS, _ECHO, _UNTRUSTED = 2, 1, 0


class Neighbour(NamedTuple):
    """A stored memory and how close its meaning is to the new one, in [0, 1], or None if nobody knows."""

    memory: Memory
    similarity: float | None = None


class Add(msgspec.Struct, frozen=True):
    """Store it beside the others."""

    new: NewMemory


class Skip(msgspec.Struct, frozen=True):
    """Store nothing: this memory says the same."""

    memory: Memory


class Merge(msgspec.Struct, frozen=True):
    """Store nothing new, and let this memory gain what the new one brings."""

    memory: Memory
    changes: MemoryChanges


class Supersede(msgspec.Struct, frozen=True):
    """Store it as the current value; the edits end these memories where it begins."""

    new: NewMemory
    memories: tuple[Memory, ...]
    edits: tuple[MemoryEdit, ...]


class Precede(msgspec.Struct, frozen=True):
    """Store it as history, for it was so before the current value; the edits end what held until then."""

    new: NewMemory
    memory: Memory
    edits: tuple[MemoryEdit, ...] = ()


Decision = Add | Skip | Merge | Supersede | Precede


class Known(msgspec.Struct, frozen=True):
    """A memory, stored or new, with what every comparison needs of it, read once."""

    memory: Memory
    said: Said
    slot: Slot | None
    is_current: bool
    similarity: float | None = None

    @property
    def wording(self) -> str:
        """Return what it says, normalised."""
        return self.said.wording


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A new memory with what every comparison needs of it, and what the decision is made with."""

    new: NewMemory
    said: Said
    slot: Slot | None
    at: datetime
    thresholds: Thresholds = DEFAULT_THRESHOLDS
    reviewed: bool = False

    @property
    def wording(self) -> str:
        """Return what it says, normalised."""
        return self.said.wording


def decide(
    new: NewMemory,
    existing: Sequence[Neighbour],
    *,
    at: datetime | None = None,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
    reviewed: bool = False,
) -> Decision:
    """Return what becomes of the new memory beside those that exist.

    `existing` holds the memories nearest to it and all of its slot, past values too; any order gives the same.
    `at` is the time of the edits, else the time of the memory; `reviewed` says that a person approved of it.
    """
    given = candidate(new, at=at or new.at, thresholds=thresholds, reviewed=reviewed)
    return decide_among(given, [known(memory, similarity) for memory, similarity in existing])


def candidate(
    new: NewMemory, *, at: datetime, thresholds: Thresholds, reviewed: bool = False, said: Said | None = None
) -> Candidate:
    """Read a new memory for decisions, unless what it says was read before."""
    said = said or Said(new.content)
    return Candidate(new=new, said=said, slot=_slot(new), at=at, thresholds=thresholds, reviewed=reviewed)


def known(memory: Memory, similarity: float | None = None, said: Said | None = None) -> Known:
    """Read a stored memory for decisions, unless what it says was read before."""
    return Known(memory, said or Said(memory.content), _slot(memory), holds(memory, None), similarity)


def decide_among(given: Candidate, existing: Sequence[Known]) -> Decision:
    """Return what `decide` does, for memories that were read before."""
    new = given.new
    others = [one for one in existing if one.memory.deleted_at is None and one.memory.id != new.id]
    past = _known_past(given, others)
    if past is not None:
        return Skip(past)
    if new.valid_to is not None:
        return Add(new)
    if new.trust != "active":
        alike = _alike(given, others)
        return Skip(alike[0].memory) if alike else Add(new)
    return _decide_trusted(given, others)


def _known_past(given: Candidate, others: Sequence[Known]) -> Memory | None:
    """Return the past value that says this of the same time, so that a replay brings nothing back."""
    new, start = given.new, started(given.new)
    found = [
        memory
        for memory in (one.memory for one in others if one.wording == given.wording)
        if memory.valid_to is not None
        and memory.trust == "active"
        and started(memory) <= start < memory.valid_to
        and (new.valid_to is None or as_utc(new.valid_to) <= memory.valid_to)
    ]
    return min(found, key=lambda memory: memory.id, default=None)


def _decide_trusted(given: Candidate, others: Sequence[Known]) -> Decision:
    """Decide about a statement that may change what is current."""
    weight = _weight(given.new, reviewed=given.reviewed)
    twin = next((one.memory for one in others if _is_twin(given, one) and one.memory.trust != "active"), None)
    if twin is not None and weight < _OWN_WORDS:
        return Skip(twin)
    trusted = [one for one in others if one.memory.trust == "active"]
    given = _about_the_past(given, trusted)
    new, alike = given.new, _alike(given, trusted)
    echoes = [one.memory for one in alike]
    rivals = _rivals(given, trusted, {memory.id for memory in echoes})
    current = [memory for memory in rivals if holds(memory, None)]
    overrules = all(_weight(memory) <= weight for memory in (*current, *echoes))
    names_more = given.slot is not None and overrules and all(one.slot is None for one in alike)
    if echoes and not current and not names_more:
        return _joined(given, alike[0])
    if not overrules:
        return Skip(echoes[0]) if echoes else Add(msgspec.structs.replace(new, trust="pending"))
    if any(started(memory) > started(new) for memory in current):
        return _preceding(given, rivals)
    if twin is not None:
        current.append(twin)
    return _superseding(given, current, echoes) if current or echoes else Add(new)


def _about_the_past(given: Candidate, trusted: Sequence[Known]) -> Candidate:
    """Return a denial of what the slot no longer has without its slot, so that it ends no other value."""
    denied = given.new.denies
    current = [one for one in trusted if one.is_current and given.slot is not None and one.slot == given.slot]
    if denied is None or not current or any(names(denied, one.wording) for one in current):
        return given
    new = msgspec.structs.replace(given.new, subject=None, attribute=None, denies=None)
    return msgspec.structs.replace(given, new=new, slot=None)


def started(memory: NewMemory | Memory) -> datetime:
    """Return since when the statement holds, as far as anybody knows."""
    said = memory.at if isinstance(memory, NewMemory) else memory.created_at
    return as_utc(memory.valid_from or said)


def _slot(memory: NewMemory | Memory) -> Slot | None:
    return None if memory.memory_type == "insight" else slot_of(memory.subject, memory.attribute)


def _weight(memory: NewMemory | Memory, *, reviewed: bool = False) -> int:
    """Return how much the statement may change: what an assistant or a document says never overrules people."""
    if reviewed:
        return _OWN_WORDS
    if memory.trust != "active":
        return _UNTRUSTED
    return _ECHO if memory.origin in ("assistant", "document") else _OWN_WORDS


def _is_twin(given: Candidate, one: Known) -> bool:
    return one.is_current and one.wording == given.wording


def _alike(given: Candidate, others: Sequence[Known]) -> list[Known]:
    """Return the current memories that say the same, the closest first."""

    def distance(one: Known) -> tuple[bool, bool, float, str]:
        return not _is_twin(given, one), one.slot != given.slot, -(one.similarity or 0.0), one.memory.id

    found = [one for one in others if one.is_current and _says_same(given, one)]
    return sorted(found, key=distance) if len(found) > 1 else found


def _says_same(given: Candidate, one: Known) -> bool:
    """Tell whether nothing would be lost without the new one; where it names a slot, no word may differ."""
    if one.wording == given.wording:
        return True
    mine, theirs, allowed = given.said, one.said, given.thresholds
    if given.slot is None:
        return are_same(mine, theirs, one.similarity, allowed) and not has_more(mine, theirs)
    strict = msgspec.structs.replace(allowed, substitution=0.0, omission=0.0)
    return one.slot in (None, given.slot) and are_same(mine, theirs, one.similarity, strict)


def _rivals(given: Candidate, trusted: Sequence[Known], alike: set[str]) -> list[Memory]:
    """Return the other values of the slot, past ones too, by their age."""
    if given.slot is None:
        return []
    mine = [one for one in trusted if one.slot == given.slot and one.memory.id not in alike]
    found = [one.memory for one in mine if given.new.denies is None or names(given.new.denies, one.wording)]
    return sorted(found, key=lambda memory: (started(memory), memory.id))


def _joined(given: Candidate, one: Known) -> Skip | Merge:
    """Add what the new one brings to the memory that says the same; the stored wording stays.

    An equal statement brings nothing, but wakes an archived memory.
    """
    new, memory, is_twin = given.new, one.memory, _is_twin(given, one)
    fresh = _fresh_sources(new.sources, memory)
    is_new_evidence = bool(fresh) if new.sources else _origin(new) != _origin(memory)
    wakes = memory.is_archived and is_new_evidence
    if is_twin and not wakes:
        return Skip(memory)
    raised = is_new_evidence and not is_twin and _weight(new, reviewed=given.reviewed) >= _weight(memory)
    changes = MemoryChanges(
        at=given.at,
        importance=_raised(max(memory.importance, new.importance)) if raised else UNSET,
        is_archived=False if wakes else UNSET,
        more_sources=fresh,
        expected_version=memory.version,
    )
    return Merge(memory, changes) if raised or wakes or fresh else Skip(memory)


def _origin(memory: NewMemory | Memory) -> tuple[str, str | None]:
    return memory.origin, memory.conversation_id


def _fresh_sources(sources: tuple[Source, ...], memory: Memory) -> tuple[Source, ...]:
    fresh = [source for source in dict.fromkeys(sources) if source not in memory.sources]
    return tuple(fresh[: max(0, MAX_SOURCES - len(memory.sources))])


def _raised(importance: float) -> float:
    return round(min(1.0, importance + (1.0 - importance) * RAISE), 4)


def _ended(memory: Memory, new: NewMemory, at: datetime) -> MemoryEdit:
    end = max(started(new), started(memory))
    changes = MemoryChanges(at=at, valid_to=end, superseded_by=new.id, expected_version=memory.version)
    return MemoryEdit(memory_id=memory.id, changes=changes)


def _superseding(given: Candidate, rivals: Sequence[Memory], echoes: Sequence[Memory]) -> Supersede:
    """Let the new one take the place of other values of its slot and of those that say the same without a slot.

    A pin is for what the slot says, so it moves; sources and importance move from those that say the same.
    """
    new, memories = given.new, (*rivals, *echoes)
    sources = dict.fromkeys((*new.sources, *(source for memory in echoes for source in memory.sources)))
    kept = msgspec.structs.replace(
        new,
        valid_from=started(new),
        is_pinned=new.is_pinned or any(memory.is_pinned and memory.trust == "active" for memory in memories),
        importance=max([new.importance, *(memory.importance for memory in echoes)]),
        sources=tuple(sources)[:MAX_SOURCES],
    )
    return Supersede(kept, memories, tuple(_ended(memory, kept, given.at) for memory in memories))


def _preceding(given: Candidate, rivals: Sequence[Memory]) -> Precede:
    """Put the new one into the past of its slot, up to the value that followed it."""
    new, start = given.new, started(given.new)
    follower = min((m for m in rivals if started(m) > start), key=lambda m: (started(m), m.id))
    before = [m for m in rivals if started(m) <= start and (m.valid_to is None or m.valid_to > start)]
    kept = msgspec.structs.replace(new, valid_from=start, valid_to=started(follower))
    return Precede(kept, follower, tuple(_ended(memory, kept, given.at) for memory in before))
