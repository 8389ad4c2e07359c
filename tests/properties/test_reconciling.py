"""Whatever is said, in any script and order, reconciling keeps its promises."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec import UNSET
from rapidfuzz.distance import Levenshtein

from recollect.domain.likeness import Said, Thresholds, difference, same
from recollect.domain.memory import Memory, MemoryEdit, NewMemory, Source, changed, holds, memory_from, normalised
from recollect.domain.memory_plan import Plan, approval, reconcile
from recollect.domain.reconciling import Add, Merge, Neighbour, Skip, Supersede, decide
from recollect.domain.slots import folded, slot_of
from recollect.testing.samples import after, memory

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=60).filter(
    lambda text: bool(text.strip())
)
SOME_WORDS = [
    *(
        "Anna",
        "Oslo",
        "tea",
        "likes",
        "not",
        "lives",
        "in",
        "the",
        "user",
        "never",
        "3",
        "15",
        "March",
        "brother",
        "green",
    ),
    *("我", "茶", "не", "любит", "кофе"),
]
WORDS = st.lists(st.sampled_from(SOME_WORDS), min_size=1, max_size=6).map(" ".join)
STATEMENTS = st.one_of(TEXT, WORDS)
SIMILARITY = st.none() | st.floats(0, 1)
SOURCES = st.lists(st.sampled_from([Source("c1", "m1"), Source("c1", "m2"), Source("c2", "m1")]), max_size=2)
SLOTS = st.sampled_from(
    [(None, None), ("user", "residence"), ("I", "home city"), ("user", "likes:tea"), ("Anna", "age"), ("user", "likes")]
)


@st.composite
def candidates(draw: st.DrawFn, number: int = 1) -> NewMemory:
    subject, attribute = draw(SLOTS)
    return memory(
        f"n{number}",
        draw(STATEMENTS),
        at=after(draw(st.integers(0, 5))),
        memory_type=draw(st.sampled_from(["fact", "preference", "insight"])),
        origin=draw(st.sampled_from(["user", "assistant", "tool", "manual"])),
        trust=draw(st.sampled_from(["active", "active", "pending"])),
        importance=draw(st.sampled_from([0.2, 0.5, 1.0])),
        sources=tuple(draw(SOURCES)),
        subject=subject,
        attribute=attribute,
    )


@st.composite
def batches(draw: st.DrawFn, prefix: str, at_most: int = 5) -> list[NewMemory]:
    size = draw(st.integers(0, at_most))
    return [msgspec.structs.replace(draw(candidates()), id=f"{prefix}{number}") for number in range(size)]


def store(plan: Plan, before: dict[str, Memory]) -> dict[str, Memory]:
    memories = dict(before)
    for edit in plan.edits:
        memories[edit.memory_id] = changed(memories[edit.memory_id], edit.changes)
    return memories | {new.id: memory_from(new) for new in plan.new}


def grown(batch: list[NewMemory]) -> dict[str, Memory]:
    """Return what a store holds after the batch."""
    return store(reconcile(batch, [], at=after(10)), {})


@given(new=candidates(), batch=batches("s"), similarity=SIMILARITY, data=st.data())
def test_a_decision_depends_on_nothing_but_the_memories(
    new: NewMemory, batch: list[NewMemory], similarity: float | None, data: st.DataObject
) -> None:
    near = [Neighbour(one, similarity) for one in grown(batch).values()]
    shuffled = data.draw(st.permutations(near))
    assert decide(new, near, at=after(20)) == decide(new, shuffled, at=after(20))


@given(content=STATEMENTS, slot=SLOTS, trust=st.sampled_from(["active", "pending"]), similarity=SIMILARITY)
def test_an_equal_statement_is_always_skipped(
    content: str, slot: tuple[str | None, str | None], trust: Any, similarity: float | None
) -> None:
    old = memory_from(memory("k1", content, subject=slot[0], attribute=slot[1]))
    new = memory(
        "k2", content, at=after(9), subject=slot[0], attribute=slot[1], trust=trust, sources=(Source("c", "m"),)
    )
    assert decide(new, [Neighbour(old, similarity)]) == Skip(old)


@given(
    before=WORDS, after_it=WORDS, numbers=st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), similarity=SIMILARITY
)
def test_statements_that_differ_in_a_number_are_never_merged(
    before: str, after_it: str, numbers: tuple[int, int], similarity: float | None
) -> None:
    assume(numbers[0] != numbers[1])
    one, other = (f"{before} {number} {after_it}" for number in numbers)
    assert difference(one, other) == "number"
    assert isinstance(decide(memory("k2", other), [Neighbour(memory_from(memory("k1", one)), similarity)]), Add)


@given(one=STATEMENTS, other=STATEMENTS, similarity=SIMILARITY)
def test_likeness_reads_any_text_and_has_no_direction(one: str, other: str, similarity: float | None) -> None:
    assert same(one, one, similarity)
    assert same(one, other, similarity) == same(other, one, similarity)
    assert difference(one, other) == difference(other, one)
    assert folded(folded(one)) == folded(one)
    assert slot_of(one, other) == slot_of(one, other)


@given(times=st.tuples(st.integers(0, 1000), st.integers(0, 1000)), said=st.tuples(WORDS, WORDS))
def test_the_newer_statement_is_current_in_whatever_order_they_arrive(
    times: tuple[int, int], said: tuple[str, str]
) -> None:
    assume(times[0] != times[1] and difference(*said) is not None and normalised(said[0]) != normalised(said[1]))
    pair = [
        memory(f"k{number}", content, valid_from=after(time), subject="user", attribute="residence")
        for number, (time, content) in enumerate(zip(times, said, strict=True))
    ]
    ends = []
    for order in (pair, pair[::-1]):
        together = grown(order)
        apart = store(reconcile(order[1:], list(grown(order[:1]).values()), at=after(5000)), grown(order[:1]))
        ends += [{one.content for one in memories.values() if holds(one, None)} for memories in (together, apart)]
    assert all(end == {said[times.index(max(times))]} for end in ends)


@given(first=batches("s"), second=batches("n"))
def test_a_plan_merges_or_supersedes_a_memory_and_never_both(first: list[NewMemory], second: list[NewMemory]) -> None:
    before = grown(first)
    plan = reconcile(second, list(before.values()), at=after(20))
    assert len({edit.memory_id for edit in plan.edits}) == len(plan.edits)
    assert not [edit for edit in plan.edits if is_raised(edit) and edit.changes.superseded_by is not UNSET]
    assert len(plan.new) + plan.skipped + plan.merged == len(second)


def is_raised(edit: MemoryEdit) -> bool:
    return edit.changes.importance is not UNSET


@given(first=batches("s"), second=batches("n"))
def test_trust_never_rises_and_importance_only_by_another_source(
    first: list[NewMemory], second: list[NewMemory]
) -> None:
    before = grown(first)
    plan = reconcile(second, list(before.values()), at=after(20))
    for edit in plan.edits:
        old = before[edit.memory_id]
        assert edit.changes.trust is UNSET
        if is_raised(edit):
            fresh = [new for new in second if set(new.sources) - set(old.sources) or not new.sources]
            assert [new for new in fresh if new.trust == "active"]
    trusts = {new.id: new.trust for new in second}
    assert not [new for new in plan.new if new.trust == "active" != trusts[new.id]]


@given(first=batches("s"), second=batches("n"))
def test_only_what_shares_the_slot_or_says_the_same_is_ended(first: list[NewMemory], second: list[NewMemory]) -> None:
    before = grown(first)
    memories = store(reconcile(second, list(before.values()), at=after(20)), before)
    for old in before.values():
        now = memories[old.id]
        if holds(old, None) and not holds(now, None):
            successor = memories[now.superseded_by or ""]
            is_same_slot = slot_of(old.subject, old.attribute) == slot_of(successor.subject, successor.attribute)
            assert is_same_slot or difference(old.content, successor.content) is None


@given(first=batches("s"), second=batches("n"))
def test_a_slot_has_at_most_one_current_value_and_no_statement_stands_twice(
    first: list[NewMemory], second: list[NewMemory]
) -> None:
    before = grown(first)
    memories = store(reconcile(second, list(before.values()), at=after(20)), before)
    now = [one for one in memories.values() if holds(one, None)]
    contents = [normalised(one.content) for one in now]
    assert len(contents) == len(set(contents))
    trusted = [one for one in now if one.trust == "active" and one.memory_type != "insight"]
    slots = [slot for slot in (slot_of(one.subject, one.attribute) for one in trusted) if slot is not None]
    assert len(slots) == len(set(slots))


@given(batch=batches("s"), new=candidates())
def test_approval_ends_with_the_statement_current_or_known(batch: list[NewMemory], new: NewMemory) -> None:
    before = grown(batch)
    waiting = memory_from(msgspec.structs.replace(new, trust="pending", origin="tool"))
    edits = approval(waiting, [Neighbour(one) for one in before.values()], at=after(30))
    memories = store(Plan(edits=edits), before | {waiting.id: waiting})
    assert memories[waiting.id].trust == "active"
    now = memories[waiting.id]
    assert holds(now, None) or now.superseded_by in memories or isinstance(now.valid_to, datetime)


def test_the_decisions_are_told_apart_by_their_class() -> None:
    old = memory_from(memory("k1", "Lives in Rome", subject="user", attribute="residence"))
    near = [Neighbour(old)]
    slot = {"subject": "user", "attribute": "residence", "at": after(5)}
    kinds = [type(decide(memory("k2", text, **slot), near)) for text in ("Lives in Rome", "Lives in Oslo")]
    assert kinds == [Skip, Supersede]
    assert isinstance(decide(memory("k2", "The user lives in Rome", origin="user", **slot), near), Merge)


@given(st.lists(st.sampled_from(SOME_WORDS), min_size=1, max_size=8), st.data(), st.floats(0, 1))
def test_what_is_worded_alike_and_differs_in_nothing_says_the_same_however_long_it_is(
    words: list[str], data: st.DataObject, above: float
) -> None:
    more = [word for one in words for word in (*data.draw(st.lists(st.just("the"), max_size=3)), one)]
    one, other = " ".join(words), " ".join(more)
    likeness = Levenshtein.normalized_similarity(normalised(one), normalised(other))
    for allowed in (above, likeness, max(0.0, likeness - 1e-3)):
        if likeness > allowed and difference(one, other) is None:
            assert same(one, other, thresholds=Thresholds(wording=allowed))


@given(st.lists(TEXT | st.lists(st.sampled_from(SOME_WORDS), min_size=1).map(" ".join), min_size=2, max_size=6))
def test_what_was_read_before_is_decided_about_as_if_it_was_read_anew(texts: list[str]) -> None:
    stored = [memory_from(memory(f"k{number}", text)) for number, text in enumerate(texts[1:])]
    new = [memory("new", texts[0]), memory("newer", texts[-1])]
    read: dict[str, Said] = {}

    def said(one: NewMemory | Memory) -> Said:
        return read.setdefault(one.id, Said(one.content))

    anew = reconcile(new, stored, at=after(1))
    assert reconcile(new, stored, at=after(1), said=said) == anew
    assert reconcile(new, stored, at=after(1), said=said) == anew, "a second time, with everything read"
