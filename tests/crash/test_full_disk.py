"""Fill a real disk under our store, through the operating system's own file system."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from recollect.domain.message import NewMessage
from recollect.domain.page import MessageQuery
from recollect.domain.turn import Append
from recollect.errors import StorageUnavailableError
from recollect.storage.sqlite import SqliteDriver
from recollect.storage.sqlite_connection import connect
from recollect.storage.store import SqlStore
from tests.support.store_contents import check_file, check_index
from tests.support.store_script import AT, CONVERSATION, SCOPE

MEBIBYTE = 2**20


@contextmanager
def small_disk(folder: Path) -> Iterator[Callable[[], None]]:
    """Make the folder a disk of two mebibytes, and give what frees half of it; needs the right to mount."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "recollect-test", folder], check=True, capture_output=True)
    try:
        ballast = folder / "ballast"
        ballast.write_bytes(b"." * MEBIBYTE)
        yield ballast.unlink
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True, capture_output=True)


@contextmanager
def small_files() -> Iterator[Callable[[], None]]:
    """Let no file of this process grow beyond one mebibyte, and give what lifts the limit; anybody may."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    # Python ignores the signal, so a write beyond the limit fails as one on a full disk does.
    resource.setrlimit(resource.RLIMIT_FSIZE, (MEBIBYTE, old[1]))
    try:
        yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, old)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)


@pytest.fixture(params=["disk", "limit"])
def room(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], None]]:
    """Leave little room in the folder and give what makes more; who may not mount a disk limits files instead."""
    try:
        with small_disk(tmp_path) if request.param == "disk" else small_files() as free:
            yield free
    except (OSError, subprocess.CalledProcessError):
        with small_files() as free:
            yield free


async def append(store: SqlStore, number: int) -> str:
    name = f"m{number}"
    text = f"{name} " + "many words that take room on the disk " * 500
    new = NewMessage(id=name, role="user", content=text, created_at=AT)
    await store.append(SCOPE, Append(conversation_id=CONVERSATION, messages=(new,), at=AT, create=True))
    return name


async def fill(store: SqlStore, acked: list[str]) -> None:
    while True:
        acked.append(await append(store, len(acked)))


async def ids(store: SqlStore) -> list[str]:
    page = await store.list_messages(SCOPE, MessageQuery(conversation_id=CONVERSATION, limit=500))
    return [message.id for message in page.messages]


@pytest.mark.spec("R4")
async def test_a_full_disk_loses_nothing_acknowledged_and_the_store_goes_on_once_there_is_room(
    tmp_path: Path, room: Callable[[], None]
) -> None:
    store = SqlStore(await SqliteDriver.open(tmp_path / "r.db"))
    acked = [await append(store, 0)]
    with pytest.raises(StorageUnavailableError, match=r"FullError|IOError"):
        await fill(store, acked)
    for number in range(300, 305):
        with pytest.raises(StorageUnavailableError):
            await append(store, number)
        assert await ids(store) == acked
    room()
    acked += [await append(store, number) for number in range(400, 405)]
    assert await ids(store) == acked
    await store.close()
    connection = connect(str(tmp_path / "r.db"))
    check_index(connection, check_file(connection))
    connection.close()
