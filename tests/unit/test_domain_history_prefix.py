"""A client's history and a stored conversation meet where they are the same, and nowhere else."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.history_prefix import WRITTEN_HERE, Resumed, Spoken, chained_ids, is_opening, resumed
from recollect.domain.message import Message, ToolCall

KEY = b"k" * 32
AT = datetime(2026, 1, 1, tzinfo=UTC)
WRITTEN = {WRITTEN_HERE: "model"}


class Turn(msgspec.Struct, frozen=True):
    """What is said in a turn: by the user, before each round of tools that run here, and at the end."""

    user: str
    rounds: tuple[str, ...]
    end: str


words = st.text("abc ", max_size=5)
turns = st.lists(st.builds(Turn, words, st.lists(words, max_size=2).map(tuple), words), min_size=1, max_size=6)


def ids_of(history: list[Spoken]) -> tuple[str, ...]:
    return chained_ids(KEY, history)


def client_of(dialogue: list[Turn]) -> list[Spoken]:
    """Return the dialogue as the client holds it; each message says what no other says."""
    history = []
    for number, turn in enumerate(dialogue):
        reply = f"{''.join(turn.rounds)}{number} {turn.end}"
        history += [Spoken(role="user", text=f"{number} {turn.user}"), Spoken(role="assistant", text=reply)]
    return history


def store_of(dialogue: list[Turn]) -> list[Message]:
    """Return the dialogue as it is stored, with the tools that ran here."""
    ids, path = ids_of(client_of(dialogue)), list[Message]()

    def put(message_id: str, role: str, text: str, turn_id: str, **more: object) -> None:
        parent_id = path[-1].id if path else None
        seq = len(path) + 1
        made = Message("c1", seq, message_id, parent_id, turn_id, role, None, text, "complete", AT)  # type: ignore[arg-type]
        path.append(msgspec.structs.replace(made, **more))

    for number, turn in enumerate(dialogue):
        turn_id = f"t{number}"
        put(ids[2 * number], "user", f"{number} {turn.user}", turn_id)
        for at, said in enumerate(turn.rounds):
            call = f"call{number}-{at}"
            calls = (ToolCall(id=call, tool_name="search_memory"),)
            put(f"{call} asked", "assistant", said, turn_id, tool_calls=calls, metadata=WRITTEN)
            put(f"{call} told", "tool", "Nothing was found.", turn_id, tool_call_id=call)
        put(f"r{number}", "assistant", f"{number} {turn.end}", turn_id, metadata=WRITTEN)
    return path


def meet(path: list[Message], history: list[Spoken]) -> Resumed | None:
    return resumed(path, history, ids_of(history))


@given(turns, st.integers(1, 3))
def test_a_history_goes_on_after_its_last_reply(dialogue: list[Turn], new: int) -> None:
    history = client_of(dialogue)
    said = [Spoken(role="user", text=f"new {number}") for number in range(new)]
    assert meet(store_of(dialogue), history + said) == Resumed(stored=len(history))


@given(turns, st.data())
def test_a_history_in_which_something_else_was_said_does_not_meet(dialogue: list[Turn], data: st.DataObject) -> None:
    history = client_of(dialogue)
    at = data.draw(st.integers(0, len(history) - 1))
    history[at] = msgspec.structs.replace(history[at], text="something else")
    assert meet(store_of(dialogue), [*history, Spoken(role="user", text="new")]) is None


@given(turns, st.data())
def test_a_history_meets_what_is_left_after_an_erasure(dialogue: list[Turn], data: st.DataObject) -> None:
    path = store_of(dialogue)
    turn_ids = sorted({str(one.turn_id) for one in path})
    gone = data.draw(st.sets(st.sampled_from(turn_ids)))
    left = [one for one in path if one.role != "user" or one.turn_id not in gone]
    history = client_of(dialogue)
    assert meet(left, [*history, Spoken(role="user", text="new")]) == Resumed(stored=len(history))


@given(turns)
def test_a_history_that_went_on_does_not_meet_where_it_was(dialogue: list[Turn]) -> None:
    path, history = store_of(dialogue), client_of(dialogue)
    earlier = [*history[:-2], Spoken(role="user", text="other")]
    assert meet(path, earlier) is None


@given(turns)
def test_the_same_question_is_answered_again_unless_it_opens_a_chat(dialogue: list[Turn]) -> None:
    path, history = store_of(dialogue), client_of(dialogue)
    asked = history[:-1]
    last = [one.id for one in path if one.role == "user"][-1]
    expected = None if is_opening(asked) else Resumed(stored=len(asked) - 1, again=last)
    assert meet(path, asked) == expected


@given(turns, st.sampled_from(["interrupted", "failed"]), st.booleans())
def test_a_reply_that_was_cut_is_known_in_part_or_not_at_all(dialogue: list[Turn], status: str, holds: bool) -> None:
    path, history = store_of(dialogue), client_of(dialogue)
    path[-1] = msgspec.structs.replace(path[-1], status=status)
    asked, new = history[:-1], Spoken(role="user", text="new")
    part = [Spoken(role="assistant", text=history[-1].text.strip()[:1])] if holds else []
    assert meet(path, [*asked, *part, new]) == Resumed(stored=len(asked) + len(part))
    if not holds:
        last = [one.id for one in path if one.role == "user"][-1]
        assert meet(path, asked) == Resumed(stored=len(asked) - 1, again=last)


spoken = st.builds(Spoken, role=st.sampled_from(["user", "assistant"]), text=words)


@given(st.lists(spoken, max_size=5), st.lists(spoken, max_size=5))
def test_ids_are_the_same_as_far_as_the_same_was_said(one: list[Spoken], other: list[Spoken]) -> None:
    same = [(a.role, a.text.strip()) == (b.role, b.text.strip()) for a, b in zip(one, other, strict=False)]
    agree = [a == b for a, b in zip(ids_of(one), ids_of(other), strict=False)]
    assert agree == [all(same[: at + 1]) for at in range(len(same))]
    assert len(set(ids_of(one))) == len(one)
    assert not set(chained_ids(b"other", one)) & set(ids_of(one))
