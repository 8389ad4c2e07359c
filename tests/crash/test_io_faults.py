"""Make every operation of the disk under our store fail in turn."""

from __future__ import annotations

import asyncio
from itertools import count as numbers

import pytest

from recollect.domain.page import MessageQuery
from recollect.errors import NotFoundError, StorageError, StorageUnavailableError
from recollect.storage.sqlite import SqliteDriver, SqliteOptions
from recollect.storage.store import SqlStore
from tests.support.simulated_disk import SimulatedDisk
from tests.support.simulated_disk_faults import FaultKind
from tests.support.store_contents import PATH, check_file, check_index, open_image
from tests.support.store_script import CONVERSATION, LIFE, SCOPE, Write, pieces_of, problems, turn

QUERY = MessageQuery(conversation_id=CONVERSATION)


class Run:
    """One life of a store on a disk that fails."""

    def __init__(self, disk: SimulatedDisk) -> None:
        self.disk = disk
        self.done: list[Write] = []
        self.failed: list[Write] = []
        self.errors: list[StorageError] = []

    async def open(self) -> SqlStore:
        """Open the store, again if the disk failed meanwhile, and after healing it if it fails for good."""
        while True:
            try:
                return SqlStore(await SqliteDriver.open(PATH, SqliteOptions(vfs=self.disk.name)))
            except StorageError as error:
                self.errors.append(error)
                if len(self.errors) > 1:
                    self.disk.heal()

    async def live(self, store: SqlStore) -> None:
        for together in LIFE:
            await asyncio.gather(*(self.write(store, write) for write in together))
            await self.read(store)

    async def write(self, store: SqlStore, write: Write) -> None:
        try:
            await write.do(store)
        except StorageError as error:
            self.errors.append(error)
            self.failed.append(write)
        except NotFoundError:
            # What it needs was not written because of an earlier failure.
            assert self.failed
        else:
            self.done.append(write)

    async def read(self, store: SqlStore) -> None:
        try:
            await store.list_messages(SCOPE, QUERY)
        except StorageError as error:
            self.errors.append(error)
        except NotFoundError:
            assert self.failed

    async def heal(self, store: SqlStore) -> None:
        """Let the disk work again and repeat on the same store what failed."""
        self.disk.heal()
        known = await store.list_messages(SCOPE, QUERY) if self.done else None
        again, self.failed = self.failed, []
        for write in (*again, turn("last")):
            await self.write(store, write)
        assert not self.failed, "the store does not heal"
        page = await store.list_messages(SCOPE, QUERY)
        ids = [message.id for message in page.messages]
        assert known is None or {message.id for message in known.messages} - set(ids) <= {"t1-1", "t1-2", "a3"}
        assert len(ids) == len(set(ids))


def check(disk: SimulatedDisk, run: Run) -> None:
    connection = open_image(disk.name)
    try:
        contents = check_file(connection)
        check_index(connection, contents)
        assert problems(pieces_of(contents), run.done, run.failed) == []
    finally:
        connection.close()


@pytest.mark.spec("R4")
@pytest.mark.parametrize("once", [True, False], ids=["once", "forever"])
@pytest.mark.parametrize("kind", ["io_error", "full", "read_only"])
async def test_a_fault_at_any_operation_is_a_clean_error_and_the_store_heals(kind: FaultKind, *, once: bool) -> None:
    for at in numbers(1):
        with SimulatedDisk() as disk:
            run = Run(disk)
            disk.fail(kind, at=at, once=once)
            store = await run.open()
            await run.live(store)
            failures = disk.failures
            for error in run.errors:
                assert isinstance(error, StorageUnavailableError), f"{error!r} at {at}"
            with disk.crash(disk.operations, __import__("random").Random(at)) as image:
                check(image, run)
            await run.heal(store)
            await store.close()
            check(disk, run)
            if not failures:
                break
    print(kind, once, at)
    assert at > 150
