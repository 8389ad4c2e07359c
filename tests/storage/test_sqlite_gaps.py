"""Zero the unused parts of SQLite's pages, in databases of every shape, and change nothing that anybody can read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import apsw
import pytest

from recollect.storage.sqlite_gaps import FILE_HEADER, Layout
from recollect.storage.sqlite_scrubber import Scrubber, scrub

SIZES = (512, 1024, 2048, 4096, 8192, 16384, 32768, 65536)
LENGTHS = (0, 1, 3, 40, 300, 900, 5_000, 70_000)
TABLES = ("rows", "keyed", "indexed")

SCHEMA = """
CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT);
CREATE TABLE keyed (name TEXT PRIMARY KEY, body TEXT) WITHOUT ROWID;
CREATE TABLE indexed (id INTEGER PRIMARY KEY, body TEXT);
CREATE INDEX by_body ON indexed (body);
"""


def word(rng: Random) -> str:
    return f"zq{rng.getrandbits(96):024x}"


def text(rng: Random, page_size: int) -> str:
    """Return text that fits into a cell, or fills a page, or goes on over several."""
    length = min(rng.choice(LENGTHS), 6 * page_size)
    return " ".join([word(rng), *(word(rng) for _ in range(length // 27))])[: max(27, length)]


def make(path: Path, rng: Random, page_size: int, vacuum: int) -> set[bytes]:
    """Fill a database, change and delete at random, and return the first words of what was deleted."""
    connection = apsw.Connection(str(path))
    for name, value in (("page_size", page_size), ("auto_vacuum", vacuum), ("secure_delete", "on")):
        connection.pragma(name, value)
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", "off")
    connection.execute(SCHEMA)
    held: dict[tuple[str, str | int], str] = {}
    gone: list[str] = []
    for _ in range(rng.randrange(5, 250)):
        table = rng.choice(TABLES)
        column = "name" if table == "keyed" else "id"
        mine = [key for name, key in held if name == table]
        if mine and rng.random() < 0.4:
            key = rng.choice(mine)
            gone.append(held.pop((table, key)))
            connection.execute(f"DELETE FROM {table} WHERE {column} = ?", (key,))
        else:
            fresh: str | int = word(rng) if table == "keyed" else rng.getrandbits(40)
            body = held[table, fresh] = text(rng, page_size)
            connection.execute(f"INSERT INTO {table} VALUES (?, ?)", (fresh, body))
        if rng.random() < 0.05:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    connection.close()
    return {body[2:26].encode() for body in gone}


def contents(path: Path) -> list[object]:
    """Return everything that SQLite reads from the file, and what it says of its soundness."""
    connection = apsw.Connection(str(path))
    try:
        found: list[object] = []
        queries = [f"SELECT * FROM {table} ORDER BY 1" for table in TABLES]
        for query in ("SELECT * FROM sqlite_schema", *queries, "PRAGMA integrity_check", "PRAGMA freelist_count"):
            try:
                found.append(connection.execute(query).fetchall())
            except (apsw.Error, UnicodeDecodeError) as exc:
                found.append(repr(exc))
        return found
    finally:
        connection.close()


def zero_gaps(content: bytes) -> bytes:
    """Zero the unused parts of a whole file."""
    layout = Layout.of(content[:FILE_HEADER], len(content))
    if layout is None:
        return content
    result = bytearray(content)
    size = layout.page_size
    for number in range(1, len(content) // size + 1):
        base = (number - 1) * size
        for begin, end in layout.spans_to_zero(number, content[base : base + size]):
            assert 0 <= begin < end <= layout.usable
            result[base + begin : base + end] = bytes(end - begin)
    return bytes(result)


@pytest.mark.parametrize("vacuum", [0, 1, 2])
@pytest.mark.parametrize("page_size", SIZES)
def test_a_scrub_leaves_nothing_deleted_and_changes_nothing_that_is_read(
    tmp_path: Path, page_size: int, vacuum: int, seed: int, count: Callable[[int, int], int]
) -> None:
    print(f"seed {seed}")
    rng = Random(seed)
    for number in range(count(3, 60)):
        path = tmp_path / f"{number}.db"
        gone = make(path, rng, page_size, vacuum)
        before = contents(path)
        connection = apsw.Connection(str(path))
        connection.pragma("secure_delete", "on")
        scrub(connection)
        connection.close()
        raw = path.read_bytes()
        assert contents(path) == before
        assert before[4] == [("ok",)]
        assert [words for words in gone if words in raw] == []
        assert zero_gaps(raw) == raw


def test_copies_of_moved_rows_are_left_without_a_scrub_and_only_in_gaps(
    tmp_path: Path, count: Callable[[int, int], int]
) -> None:
    left = 0
    for seed in range(count(12, 100)):
        rng = Random(seed)
        path = tmp_path / f"{seed}.db"
        connection = apsw.Connection(str(path))
        connection.pragma("secure_delete", "on")
        connection.execute(SCHEMA)
        rows = [(word(rng), " ".join(word(rng) for _ in range(rng.choice((1, 5, 30, 120))))) for _ in range(600)]
        with connection:
            connection.executemany("INSERT INTO keyed VALUES (?, ?)", rows)
            connection.executemany("DELETE FROM keyed WHERE name = ?", [(name,) for name, _ in rows[::2]])
        connection.close()
        raw = path.read_bytes()
        secrets = [body[2:26].encode() for _, body in rows[::2]]
        left += any(secret in raw for secret in secrets)
        cleaned = zero_gaps(raw)
        assert [secret for secret in secrets if secret in cleaned] == []
    assert left, "SQLite leaves no copies any more, and nothing here is needed"


def test_free_blocks_and_fragments_are_zeroed_where_sqlite_did_not(tmp_path: Path) -> None:
    path = tmp_path / "r.db"
    connection = apsw.Connection(str(path))
    connection.pragma("secure_delete", "off")
    connection.execute(SCHEMA)
    connection.executemany("INSERT INTO rows VALUES (?, ?)", [(n, f"secret{n}." * 3) for n in range(90)])
    connection.execute("DELETE FROM rows WHERE id % 3 = 0")
    connection.execute("INSERT INTO rows VALUES (3, 'secret3.shorter.by.some')")
    connection.close()
    raw = path.read_bytes()
    assert b"secret30." in raw
    cleaned = zero_gaps(raw)
    assert b"secret30." not in cleaned
    before = contents(path)
    path.write_bytes(cleaned)
    assert contents(path) == before


@pytest.mark.parametrize("page_size", [512, 4096, 65536])
def test_a_damaged_page_reads_the_same_after_its_gaps_were_zeroed(
    tmp_path: Path, page_size: int, seed: int, count: Callable[[int, int], int]
) -> None:
    print(f"seed {seed}")
    rng = Random(seed)
    for _ in range(count(4, 40)):
        path = tmp_path / "r.db"
        path.unlink(missing_ok=True)
        make(path, rng, page_size, rng.randrange(3))
        sound = path.read_bytes()
        for _ in range(25):
            damaged = bytearray(sound)
            for _ in range(rng.choice((1, 2, 10))):
                page = rng.randrange(len(sound) // page_size) * page_size
                # Most harm is done in the header of a page and in its pointers.
                offset = rng.choice((rng.randrange(12), rng.randrange(64), rng.randrange(page_size)))
                damaged[(page + offset) or FILE_HEADER] = rng.randrange(256)
            path.write_bytes(damaged)
            before = contents(path)
            path.write_bytes(zero_gaps(bytes(damaged)))
            assert contents(path) == before


def test_garbage_is_never_taken_for_a_page(seed: int, count: Callable[[int, int], int]) -> None:
    print(f"seed {seed}")
    rng = Random(seed)
    layout = Layout(page_size=512, usable=512, has_parents=False)
    for _ in range(count(20_000, 200_000)):
        page = bytes([rng.choice((2, 5, 10, 13))]) + rng.randbytes(511)
        assert layout.spans_to_zero(2, page) == []


def test_pages_that_are_of_no_tree_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "r.db"
    make(path, Random(1), 512, 1)
    raw = path.read_bytes()
    layout = Layout.of(raw[:FILE_HEADER], len(raw))
    assert layout == Layout(page_size=512, usable=512, has_parents=True)
    empty_leaf = bytes([13, 0, 0, 0, 0, 2, 0, 0]) + b"x" * 504
    assert layout.spans_to_zero(3, empty_leaf) == [(8, 512)]
    # Each list of parents has room for 102 pages, and the page with the byte that SQLite locks is never used.
    for number in (2, 105, 208, 0x40000000 // 512 + 1):
        assert layout.spans_to_zero(number, empty_leaf) == []
    for kind in {*range(256)} - {2, 5, 10, 13}:
        assert layout.spans_to_zero(3, bytes([kind]) + empty_leaf[1:]) == []


def test_a_file_whose_pages_cannot_be_told_apart_has_no_layout(tmp_path: Path) -> None:
    path = tmp_path / "r.db"
    make(path, Random(1), 512, 0)
    header = path.read_bytes()[:FILE_HEADER]
    assert Layout.of(header, 512 * 0x01FFFFFF) is not None
    assert Layout.of(header, 512 * 0x02000000) is None
    assert Layout.of(b"x" + header[1:], 512) is None
    assert Layout.of(header[:99], 512) is None
    assert Layout.of(header[:16] + b"\x03\x00" + header[18:], 512) is None


def test_a_scrub_of_a_file_in_use_says_that_it_is_blocked(tmp_path: Path) -> None:
    path = tmp_path / "r.db"
    make(path, Random(2), 4096, 0)
    reader, writer = apsw.Connection(str(path)), apsw.Connection(str(path))
    writer.execute("INSERT INTO rows VALUES (1, 'one')")
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM rows").fetchall()
    writer.execute("INSERT INTO rows VALUES (2, 'two')")
    assert Scrubber(writer).step() == "blocked"
    with pytest.raises(apsw.BusyError, match="in the way"):
        scrub(writer)
    reader.execute("COMMIT")
    scrub(writer)
    reader.close()
    writer.close()


@pytest.mark.parametrize("written_again", [False, True])
def test_a_log_that_another_connection_cut_is_no_longer_believed(tmp_path: Path, written_again: bool) -> None:
    path = str(tmp_path / "r.db")
    writer, other = apsw.Connection(path), apsw.Connection(path)
    writer.pragma("journal_mode", "wal")
    writer.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT)")
    scrubber = Scrubber(writer)
    assert scrubber.step() == "done"
    writer.execute("INSERT INTO rows VALUES (1, 'one')")
    frames, _ = writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    other.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    if written_again:
        other.execute("INSERT INTO rows VALUES (2, 'zqgone')")
        other.execute("DELETE FROM rows WHERE id = 2")
    # The frames that it names are gone, and so is the knowledge of what they changed.
    scrubber.note(frames + 3)
    scrubber.ask()
    while (progress := scrubber.step()) == "part":
        pass
    assert progress == "done"
    assert writer.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert b"zqgone" not in (tmp_path / "r.db").read_bytes()
    other.close()
    writer.close()
