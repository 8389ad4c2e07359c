"""How a new memory meets the stored ones: it is skipped, merged, supersedes, precedes or is added."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from recollect.domain.memory import MAX_SOURCES, Memory, NewMemory, Source, changed, holds, memory_from
from recollect.domain.memory_plan import Plan, approval, reconcile
from recollect.domain.reconciling import Add, Merge, Neighbour, Precede, Skip, Supersede, decide
from recollect.testing.samples import after, memory
from tests.unit.update_suite import DISTRACTORS, HISTORIES, History

HERE, THERE = Source("c1", "m1"), Source("c2", "m7")
RESIDENCE: dict[str, Any] = {"subject": "user", "attribute": "residence"}


def new(id: str, content: str, at: int = 100, **fields: Any) -> NewMemory:  # noqa: A002 - the field's name
    return memory(id, content, **{"at": after(at), "origin": "user", "sources": (THERE,)} | fields)


def stored(id: str, content: str, at: int = 0, **fields: Any) -> Memory:  # noqa: A002 - the field's name
    later = {name: fields.pop(name) for name in ("is_archived", "valid_to", "superseded_by") if name in fields}
    before = memory_from(new(id, content, at, **{"sources": (HERE,)} | fields))
    return msgspec.structs.replace(before, **later)


def meet(candidate: NewMemory, *memories: Memory, similarity: float | None = None, **given: Any) -> Any:
    return decide(candidate, [Neighbour(one, similarity) for one in memories], at=after(200), **given)


def saved(plan: Plan, existing: Iterable[Memory] = ()) -> dict[str, Memory]:
    """Return what a store holds after the plan."""
    memories = {one.id: one for one in existing}
    for edit in plan.edits:
        memories[edit.memory_id] = changed(memories[edit.memory_id], edit.changes)
    return memories | {one.id: memory_from(one) for one in plan.new}


def current(memories: dict[str, Memory]) -> set[str]:
    return {one.content for one in memories.values() if holds(one, None) and one.trust == "active"}


def test_an_equal_statement_is_skipped_in_any_script() -> None:
    for content, again in (("Likes tea", "likes TEA!"), ("喜欢茶", "喜欢茶。"), ("पसंद है।", "पसंद है")):
        old = stored("k1", content)
        assert meet(new("k2", again), old) == Skip(old)


def test_a_near_duplicate_from_another_source_is_merged_and_raises_importance() -> None:
    old = stored("k1", "The user lives in Oslo", importance=0.5)
    decision = meet(new("k2", "User lives in Oslo", importance=0.3), old)
    assert isinstance(decision, Merge)
    assert decision.memory is old
    assert decision.changes.importance == pytest.approx(0.6)
    assert decision.changes.more_sources == (THERE,)
    assert (decision.changes.content, decision.changes.trust) == (UNSET, UNSET)
    assert decision.changes.expected_version == old.version


def test_a_near_duplicate_by_meaning_is_merged() -> None:
    old = stored("k1", "My child's bicycle is grey")
    assert isinstance(meet(new("k2", "The kid's bike is gray"), old, similarity=0.9), Merge)
    assert isinstance(meet(new("k2", "The kid's bike is gray"), old), Add)


def test_repetition_from_the_same_source_changes_nothing() -> None:
    old = stored("k1", "The user lives in Oslo")
    assert meet(new("k2", "User lives in Oslo", sources=(HERE,)), old) == Skip(old)
    by_hand = stored("k1", "The user lives in Oslo", sources=(), origin="manual")
    assert meet(new("k2", "User lives in Oslo", sources=(), origin="manual"), by_hand) == Skip(by_hand)


def test_the_assistants_echo_adds_its_source_but_no_importance() -> None:
    decision = meet(new("k2", "User lives in Oslo", origin="assistant"), stored("k1", "The user lives in Oslo"))
    assert isinstance(decision, Merge)
    assert decision.changes.importance is UNSET
    assert decision.changes.more_sources == (THERE,)


def test_a_memory_takes_no_more_sources_than_it_may_hold() -> None:
    many = tuple(Source("c9", f"m{number}") for number in range(MAX_SOURCES - 1))
    old = stored("k1", "The user lives in Oslo", sources=many)
    decision = meet(new("k2", "User lives in Oslo", sources=(THERE, HERE)), old)
    assert isinstance(decision, Merge)
    assert decision.changes.more_sources == (THERE,)
    full = msgspec.structs.replace(old, sources=(*many, HERE))
    assert meet(new("k2", "User lives in Oslo"), full) == Skip(full)


def test_what_is_said_again_wakes_an_archived_memory() -> None:
    old = stored("k1", "Likes tea", is_archived=True)
    decision = meet(new("k2", "Likes tea"), old)
    assert isinstance(decision, Merge)
    assert (decision.changes.is_archived, decision.changes.importance) == (False, UNSET)


def test_the_same_about_another_subject_is_another_statement() -> None:
    hers = stored("k1", "She works in the centre of the city", subject="anna", attribute="workplace")
    assert isinstance(meet(new("k2", "She works in the city centre", subject="eva", attribute="workplace"), hers), Add)
    assert isinstance(
        meet(new("k2", "She works in the city centre", subject="anna", attribute="works at"), hers), Merge
    )


def test_a_statement_that_says_more_is_kept_beside_the_shorter_one() -> None:
    short, long = "The user walks through the snow", "The user walks through the cold snow"
    assert isinstance(meet(new("k2", long), stored("k1", short), similarity=0.9), Add)
    assert isinstance(meet(new("k2", short), stored("k1", long), similarity=0.9), Merge)


def test_another_value_of_the_slot_supersedes_and_ends_where_the_new_one_begins() -> None:
    old = stored("k1", "Lives in Bergen", **RESIDENCE)
    decision = meet(new("k2", "Lives in Oslo", subject="I", attribute="home city"), old, similarity=0.99)
    assert isinstance(decision, Supersede)
    assert decision.memories == (old,)
    assert decision.new.valid_from == after(100)
    ended = changed(old, decision.edits[0].changes)
    assert (ended.valid_to, ended.superseded_by) == (after(100), "k2")
    assert holds(ended, after(50))
    assert not holds(ended, after(100))


@pytest.mark.parametrize(
    "fields", [{}, {"subject": "user", "attribute": "likes"}, RESIDENCE | {"memory_type": "insight"}]
)
def test_nothing_is_superseded_without_a_slot_for_one_value(fields: dict[str, Any]) -> None:
    old = stored("k1", "Lives in Bergen", **fields or RESIDENCE)
    assert isinstance(meet(new("k2", "Lives in Oslo", **fields), old, similarity=1.0), Add)


def test_the_values_of_an_attribute_with_many_live_together_and_each_can_be_denied() -> None:
    sushi, pizza = stored("k1", "Likes sushi", subject="user", attribute="likes:sushi"), "likes:pizza"
    assert isinstance(meet(new("k2", "Likes pizza", subject="user", attribute=pizza), sushi), Add)
    denied = new("k3", "Hates sushi", subject="user", attribute="dislikes: Sushi")
    assert isinstance(meet(denied, sushi), Supersede)


def test_an_older_statement_that_arrives_late_becomes_history() -> None:
    now = stored("k1", "Lives in Oslo", at=100, **RESIDENCE)
    decision = meet(new("k2", "Lives in Bergen", at=150, valid_from=after(10), **RESIDENCE), now)
    assert isinstance(decision, Precede)
    assert decision.memory is now
    assert (decision.new.valid_from, decision.new.valid_to, decision.edits) == (after(10), after(100), ())


def test_a_late_statement_takes_its_place_between_two_values() -> None:
    first = stored("k1", "Lives in Rome", at=0, valid_to=after(100), superseded_by="k2", **RESIDENCE)
    last = stored("k2", "Lives in Oslo", at=100, **RESIDENCE)
    plan = reconcile([new("k3", "Lives in Bergen", at=50, **RESIDENCE)], [first, last], at=after(200))
    memories = saved(plan, [first, last])
    assert current(memories) == {"Lives in Oslo"}
    for time, expected in ((20, "k1"), (60, "k3"), (120, "k2")):
        assert [one.id for one in memories.values() if holds(one, after(time))] == [expected]


def test_a_value_that_was_left_and_came_back_is_current_again() -> None:
    first = stored("k1", "Lives in Bergen", at=0, valid_to=after(50), superseded_by="k2", **RESIDENCE)
    second = stored("k2", "Lives in Oslo", at=50, **RESIDENCE)
    decision = meet(new("k3", "Lives in Bergen", **RESIDENCE), first, second)
    assert isinstance(decision, Supersede)
    assert decision.memories == (second,)


def test_a_replay_of_a_past_statement_does_not_bring_it_back() -> None:
    past = stored("k1", "Lives in Bergen", at=0, valid_to=after(50), superseded_by="k2", **RESIDENCE)
    assert meet(new("k3", "Lives in Bergen", at=10), past) == Skip(past)
    assert meet(new("k3", "Lives in Bergen", at=10, **RESIDENCE), past) == Skip(past)


def test_a_statement_with_an_end_of_its_own_supersedes_nothing() -> None:
    ended = new("k2", "Lived in Rome", valid_from=after(-50), valid_to=after(-10), **RESIDENCE)
    assert meet(ended, stored("k1", "Lives in Oslo", **RESIDENCE)) == Add(ended)


def test_a_statement_that_names_the_slot_takes_the_place_of_the_same_without_one() -> None:
    bare = stored("k1", "Lives in Oslo", importance=0.9, is_pinned=True)
    decision = meet(new("k2", "Lives in Oslo", **RESIDENCE), bare)
    assert isinstance(decision, Supersede)
    assert decision.new.is_pinned
    assert (decision.new.importance, decision.new.sources) == (0.9, (THERE, HERE))


def test_what_is_ended_never_ends_before_it_began() -> None:
    bare = stored("k1", "Lives in Oslo", at=90)
    decision = meet(new("k2", "Lives in Oslo", valid_from=after(10), **RESIDENCE), bare)
    assert isinstance(decision, Supersede)
    assert decision.edits[0].changes.valid_to == after(90)


def test_a_pin_moves_to_the_new_value() -> None:
    decision = meet(new("k2", "Lives in Oslo", **RESIDENCE), stored("k1", "Lives in Rome", is_pinned=True, **RESIDENCE))
    assert isinstance(decision, Supersede)
    assert decision.new.is_pinned


@pytest.mark.parametrize("content", ["Lives in Oslo", "User lives in Rome", "Lives in Rome"])
@pytest.mark.parametrize("origin", ["tool", "import"])
def test_what_waits_for_review_changes_nothing(content: str, origin: str) -> None:
    old = stored("k1", "The user lives in Rome", **RESIDENCE)
    waiting = new("k2", content, origin=origin, trust="pending", importance=1.0, **RESIDENCE)
    assert meet(waiting, old, similarity=0.95) in (Skip(old), Add(waiting))


def test_what_the_assistant_says_against_the_user_waits_for_review() -> None:
    claim = new("k2", "Lives in Oslo", origin="assistant", **RESIDENCE)
    decision = meet(claim, stored("k1", "Lives in Rome", **RESIDENCE))
    assert decision == Add(msgspec.structs.replace(claim, trust="pending"))
    assert isinstance(meet(claim, stored("k1", "Lives in Rome", origin="assistant", **RESIDENCE)), Supersede)


@pytest.mark.parametrize("trust", ["pending", "rejected"])
def test_the_users_own_words_take_the_place_of_what_was_not_trusted(trust: str) -> None:
    waiting = stored("k1", "Lives in Oslo", origin="import", trust=trust, is_pinned=False)
    decision = meet(new("k2", "Lives in Oslo"), waiting)
    assert isinstance(decision, Supersede)
    assert decision.memories == (waiting,)
    assert meet(new("k2", "Lives in Oslo", origin="assistant"), waiting) == Skip(waiting)


def test_approval_decides_again_as_if_a_person_had_said_it() -> None:
    old = stored("k1", "Lives in Rome", at=0, is_pinned=True, **RESIDENCE)
    waiting = stored("k2", "Lives in Oslo", at=50, origin="tool", trust="pending", **RESIDENCE)
    edits = approval(waiting, [Neighbour(old), Neighbour(waiting)], at=after(200))
    memories = saved(Plan(edits=edits), [old, waiting])
    assert current(memories) == {"Lives in Oslo"}
    assert memories["k1"].superseded_by == "k2"
    assert not memories["k2"].is_pinned


def test_a_claim_of_the_assistant_that_a_person_approves_supersedes() -> None:
    old = stored("k1", "Lives in Rome", **RESIDENCE)
    waiting = stored("k2", "Lives in Oslo", at=50, origin="assistant", trust="pending", **RESIDENCE)
    memories = saved(Plan(edits=approval(waiting, [Neighbour(old)], at=after(200))), [old, waiting])
    assert current(memories) == {"Lives in Oslo"}


def test_approving_what_is_older_than_the_current_value_makes_it_history() -> None:
    old = stored("k1", "Lives in Rome", at=80, **RESIDENCE)
    waiting = stored("k2", "Lives in Oslo", at=50, origin="import", trust="pending", **RESIDENCE)
    memories = saved(Plan(edits=approval(waiting, [Neighbour(old)], at=after(200))), [old, waiting])
    assert current(memories) == {"Lives in Rome"}
    assert (memories["k2"].trust, memories["k2"].valid_to) == ("active", after(80))


def test_approving_what_is_known_joins_it_to_that_memory() -> None:
    old = stored("k1", "The user lives in Oslo")
    waiting = stored("k2", "User lives in Oslo", origin="import", trust="pending", sources=(THERE,))
    memories = saved(Plan(edits=approval(waiting, [Neighbour(old)], at=after(200))), [old, waiting])
    assert current(memories) == {"The user lives in Oslo"}
    assert memories["k1"].sources == (HERE, THERE)
    assert memories["k2"].superseded_by == "k1"


def test_approving_with_other_words_stores_those() -> None:
    waiting = stored("k2", "Lives in Oslo", origin="import", trust="pending")
    (edit,) = approval(waiting, [], at=after(200), content="Lives in Bergen")
    assert changed(waiting, edit.changes).content == "Lives in Bergen"


def test_candidates_of_a_batch_meet_each_other() -> None:
    batch = [
        new("k1", "Lives in Rome", at=0, **RESIDENCE),
        new("k2", "The user likes tea", at=1, sources=(HERE,)),
        new("k3", "User likes tea", at=2),
        new("k4", "Lives in Oslo", at=3, **RESIDENCE),
        new("k5", "lives in oslo", at=4, **RESIDENCE),
    ]
    plan = reconcile(batch, [], at=after(200))
    assert [one.id for one in plan.new] == ["k1", "k2", "k4"]
    assert (plan.edits, plan.skipped, plan.merged, plan.superseded) == ((), 1, 1, 1)
    assert plan.new[0].valid_to == after(3)
    assert plan.new[1].sources == (HERE, THERE)
    assert current(saved(plan)) == {"The user likes tea", "Lives in Oslo"}


def test_a_stored_memory_gets_one_edit_and_is_never_merged_and_superseded() -> None:
    old = stored("k1", "The user lives in Rome", importance=0.5, **RESIDENCE)
    batch = [new("k2", "User lives in Rome", at=50, **RESIDENCE), new("k3", "Lives in Oslo", at=60, **RESIDENCE)]
    plan = reconcile(batch, [old], at=after(200))
    (edit,) = plan.edits
    assert (edit.changes.superseded_by, edit.changes.importance) == ("k3", UNSET)
    assert (edit.changes.more_sources, edit.changes.expected_version) == ((THERE,), 1)


def test_a_candidate_whose_id_is_stored_is_skipped() -> None:
    plan = reconcile([new("k1", "Likes coffee")], [stored("k1", "Likes tea")], at=after(200))
    assert plan == Plan(skipped=1)


def told(history: History) -> tuple[list[Memory], Plan]:
    others = [
        stored(f"d{place}", one.content, subject=one.subject, attribute=one.attribute)
        for place, one in enumerate(DISTRACTORS[history.language])
    ]
    batch = [
        new(f"k{place}", one.content, at=place, subject=one.subject, attribute=one.attribute)
        for place, one in enumerate(history.said, 1)
    ]
    return others, reconcile(batch, others, at=after(200), similarity=lambda *_: 0.97)


@pytest.mark.parametrize("history", HISTORIES, ids=lambda one: f"{one.language} {one.name}")
def test_an_update_leaves_nothing_stale_and_touches_nothing_else(history: History) -> None:
    others, plan = told(history)
    memories = saved(plan, others)
    untouched = {one.content for one in others}
    assert current(memories) == untouched | set(history.current)
    assert plan.edits == ()
    assert all(memories[one.id] == one for one in others)


@pytest.mark.parametrize("history", HISTORIES, ids=lambda one: f"{one.language} {one.name}")
def test_an_update_in_parts_ends_as_in_one_batch(history: History) -> None:
    memories: dict[str, Memory] = {}
    for place, one in enumerate(history.said, 1):
        candidate = new(f"k{place}", one.content, at=place, subject=one.subject, attribute=one.attribute)
        plan = reconcile([candidate], list(memories.values()), at=after(200), similarity=lambda *_: 0.97)
        memories = saved(plan, memories.values())
    assert current(memories) == set(history.current)
    for place, one in enumerate(history.said, 1):
        assert one.content in {each.content for each in memories.values() if holds(each, after(place))}
