"""Finding conversations among many, and beside damaged records."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from recollect.domain.conversation import ConversationQuery, ConversationSearch, FoundConversations
from recollect.storage import conversations, finding
from recollect.storage.driver import Transaction
from recollect.storage.sqlite import SqliteDriver
from recollect.storage.sqlite_connection import connect
from recollect.storage.store import SqlStore
from recollect.testing.samples import ALICE, after, append, conversation, ids_of, message


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqlStore]:
    opened = SqlStore(await SqliteDriver.open(path))
    yield opened
    await opened.close()


def spoil(path: Path, change: str) -> None:
    """Change a row behind the store's back."""
    connection = connect(str(path))
    connection.execute(change)
    assert connection.changes() == 1
    connection.close()


def shown(page: FoundConversations) -> list[tuple[str, str | None, str | None]]:
    return [(item.conversation.id, item.message_id, item.snippet) for item in page.items]


async def search(store: SqlStore, text: str = "pear") -> FoundConversations:
    return await store.search_conversations(ALICE, ConversationSearch(text=text))


async def test_titles_and_messages_are_found_among_more_than_are_read_together(store: SqlStore) -> None:
    titles = 2 * finding.TITLES + 10

    def name_them(tx: Transaction) -> None:
        for number in range(titles):
            title = "A pear" if number % 100 == 0 else "An apple"
            conversations.create(tx, ALICE, conversation(f"c{number:05}", title=title, at=after(number)))

    await store._driver.write(ALICE, name_them)
    for name, first, last in (("long", 0, finding.STEP), ("short", finding.STEP, finding.STEP + 10)):
        pears = (message(f"m{number}", "pear") for number in range(first, last))
        await store.append(ALICE, append(name, *pears, at=after(-1)))
    expected = [f"c{number:05}" for number in range(titles - titles % 100, -1, -100)] + ["short", "long"]
    found: list[str] = []
    query = ConversationSearch(text="pear", limit=4)
    while True:
        page = await store.search_conversations(ALICE, query)
        found += [item.conversation.id for item in page.items]
        if page.next is None:
            break
        query = ConversationSearch(text="pear", limit=4, after=page.next)
    assert found == expected


async def test_a_damaged_message_is_not_shown_and_an_older_one_is(store: SqlStore, path: Path) -> None:
    await store.append(ALICE, append("c1", message("m1", "a pear"), message("m2", "the pear")))
    await store.create_conversation(ALICE, conversation("c2", title="pear", at=after(1)))
    await store.append(ALICE, append("c2", message("m1", "one pear"), at=after(1)))
    spoil(path, "UPDATE messages SET content = 'not what was said' WHERE content = 'the pear'")
    spoil(path, "UPDATE messages SET content = 'nor this' WHERE content = 'one pear'")
    assert shown(await search(store)) == [("c2", None, None), ("c1", "m1", "a pear")]
    spoil(path, "UPDATE messages SET content = 'nor that' WHERE content = 'a pear'")
    assert shown(await search(store)) == [("c2", None, None)]


async def test_damaged_conversations_are_left_out_and_reported(store: SqlStore, path: Path) -> None:
    for number in range(3):
        await store.append(ALICE, append(f"c{number}", message("m1", "pear"), at=after(number)))
    spoil(path, "UPDATE conversations SET title = 'forged' WHERE id = 'c1'")
    page = await search(store)
    assert [item.conversation.id for item in page.items] == ["c2", "c0"]
    assert page.corrupt == ("c1",)
    assert [(one.kind, one.id) for one in await store.list_damaged(ALICE)] == [("conversation", "c1")]


@pytest.mark.parametrize("damaged", [2**61, -(2**61), "'now'"])
async def test_pages_go_on_after_a_conversation_whose_place_was_damaged(
    store: SqlStore, path: Path, damaged: object
) -> None:
    for number in range(5):
        await store.append(ALICE, append(f"c{number}", message("m1", "pear"), at=after(number)))
    spoil(path, f"UPDATE conversations SET last_activity_at = {damaged} WHERE id = 'c2'")
    found: list[str] = []
    query = ConversationSearch(text="pear", limit=1)
    while True:
        page = await store.search_conversations(ALICE, query)
        found += [item.conversation.id for item in page.items]
        if page.next is None:
            break
        query = ConversationSearch(text="pear", limit=1, after=page.next)
    assert found == ["c4", "c3", "c1", "c0"]
    assert [one.id for one in await store.list_damaged(ALICE)] == ["c2"]
    first = await store.list_conversations(ALICE, ConversationQuery(limit=1))
    rest = await store.list_conversations(ALICE, ConversationQuery(limit=9, after=first.next))
    assert [*ids_of(first.items), *ids_of(rest.items)] == found


async def test_damaged_conversations_are_no_idle_ones_and_are_reported(store: SqlStore, path: Path) -> None:
    for number in range(3):
        await store.append(ALICE, append(f"c{number}", "m1", at=after(number)))
    spoil(path, "UPDATE conversations SET title = 'forged' WHERE id = 'c0'")
    assert ids_of(await store.list_idle(ALICE, after(9), 3)) == ["c1", "c2"]
    assert [(one.kind, one.id) for one in await store.list_damaged(ALICE)] == [("conversation", "c0")]
