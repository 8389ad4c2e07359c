"""What the in-memory store promises beyond the conformance suite: callers cannot reach into it."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from recollect.domain.message import ToolCall
from recollect.domain.page import MessageQuery
from recollect.errors import InvalidInputError, InvalidLimitError, InvalidMessageError, StorageUnavailableError
from recollect.ports.store import Store
from recollect.storage.checked import checked, port_methods
from recollect.storage.inmemory import InMemoryStore
from recollect.storage.store import SqlStore
from recollect.testing.clock import START
from recollect.testing.samples import ALICE, append, conversation, job, message, summary, turn


async def test_what_a_caller_does_to_its_values_later_changes_nothing_stored() -> None:
    store = InMemoryStore()
    mine: dict[str, Any] = {"list": [1]}
    call = ToolCall(id="call", tool_name="tool", input=mine, output=mine)
    said = message("m1", role="assistant", tool_calls=(call,), custom_payload=mine, metadata=mine)
    await store.record_turn(ALICE, turn("t1", append("c1", said, jobs=(job("j1", payload=mine),)), metadata=mine))
    await store.create_conversation(ALICE, conversation("c2", metadata=mine))
    await store.put_summary(ALICE, summary("s1", "m1", metadata=mine))
    mine["list"].append(2)
    stored = await store.get_message(ALICE, "c1", "m1")
    assert stored.tool_calls[0].input == stored.custom_payload == stored.metadata == {"list": [1]}
    assert (await store.list_turns(ALICE, "c1"))[0].metadata == {"list": [1]}
    assert (await store.get_job(ALICE, "j1")).payload == {"list": [1]}
    assert (await store.get_conversation(ALICE, "c2")).metadata == {"list": [1]}
    assert (await store.active_summaries(ALICE, "c1"))[0].metadata == {"list": [1]}


async def test_what_a_caller_does_to_a_result_changes_nothing_stored() -> None:
    store = InMemoryStore()
    appended = await store.append(ALICE, append("c1", message("m1", custom_payload={"list": [1]})))
    appended.messages[0].custom_payload["list"].append(2)
    page = await store.list_messages(ALICE, MessageQuery(conversation_id="c1"))
    assert page.messages[0].custom_payload == {"list": [1]}
    page.messages[0].custom_payload.clear()
    assert (await store.get_message(ALICE, "c1", "m1")).custom_payload == {"list": [1]}


async def test_json_comes_back_as_from_a_database() -> None:
    store = InMemoryStore()
    await store.append(ALICE, append("c1", message("m1", custom_payload={"pair": (1, 2)})))
    assert (await store.get_message(ALICE, "c1", "m1")).custom_payload == {"pair": [1, 2]}


async def test_a_write_that_fails_half_way_leaves_nothing_behind() -> None:
    store = InMemoryStore()
    with pytest.raises(InvalidMessageError):
        await store.append(ALICE, append("c1", "m1", message("m2", parent_id="missing"), jobs=(job("j1"),)))
    assert await store.create_conversation(ALICE, conversation("c1")) == await store.get_conversation(ALICE, "c1")
    assert (await store.get_conversation(ALICE, "c1")).message_count == 0


async def test_a_closed_store_does_nothing() -> None:
    store = InMemoryStore()
    await store.close()
    with pytest.raises(StorageUnavailableError):
        await store.get_note(ALICE)
    with pytest.raises(StorageUnavailableError):
        await store.append(ALICE, append("c1", "m1"))


@pytest.mark.parametrize("store", [InMemoryStore, SqlStore])
def test_every_method_takes_what_the_port_declares_under_the_same_names(store: type[Store]) -> None:
    for name, parameters in port_methods().items():
        method = getattr(store, name)
        assert list(inspect.signature(method).parameters) == ["self", *parameters]
        assert inspect.iscoroutinefunction(method)


async def test_arguments_are_checked_however_they_are_given() -> None:
    store: Store = InMemoryStore()
    with pytest.raises(InvalidInputError, match="scope must be Scope"):
        await store.get_note("alice")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="conversation id must have"):
        await store.get_conversation(ALICE, conversation_id="")
    with pytest.raises(InvalidInputError, match="new must be NewConversation"):
        await store.create_conversation(new=append("c1", "m1"), scope=ALICE)  # type: ignore[arg-type]
    with pytest.raises(InvalidLimitError):
        await store.mark_inactive(ALICE, START, limit=0)
    with pytest.raises(InvalidInputError, match="new must have 1 to"):
        await store.add_memories(ALICE, ())
    with pytest.raises(TypeError):
        await store.get_note(ALICE, ALICE)  # type: ignore[call-arg]


def test_a_store_without_a_method_of_the_port_cannot_be_made() -> None:
    with pytest.raises(AttributeError):
        checked(type("Half", (), {}))
