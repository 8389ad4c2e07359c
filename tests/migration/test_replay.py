"""What was erased stays erased, also when a backup that still has it is restored."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from recollect.domain.audit import AuditQuery
from recollect.domain.conversation import ConversationQuery
from recollect.domain.erasure import memory_tombstone, message_tombstone
from recollect.domain.job import JobQuery
from recollect.domain.memory import MemoryChanges, Source
from recollect.domain.message import NewMessage
from recollect.domain.page import MessageQuery, SearchQuery
from recollect.domain.repeating import Repeated, repeating
from recollect.errors import ErasedError, NotFoundError
from recollect.ports.store import Store
from recollect.storage.maintenance import RestoreOptions, RestoreReport
from recollect.storage.verify import unseen
from recollect.testing import samples as sample
from recollect.testing.samples import ALICE, BOB, after, ids_of
from tests.migration.databases import Database, SqliteDatabase, fill, problems
from tests.support.store_clients import Client

pytestmark = pytest.mark.spec("R31")
SECRET = "xyzzyplugh"

Step = Callable[[Store], Awaitable[object]]


def restore(database: Database, backup: Path) -> RestoreReport:
    return database.maintenance.restore(backup, RestoreOptions(), unseen)


def raw(database: SqliteDatabase) -> bytes:
    """Return every byte of the file and of what lies beside it."""
    return b"".join(path.read_bytes() for path in database.path.parent.glob(f"{database.path.name}*"))


async def restored(database: Database, tmp_path: Path, *since: Step) -> RestoreReport:
    """Back up a filled database, do these steps, and restore."""
    async with database.store() as store:
        await fill(store)
        await store.append(ALICE, sample.append("c3", sample.message("secret", f"the word is {SECRET}"), "other"))
        learned = sample.memory("ys", f"knows {SECRET}", origin="user", sources=(Source("c3", "secret"),))
        await store.add_memories(ALICE, (learned,))
        if erase_user in since:
            # Notes are not derived from messages, so only erasing the user reaches them.
            await store.change_note(ALICE, sample.note("append", f"noted {SECRET}"))
        database.maintenance.back_up(tmp_path / "backup", force=False, progress=unseen)
        for step in since:
            await step(store)
    report = restore(database, tmp_path / "backup")
    assert problems(database) == []
    return report


async def erase_message(store: Store) -> None:
    await store.erase_message(ALICE, "c3", "secret", sample.erasure("gone", at=after(9)))


async def erase_conversation(store: Store) -> None:
    await store.erase_conversation(ALICE, "c3", sample.erasure("gone", at=after(9)))


async def clear(store: Store) -> None:
    await store.clear_conversation(ALICE, "c3", sample.erasure("gone", at=after(9)))


async def erase_user(store: Store) -> None:
    await store.erase_user(ALICE, sample.erasure("gone", at=after(9)))


async def everything(store: Store, scope: Any) -> str:
    """Return all that the store tells of a user as one text."""
    found: list[object] = []
    for conversation in (await store.list_conversations(scope, ConversationQuery(limit=100))).items:
        query = MessageQuery(conversation_id=conversation.id, limit=1000, all_branches=True)
        found += [conversation, await store.list_messages(scope, query)]
    for memory_id in ("y1", "y2", "y3", "ys"):
        try:
            found += [await store.get_memory(scope, memory_id), await store.memory_history(scope, memory_id)]
        except NotFoundError:
            continue
    return repr([found, await store.get_note(scope), await store.list_jobs(scope, JobQuery(limit=100))])


@pytest.mark.parametrize("erase", [erase_message, erase_conversation, clear, erase_user])
async def test_what_was_erased_since_the_backup_is_not_in_the_restored_data(
    erase: Step, database: Database, tmp_path: Path
) -> None:
    report = await restored(database, tmp_path, erase)
    assert report.erased.messages >= 1
    assert report.erased.memories >= 1
    async with database.store() as store:
        assert SECRET not in await everything(store, ALICE)
        assert "words of m1" in await everything(store, BOB)
        assert await store.search_messages(ALICE, SearchQuery(text=SECRET)) == ()
        receipts = await store.list_audit(ALICE, AuditQuery(limit=100))
        assert [one.detail.get("receipt_id") for one in receipts if one.at == after(9)] == ["gone"]
    if isinstance(database, SqliteDatabase):
        assert SECRET.encode() not in raw(database)


async def test_a_restored_transcript_does_not_come_back_by_a_replay(database: Database, tmp_path: Path) -> None:
    await restored(database, tmp_path, erase_message)
    async with database.store() as store:
        again = await store.append(ALICE, sample.append("c3", "secret"))
        assert again.refused == ("secret",)
        learned = sample.memory("ys2", f"knows {SECRET}", origin="user", sources=(Source("c3", "other"),))
        assert (await store.add_memories(ALICE, (learned,))).refused == ("ys2",)


async def test_a_reply_that_went_with_what_it_repeats_is_not_in_the_restored_data(
    database: Database, tmp_path: Path
) -> None:
    def answered(reply_id: str, source: Repeated) -> NewMessage:
        return sample.message(reply_id, f"it was {SECRET}", role="assistant", metadata=repeating([source]))

    async with database.store() as store:
        await store.append(ALICE, sample.append("a0", answered("r1", Repeated("c3", "secret"))))
        await store.append(ALICE, sample.append("z0", answered("r2", Repeated("a0", "r1")), "kept"))

    async def erase_twice(store: Store) -> None:
        await store.erase_message(ALICE, "z0", "r2", sample.erasure("first", at=after(8)))
        await erase_message(store)

    report = await restored(database, tmp_path, erase_twice)
    assert report.erased.messages == 3
    async with database.store() as store:
        assert SECRET not in await everything(store, ALICE)
        again = await store.append(ALICE, sample.append("a0", answered("r3", Repeated("c3", "secret"))))
        assert again.refused == ("r3",)
        receipts = await store.list_audit(ALICE, AuditQuery(limit=100))
        assert {"first", "gone"} <= {one.detail.get("receipt_id") for one in receipts}


async def test_what_came_and_went_after_the_backup_cannot_come_again(database: Database, tmp_path: Path) -> None:
    async def come_and_go(store: Store) -> None:
        await store.append(ALICE, sample.append("c3", "brief"))
        await store.erase_message(ALICE, "c3", "brief", sample.erasure("r2"))
        await store.append(ALICE, sample.append("brief", "m1"))
        await store.erase_conversation(ALICE, "brief", sample.erasure("r3"))
        await store.append(ALICE, sample.append("young", "kept", "brief"))
        await store.erase_message(ALICE, "young", "brief", sample.erasure("r5"))
        await store.append(ALICE, sample.append("short", "s1", "s2"))
        await store.put_summary(ALICE, sample.summary("s9", "s1", conversation_id="short", delete_originals=True))
        await store.add_memories(ALICE, (sample.memory("yb", "brief statement", origin="user"),))
        await store.erase_memory(ALICE, "yb", sample.erasure("r4"))

    report = await restored(database, tmp_path, come_and_go)
    assert not report.erased.any()
    # A memory leaves the mark of what it said and that of its id.
    assert report.tombstones == 6
    async with database.store() as store:
        assert (await store.append(ALICE, sample.append("c3", "brief"))).refused == ("brief",)
        with pytest.raises(ErasedError):
            await store.append(ALICE, sample.append("brief", "m1"))
        resent = await store.append(ALICE, sample.append("young", "kept", "brief"))
        assert (ids_of(resent.messages), resent.refused) == (["kept"], ("brief",))
        # What a summary took the place of was not erased; without the summary it is welcome again.
        resent = await store.append(ALICE, sample.append("short", "s1", "s2"))
        assert ids_of(resent.messages) == ["s1", "s2"]
        again = sample.memory("yb", "Brief  statement", origin="user")
        assert (await store.add_memories(ALICE, (again,))).refused == ("yb",)
        receipts = [
            one.detail["receipt_id"]
            for one in await store.list_audit(ALICE, AuditQuery(limit=100))
            if one.action == "erase"
        ]
        assert sorted(receipts) == ["r1", "r2", "r3", "r4", "r5"]


@pytest.mark.parametrize("whole", [True, False], ids=["conversation", "message"])
async def test_memories_that_were_kept_on_purpose_are_kept(whole: bool, database: Database, tmp_path: Path) -> None:
    async def erase_but_keep(store: Store) -> None:
        if whole:
            await store.erase_conversation(ALICE, "c3", sample.erasure("gone", memories=False))
        else:
            await store.erase_message(ALICE, "c3", "secret", sample.erasure("gone", memories=False))

    await restored(database, tmp_path, erase_but_keep)
    async with database.store() as store:
        assert (await store.get_memory(ALICE, "ys")).content == f"knows {SECRET}"
        assert await store.search_messages(ALICE, SearchQuery(text=SECRET)) == ()


async def test_a_memory_that_was_reworded_before_it_was_erased_stays_erased(database: Database, tmp_path: Path) -> None:
    async def reword_and_erase(store: Store) -> None:
        await store.change_memory(ALICE, "ys", MemoryChanges(at=after(5), content="knows a word"))
        await store.erase_memory(ALICE, "ys", sample.erasure("gone"))

    await restored(database, tmp_path, reword_and_erase)
    async with database.store() as store:
        with pytest.raises(NotFoundError):
            await store.get_memory(ALICE, "ys")


async def test_a_memory_that_was_stated_again_and_erased_again_stays_erased(database: Database, tmp_path: Path) -> None:
    async with database.store() as store:
        await store.add_memories(ALICE, (sample.memory("y1", "likes tea"),))
        await store.erase_memory(ALICE, "y1", sample.erasure("r1"))
        await store.add_memories(ALICE, (sample.memory("y2", "likes tea"),))
        database.maintenance.back_up(tmp_path / "backup", force=False, progress=unseen)
        await store.erase_memory(ALICE, "y2", sample.erasure("r2", at=after(5)))
    assert restore(database, tmp_path / "backup").erased.memories == 1


async def test_what_a_person_stated_again_before_the_backup_is_kept(database: Database, tmp_path: Path) -> None:
    async with database.store() as store:
        await store.add_memories(ALICE, (sample.memory("y1", "likes tea"),))
        await store.erase_user(ALICE, sample.erasure("r1"))
        await store.add_memories(ALICE, (sample.memory("y2", "likes tea"),))
        database.maintenance.back_up(tmp_path / "backup", force=False, progress=unseen)
    for _ in range(2):
        assert not restore(database, tmp_path / "backup").erased.any()
    async with database.store() as store:
        assert (await store.get_memory(ALICE, "y2")).content == "likes tea"


async def test_an_older_backup_and_then_a_newer_one_keep_what_came_after_an_erasure(
    database: Database, tmp_path: Path
) -> None:
    async with database.store() as store:
        await fill(store)
        database.maintenance.back_up(tmp_path / "older", force=False, progress=unseen)
        await erase_user(store)
        await store.append(ALICE, sample.append("fresh", "f1"))
        database.maintenance.back_up(tmp_path / "newer", force=False, progress=unseen)
    restore(database, tmp_path / "older")
    async with database.store() as store:
        assert (await store.list_conversations(ALICE, ConversationQuery())).items == ()
        assert ids_of((await store.list_conversations(BOB, ConversationQuery())).items)
    restore(database, tmp_path / "newer")
    async with database.store() as store:
        assert ids_of((await store.list_conversations(ALICE, ConversationQuery())).items) == ["fresh"]


async def work(store: Store, clients: list[Client], steps: int) -> None:
    for _ in range(steps):
        await asyncio.gather(*(client.step() for client in clients))


async def test_any_history_is_restored_without_what_was_erased_and_with_everything_else(
    database: Database, tmp_path: Path, seed: int, count: Callable[[int, int], int]
) -> None:
    for turn in range(count(2, 40) if database.kind == "sqlite" else count(1, 10)):
        rng, backup = random.Random(seed + turn), tmp_path / f"backup-{turn}"
        async with database.store() as store:
            clients = [Client(store, 10 * turn + number, rng) for number in range(3)]
            await work(store, clients, 40)
            database.maintenance.back_up(backup, force=False, progress=unseen)
            before = database.rows()
            await work(store, clients, 40)
        live = database.rows()
        restore(database, backup)
        assert problems(database) == []
        compare(before, live, database.rows())


def compare(before: dict[str, list[Any]], live: dict[str, list[Any]], after_restore: dict[str, list[Any]]) -> None:
    salt = bytes(live["meta"][0][1])
    gone = {row[3] for row in live["tombstones"] if row[2] != "original"}
    known = {row[3] for row in before["tombstones"]}
    assert {row[3] for row in after_restore["tombstones"] if row[2] != "original"} >= gone

    def messages(rows: dict[str, list[Any]]) -> dict[str, tuple[str, str]]:
        names = {row[0]: row[3] for row in rows["conversations"]}
        return {row[5]: (names[row[3]], row[10]) for row in rows["messages"]}

    originals = {row[3] for row in live["tombstones"] if row[2] == "original"}
    left = messages(after_restore)
    for message_id, (conversation_id, text) in messages(before).items():
        digest = message_tombstone(salt, conversation_id, message_id).digest
        if digest in gone - known:
            assert message_id not in left
        elif digest not in originals:  # an original goes with its conversation
            assert left[message_id] == (conversation_id, text)
    assert set(left) <= set(messages(before))
    statements = {row[3]: row[7] for row in before["memories"]}
    still = {row[3] for row in live["memories"]}
    for memory_id, statement in statements.items():
        is_left = memory_id in {row[3] for row in after_restore["memories"]}
        assert is_left or memory_id not in still
        assert not is_left or memory_tombstone(salt, statement).digest not in gone - known
