"""Exporting a conversation while others write, erase and damage it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from recollect.domain.exported import ConversationRecord, DamagedRecord, MessageRecord, Record, SummaryRecord
from recollect.domain.message import NewMessage
from recollect.domain.page import MessagePage, MessageQuery
from recollect.domain.scope import Scope
from recollect.errors import ConversationNotFoundError
from recollect.service import exporting
from recollect.service.exporting import AT_ONCE, as_json, as_json_lines, as_markdown, export_conversation, in_chunks
from recollect.service.recollect import Recollect
from recollect.storage.inmemory import InMemoryStore
from recollect.storage.sqlite import SqliteDriver
from recollect.storage.store import SqlStore
from recollect.testing.samples import ALICE, BOB, append, erasure, message, summary
from tests.support.damage import damage


async def exported(service: Recollect, conversation_id: str = "c1") -> list[Record]:
    return [record async for record in export_conversation(service.store, ALICE, conversation_id)]


def ids(records: list[Record], kind: type) -> list[str]:
    return [record.id for record in records if isinstance(record, kind)]


async def test_summaries_come_after_all_that_they_cover(service: Recollect) -> None:
    store = service.store
    await store.append(ALICE, append("c1", *(f"m{n}" for n in range(6))))
    await store.put_summary(ALICE, summary("s1", "m0", "m1"))
    await store.put_summary(ALICE, summary("s2", "m2", "m3"))
    await store.put_summary(ALICE, summary("all", folds=("s1", "s2")))
    await store.put_summary(ALICE, summary("s3", "m4"))
    records = await exported(service)
    order = [record.id for record in records]
    assert order[:7] == ["c1", *(f"m{n}" for n in range(6))]
    assert sorted(order[7:]) == ["all", "s1", "s2", "s3"]
    assert max(order.index("s1"), order.index("s2")) < order.index("all")


async def test_what_is_exported_can_be_stored_as_it_comes(service: Recollect) -> None:
    store = service.store
    await store.append(ALICE, append("c1", "m1", "m2", "m3", message("m4", parent_id="m1")))
    await store.put_summary(ALICE, summary("s1", "m1", "m4"))
    records = await exported(service)
    for record in records:
        if isinstance(record, MessageRecord):
            await store.append(BOB, append("c1", record.new()))
        elif isinstance(record, SummaryRecord):
            await store.put_summary(BOB, record.new())
    query = MessageQuery(conversation_id="c1", all_branches=True)
    theirs, ours = await store.list_messages(BOB, query), await store.list_messages(ALICE, query)
    assert theirs == ours
    assert [one.id for one in await store.active_summaries(BOB, "c1")] == ["s1"]


async def test_a_missing_conversation_is_known_before_anything_is_given(service: Recollect) -> None:
    with pytest.raises(ConversationNotFoundError):
        await exporting.begun(export_conversation(service.store, ALICE, "c1"))
    await service.store.append(BOB, append("c1", "m1"))
    with pytest.raises(ConversationNotFoundError):
        await exporting.begun(export_conversation(service.store, ALICE, "c1"))


class Watched(InMemoryStore):
    """A store that counts what is read at once, and does something between two pages."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []
        self.between: Any = None

    async def list_messages(self, scope: Scope, query: MessageQuery) -> MessagePage:
        if self.sizes and self.between is not None:
            act, self.between = self.between, None
            await act()
        page = await super().list_messages(scope, query)
        self.sizes.append(len(page.messages))
        return page


async def long_conversation(store: Watched, size: int = 3 * AT_ONCE) -> list[str]:
    names = [f"m{n}" for n in range(size)]
    await store.append(ALICE, append("c1", *names))
    return names


async def test_a_conversation_is_read_a_page_at_a_time() -> None:
    store = Watched()
    names = await long_conversation(store)
    records = [record async for record in export_conversation(store, ALICE, "c1")]
    assert ids(records, MessageRecord) == names
    assert store.sizes == [AT_ONCE] * 3


@pytest.mark.parametrize("erased", [1, AT_ONCE // 2])
async def test_messages_that_are_erased_meanwhile_lose_no_others(erased: int) -> None:
    store = Watched()
    names = await long_conversation(store)

    async def erase() -> None:
        for name in names[AT_ONCE - erased : AT_ONCE + 5]:
            await store.erase_message(ALICE, "c1", name, erasure(f"r {name}"))

    store.between = erase
    records = [record async for record in export_conversation(store, ALICE, "c1")]
    assert ids(records, MessageRecord) == names[:AT_ONCE] + names[AT_ONCE + 5 :]


@pytest.mark.parametrize("how", ["clear_conversation", "erase_conversation"])
async def test_a_conversation_that_is_erased_meanwhile_ends(how: str) -> None:
    store = Watched()
    names = await long_conversation(store)

    async def erase() -> None:
        await getattr(store, how)(ALICE, "c1", erasure("r1"))

    store.between = erase
    records = [record async for record in export_conversation(store, ALICE, "c1")]
    assert [record.id for record in records] == ["c1", *names[:AT_ONCE]]


async def test_what_is_damaged_is_named_once(tmp_path: Path) -> None:
    path = tmp_path / "damaged.db"
    store = SqlStore(await SqliteDriver.open(path))
    names = [f"m{n}" for n in range(AT_ONCE + 5)]
    await store.append(ALICE, append("c1", *names))
    await store.close()
    broken = names[AT_ONCE - 2 : AT_ONCE + 1]
    for name in broken:
        assert damage(str(path), ALICE, "messages", name) == 1
    store = SqlStore(await SqliteDriver.open(path))
    records = [record async for record in export_conversation(store, ALICE, "c1")]
    await store.close()
    assert ids(records, DamagedRecord) == broken
    assert ids(records, MessageRecord) == [name for name in names if name not in broken]


async def test_every_form_says_the_same_in_pieces_of_bounded_size(service: Recollect) -> None:
    await service.store.append(ALICE, append("c1", *(f"m{n}" for n in range(50))))
    records = await exported(service)

    def again() -> Any:
        return export_conversation(service.store, ALICE, "c1")

    lines = b"".join([part async for part in as_json_lines(again())])
    whole = b"".join([part async for part in as_json(again())])
    kinds = ConversationRecord | MessageRecord | SummaryRecord | DamagedRecord
    assert [msgspec.json.decode(line, type=kinds) for line in lines.splitlines()] == records
    assert msgspec.json.decode(whole, type=list[kinds]) == records
    pieces = [piece async for piece in in_chunks(as_json_lines(again()), 1_000)]
    assert b"".join(pieces) == lines
    assert {len(piece) >= 1_000 for piece in pieces[:-1]} == {True}
    assert max(map(len, pieces)) < 1_000 + max(map(len, lines.splitlines())) + 2


async def test_nothing_that_was_said_can_break_the_page(service: Recollect) -> None:
    hostile = NewMessage(
        id="a --> b ` c",
        role="tool",
        tool_call_id="k",
        content="```\n`````\n# not ours",
        created_at=message("m").created_at,
    )
    await service.store.append(ALICE, append("c1", hostile))
    text = b"".join([part async for part in as_markdown(export_conversation(service.store, ALICE, "c1"))]).decode()
    assert "``````\n```\n`````\n# not ours\n``````" in text
    assert "<!-- `a - -> b ˋ c` -->" in text
