"""What is said is kept, in order, and the prompt tells all of it: P1, P2, P5, P15, P16."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import msgspec
import pytest
from hypothesis import strategies as st

from recollect.domain.message import Message, NewMessage
from recollect.domain.summary import Summary
from recollect.domain.tool_pairs import joined
from recollect.service.chat_request import ChatRequest
from recollect.testing.samples import ids_of
from tests.support.drawn_messages import Speaker, client_ids, histories, json_values, talks, texts, times
from tests.support.service_rig import C, Echo, Options, Place, Rig

# The threads of the connection pool draw random pauses of their own while Hypothesis draws.
pytestmark = pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")

GIVEN = tuple(name for name in NewMessage.__struct_fields__ if name != "parent_id")

rich_messages = st.builds(
    NewMessage,
    id=client_ids,
    role=st.sampled_from(("user", "assistant", "system")),
    content=texts,
    created_at=times,
    name=st.sampled_from((None, None, "Åsa", "小明")),
    status=st.sampled_from(("complete", "interrupted", "failed")),
    suggested_values=json_values,
    suggested_actions=json_values,
    custom_payload=json_values,
    metadata=st.dictionaries(st.sampled_from(("k", "", "茶")), json_values),
)


def as_given(message: NewMessage | Message) -> dict[str, Any]:
    """Return what the caller said of a message."""
    return {name: getattr(message, name) for name in GIVEN}


@pytest.mark.spec("P1")
def test_p01_a_stored_message_is_read_back_as_it_was_given(place: Place) -> None:
    async def example(drawn: tuple[str, list[list[NewMessage]], list[Any], int]) -> None:
        conversation_id, batches, talk, limit = drawn
        rig = place.rig()
        given: dict[str, NewMessage] = {}
        for batch in (*batches, Speaker("\N{SNOWMAN}").messages(talk)):
            new = {one.id: one for one in reversed(batch) if one.id not in given}
            appended = await rig.conversations.add_messages(rig.scope, conversation_id, batch)
            assert {*ids_of(appended.messages)} == {*new}
            assert len(appended.duplicates) == len(batch) - len(new)
            given |= {one.id: new[one.id] for one in batch if one.id in new}
        uncached = Rig(place.driver, rig.scope, Options())
        for reader in (rig, uncached):
            await check_all(reader, conversation_id, list(given.values()), limit)
        again = await rig.conversations.add_messages(rig.scope, conversation_id, tuple(given.values()))
        assert (again.messages, len(again.duplicates)) == ((), len(given))
        await check_all(uncached, conversation_id, list(given.values()), limit)
        stranger = Rig(place.driver, place.scope(), Options())
        assert await stranger.keeper.window(stranger.scope, conversation_id) is None

    batches = st.lists(st.lists(rich_messages, min_size=1, max_size=4), max_size=2)
    place.check(example, st.tuples(client_ids, batches, talks(most=5), st.integers(2, 7)))


async def check_all(rig: Rig, conversation_id: str, given: list[NewMessage], limit: int) -> None:
    """Read everything forwards, backwards and one by one."""
    forwards: list[Message] = []
    oldest = (await rig.conversations.get_messages(rig.scope, conversation_id, limit=1000)).messages[0]
    forwards.append(oldest)
    more = True
    while more:
        page = await rig.conversations.get_messages(rig.scope, conversation_id, limit=limit, after=forwards[-1].id)
        forwards += page.messages
        more = page.more
    assert [as_given(one) for one in forwards] == [as_given(one) for one in joined(cast("list[Any]", given))]
    assert [one.seq for one in forwards] == list(range(1, len(given) + 1))
    page = await rig.conversations.get_messages(rig.scope, conversation_id, limit=limit)
    backwards = list(page.messages)
    while page.more:
        page = await rig.conversations.get_messages(rig.scope, conversation_id, limit=limit, before=backwards[0].id)
        backwards = [*page.messages, *backwards]
    assert backwards == forwards
    last = given[-1]
    assert joined([await rig.store.get_message(rig.scope, conversation_id, last.id)]) == (forwards[-1],)
    context = await rig.conversations.get_context(rig.scope, conversation_id)
    assert context.recent == tuple(forwards[-20:])


@pytest.mark.spec("P2")
def test_p02_the_prompt_holds_the_summaries_and_the_recent_messages(place: Place) -> None:
    async def example(drawn: tuple[Any, list[Any], str]) -> None:
        history, pieces, question = drawn
        echo = Echo()
        rig = place.rig(Options(history=history), responder=echo)
        speaker = Speaker()
        for talk in pieces:
            await rig.add(speaker.messages(talk))
        context = await rig.conversations.get_context(rig.scope, C)
        stored = await rig.all_messages()
        assert context.summaries == await rig.store.active_summaries(rig.scope, C)
        assert bool(context.summaries) == (len(context.recent) < len(stored))
        assert context.recent == stored[-len(context.recent) :]
        assert await rig.covered(context.summaries) + ids_of(context.recent) == ids_of(stored)
        await rig.chat.turn(rig.scope, ChatRequest(text=question, conversation_id=C))
        (asked,) = echo.questions
        assert asked.text == question
        told = {block.kind: [item.id for item in block.items] for block in asked.context.blocks}
        assert told.get("summaries", []) == ids_of(context.summaries)
        assert told.get("window", []) == [message.id for message in context.recent if message.content]

    place.check(example, st.tuples(histories(), st.lists(talks(most=10), min_size=1, max_size=3), texts))


@pytest.mark.spec("P5", "S3.3")
def test_p05_a_context_has_summaries_recent_messages_and_the_total(place: Place) -> None:
    async def example(drawn: tuple[Any, bool, str, list[Any], list[str]]) -> None:
        history, deletes, strategy, pieces, changes = drawn
        history = msgspec.structs.replace(history, delete_originals=deletes, strategy=strategy)
        rig = place.rig(Options(history=history))
        await rig.conversations.create(rig.scope, conversation_id=C)
        await check_context(rig)
        speaker = Speaker()
        for talk, change in zip(pieces, changes, strict=False):
            await rig.add(speaker.messages(talk))
            await check_context(rig)
            stored = await rig.all_messages(all_branches=True)
            if change == "clear":
                await rig.conversations.clear_messages(rig.scope, C)
            elif change == "select":
                await rig.conversations.select(rig.scope, C, stored[len(stored) // 2].id)
            elif change == "erase":
                await rig.conversations.erase_message(rig.scope, C, stored[len(stored) // 2].id)
            await check_context(rig)

    changes = st.lists(st.sampled_from(("nothing", "clear", "select", "erase")), min_size=4, max_size=4)
    kinds = st.sampled_from(("summarise", "summarise", "sliding", "keep_all"))
    pieces = st.lists(talks(most=10), min_size=1, max_size=3)
    place.check(example, st.tuples(histories(), st.booleans(), kinds, pieces, changes))


async def check_context(rig: Rig) -> None:
    context = await rig.conversations.get_context(rig.scope, C)
    assert isinstance(context.summaries, tuple)
    assert isinstance(context.recent, tuple)
    assert all(type(one) is Summary and one.content for one in context.summaries)
    assert all(isinstance(one, Message) for one in context.recent)
    assert context.total == len(await rig.all_messages(all_branches=True))
    places = [one.last_seq for one in context.summaries] + [one.seq for one in context.recent]
    assert places == sorted(set(places))
    assert not context.corrupt


@pytest.mark.spec("P15")
def test_p15_a_new_session_gets_an_id_that_no_other_has(place: Place) -> None:
    async def example(drawn: tuple[set[str], int, int, str]) -> None:
        own, created, turns, text = drawn
        rig = place.rig()
        for conversation_id in own:
            await rig.conversations.create(rig.scope, conversation_id=conversation_id)
        made: list[Any] = await asyncio.gather(
            *(rig.conversations.create(rig.scope) for _ in range(created)),
            *(rig.chat.turn(rig.scope, ChatRequest(text=text)) for _ in range(turns)),
        )
        new = [one.id if hasattr(one, "id") else one.conversation_id for one in made]
        assert len({*new, *own}) == len(new) + len(own)
        assert not {*new} & ever
        ever.update(new)
        for conversation_id in new:
            count = (await rig.conversations.get(rig.scope, conversation_id)).message_count
            assert count == (2 if conversation_id in new[created:] else 0)

    ever: set[str] = set()
    place.check(example, st.tuples(st.sets(client_ids, max_size=3), st.integers(1, 4), st.integers(0, 3), texts))


@pytest.mark.spec("P16")
def test_p16_the_session_id_stays_the_same_throughout(place: Place) -> None:
    async def example(drawn: tuple[str | None, list[tuple[str, str]], Any]) -> None:
        conversation_id, turns, history = drawn
        rig = place.rig(Options(history=history))
        other = await rig.chat.turn(rig.scope, ChatRequest(text="elsewhere"))
        rig.clock.advance(seconds=1)
        first = await rig.chat.turn(rig.scope, ChatRequest(text="hello", conversation_id=conversation_id))
        here = first.conversation_id
        assert conversation_id in (None, here)
        expected = ["hello"]
        for policy, text in turns:
            request: Any = {
                "text": text,
                "conversation_id": here,
                "write_policy": policy,
                "key": f"key-{len(expected)}",
            }
            reply = await rig.chat.turn(rig.scope, ChatRequest(**request))
            assert {reply.conversation_id, reply.user_message.conversation_id, reply.message.conversation_id} == {here}
            again = await rig.chat.turn(rig.scope, ChatRequest(**request))
            assert (again.conversation_id, again.message) == (here, reply.message)
            expected.append(text)
        await rig.drain()
        stored = await rig.all_messages(here)
        assert [one.content for one in stored if one.role == "user"] == expected
        assert len(await rig.all_messages(other.conversation_id)) == 2
        assert (await rig.conversations.current(rig.scope)).id == here
        assert len((await rig.conversations.list(rig.scope)).items) == 2

    policies = st.sampled_from(("turn", "turn", "ahead"))
    turns = st.lists(st.tuples(policies, texts), max_size=3)
    place.check(example, st.tuples(st.none() | client_ids, turns, histories()))
