"""What an append stores."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta, timezone

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from recollect.domain.appending import Known, conversation_from, ids_to_look_up, plan_append
from recollect.domain.conversation import Conversation
from recollect.domain.message import NewMessage
from recollect.domain.turn import Append, Appended
from recollect.errors import InvalidMessageError
from recollect.testing.clock import START
from recollect.testing.samples import append, conversation, ids_of, message

NEW = conversation_from(conversation("c1"))


def plan(before: Conversation, request: Append, *, stored: Iterable[str] = (), erased: Iterable[str] = ()) -> Appended:
    return plan_append(before, request, Known(stored=frozenset(stored), erased=frozenset(erased)), "turn")


def test_a_new_conversation_is_empty_and_active() -> None:
    assert (NEW.message_count, NEW.head_id, NEW.next_seq, NEW.version, NEW.is_active) == (0, None, 1, 1, True)
    assert (NEW.title, NEW.title_source) == (None, "auto")
    named = conversation_from(conversation("c1", title="Trip"))
    assert (named.title, named.title_source) == ("Trip", "user")


def test_messages_follow_each_other() -> None:
    appended = plan(NEW, append("c1", "m1", "m2", "m3"))
    assert [(m.id, m.seq, m.parent_id, m.turn_id) for m in appended.messages] == [
        ("m1", 1, None, "turn"),
        ("m2", 2, "m1", "turn"),
        ("m3", 3, "m2", "turn"),
    ]
    after = appended.conversation
    assert (after.head_id, after.next_seq, after.message_count, after.is_branched) == ("m3", 4, 3, False)


def test_in_a_turn_what_answers_an_erased_message_is_refused_with_it() -> None:
    reply, later = message("m2", role="assistant"), message("m4", role="assistant")
    request = append("c1", "m1", reply, "m3", later)
    appended = plan(NEW, request, erased=["m1"])
    assert (ids_of(appended.messages), appended.refused) == (["m3", "m4"], ("m1", "m2"))
    # A batch of a client holds what was said before, and what was not erased of it stays.
    archived = plan_append(NEW, request, Known(stored=frozenset(), erased=frozenset(["m1"])))
    assert (ids_of(archived.messages), archived.refused) == (["m2", "m3", "m4"], ("m1",))


def test_what_is_known_is_reported_and_not_stored() -> None:
    appended = plan(NEW, append("c1", "m1", "m2", "m3", "m3"), stored=["m1"], erased=["m2"])
    assert ids_of(appended.messages) == ["m3"]
    assert appended.duplicates == ("m1", "m3")
    assert appended.refused == ("m2",)
    assert appended.messages[0].seq == 1


def test_nothing_new_changes_nothing() -> None:
    before = plan(NEW, append("c1", "m1")).conversation
    again = plan(before, append("c1", "m1", at=START + timedelta(days=1)), stored=["m1"])
    assert again.conversation == before
    assert again.messages == ()


def test_a_parent_may_be_any_stored_message_or_one_of_the_same_append() -> None:
    request = append("c1", message("m2", parent_id="m0"), message("m3", parent_id="m2"), message("m4", parent_id=None))
    appended = plan(NEW, request, stored=["m0"])
    assert [m.parent_id for m in appended.messages] == ["m0", "m2", None]
    assert appended.conversation.is_branched
    assert appended.conversation.head_id == "m4"


@pytest.mark.parametrize("parent", ["elsewhere", "m1", "m2"])
def test_a_parent_that_is_not_there_is_refused(parent: str) -> None:
    with pytest.raises(InvalidMessageError, match="parent_id"):
        plan(NEW, append("c1", message("m1", parent_id=parent), "m2"), erased=["elsewhere"])


def test_naming_the_head_as_parent_makes_no_branch() -> None:
    before = plan(NEW, append("c1", "m1")).conversation
    appended = plan(before, append("c1", message("m2", parent_id="m1")), stored=["m1"])
    assert not appended.conversation.is_branched


def test_a_store_looks_up_messages_and_parents() -> None:
    request = append("c1", message("m1", parent_id="m0"), message("m2", parent_id=None), "m3", "m1")
    assert sorted(ids_to_look_up(request)) == ["m0", "m1", "m2", "m3"]


def test_the_title_comes_from_the_first_words_of_the_user() -> None:
    request = append("c1", message("m1", "Hello!", role="assistant"), message("m2", "Plan  my\ntrip"), "m3")
    assert plan(NEW, request).conversation.title == "Plan my trip"
    kept = plan(msgspec.structs.replace(NEW, title="Mine"), request)
    assert kept.conversation.title == "Mine"


def test_a_reply_alone_gives_no_title() -> None:
    assert plan(NEW, append("c1", message("m1", role="assistant"))).conversation.title is None


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=6))
def test_a_clock_that_runs_backwards_moves_neither_activity_nor_order(hours: list[int]) -> None:
    before, newest = NEW, START
    for number, hour in enumerate(hours, 1):
        at = START + timedelta(hours=hour)
        appended = plan(before, append("c1", message(f"m{number}", created_at=at), at=at))
        newest = max(newest, at)
        before = appended.conversation
        assert before.last_activity_at == before.updated_at == newest
        assert [m.seq for m in appended.messages] == [number]
    assert before.created_at == START


def test_a_new_message_makes_the_conversation_active_again() -> None:
    asleep = msgspec.structs.replace(NEW, is_active=False)
    assert plan(asleep, append("c1", "m1")).conversation.is_active
    assert not plan(asleep, append("c1", "m1"), stored=["m1"]).conversation.is_active


def test_times_are_kept_in_utc() -> None:
    local: datetime = START.astimezone(timezone(timedelta(hours=-8)))
    appended = plan(NEW, append("c1", message("m1", created_at=local), at=local))
    assert appended.messages[0].created_at.utcoffset() == timedelta(0)
    assert appended.conversation.last_activity_at.utcoffset() == timedelta(0)


names = st.sampled_from([f"m{number}" for number in range(8)])


@given(
    st.lists(st.tuples(names, st.none() | names | st.just(UNSET)), min_size=1, max_size=8),
    st.frozensets(names, max_size=3),
    st.frozensets(names, max_size=3),
)
def test_every_message_is_stored_once_in_order_or_reported(
    given_messages: list[tuple[str, object]], stored: frozenset[str], erased: frozenset[str]
) -> None:
    messages: list[NewMessage] = [message(name, parent_id=parent) for name, parent in given_messages]
    request = append("c1", *messages)
    before = msgspec.structs.replace(NEW, next_seq=5, message_count=3, head_id="m0")
    try:
        appended = plan(before, request, stored=stored, erased=erased)
    except InvalidMessageError:
        return
    new = ids_of(appended.messages)
    assert sorted([*new, *appended.duplicates, *appended.refused]) == sorted(m.id for m in messages)
    assert len(set(new)) == len(new)
    assert not set(new) & (stored | erased)
    assert [m.seq for m in appended.messages] == list(range(5, 5 + len(new)))
    assert appended.conversation.next_seq == 5 + len(new)
    assert appended.conversation.message_count == 3 + len(new)
    assert appended.conversation.head_id == (new[-1] if new else "m0")
