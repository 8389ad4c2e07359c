"""A file is checked beside its use: nobody waits for the check, and nobody misses what it finds."""

from __future__ import annotations

import logging
from pathlib import Path

import apsw
import pytest

from recollect.domain.page import MessageQuery
from recollect.errors import StorageError
from recollect.storage.sqlite import SqliteDriver, SqliteOptions
from recollect.storage.store import SqlStore
from tests.support.store_script import CONVERSATION, SCOPE, turn

QUERY = MessageQuery(conversation_id=CONVERSATION)


async def made(path: Path, *turns: str) -> None:
    """Make a file that holds these turns."""
    store = SqlStore(await SqliteDriver.open(path))
    for name in turns:
        await turn(name).do(store)
    await store.close()


async def integrity(path: Path) -> str:
    driver = await SqliteDriver.open(path)
    try:
        found = await driver.checked()
        assert driver.integrity == found
        return found if isinstance(found, str) else "; ".join(found)
    finally:
        await driver.close()


@pytest.mark.spec("R5")
async def test_a_sound_file_is_found_sound(tmp_path: Path) -> None:
    assert await integrity(tmp_path / "new.db") == "ok"
    await made(tmp_path / "r.db", "t1")
    assert await integrity(tmp_path / "r.db") == "ok"


@pytest.mark.spec("R5")
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("DELETE FROM agents", "conversations"),
        ("UPDATE messages SET user_id = 'eve'", "messages: 2 belong to another user"),
        ("DROP INDEX messages_seq", "schema"),
        ("UPDATE meta SET value = value + 1 WHERE name = 'indexed_to'", "search index"),
    ],
)
async def test_damage_is_told_and_logged_and_the_rest_is_served(
    change: str, problem: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "r.db"
    await made(path, "t1")
    connection = apsw.Connection(str(path))
    connection.execute(change)
    connection.close()
    driver = await SqliteDriver.open(path)
    store = SqlStore(driver)
    with caplog.at_level(logging.ERROR):
        found = await driver.checked()
    assert problem in "; ".join(found)
    assert "recollect db check" in caplog.text
    await turn("t2").do(store)
    assert {"t2-1", "t2-2"} <= {message.id for message in (await store.list_messages(SCOPE, QUERY)).messages}
    await store.close()


@pytest.mark.spec("R5")
async def test_a_page_of_an_index_that_lost_a_bit_is_told(tmp_path: Path) -> None:
    path = tmp_path / "r.db"
    await made(path, *(f"t{number}" for number in range(40)))
    connection = apsw.Connection(str(path))
    ((page,),) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'messages_id'").fetchall()
    connection.close()
    content = bytearray(path.read_bytes())
    end = int(str(page)) * 4096
    content[end - 3] ^= 1
    path.write_bytes(content)
    assert "messages_id" in await integrity(path)


async def test_closing_does_not_wait_for_the_check(tmp_path: Path) -> None:
    await made(tmp_path / "r.db", *(f"t{number}" for number in range(20)))
    driver = await SqliteDriver.open(tmp_path / "r.db")
    await driver.close()
    assert driver.integrity in {"checking", "ok"}


async def test_a_file_is_not_checked_if_nobody_asks_for_it(tmp_path: Path) -> None:
    driver = await SqliteDriver.open(tmp_path / "r.db", SqliteOptions(check=False))
    assert await driver.checked() == "unchecked"
    await driver.close()


@pytest.mark.spec("R5")
@pytest.mark.parametrize("content", [b"This is a text, and a rather long one at that. " * 100, b"\x00" * 4096])
async def test_a_file_that_is_no_database_is_refused_and_stays_as_it_is(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_bytes(content)
    with pytest.raises(StorageError, match="no SQLite database"):
        await SqliteDriver.open(path)
    assert path.read_bytes() == content


async def test_the_database_of_another_program_is_refused_and_gets_none_of_our_tables(tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE theirs (value)")
    with pytest.raises(StorageError, match="another program"):
        await SqliteDriver.open(path)
    assert connection.execute("SELECT name FROM sqlite_schema").fetchall() == [("theirs",)]
    connection.close()


@pytest.mark.spec("R5")
async def test_a_file_without_a_whole_salt_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.db"
    await made(path, "t1")
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE meta SET value = zeroblob(36) WHERE name = 'salt'")
    assert await integrity(path) == "ok"
    connection.execute("DELETE FROM meta WHERE name LIKE 'salt%'")
    connection.close()
    with pytest.raises(StorageError, match="salt is damaged"):
        await SqliteDriver.open(path)
