"""Reading messages: tool results in their calls, and summaries back into what they stand for."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.message import Message, NewMessage, Role, ToolCall
from recollect.domain.page import MessageQuery
from recollect.domain.tool_pairs import joined, unanswered
from recollect.errors import MessageNotFoundError, NotFoundError
from recollect.service.reading import BETWEEN
from recollect.service.recollect import Recollect
from recollect.testing.clock import START
from recollect.testing.samples import ALICE, append, ids_of, message, summary


def call(name: str, *ids: str, **more: object) -> NewMessage:
    calls = tuple(ToolCall(id=one, tool_name="weather", **more) for one in ids)
    return message(name, "", role="assistant", tool_calls=calls)


def result(name: str, call_id: str, content: str = "snow") -> NewMessage:
    return message(name, content, role="tool", tool_call_id=call_id)


def outputs(messages: tuple[Message, ...]) -> list[object]:
    return [one.output for message in messages for one in message.tool_calls]


# Tool results


@pytest.mark.parametrize("between", [0, BETWEEN])
async def test_a_page_that_ends_with_a_call_finds_its_result_after_it(service: Recollect, between: int) -> None:
    others = [f"o{n}" for n in range(between)]
    await service.store.append(ALICE, append("c1", "m1", call("m2", "k"), *others, result("m3", "k"), "m4"))
    for query in ({"after": "m1"}, {"before": others[0] if others else "m3"}):
        page = await service.conversations.get_messages(ALICE, "c1", limit=1, **query)
        assert (ids_of(page.messages), outputs(page.messages)) == (["m2"], ["snow"])
    assert outputs((await service.conversations.get_messages(ALICE, "c1")).messages) == ["snow"]


async def test_what_is_stored_is_not_changed_by_reading(service: Recollect) -> None:
    await service.store.append(ALICE, append("c1", call("m1", "k"), result("m2", "k")))
    await service.conversations.get_messages(ALICE, "c1")
    await service.conversations.get_context(ALICE, "c1")
    stored = await service.store.list_messages(ALICE, MessageQuery(conversation_id="c1"))
    assert outputs(stored.messages) == [None]
    assert outputs((await service.store.get_window(ALICE, "c1")).messages) == [None]


async def test_an_output_of_its_own_stays(service: Recollect) -> None:
    await service.store.append(ALICE, append("c1", call("m1", "k", output={"deg": 3}), result("m2", "k")))
    assert outputs((await service.conversations.get_messages(ALICE, "c1")).messages) == [{"deg": 3}]


async def test_a_call_on_another_branch_gets_no_result_of_this_one(service: Recollect) -> None:
    await service.store.append(ALICE, append("c1", call("m1", "k"), result("m2", "k", "here")))
    await service.store.append(ALICE, append("c1", message("m3", parent_id="m1")))
    assert outputs((await service.conversations.get_messages(ALICE, "c1")).messages) == [None]


KINDS: tuple[Role, ...] = ("user", "assistant", "tool")


@st.composite
def talks(draw: st.DrawFn) -> tuple[Message, ...]:
    """Draw messages that call tools and answer calls, with few ids, so that they come again."""
    said: list[Message] = []
    for seq in range(1, draw(st.integers(1, 12)) + 1):
        kind: Role = draw(st.sampled_from(KINDS))
        ids = draw(st.lists(st.sampled_from("abc"), max_size=3, unique=True)) if kind == "assistant" else []
        said.append(
            Message(
                conversation_id="c1",
                seq=seq,
                id=f"m{seq}",
                parent_id=None,
                turn_id=None,
                role=kind,
                name=None,
                content=f"said {seq}",
                status="complete",
                created_at=START,
                tool_call_id=draw(st.sampled_from("abc")) if kind == "tool" else None,
                tool_calls=tuple(ToolCall(id=one, tool_name="t") for one in ids),
            )
        )
    return tuple(said)


def expected(talk: tuple[Message, ...], at: int, call_id: str) -> str | None:
    """Return the first result after a call, unless another call of the same id comes before it."""
    for later in talk[at + 1 :]:
        if later.role == "tool" and later.tool_call_id == call_id:
            return later.content
        if any(one.id == call_id for one in later.tool_calls):
            return None
    return None


@given(talks(), st.integers(0, 12))
def test_each_call_has_the_first_result_after_it_wherever_a_page_ends(talk: tuple[Message, ...], cut: int) -> None:
    page, following = talk[:cut], talk[cut:]
    read = joined(page, following)
    found = [(at, one.id, one.output) for at, message in enumerate(read) for one in message.tool_calls]
    assert found == [(at, i, expected(talk, at, i)) for at, i, _ in found]
    bare = [msgspec.structs.replace(message, tool_calls=()) for message in read]
    assert bare == [msgspec.structs.replace(message, tool_calls=()) for message in page]
    assert unanswered(talk) == [(at, i) for at, i, output in _calls(joined(talk)) if output is None]


def _calls(messages: tuple[Message, ...]) -> list[tuple[int, str, object]]:
    return [(at, one.id, one.output) for at, message in enumerate(messages) for one in message.tool_calls]


# Summaries


async def expanded(service: Recollect, summary_id: str, limit: int = 50) -> list[str]:
    """Return what a summary stands for, page by page."""
    found: list[str] = []
    after: str | None = None
    while True:
        page = await service.conversations.expand(ALICE, "c1", summary_id, limit=limit, after=after)
        found += ids_of(page.in_place())
        if not page.more:
            return found
        after = page.messages[-1].id


@pytest.mark.spec("B9")
@pytest.mark.parametrize("limit", [1, 2, 3, 50])
async def test_a_fold_expands_to_its_originals_with_its_parts_in_their_places(service: Recollect, limit: int) -> None:
    store = service.store
    await store.append(ALICE, append("c1", *(f"m{n}" for n in range(1, 8))))
    parts = [summary("s1", "m1", "m2"), summary("s2", "m3", "m4", "m5")]
    for part in parts:
        await store.put_summary(ALICE, part)
    await store.put_summary(ALICE, summary("all", folds=("s1", "s2")))
    assert await expanded(service, "all", limit) == [
        *("m1", "m2", parts[0].message_id),
        *("m3", "m4", "m5", parts[1].message_id),
    ]
    assert await expanded(service, "s2", limit) == ["m3", "m4", "m5"]


@pytest.mark.spec("B9")
async def test_a_summary_of_another_branch_expands_to_that_branch(service: Recollect) -> None:
    store = service.store
    await store.append(ALICE, append("c1", "m1", "m2", "m3", "m4"))
    await store.put_summary(ALICE, summary("s1", "m2", "m3"))
    await store.append(ALICE, append("c1", message("x2", parent_id="m1"), "x3"))
    await store.put_summary(ALICE, summary("s2", "m1", "x2"))
    assert await expanded(service, "s1", 1) == await expanded(service, "s1") == ["m2", "m3"]
    assert await expanded(service, "s2", 1) == await expanded(service, "s2") == ["m1", "x2"]


async def test_originals_that_were_deleted_are_not_there(service: Recollect) -> None:
    store = service.store
    await store.append(ALICE, append("c1", *(f"m{n}" for n in range(1, 7))))
    parts = [summary("s1", "m1", "m2"), summary("s2", "m3", "m4", delete_originals=True), summary("s3", "m5")]
    for part in parts:
        await store.put_summary(ALICE, part)
    await store.put_summary(ALICE, summary("all", folds=("s1", "s2", "s3")))
    page = await service.conversations.expand(ALICE, "c1", "s2")
    assert (page.messages, page.more) == ((), False)
    page = await service.conversations.expand(ALICE, "c1", "all")
    assert ids_of(page.messages) == ["m1", "m2", "m5"]
    assert ids_of(page.summaries) == ["s1", "s2", "s3"]
    page = await service.conversations.expand(ALICE, "c1", "all", limit=4)
    assert (ids_of(page.messages), page.more) == (["m1", "m2"], True)
    for limit in (1, 2, 3, 4, 5):
        assert [one for one in await expanded(service, "all", limit) if one.startswith("m") and "-" not in one] == [
            *("m1", "m2", "m5"),
        ]


async def test_only_what_a_summary_covers_is_a_place_in_it(service: Recollect) -> None:
    await service.store.append(ALICE, append("c1", "m1", "m2", "m3"))
    await service.store.put_summary(ALICE, summary("s1", "m1", "m2"))
    with pytest.raises(MessageNotFoundError):
        await service.conversations.expand(ALICE, "c1", "s1", after="m3")
    with pytest.raises(NotFoundError):
        await service.conversations.expand(ALICE, "c1", "nothing")


async def test_the_results_of_tools_are_joined_in_what_a_summary_covers(make: Callable[..., Recollect]) -> None:
    service = make()
    await service.store.append(ALICE, append("c1", "m1", call("m2", "k"), result("m3", "k"), "m4"))
    await service.store.put_summary(ALICE, summary("s1", "m1", "m2", "m3"))
    page = await service.conversations.expand(ALICE, "c1", "s1", limit=2)
    assert (ids_of(page.messages), outputs(page.messages)) == (["m1", "m2"], ["snow"])
