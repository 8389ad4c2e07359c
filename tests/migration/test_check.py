"""`check` finds whatever is damaged, says what it is, and repairs nothing but the search index."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from recollect.domain.page import SearchQuery
from recollect.domain.repeating import Repeated, memory, repeating
from recollect.errors import StorageError
from recollect.storage.verify import Damage, unseen
from recollect.testing import samples as sample
from recollect.testing.samples import ALICE, BOB
from tests.migration.databases import Database, PostgresDatabase, SqliteDatabase, big, fill, problems

pytestmark = pytest.mark.spec("R31")

#: One change of each table, and a part of what is said about it.
CHANGES = {
    "UPDATE conversations SET title = 'other' WHERE id = 'c1'": "conversations acme/alice/c1 does not match",
    "UPDATE messages SET content = 'other' WHERE id = 'm1'": "messages acme/alice/m1 does not match",
    "UPDATE messages SET user_id = 'carol' WHERE id = 'm1'": "messages acme/carol/m1 belongs to no conversation",
    "UPDATE turns SET status = 'failed'": "turns acme/alice/t1 does not match",
    "UPDATE archive_batches SET archived = 7": "archive_batches acme/alice/b1 does not match",
    "UPDATE summaries SET content = 'other'": "summaries acme/alice/s1 does not match",
    "UPDATE memories SET content = 'other' WHERE id = 'y1'": "memories acme/alice/y1 does not match",
    "UPDATE memory_versions SET version = 9": "memory_versions acme/alice/y3 does not match",
    "UPDATE notes SET notes = 'other'": "notes acme/alice/assistant does not match",
    "UPDATE note_versions SET notes = 'other'": "note_versions acme/alice/assistant does not match",
    "UPDATE preferences SET instructions = 'other'": "preferences acme/alice/alice does not match",
    "UPDATE jobs SET payload = '{}'": "jobs acme/alice/j1 does not match",
    "UPDATE usage SET input_tokens = 6 WHERE kind = 'extract'": "usage acme/alice/u1 does not match",
    "UPDATE requests SET digest = 'other', body = 'b'": "requests acme/alice/key does not match",
    "DELETE FROM memory_sources WHERE memory_id = 'y2'": "memory_sources acme/alice differs from what the memories",
    "DELETE FROM messages WHERE id = 'm3'": "conversations acme/alice/c1 counts 4 messages and has 3",
    "DELETE FROM messages WHERE id = 'm4'": "has a head that is none of its messages",
    "DELETE FROM conversations WHERE id = 'c2'": "has no conversations",
    "DELETE FROM users": "has no users",
}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_changed_row_is_found_and_named(change: str, sqlite: SqliteDatabase) -> None:
    async with sqlite.store() as store:
        await fill(store)
    assert problems(sqlite) == []
    sqlite.execute(change)
    assert [text for text in problems(sqlite) if CHANGES[change] in text]


async def test_changed_rows_of_postgres_are_found_and_named(postgres: PostgresDatabase) -> None:
    async with postgres.store() as store:
        await fill(store)
    assert problems(postgres) == []
    changes = {
        change: said for change, said in CHANGES.items() if change.startswith("UPDATE") and "carol" not in change
    }
    changes["DELETE FROM memory_sources WHERE memory_id = 'y2'"] = "memory_sources acme/alice differs"
    changes["DELETE FROM messages WHERE id = 'm4'"] = "counts 4 messages and has 3; has a head that is none"
    for change in changes:
        postgres.execute(change)
    found = problems(postgres)
    assert [said for said in changes.values() if not any(said in text for text in found)] == []


async def test_a_reply_whose_source_is_no_longer_followed_is_found(database: Database) -> None:
    async with database.store() as store:
        await fill(store)
        quote = repeating([Repeated("c1", "m1"), memory("y1")])
        replies = [sample.message(name, role="assistant", metadata=quote) for name in ("r1", "r2")]
        await store.append(ALICE, sample.append("c9", *replies))
        await store.put_summary(ALICE, sample.summary("s9", "r1", conversation_id="c9", delete_originals=True))
    assert problems(database) == []
    database.execute("DELETE FROM repeats WHERE message_id = 'r2' AND source_id = 'y1'")
    assert problems(database) == ["repeats acme/alice differs from what the replies repeat"]


async def test_what_postgres_should_have_refused_is_found(postgres: PostgresDatabase) -> None:
    async with postgres.store() as store:
        await fill(store)
    postgres.execute("SET session_replication_role = replica; DELETE FROM users WHERE user_id = 'bob'")
    ready = "UPDATE pg_index SET indisready = {} WHERE indexrelid = 'tombstones_pkey'::regclass"
    postgres.execute(ready.format("false"))
    postgres.execute("INSERT INTO tombstones SELECT * FROM tombstones")
    postgres.execute(ready.format("true"))
    found = problems(postgres)
    assert "agents acme/bob has no users" in found
    assert [text for text in found if text.startswith("tombstones acme/alice/message/") and "more than one" in text]


async def test_terms_out_of_step_in_postgres_are_found_and_repaired(postgres: PostgresDatabase) -> None:
    async with postgres.store() as store:
        await store.append(ALICE, sample.append("c1", "m1", sample.message("wordless", "…!")))
    rows = postgres.rows()
    for change in (
        "DELETE FROM message_terms",
        "UPDATE message_terms SET terms = terms[2:]",
        "INSERT INTO message_terms VALUES ('acme', 'alice', 9999, '{1}')",
    ):
        postgres.execute(change)
        found = list(postgres.maintenance.check(repair=False, progress=unseen))
        assert found, change
        assert indexed(found)
        assert list(postgres.maintenance.check(repair=True, progress=unseen)) == []
    assert postgres.rows() == rows
    async with postgres.store() as store:
        assert await store.search_messages(ALICE, SearchQuery(text="m1"))


async def test_text_that_is_no_text_any_more_does_not_stop_the_walk(sqlite: SqliteDatabase) -> None:
    async with sqlite.store() as store:
        await store.append(ALICE, sample.append("big", *big(50)))
    sqlite.execute("DELETE FROM messages WHERE number IN (20, 21, 22)")
    sqlite.execute("UPDATE messages SET content = CAST(x'ff' AS TEXT) WHERE number = 24")
    sqlite.execute("UPDATE messages SET content = 'other' WHERE number = 40")
    found = [text for text in problems(sqlite) if text.startswith("messages")]
    assert found == [f"messages acme/alice/big-{number} does not match its checksum" for number in (23, 39)]


async def fill_large(sqlite: SqliteDatabase) -> None:
    async with sqlite.store() as store:
        await store.append(ALICE, sample.append("big", *big(200)))


def test_a_damaged_page_is_found(sqlite: SqliteDatabase) -> None:
    asyncio.run(fill_large(sqlite))
    size = 4096
    content = bytearray(sqlite.content())
    for page in range(20, len(content) // size, 7):
        content[page * size : page * size + 100] = b"\xa5" * 100
    sqlite.path.write_bytes(content)
    found = list(sqlite.maintenance.check(repair=False, progress=unseen))
    assert {one.kind for one in found} <= {"file", "index"}
    assert found


def test_a_file_that_is_no_database_any_more_is_damage_too(sqlite: SqliteDatabase, tmp_path: Path) -> None:
    asyncio.run(fill_large(sqlite))
    sqlite.path.write_bytes(b"\0" * 100 + sqlite.content()[100:])
    assert [one.kind for one in sqlite.maintenance.check(repair=False, progress=unseen)] == ["file"]
    with pytest.raises(StorageError, match="restore a backup"):
        sqlite.maintenance.back_up(tmp_path / "backup", force=False, progress=unseen)


def indexed(damage: list[Damage]) -> bool:
    return all(one.kind == "index" for one in damage)


@pytest.mark.parametrize(
    "change",
    [
        "INSERT INTO message_terms (message_terms) VALUES ('delete-all')",
        "INSERT INTO message_terms (rowid, terms) VALUES (3, 'stray')",
        "INSERT INTO message_terms (rowid, terms) VALUES (9999, 'stray')",
        "UPDATE message_terms_data SET block = zeroblob(20) WHERE id > 10",
        "UPDATE meta SET value = 1 WHERE name = 'indexed_to'",
    ],
)
async def test_an_index_out_of_step_is_found_and_repaired(change: str, sqlite: SqliteDatabase) -> None:
    async with sqlite.store() as store:
        for scope in (ALICE, BOB):
            await store.append(scope, sample.append("big", *big(100)))
            await store.append(scope, sample.append("empty", sample.message("wordless", "…!")))
    rows = sqlite.rows()
    sqlite.execute(change)
    found = list(sqlite.maintenance.check(repair=False, progress=unseen))
    assert found
    assert indexed(found)
    assert list(sqlite.maintenance.check(repair=True, progress=unseen)) == []
    assert sqlite.rows() == rows
    assert sqlite.execute("SELECT v FROM message_terms_config WHERE k = 'secure-delete'") == [(1,)]
    async with sqlite.store() as store:
        hits = await store.search_messages(BOB, SearchQuery(text="message 77"))
        assert hits[0].message.id == "big-77"
        await store.erase_conversation(ALICE, "big", sample.erasure())
    assert problems(sqlite) == []


async def test_a_repair_leaves_no_word_of_an_erased_message(sqlite: SqliteDatabase) -> None:
    async with sqlite.store() as store:
        await store.append(ALICE, sample.append("big", *big(100)))
    sqlite.execute("INSERT INTO message_terms (rowid, terms) VALUES (3, 'xyzzyplugh')")
    assert list(sqlite.maintenance.check(repair=True, progress=unseen)) == []
    assert b"xyzzyplugh" not in sqlite.content()


async def test_a_check_beside_a_store_sees_one_moment(database: Database) -> None:
    async with database.store() as store:
        await fill(store)
        assert problems(database) == []
        await store.append(ALICE, sample.append("c1", *big(100)))
        assert problems(database) == []
