"""A reply names what it repeats in its metadata, and is read back from there whatever a client wrote."""

from __future__ import annotations

import msgspec
import pytest

from recollect.domain.appending import stored_message
from recollect.domain.context import Recalled
from recollect.domain.memory import memory_from
from recollect.domain.passage import REPEATS, is_recalled
from recollect.domain.repeating import Repeated, memory, repeated_by, repeating, sources
from recollect.errors import InvalidInputError
from recollect.ports.responder import Reply
from recollect.testing import samples as sample


def found(conversation_id: str, message_id: str) -> Recalled:
    return Recalled(message=stored_message(sample.message(message_id), conversation_id, 1, None, None))


def test_an_id_names_what_was_recalled_then_a_memory_that_was_told_then_a_message_here() -> None:
    recalled = (found("c1", "m1"), found("c2", "m1"), Recalled(memory=memory_from(sample.memory("k1"))))
    named = sources(("m1", "k1", "k2", "m9", "m1"), recalled, ("k2",), "here")
    said = [Repeated("c1", "m1"), Repeated("c2", "m1"), Repeated("here", "m9")]
    assert list(named) == [memory("k1"), memory("k2"), *said]


def test_what_a_reply_repeats_is_read_back_from_its_json() -> None:
    named = [Repeated("c1", "m1"), memory("k1")]
    metadata = msgspec.json.decode(msgspec.json.encode(repeating(named)))
    reply = sample.message("r1", role="assistant", metadata=metadata)
    assert repeated_by(reply) == set(named)
    assert not is_recalled(reply)
    assert repeated_by(sample.message("q1", metadata=metadata)) == frozenset()


def test_a_reply_that_says_nothing_of_its_own_is_not_recalled_and_repeats_nothing() -> None:
    reply = sample.message("r1", role="assistant", metadata=repeating(()))
    assert (repeated_by(reply), is_recalled(reply)) == (frozenset(), False)


@pytest.mark.parametrize("value", [None, True, 5, "m1", {"memory_id": "k1"}, [5, "", {}, {"memory_id": ""}, ["m1"]]])
def test_what_names_no_source_is_none(value: object) -> None:
    assert repeated_by(sample.message("r1", role="assistant", metadata={REPEATS: value})) == frozenset()


@pytest.mark.parametrize("ids", [True, "m1", [5], ("",), (5,)])
def test_a_reply_names_ids_and_nothing_else(ids: object) -> None:
    with pytest.raises(InvalidInputError):
        msgspec.structs.replace(Reply(), repeats=ids)
