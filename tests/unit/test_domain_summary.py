"""Which messages a summary may cover, and which summaries fold."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from recollect.domain.message import Message
from recollect.domain.summary import Summary, newest_text, summary_of_messages, summary_of_summaries
from recollect.errors import ConflictError, InvalidInputError
from recollect.testing.clock import START
from recollect.testing.samples import summary


def message(seq: int, parent: int | None) -> Message:
    return Message(
        conversation_id="c1",
        seq=seq,
        id=f"m{seq}",
        parent_id=None if parent is None else f"m{parent}",
        turn_id=None,
        role="user",
        name=None,
        content="words",
        status="complete",
        created_at=START - timedelta(minutes=seq),
    )


#: One chain of messages, the parent of each being the one before.
CHAIN = [message(seq, seq - 1 or None) for seq in range(1, 7)]
#: Another answer to the third.
OTHER = message(7, 3)


def of(summary_id: str, messages: Sequence[Message], others: Sequence[Summary] = (), **more: Any) -> Summary:
    new = summary(summary_id, *(one.id for one in messages), **more)
    return summary_of_messages(new, messages, others)


def fold(summary_id: str, *folded: Summary, parents: Sequence[Any] | None = None) -> Summary:
    new = summary(summary_id, folds=tuple(one.id for one in folded))
    given_parents = [f"m{one.first_seq - 1}" for one in folded] if parents is None else parents
    return summary_of_summaries(new, folded, given_parents)


def test_a_summary_knows_what_it_covers() -> None:
    made = of("s1", CHAIN[1:4])
    assert (made.level, made.first_seq, made.last_seq, made.last_message_id) == (0, 2, 4, "m4")
    assert (made.message_count, made.message_ids, made.folds) == (3, ("m2", "m3", "m4"), ())
    assert (made.start_at, made.end_at) == (START - timedelta(minutes=4), START - timedelta(minutes=2))


def test_a_summary_covers_messages_or_folds_summaries() -> None:
    for wrong in (summary, lambda name: summary(name, "m1", folds=("s1",))):
        with pytest.raises(InvalidInputError, match="either message_ids or folds"):
            wrong("s2")


@pytest.mark.parametrize("wrong", [{"content": " "}, {"content": ""}, {"generator": ""}, {"message_ids": ("",)}])
def test_a_summary_says_something_and_names_its_writer(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        summary("s1", "m1", **wrong)


def test_messages_that_are_gone_or_out_of_order_are_a_conflict() -> None:
    for found in (CHAIN[1:3], CHAIN[2:4], [CHAIN[2], CHAIN[1], CHAIN[3]]):
        with pytest.raises(ConflictError, match="gone or out of order"):
            summary_of_messages(summary("s1", "m2", "m3", "m4"), found, ())


def test_a_gap_or_another_branch_is_a_conflict() -> None:
    for found in ([CHAIN[0], CHAIN[2]], [CHAIN[3], OTHER], [CHAIN[0], OTHER]):
        with pytest.raises(ConflictError, match="not one contiguous chain"):
            of("s1", found)
    assert of("s1", [CHAIN[2], OTHER]).last_message_id == "m7"


@pytest.mark.parametrize(("first", "last"), [(0, 1), (1, 3), (2, 6), (0, 6), (3, 4), (1, 4)])
def test_a_message_is_not_summarised_twice(first: int, last: int) -> None:
    taken = of("s1", CHAIN[1:4])
    if first < 4 and last > 1:
        with pytest.raises(ConflictError, match="summarised already"):
            of("s2", CHAIN[first:last], [taken])
        with pytest.raises(ConflictError, match="summarised already"):
            of("s2", CHAIN[first:last], [msgspec.structs.replace(taken, folded_into="s9")])
    else:
        assert of("s2", CHAIN[first:last], [taken]).id == "s2"


def test_two_branches_may_each_summarise_what_they_share() -> None:
    here = of("s1", CHAIN[1:4])
    there = of("s2", [*CHAIN[1:3], OTHER], [here])
    assert {here.last_message_id, there.last_message_id} == {"m4", "m7"}


def test_neighbours_fold_into_one_of_a_higher_level() -> None:
    first, second, third = of("s1", CHAIN[0:2]), of("s2", CHAIN[2:3]), of("s3", CHAIN[3:6])
    inner = fold("f1", first, second)
    assert (inner.level, inner.first_seq, inner.last_seq, inner.last_message_id) == (1, 1, 3, "m3")
    assert (inner.message_count, inner.message_ids, inner.folds) == (3, (), ("s1", "s2"))
    outer = fold("f2", inner, third)
    assert (outer.level, outer.first_seq, outer.last_seq, outer.message_count) == (2, 1, 6, 6)
    assert (outer.start_at, outer.end_at) == (START - timedelta(minutes=6), START - timedelta(minutes=1))


def test_one_summary_may_be_folded_alone() -> None:
    assert fold("f1", of("s1", CHAIN[0:2])).level == 1


def test_summaries_that_are_gone_folded_or_not_neighbours_do_not_fold() -> None:
    first, second, third = of("s1", CHAIN[0:2]), of("s2", CHAIN[2:4]), of("s3", CHAIN[4:6])
    with pytest.raises(ConflictError, match="gone"):
        summary_of_summaries(summary("f1", folds=("s1", "s2")), [first], [None])
    with pytest.raises(ConflictError, match="folded already"):
        fold("f1", first, msgspec.structs.replace(second, folded_into="f0"))
    for wrong in ((second, first), (first, third)):
        with pytest.raises(ConflictError, match="not neighbours"):
            fold("f1", *wrong)


def test_summaries_of_different_branches_do_not_fold() -> None:
    here, there = of("s1", CHAIN[1:4]), of("s2", [OTHER])
    with pytest.raises(ConflictError, match="not neighbours"):
        fold("f1", here, there, parents=["m1", "m3"])


def test_summaries_whose_originals_are_deleted_fold_by_their_order() -> None:
    first, second = of("s1", CHAIN[0:2]), of("s2", CHAIN[2:4])
    assert fold("f1", first, second, parents=[UNSET, UNSET]).message_count == 4
    with pytest.raises(ConflictError):
        fold("f1", second, first, parents=[UNSET, UNSET])


def test_the_newest_active_summary_stands_for_the_conversation() -> None:
    first, second = of("s1", CHAIN[0:2], content="old"), of("s2", CHAIN[2:4], content="new")
    assert newest_text([]) is None
    assert newest_text([second, first]) == "new"


@given(data=st.data())
def test_along_any_branch_each_message_is_covered_at_most_once(data: st.DataObject) -> None:
    parents = {seq: data.draw(st.integers(max(1, seq - 3), seq - 1)) for seq in range(2, 10)}
    tree = [message(seq, parents.get(seq)) for seq in range(1, 10)]
    by_id = {one.id: one for one in tree}
    accepted: list[Summary] = []
    for number in range(data.draw(st.integers(1, 6))):
        chain = [data.draw(st.sampled_from(tree))]
        for _ in range(data.draw(st.integers(0, 4))):
            if chain[0].parent_id is not None:
                chain.insert(0, by_id[chain[0].parent_id])
        try:
            accepted.append(of(f"s{number}", chain, accepted))
        except ConflictError:
            continue
    for end in tree:
        path = {end.id}
        while end.parent_id is not None:
            end = by_id[end.parent_id]  # noqa: PLW2901  # walks up to the root
            path.add(end.id)
        covered = [i for one in accepted if one.last_message_id in path for i in one.message_ids]
        assert len(covered) == len(set(covered))
