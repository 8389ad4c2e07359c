"""One SQLite file, opened several times in one process and by several processes at once."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from recollect.domain.page import MessageQuery
from recollect.errors import StorageLockedError
from recollect.storage.sqlite import SqliteDriver
from recollect.storage.sqlite_connection import connect
from recollect.storage.sqlite_lock import FileLock
from recollect.storage.store import SqlStore
from tests.support.store_clients import Client, part_of
from tests.support.store_contents import Contents, check_file, check_index
from tests.support.store_script import CONVERSATION, SCOPE, turn


def checked(path: Path) -> Contents:
    """Return everything in the file after proving that it is sound, and its search index too."""
    connection = connect(str(path))
    try:
        contents = check_file(connection)
        check_index(connection, contents)
        return contents
    finally:
        connection.close()


async def test_drivers_of_one_process_see_each_others_writes_at_once(tmp_path: Path) -> None:
    stores = [SqlStore(await SqliteDriver.open(tmp_path / "r.db")) for _ in range(3)]
    query = MessageQuery(conversation_id=CONVERSATION)
    for number in range(6):
        await turn(f"t{number}").do(stores[number % 3])
        for store in stores:
            assert (await store.list_messages(SCOPE, query)).messages[-1].id == f"t{number}-2"
    for store in stores:
        await store.close()
    assert len(checked(tmp_path / "r.db").turns[SCOPE.tenant, SCOPE.user, CONVERSATION]) == 6


async def test_drivers_of_one_process_share_a_file_under_load(
    tmp_path: Path, seed: int, count: Callable[[int, int], int]
) -> None:
    print(f"seed {seed}")
    stores = [SqlStore(await SqliteDriver.open(tmp_path / "r.db")) for _ in range(3)]
    clients = [Client(stores[number % 3], number, Random(seed + number)) for number in range(6)]

    async def drive(client: Client) -> None:
        for _ in range(count(40, 1_000)):
            await client.step()

    await asyncio.gather(*map(drive, clients))
    for store in stores:
        await store.close()
    contents = checked(tmp_path / "r.db")
    assert all(part_of(contents, client.name)["audit"] for client in clients)


@pytest.mark.spec("R8")
def test_processes_that_write_and_erase_leave_a_sound_file_and_index(
    tmp_path: Path, seed: int, count: Callable[[int, int], int]
) -> None:
    path, steps = tmp_path / "r.db", count(60, 1_000)
    command = [sys.executable, "-m", "tests.support.client_process", str(path)]
    processes = [
        subprocess.Popen(
            [*command, str(number), str(seed + number), str(steps)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    ended = [process.communicate(timeout=110) for process in processes]
    assert [(process.returncode, error) for process, (_, error) in zip(processes, ended, strict=True)] == [(0, "")] * 4
    print(f"seed {seed}: erasures not scrubbed at once: {[int(said) for said, _ in ended]}")
    contents = checked(path)
    assert all(part_of(contents, f"k{number}")["audit"] for number in range(4))


def test_who_needs_the_file_alone_is_refused_while_another_process_has_it_open(tmp_path: Path) -> None:
    path = tmp_path / "r.db"
    code = (
        "import asyncio, sys\n"
        "from recollect.storage.sqlite import SqliteDriver\n"
        "async def main():\n"
        "    await SqliteDriver.open(sys.argv[1])\n"
        "    print('open', flush=True)\n"
        "    sys.stdin.read()\n"
        "asyncio.run(main())\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        with pytest.raises(StorageLockedError, match="another process has it open; stop that process first"):
            FileLock.exclusive(path)
        # The system releases what a killed process held.
        process.kill()
    FileLock.exclusive(path).release()


async def test_nobody_opens_a_file_that_is_being_migrated_or_restored(tmp_path: Path) -> None:
    path = tmp_path / "r.db"
    first = await SqliteDriver.open(path)
    second = await SqliteDriver.open(path)
    await first.close()
    with pytest.raises(StorageLockedError, match="another process has it open"):
        FileLock.exclusive(path)
    await second.close()
    alone = FileLock.exclusive(path)
    with pytest.raises(StorageLockedError, match="being migrated or restored; wait for that to end"):
        await SqliteDriver.open(path)
    alone.release()
    await (await SqliteDriver.open(path)).close()
