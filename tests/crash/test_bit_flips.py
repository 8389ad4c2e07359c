"""Flip single bits of a closed database file: each flip is harmless or noticed, and what it did not touch is served."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple

import apsw
import msgspec
import pytest

from recollect.domain.erasure import Erasure
from recollect.domain.memory import Memory
from recollect.domain.note import Note
from recollect.domain.preferences import Preferences
from recollect.errors import RecollectError, StorageError
from recollect.storage.driver import Transaction
from recollect.storage.sqlite import SqliteDriver, SqliteOptions
from recollect.storage.store import SqlStore
from recollect.storage.verify import SEALED, unseen
from recollect.storage.verify_sqlite import damage, rebuild_index
from tests.support.simulated_disk import SimulatedDisk
from tests.support.store_contents import PATH, open_image
from tests.support.store_reading import AT, CONVERSATIONS, USERS, Reading, fill, read_everything

#: Text of every kind of record that `fill` writes.
WRITTEN = (b"words of", b"summary of", b"about ada", b"about bob", b"quote 1", b"coffee", b"it failed", b"an answer")


class Original(NamedTuple):
    """A file that was closed, and everything that is read from it."""

    content: bytes
    reading: Reading
    rows: dict[str, int]


async def row_counts(driver: SqliteDriver, where: str = "") -> dict[str, int]:
    def work(tx: Transaction) -> dict[str, int]:
        connection = tx.connection  # type: ignore[attr-defined]  # the SQLite transaction
        return {table: connection.execute(f"SELECT COUNT(*) FROM {table} NOT INDEXED{where}").get for table in SEALED}

    return await driver.read(USERS[0], work)


@pytest.fixture
async def original() -> Original:
    with SimulatedDisk() as disk:
        driver = await SqliteDriver.open(PATH, SqliteOptions(vfs=disk.name))
        store = SqlStore(driver)
        for scope in USERS:
            await fill(store, scope)
        reading = await read_everything(store)
        assert not [name for name, answer in reading.items() if isinstance(answer, RecollectError)]
        rows = await row_counts(driver)
        await store.close()
        return Original(disk.raw_bytes()[PATH], reading, rows)


def flips(content: bytes, number: int, rng: Random) -> Iterator[bytes]:
    """Give copies of the file with one bit flipped each, mostly where something is written."""
    written = [offset for offset, byte in enumerate(content) if byte]
    for _ in range(number):
        offset = rng.choice(written) if rng.random() < 0.9 else rng.randrange(len(content))
        copy = bytearray(content)
        copy[offset] ^= 1 << rng.randrange(8)
        yield bytes(copy)


def records(answer: Any) -> dict[str, Any]:
    """Return the records of an answer by their id, without the counters that reading changes and nothing guards."""
    if isinstance(answer, RecollectError):
        return {}
    listed = answer if isinstance(answer, tuple) else getattr(answer, "items", None)
    # What is told where nothing is found is no record; that one is missing must be noticed all the same.
    if isinstance(answer, Note | Preferences) and answer.version == 0:
        listed = ()
    if listed is None:
        listed = (*answer.messages, *answer.summaries) if hasattr(answer, "messages") else (answer,)
    return {str(_name(record)): _guarded(record) for record in listed}


def _name(record: Any) -> Any:
    if hasattr(record, "until"):
        return record.memory.version
    if hasattr(record, "message"):
        return record.message.id, record.message.conversation_id
    return getattr(record, "id", None) or record.version


def _guarded(record: Any) -> Any:
    if isinstance(record, Memory):
        return msgspec.structs.replace(record, access_count=0, last_accessed_at=AT)
    # How many of the words an index finds in a message is no part of it.
    return record.message if hasattr(record, "similarity") else record


class Look:
    """Everything that can be seen of one damaged file."""

    def __init__(self, original: Original) -> None:
        self._original = original
        self.reading: Reading = {}
        self.is_reported = False
        self.is_sound_file = True

    async def read(self, store: SqlStore, driver: SqliteDriver) -> None:
        self.reading = await read_everything(store)
        listed: list[Any] = []
        for scope in USERS:
            try:
                listed += await store.list_damaged(scope)
            except StorageError as error:
                listed.append(error)
        failed = [answer for answer in self.reading.values() if isinstance(answer, StorageError)]
        self.is_reported = bool(listed or failed)
        self.is_sound_file = await driver.checked() == "ok"

    @property
    def changed(self) -> set[str]:
        """Name the reads whose answer is not the original one."""
        return {
            name for name, answer in self._original.reading.items() if records(self.reading[name]) != records(answer)
        }

    def falsified(self) -> list[str]:
        """Name the records that were given out with another content than they were written with."""
        found = []
        for name, answer in self.reading.items():
            whole = records(self._original.reading[name])
            found += [f"{name}: {i}" for i, record in records(answer).items() if whole.get(i) != record]
        return found

    def check_the_rest(self) -> None:
        """Prove that damage of one record leaves every other conversation and every other user served."""
        users = {name.split()[0] for name in self.changed}
        conversations = {name.split()[1] for name in self.changed} & set(CONVERSATIONS)
        assert len(users) <= 1, self.changed
        assert len(conversations) <= 1, self.changed


async def outcome(content: bytes, original: Original) -> str:
    with SimulatedDisk(files={PATH: content}) as disk:
        try:
            driver = await SqliteDriver.open(PATH, SqliteOptions(vfs=disk.name))
        except StorageError:
            return "the file is refused"
        store = SqlStore(driver)
        look = Look(original)
        await look.read(store, driver)
        assert look.falsified() == []
        if not look.is_sound_file:
            await store.close()
            return "the check at the start finds it"
        look.check_the_rest()
        assert await row_counts(driver) == original.rows, "a damaged record was dropped"
        found = found_by_command(content)
        is_erased = await erase_everything(store, driver, is_index_damaged="index" in found)
        if is_erased:
            await check_erased(driver, disk)
        await store.close()
    if look.is_reported:
        return "reads report it"
    if found:
        return "`recollect db check` finds it"
    assert not look.changed, f"nobody notices: {look.changed}"
    return "harmless" if is_erased else "writes report it"


def found_by_command(content: bytes) -> set[str]:
    """Return the kinds of damage that `recollect db check` finds."""
    with SimulatedDisk(files={PATH: content}) as disk:
        connection = open_image(disk.name)
        try:
            return {found.kind for found in damage(connection, unseen)}
        except apsw.Error:
            return {"file"}
        finally:
            connection.close()


async def erase_everything(store: SqlStore, driver: SqliteDriver, *, is_index_damaged: bool) -> bool:
    """Erase all users, after repairing the index if that must be; a file that says it is read-only stays as it is."""
    if not is_index_damaged:
        try:
            await erase_users(store)
        except StorageError:
            pass
        else:
            return True
    with driver._borrowed() as connection:
        if connection.readonly("main"):
            return False
        rebuild_index(connection, unseen)
    await erase_users(store)
    return True


async def erase_users(store: SqlStore) -> None:
    for scope in USERS:
        await store.erase_user(scope, Erasure(receipt_id="all", at=AT))


async def check_erased(driver: SqliteDriver, disk: SimulatedDisk) -> None:
    """Prove that erasing reached what is damaged, in the tables, in the index and in every byte."""
    left = await row_counts(driver, " WHERE tenant_id = 'acme' AND user_id IN ('ada', 'bob')")
    assert set(left.values()) == {0}
    # Only a row whose owner was damaged belongs to nobody who could be erased.
    if not any((await row_counts(driver)).values()):
        raw = b"".join(disk.raw_bytes().values()).lower()
        assert [text for text in WRITTEN if text in raw] == []
    with driver._borrowed() as connection:
        connection.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, message_terms, row)")
        assert connection.execute("SELECT COUNT(*) FROM temp.words").get == 0


@pytest.mark.spec("R5")
async def test_a_flipped_bit_is_harmless_or_noticed_and_the_rest_is_served(
    original: Original, seed: int, count: Callable[[int, int], int]
) -> None:
    rng = Random(seed)
    outcomes: Counter[str] = Counter()
    for content in flips(original.content, count(400, 10_000), rng):
        outcomes[await outcome(content, original)] += 1
    print(f"seed {seed}: {outcomes.total()} flips {dict(outcomes.most_common())}")
    assert len(outcomes) >= 5
