"""Look for erased words in every byte that the store leaves on a disk."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import apsw
import pytest

from recollect.domain.erasure import Erasure
from recollect.domain.idempotency import Answer, RequestKey
from recollect.domain.job import ClaimRequest, JobFailure, NewJob
from recollect.domain.memory import MemoryChanges, NewMemory, Source
from recollect.domain.message import NewMessage, ToolCall
from recollect.domain.note import NoteChange
from recollect.domain.page import SearchQuery
from recollect.domain.scope import Scope
from recollect.domain.summary import NewSummary
from recollect.domain.turn import Append, TurnRecord
from recollect.errors import StorageUnavailableError
from recollect.storage import erasure as erasing
from recollect.storage import sqlite, sqlite_scrubber, sqlite_writer
from recollect.storage.sqlite import SqliteDriver, SqliteOptions
from recollect.storage.sqlite_connection import connect
from recollect.storage.sqlite_gaps import Layout
from recollect.storage.store import SqlStore
from tests.support.simulated_disk import SimulatedDisk
from tests.support.simulated_disk_faults import FaultKind
from tests.support.store_contents import PATH, check_file, check_index
from tests.support.store_script import AT, CONVERSATION, SCOPE, append, turn

CANARY = "zqcanary7f3a"
#: A search index leaves out what a term has in common with the term before it, so the tail must be looked for.
TAIL = CANARY[2:].encode()
OTHER = Scope("acme", "bob")


class Place:
    """A store and the bytes that it leaves."""

    def __init__(self, driver: SqliteDriver, raw: Callable[[], dict[str, bytes]]) -> None:
        self.driver = driver
        self.store = SqlStore(driver)
        self._raw = raw

    def holds(self, words: bytes = TAIL) -> list[str]:
        """Name the files that hold the words."""
        return [name for name, content in self._raw().items() if words.lower() in content.lower()]


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture(params=["file system", "simulated disk"])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    if request.param == "file system":
        driver = await SqliteDriver.open(tmp_path / "r.db")
        yield Place(driver, lambda: files_in(tmp_path))
        await driver.close()
    else:
        with SimulatedDisk() as disk:
            driver = await SqliteDriver.open(PATH, SqliteOptions(vfs=disk.name))
            yield Place(driver, disk.raw_bytes)
            await driver.close()


async def note(store: SqlStore) -> None:
    """Write something that has nothing to do with what was erased."""
    await store.change_note(SCOPE, NoteChange(operation="append", at=AT, content="a note"))


def erasure(name: str = "r1") -> Erasure:
    return Erasure(receipt_id=name, at=AT)


async def spread(store: SqlStore, scope: Scope = SCOPE) -> str:
    """Write the canary wherever one message of a conversation can get to; return the message's id."""
    call = ToolCall(id="call", tool_name="look", input={"for": CANARY}, output=f"{CANARY} found")
    said = NewMessage(
        id="said",
        role="assistant",
        content=f"They call it {CANARY}, and {CANARY.upper()} again.",
        created_at=AT,
        tool_calls=(call,),
        metadata={"seen": CANARY},
        custom_payload=[CANARY],
    )
    asked = NewMessage(id="asked", role="user", content=f"What is {CANARY}?", created_at=AT)
    job = NewJob(id="study", kind="study", run_at=AT, conversation_id=CONVERSATION)
    answer = Answer(request=RequestKey(key="q1", digest="d"), status=200, body=CANARY.encode())
    added = Append(conversation_id=CONVERSATION, messages=(asked, said), at=AT, jobs=(job,), create=True)
    record = TurnRecord(id="turn", append=added, answer=answer, metadata={"prompt": CANARY})
    await store.record_turn(scope, record)
    await _derive(store, scope)
    return said.id


async def _derive(store: SqlStore, scope: Scope) -> None:
    for number, ids in enumerate((("asked", "said"), ("more-1",))):
        if number:
            await store.append(scope, append("more-1"))
        new = NewSummary(
            id=f"s{number}",
            message_id=f"sm{number}",
            conversation_id=CONVERSATION,
            content=f"About {CANARY}",
            at=AT,
            generator="test",
            message_ids=ids,
        )
        await store.put_summary(scope, new)
    both = (Source(CONVERSATION, "asked"), Source(CONVERSATION, "said"))
    memory = NewMemory(id="y1", content=f"Knows {CANARY}", at=AT, origin="user", quote=CANARY, sources=both)
    await store.add_memories(scope, (memory,))
    await store.change_memory(scope, "y1", MemoryChanges(at=AT, content=f"Knows all about {CANARY}"))
    request = ClaimRequest(worker="w", now=AT, lease=timedelta(minutes=1), kinds=("study",))
    (taken,) = await store.claim_jobs(request)
    await store.fail_job(scope, taken.claim, JobFailure(at=AT, error=f"cannot learn {CANARY}", retry_at=AT))


async def test_the_words_of_erased_messages_are_in_no_byte(place: Place) -> None:
    store = place.store
    await turn("before").do(store)
    await spread(store)
    assert place.holds()
    for name in ("said", "asked"):
        await store.erase_message(SCOPE, CONVERSATION, name, erasure(name))
    # The second summary does not cover the messages, but whoever wrote it had read them.
    await store.erase_message(SCOPE, CONVERSATION, "more-1", erasure("more"))
    assert place.holds() == []
    assert await store.search_messages(SCOPE, SearchQuery(text=CANARY)) == ()
    assert place.holds(b"before-1")


async def test_the_words_of_an_erased_conversation_are_in_no_byte(place: Place) -> None:
    await spread(place.store)
    await place.store.erase_conversation(SCOPE, CONVERSATION, erasure())
    assert place.holds() == []


async def test_the_words_of_a_cleared_conversation_are_in_no_byte(place: Place) -> None:
    await spread(place.store)
    await place.store.clear_conversation(SCOPE, CONVERSATION, erasure())
    assert place.holds() == []


async def test_the_words_of_an_erased_user_are_in_no_byte(place: Place) -> None:
    store = place.store
    await turn("mine").do(store)
    await spread(store, OTHER)
    for text in (f"# {CANARY}", "later", f"more of {CANARY}"):
        await store.change_note(OTHER, NoteChange(operation="append", at=AT, content=text))
    await store.change_note(OTHER, NoteChange(operation="delete_all_notes", at=AT))
    by_hand = NewMemory(id="y2", content=f"By hand: {CANARY}", at=AT, category=CANARY, subject=CANARY)
    await store.add_memories(OTHER, (by_hand,))
    assert place.holds()
    await store.erase_user(OTHER, erasure())
    assert place.holds() == []
    assert place.holds(b"mine-1")


async def test_the_words_of_an_erased_memory_and_of_its_history_are_in_no_byte(place: Place) -> None:
    for number in range(3):
        new = NewMemory(id=f"y{number}", content=f"{CANARY} number {number}", at=AT)
        await place.store.add_memories(SCOPE, (new,))
        await place.store.change_memory(SCOPE, new.id, MemoryChanges(at=AT, content=f"harmless {number}"))
    for number in range(3):
        await place.store.erase_memory(SCOPE, f"y{number}", erasure(f"r{number}"))
    assert place.holds() == []


def noise(rng: Random, words: int) -> str:
    return " ".join(f"{rng.getrandbits(32):08x}" for _ in range(words))


#: With these SQLite leaves copies of erased rows in the unused parts of pages, if nobody zeroes them.
LEFT_BEHIND = (2, 3196764541)


async def erase_among_moving_rows(place: Place, rng: Random, size: int) -> list[bytes]:
    """Write rows of many sizes in random order, so that they move between pages; erase some, return their secrets."""
    marked: dict[str, bytes] = {}
    for number in range(size):
        name = f"m{rng.getrandbits(40):010x}"
        secret = f"qz{rng.getrandbits(96):024x}"
        has_secret = rng.random() < 0.3
        text = f"{noise(rng, rng.choice((1, 5, 30, 120, 700)))} {secret if has_secret else ''}"
        new = NewMessage(id=name, role="user", content=text, created_at=AT)
        request = Append(conversation_id=f"c{rng.randrange(5)}", messages=(new,), at=AT, create=True)
        await place.store.append(SCOPE, request)
        if has_secret:
            marked[f"{request.conversation_id}/{name}"] = secret[2:].encode()
        if number % 3 == 0:
            change = NoteChange(operation="overwrite", at=AT, content=noise(rng, rng.randrange(200)))
            await place.store.change_note(Scope("acme", "ada", f"agent{rng.randrange(9)}"), change)
    victims = list(marked)
    rng.shuffle(victims)
    for victim in victims:
        conversation, _, name = victim.partition("/")
        await place.store.erase_message(SCOPE, conversation, name, erasure(name))
    return list(marked.values())


@pytest.mark.parametrize("chance", [None, *LEFT_BEHIND], ids=["any", *map(str, LEFT_BEHIND)])
async def test_erased_words_are_in_no_byte_however_the_pages_were_split(
    place: Place, chance: int | None, seed: int, count: Callable[[int, int], int]
) -> None:
    print(f"seed {seed}")
    secrets = await erase_among_moving_rows(place, Random(chance or seed), 400 if chance else count(400, 2_000))
    assert [secret for secret in secrets if place.holds(secret)] == []


async def test_erased_words_are_in_no_byte_when_the_file_is_looked_at_in_many_steps(
    place: Place, seed: int, count: Callable[[int, int], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    print(f"seed {seed}")
    monkeypatch.setattr(sqlite_scrubber, "SLICE", 3 * 4096)
    monkeypatch.setattr(sqlite_scrubber, "CHUNK", 2 * 4096)
    monkeypatch.setattr(sqlite_scrubber, "MAX_CHANGED", 40)
    monkeypatch.setattr(sqlite_writer, "CHECKPOINT_PAGES", 60)
    secrets = await erase_among_moving_rows(place, Random(seed), count(150, 1_000))
    assert [secret for secret in secrets if place.holds(secret)] == []


async def test_what_others_keep_in_their_caches_does_not_come_back(
    tmp_path: Path, seed: int, count: Callable[[int, int], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    print(f"seed {seed}")
    monkeypatch.setattr(sqlite_writer, "CHECKPOINT_PAGES", 60)
    rng = Random(seed)
    places = [Place(await SqliteDriver.open(tmp_path / "r.db"), lambda: files_in(tmp_path)) for _ in range(3)]
    held: list[tuple[Place, str, bytes]] = []
    gone: list[bytes] = []
    for number in range(count(300, 3_000)):
        place, name, secret = rng.choice(places), f"m{rng.getrandbits(40):010x}", f"{rng.getrandbits(96):024x}"
        text = f"{noise(rng, rng.choice((1, 5, 30, 120)))} qz{secret}"
        new = NewMessage(id=name, role="user", content=text, created_at=AT)
        await place.store.append(SCOPE, Append(conversation_id="c", messages=(new,), at=AT, create=True))
        held.append((place, name, secret.encode()))
        if number % 5 == 4:
            _, victim, words = held.pop(rng.randrange(len(held)))
            await place.store.erase_message(SCOPE, "c", victim, erasure(victim))
            gone.append(words)
            raw = b"".join(files_in(tmp_path).values())
            assert [words for words in gone if words in raw] == []
    for place in places:
        await place.store.close()


def words_told_before_a_kill(path: Path, seed: int, erasures: int) -> list[bytes]:
    """Run processes that write and erase in one file, kill them all after so many erasures, and return what is gone."""
    command = [sys.executable, "-m", "tests.support.erasing_process", str(path)]
    processes = [
        subprocess.Popen([*command, str(seed + number)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for number in range(2)
    ]
    first = processes[0].stdout
    assert first is not None
    told = [first.readline().strip() for _ in range(erasures)]
    for process in processes:
        process.kill()
    for process in processes:
        rest, _ = process.communicate()
        told += [line for line in rest.split() if len(line) == 24]
    assert all(told)
    return told


async def test_processes_that_are_killed_leave_nothing_that_was_erased(
    tmp_path: Path, seed: int, count: Callable[[int, int], int]
) -> None:
    print(f"seed {seed}")
    path, gone = tmp_path / "r.db", []
    for number in range(count(2, 40)):
        gone += words_told_before_a_kill(path, seed + 10 * number, 2 + (seed + number) % 5)
        store = SqlStore(await SqliteDriver.open(path))
        await note(store)
        await store.close()
        raw = b"".join(files_in(tmp_path).values())
        assert [words for words in gone if words in raw] == []
        connection = connect(str(path))
        check_index(connection, check_file(connection))
        connection.close()


@pytest.mark.parametrize("kind", ["io_error", "full"])
async def test_a_scrub_that_failed_is_made_good_by_a_later_write(kind: FaultKind) -> None:
    failed = 0
    for at in range(1, 80, 3):
        with SimulatedDisk() as disk:
            driver = await SqliteDriver.open(PATH, SqliteOptions(vfs=disk.name, check=False))
            place = Place(driver, disk.raw_bytes)
            await spread(place.store)
            await note(place.store)
            await driver.write(SCOPE, lambda tx: erasing.conversation(tx, SCOPE, CONVERSATION, erasure()))
            disk.fail(kind, at=at, once=False)
            try:
                await driver.scrub()
            except StorageUnavailableError:
                failed += 1
            disk.heal()
            await note(place.store)
            await note(place.store)
            await driver.close()
            assert place.holds() == []
    assert failed > 3


async def test_an_erasure_looks_only_at_pages_that_changed_since_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_writer, "CHECKPOINT_PAGES", 60)
    with SimulatedDisk() as disk:
        driver = await SqliteDriver.open(PATH, SqliteOptions(vfs=disk.name, check=False))
        place = Place(driver, disk.raw_bytes)
        looked: list[int] = []
        spans = Layout.spans_to_zero

        def counted(layout: Layout, number: int, page: bytes) -> list[tuple[int, int]]:
            looked.append(number)
            return spans(layout, number, page)

        monkeypatch.setattr(Layout, "spans_to_zero", counted)
        for number in range(300):
            new = NewMessage(id=f"m{number}", role="user", content=noise(Random(number), 600), created_at=AT)
            await place.store.append(SCOPE, Append(conversation_id="c", messages=(new,), at=AT, create=True))
        await place.store.erase_message(SCOPE, "c", "m0", erasure("first"))
        pages = len(disk.raw_bytes()[PATH]) // 4096
        assert set(looked) == set(range(1, pages + 1))
        for number in range(100, 120):
            looked.clear()
            await place.store.erase_message(SCOPE, "c", f"m{number}", erasure(f"r{number}"))
            assert 0 < len(looked) < pages / 3
        await driver.close()


async def test_a_scrub_keeps_the_locks_of_its_process(tmp_path: Path) -> None:
    path = tmp_path / "r.db"
    store = SqlStore(await SqliteDriver.open(path))
    await spread(store)
    await store.erase_conversation(SCOPE, CONVERSATION, erasure())
    await note(store)
    # Whoever closes a file last removes its WAL; another process must see that this one still has it open.
    code = "import apsw, sys; c = apsw.Connection(sys.argv[1]); c.execute('SELECT COUNT(*) FROM notes'); c.close()"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, str(path))
    assert await process.wait() == 0
    assert (tmp_path / "r.db-wal").stat().st_size > 0
    await note(store)
    await store.close()
    assert not (tmp_path / "r.db-wal").exists()


async def test_a_reader_in_the_way_delays_the_scrub_until_a_later_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sqlite, "_SCRUB_PAUSES", (0, 0))
    place = Place(await SqliteDriver.open(tmp_path / "r.db"), lambda: files_in(tmp_path))
    await spread(place.store)
    reader = apsw.Connection(str(tmp_path / "r.db"))
    reader.execute("BEGIN")
    reader.execute("SELECT COUNT(*) FROM messages").fetchall()
    await place.store.erase_conversation(SCOPE, CONVERSATION, erasure())
    assert "r.db-wal" in place.holds()
    assert "after a later write" in caplog.text
    reader.execute("COMMIT")
    await note(place.store)
    await note(place.store)
    assert place.holds() == []
    reader.close()
    await place.store.close()


async def test_what_a_killed_process_had_no_time_to_scrub_goes_with_the_first_write_of_the_next(
    tmp_path: Path,
) -> None:
    driver = await SqliteDriver.open(tmp_path / "r.db")
    await spread(SqlStore(driver))

    def work(tx: Any) -> object:
        return erasing.conversation(tx, SCOPE, CONVERSATION, erasure())

    await driver.write(SCOPE, work)
    left = tmp_path / "left"
    left.mkdir()
    for name in ("r.db", "r.db-wal"):
        shutil.copy(tmp_path / name, left / name)
    await driver.close()
    place = Place(await SqliteDriver.open(left / "r.db"), lambda: files_in(left))
    assert "r.db-wal" in place.holds()
    await note(place.store)
    await note(place.store)
    assert place.holds() == []
    await place.store.close()
