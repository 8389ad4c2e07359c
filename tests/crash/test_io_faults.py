"""Make every operation of the disk under our store fail in turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count as numbers
from random import Random

import pytest

from recollect.domain.page import MessageQuery
from recollect.errors import ConflictError, NotFoundError, StorageError, StorageUnavailableError
from recollect.storage.sqlite import SqliteDriver, SqliteOptions
from recollect.storage.store import SqlStore
from tests.support.simulated_disk import SimulatedDisk
from tests.support.simulated_disk_faults import FaultKind
from tests.support.store_contents import PATH, check_file, check_index, open_image
from tests.support.store_script import CONVERSATION, LIFE, SCOPE, Write, archive, pieces_of, problems, turn

QUERY = MessageQuery(conversation_id=CONVERSATION, all_branches=True)
ANY_KIND = pytest.mark.parametrize("kind", ["io_error", "full", "read_only"])
ONCE_OR_FOREVER = pytest.mark.parametrize("once", [True, False], ids=["once", "forever"])
#: What the fixed life removes, or may have removed already when it is repeated.
REMOVED = {"t1-1", "t1-2", "a3"}


async def opened(disk: SimulatedDisk) -> SqlStore:
    # A check at the start would read in another thread, and the operations would have no fixed order.
    return SqlStore(await SqliteDriver.open(PATH, SqliteOptions(vfs=disk.name, check=False)))


class Run:
    """One life of a store on a disk that fails."""

    def __init__(self, disk: SimulatedDisk) -> None:
        self.disk = disk
        self.done: list[Write] = []
        self.failed: list[Write] = []
        self.errors: list[StorageError] = []
        self.unread = 0

    async def open(self) -> SqlStore:
        """Open the store, again if the disk failed meanwhile, and after healing it if it fails for good."""
        while True:
            try:
                return await opened(self.disk)
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
        except (NotFoundError, ConflictError):
            # What it needs was not written because of an earlier failure.
            assert self.failed
            self.failed.append(write)
        else:
            self.done.append(write)

    async def read(self, store: SqlStore) -> None:
        try:
            await store.list_messages(SCOPE, QUERY)
        except StorageError as error:
            self.errors.append(error)
            self.unread += 1

    async def heal(self, store: SqlStore) -> None:
        """Let the disk work again and repeat on the same store what failed."""
        self.disk.heal()
        known = [message.id for message in (await store.list_messages(SCOPE, QUERY)).messages]
        again, self.failed = self.failed, []
        for write in (*again, turn("last")):
            await self.write(store, write)
        assert not self.failed, "the store does not heal"
        ids = [message.id for message in (await store.list_messages(SCOPE, QUERY)).messages]
        assert set(known) - set(ids) <= REMOVED
        assert len(ids) == len(set(ids))


def check(disk: SimulatedDisk, run: Run, *, deeply: bool = False) -> None:
    connection = open_image(disk.name)
    try:
        contents = check_file(connection)
        if deeply:
            check_index(connection, contents)
        assert problems(pieces_of(contents), run.done, run.failed) == []
    finally:
        connection.close()


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    """Return the files of a store that was not closed: its last writes are only in the WAL."""

    async def live() -> dict[str, bytes]:
        with SimulatedDisk() as disk:
            store = await opened(disk)
            await turn("t0").do(store)
            await archive("b0", "a0").do(store)
            files = disk.raw_bytes()
            await store.close()
            return files

    return asyncio.run(live())


@pytest.mark.spec("R4")
@ONCE_OR_FOREVER
@ANY_KIND
async def test_a_fault_at_any_operation_is_a_clean_error_and_the_store_heals(
    kind: FaultKind, files: dict[str, bytes], seed: int, count: Callable[[int, int], int], *, once: bool
) -> None:
    # In every run one kind fails at each operation, and the others at each third.
    step = 1 if kind == "io_error" and once else count(3, 1)
    for at in numbers(1 + seed % step, step):
        with SimulatedDisk(files=files) as disk:
            run = Run(disk)
            disk.fail(kind, at=at, once=once)
            store = await run.open()
            await run.live(store)
            failures = disk.failures
            assert all(isinstance(error, StorageUnavailableError) for error in run.errors), f"{run.errors} at {at}"
            assert kind == "io_error" or not run.unread, f"reads stop at {at}"
            with disk.crash(disk.operations, Random(at)) as image:
                check(image, run)
            await run.heal(store)
            await store.close()
            check(disk, run, deeply=True)
            if not failures:
                break
    print(f"seed {seed}: faults up to operation {at}, each {step}")
    assert at > 150


@pytest.mark.spec("R4")
@ONCE_OR_FOREVER
@ANY_KIND
async def test_a_fault_while_a_file_is_created_leaves_a_file_that_can_be_opened(kind: FaultKind, *, once: bool) -> None:
    for at in numbers(1):
        with SimulatedDisk() as disk:
            run = Run(disk)
            disk.fail(kind, at=at, once=once)
            store = await run.open()
            failures = disk.failures
            assert all(isinstance(error, StorageUnavailableError) for error in run.errors), f"{run.errors} at {at}"
            disk.heal()
            await run.write(store, turn("first"))
            await store.close()
            check(disk, run)
            assert run.done
            if not failures:
                break
    assert at > 20


@pytest.mark.spec("R4")
async def test_a_read_only_disk_is_read_on_and_each_write_says_that_it_cannot_be_done(files: dict[str, bytes]) -> None:
    with SimulatedDisk(files=files) as disk:
        disk.fail("read_only", once=False)
        store = await opened(disk)
        for number in range(3):
            with pytest.raises(StorageUnavailableError, match="nothing was changed"):
                await turn(f"t{number + 1}").do(store)
            page = await store.list_messages(SCOPE, QUERY)
            assert [message.id for message in page.messages] == ["t0-1", "t0-2", "a0"]
        disk.heal()
        await store.close()


@pytest.mark.spec("R4")
async def test_a_connection_that_broke_is_replaced(files: dict[str, bytes]) -> None:
    with SimulatedDisk(files=files) as disk:
        driver = await SqliteDriver.open(PATH, SqliteOptions(vfs=disk.name, check=False))
        store = SqlStore(driver)
        driver._writer.tx.connection.close(True)
        disk.fail("io_error", once=False)
        for _ in range(3):
            with pytest.raises(StorageUnavailableError):
                await turn("t1").do(store)
        disk.heal()
        await turn("t1").do(store)
        page = await store.list_messages(SCOPE, QUERY)
        assert [message.id for message in page.messages] == ["t0-1", "t0-2", "a0", "t1-1", "t1-2"]
        await store.close()
