"""Plan how a batch of new memories changes what is stored, so that one transaction can save it.

Each candidate also meets the candidates before it, as if those were stored already.
The rules for one memory are in `reconciling.py`; here their decisions become memories to add and edits to make.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec
from msgspec import UNSET

from recollect.domain.likeness import DEFAULT_THRESHOLDS, Said, Thresholds
from recollect.domain.memory import Memory, MemoryChanges, MemoryEdit, NewMemory, changed, memory_from
from recollect.domain.reconciling import (
    Add,
    Decision,
    Known,
    Merge,
    Neighbour,
    Precede,
    Skip,
    Supersede,
    candidate,
    decide,
    decide_among,
    known,
)

#: How close the meaning of a stored memory is to that of a candidate, in [0, 1], or None if nobody knows.
Similarity = Callable[[NewMemory, Memory], float | None]
#: What a memory says, read for comparisons.
Reading = Callable[[NewMemory | Memory], Said]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What to save for a batch: at most one edit for each stored memory, guarded by its version."""

    new: tuple[NewMemory, ...] = ()
    edits: tuple[MemoryEdit, ...] = ()
    #: Candidates that brought nothing new.
    skipped: int = 0
    #: Candidates that joined a memory, stored or of this batch.
    merged: int = 0
    #: Memories, stored or of this batch, that are no longer current.
    superseded: int = 0


def no_similarity(new: NewMemory, memory: Memory) -> float | None:
    """Say that nobody knows how close the two are."""
    return None


def read_anew(memory: NewMemory | Memory) -> Said:
    """Read what the memory says."""
    return Said(memory.content)


def reconcile(
    candidates: Sequence[NewMemory],
    existing: Sequence[Memory],
    *,
    at: datetime,
    similarity: Similarity = no_similarity,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
    said: Reading = read_anew,
) -> Plan:
    """Return what to save so that the candidates, in this order, meet the existing memories and each other.

    `existing` holds whatever may say the same, and all of the slots that the candidates name, past values too.
    `said` may know what was read before.
    """
    if len(candidates) == 1:
        (new,) = candidates
        near = [known(memory, similarity(new, memory), said(memory)) for memory in existing]
        decision = decide_among(candidate(new, at=at, thresholds=thresholds, said=said(new)), near)
        return _plan_of_one(new, decision, existing, said)
    batch = _Batch(existing, said)
    for new in candidates:
        given = candidate(new, at=at, thresholds=thresholds, said=said(new))
        near = [msgspec.structs.replace(one, similarity=similarity(new, one.memory)) for one in batch.known()]
        batch.apply(new, decide_among(given, near))
    return batch.plan()


def _plan_of_one(new: NewMemory, decision: Decision, existing: Sequence[Memory], said: Reading) -> Plan:
    """Return what to save for one candidate: mostly it is stored beside the others, and none comes after it."""
    if isinstance(decision, Add) and all(memory.id != new.id for memory in existing):
        added = decision.new
        if len(set(added.sources)) == len(added.sources):
            return Plan(new=(added,))
    batch = _Batch(existing, said)
    batch.apply(new, decision)
    return batch.plan()


def approval(
    pending: Memory,
    existing: Sequence[Neighbour],
    *,
    at: datetime,
    content: str | None = None,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
) -> tuple[MemoryEdit, ...]:
    """Return the edits that make a memory which waited for review active, as if a person had stated it.

    What says the same as another becomes the history of that one instead.
    """
    new = _as_new(pending, content)
    decision = decide(new, existing, at=at, thresholds=thresholds, reviewed=True)
    approved = MemoryChanges(
        at=at, trust="active", content=UNSET if content is None else content, expected_version=pending.version
    )
    if isinstance(decision, (Skip, Merge)):
        ended = msgspec.structs.replace(approved, valid_to=at, superseded_by=decision.memory.id)
        edits = [MemoryEdit(memory_id=pending.id, changes=ended)]
        if isinstance(decision, Merge):
            edits.append(MemoryEdit(memory_id=decision.memory.id, changes=decision.changes))
        return tuple(edits)
    if isinstance(decision, Add):
        return (MemoryEdit(memory_id=pending.id, changes=approved),)
    if isinstance(decision, Precede):
        approved = msgspec.structs.replace(approved, valid_to=decision.new.valid_to)
    return (*decision.edits, MemoryEdit(memory_id=pending.id, changes=approved))


def _as_new(memory: Memory, content: str | None) -> NewMemory:
    return NewMemory(
        id=memory.id,
        content=memory.content if content is None else content,
        at=memory.created_at,
        memory_type=memory.memory_type,
        importance=memory.importance,
        origin=memory.origin,
        conversation_id=memory.conversation_id,
        sources=memory.sources,
        subject=memory.subject,
        attribute=memory.attribute,
        valid_from=memory.valid_from,
    )


class _Batch:
    """The memories as they would be after the candidates so far."""

    def __init__(self, existing: Sequence[Memory], said: Reading) -> None:
        self._stored = {memory.id: memory for memory in existing}
        self._said = said
        self._now = {memory.id: known(memory, said=said(memory)) for memory in existing}
        self._new: dict[str, NewMemory] = {}
        self._changes: dict[str, MemoryChanges] = {}
        self._skipped = 0
        self._merged = 0
        self._ended: set[str] = set()

    def known(self) -> list[Known]:
        """Return them, the stored ones first."""
        return list(self._now.values())

    def apply(self, new: NewMemory, decision: Decision) -> None:
        """Let the decision about this candidate happen."""
        if new.id in self._now or isinstance(decision, Skip):
            self._skipped += 1
        elif isinstance(decision, Merge):
            self._merged += 1
            self._edit(decision.memory.id, decision.changes)
        else:
            self._add(decision)

    def _add(self, decision: Add | Supersede | Precede) -> None:
        for edit in () if isinstance(decision, Add) else decision.edits:
            self._edit(edit.memory_id, edit.changes)
            self._ended.add(edit.memory_id)
        self._new[decision.new.id] = decision.new
        self._now[decision.new.id] = known(memory_from(decision.new), said=self._said(decision.new))

    def _edit(self, memory_id: str, changes: MemoryChanges) -> None:
        before = self._now[memory_id]
        # A decision never changes what a memory says.
        self._now[memory_id] = known(changed(before.memory, changes), said=before.said)
        if memory_id in self._stored:
            earlier = self._changes.get(memory_id)
            self._changes[memory_id] = changes if earlier is None else _both(earlier, changes)

    def plan(self) -> Plan:
        """Return what to save."""
        return Plan(
            new=tuple(self._grown(new) for new in self._new.values()),
            edits=tuple(
                MemoryEdit(memory_id=memory_id, changes=self._guarded(memory_id, changes))
                for memory_id, changes in self._changes.items()
            ),
            skipped=self._skipped,
            merged=self._merged,
            superseded=len(self._ended),
        )

    def _grown(self, new: NewMemory) -> NewMemory:
        """Return the candidate with what later ones of the batch did to it."""
        now = self._now[new.id].memory
        if (now.importance, now.sources, now.valid_to) == (new.importance, new.sources, new.valid_to):
            return new
        return msgspec.structs.replace(new, importance=now.importance, sources=now.sources, valid_to=now.valid_to)

    def _guarded(self, memory_id: str, changes: MemoryChanges) -> MemoryChanges:
        """Expect the stored version; what ends keeps its importance, so that nothing is merged and superseded."""
        ended = changes.superseded_by is not UNSET
        return msgspec.structs.replace(
            changes,
            importance=UNSET if ended else changes.importance,
            expected_version=self._stored[memory_id].version,
        )


def _both(first: MemoryChanges, then: MemoryChanges) -> MemoryChanges:
    """Return the two changes as one."""
    fields = {what: getattr(then, what) for what in MemoryChanges.__struct_fields__}
    later = {what: value for what, value in fields.items() if value is not UNSET}
    return msgspec.structs.replace(first, **later | {"more_sources": (*first.more_sources, *then.more_sources)})
