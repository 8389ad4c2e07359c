"""Prove that the simulated disk keeps a true promise and can catch a false one.

Everything here is raw SQLite, so a failure of these tests is a failure of the harness and never of the store.
The seeds are fixed, since a harness that catches a lie only on some days catches none.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from queue import Queue
from random import Random
from threading import Thread

import apsw
import pytest

from tests.support.simulated_disk import SimulatedDisk
from tests.support.simulated_disk_faults import FaultKind

PATH = "/data/recollect.db"
WAL = f"{PATH}-wal"
ROWS_PER_TURN = 3


@contextmanager
def connected(disk: SimulatedDisk, synchronous: str = "FULL") -> Iterator[apsw.Connection]:
    connection = apsw.Connection(PATH, vfs=disk.name)
    try:
        connection.pragma("locking_mode", "EXCLUSIVE")
        assert connection.pragma("journal_mode", "WAL") == "wal"
        connection.pragma("synchronous", synchronous)
        # A short log makes the run meet many checkpoints and restarts of the WAL.
        connection.pragma("wal_autocheckpoint", 30)
        yield connection
    finally:
        connection.close()


@contextmanager
def opened_file(disk: SimulatedDisk, path: str = PATH) -> Iterator[apsw.VFSFile]:
    """Open a file as SQLite does, without a database around it."""
    flags = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    file = apsw.VFSFile(disk.name, path, [flags, 0])
    try:
        yield file
    finally:
        file.xClose()


def prepare(connection: apsw.Connection) -> None:
    connection.execute(
        "CREATE TABLE IF NOT EXISTS row (turn INTEGER, part INTEGER, body BLOB, PRIMARY KEY (turn, part))"
    )


def store_turn(connection: apsw.Connection, turn: int) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        for part in range(ROWS_PER_TURN):
            connection.execute("INSERT INTO row VALUES (?, ?, randomblob(900))", (turn, part))
        connection.execute("COMMIT")
    except apsw.Error:
        # SQLite has rolled back by itself after most faults of the disk.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def record(turns: int, *, synchronous: str = "FULL", lying_sync: bool = False) -> SimulatedDisk:
    """Run a workload that marks each turn as acknowledged once its commit returned."""
    disk = SimulatedDisk("recorded", lying_sync=lying_sync)
    with connected(disk, synchronous) as connection:
        prepare(connection)
        for turn in range(turns):
            store_turn(connection, turn)
            disk.mark(str(turn))
    return disk


def stored_turns(disk: SimulatedDisk) -> set[int]:
    """Read the turns that are whole, after checking that the database is sound and no turn is half there."""
    with connected(disk) as connection:
        assert connection.pragma("integrity_check") == "ok"
        if not connection.table_exists("main", "row"):
            return set()
        parts = dict(connection.execute("SELECT turn, count(*) FROM row GROUP BY turn"))
        assert set(parts.values()) <= {ROWS_PER_TURN}
        return set(parts)


def lost_turns(disk: SimulatedDisk, cut: int, rng: Random) -> set[int]:
    acked = {int(label) for label in disk.marks_before(cut)}
    with disk.crash(cut, rng) as image:
        return acked - stored_turns(image)


def test_full_sync_loses_no_acknowledged_turn() -> None:
    rng = Random(1)
    with record(200) as disk:
        for cut in disk.random_cuts(500, rng):
            assert lost_turns(disk, cut, rng) == set(), f"lost at cut {cut}"


def test_normal_sync_loses_acknowledged_turns_but_stays_sound() -> None:
    rng = Random(2)
    with record(60, synchronous="NORMAL") as disk:
        lost = [cut for cut in disk.random_cuts(100, rng) if lost_turns(disk, cut, rng)]
    assert len(lost) > 20


def test_a_lying_sync_loses_acknowledged_turns_or_the_whole_database() -> None:
    rng = Random(3)
    harmed = 0
    with record(30, lying_sync=True) as disk:
        for cut in disk.random_cuts(60, rng):
            try:
                harmed += bool(lost_turns(disk, cut, rng))
            except (apsw.Error, AssertionError):
                harmed += 1
    assert harmed > 20


def test_a_second_power_cut_during_recovery_loses_nothing() -> None:
    rng = Random(4)
    with record(60) as disk:
        for cut in disk.random_cuts(40, rng):
            acked = {int(label) for label in disk.marks_before(cut)}
            with disk.crash(cut, rng) as image:
                first = stored_turns(image)
                assert acked <= first
                for second_cut in image.random_cuts(3, rng):
                    with image.crash(second_cut, rng) as again:
                        assert stored_turns(again) == first


def test_the_same_cut_and_seed_give_the_same_bytes_in_any_order_of_cuts() -> None:
    with record(20) as disk:
        cuts = [disk.operations // 2, disk.operations, disk.operations // 3]
        images = []
        for cut in (*cuts, *reversed(cuts)):
            with disk.crash(cut, Random(cut)) as image:
                images.append(image.raw_bytes())
        assert images[:3] == images[:2:-1]


def test_unsynced_writes_end_whole_missing_or_torn_between_sectors() -> None:
    old, new = bytes(4096), b"n" * 4096
    endings: set[str] = set()
    with SimulatedDisk(files={PATH: old}) as disk, opened_file(disk) as file:
        file.xWrite(new, 0)
        for seed in range(200):
            content = image_bytes(disk, disk.operations, seed)[PATH]
            endings.add({old: "missing", new: "whole"}.get(content, "torn"))
            for at in range(0, 4096, 512):
                sector = content[at : at + 512]
                # A sector is never half old and half new; random bytes stand for one that was lost while written.
                assert sector in {old[:512], new[:512]} or len(set(sector)) > 100
        file.xSync(0)
        assert {image_bytes(disk, disk.operations, seed)[PATH] for seed in range(50)} == {new}
    assert endings == {"missing", "whole", "torn"}


def test_a_write_never_harms_the_bytes_beside_it() -> None:
    with SimulatedDisk(files={PATH: b"o" * 2048}) as disk, opened_file(disk) as file:
        file.xWrite(b"n" * 700, 300)
        for seed in range(100):
            content = image_bytes(disk, disk.operations, seed)[PATH]
            assert content[:300] == b"o" * 300
            assert content[1000:] == b"o" * 1048


def test_unsynced_truncation_may_or_may_not_have_happened() -> None:
    with SimulatedDisk(files={PATH: b"o" * 2048}) as disk, opened_file(disk) as file:
        file.xTruncate(10)
        sizes = {len(image_bytes(disk, disk.operations, seed)[PATH]) for seed in range(50)}
    assert sizes == {10, 2048}


def test_unsynced_creation_may_or_may_not_have_happened() -> None:
    with SimulatedDisk() as disk, opened_file(disk) as file:
        found = [PATH in image_bytes(disk, disk.operations, seed) for seed in range(50)]
        assert set(found) == {True, False}
        file.xSync(0)
        found = [PATH in image_bytes(disk, disk.operations, seed) for seed in range(50)]
        assert set(found) == {True}


def test_unsynced_deletion_may_or_may_not_have_happened() -> None:
    with record(3) as disk:
        assert WAL not in disk.raw_bytes()
        found = [WAL in image_bytes(disk, disk.operations, seed) for seed in range(50)]
    assert set(found) == {True, False}


def image_bytes(disk: SimulatedDisk, cut: int, seed: int) -> dict[str, bytes]:
    with disk.crash(cut, Random(seed)) as image:
        return image.raw_bytes()


def test_a_cut_beyond_the_log_is_refused() -> None:
    with SimulatedDisk() as disk, pytest.raises(ValueError, match="no operation 1"):
        disk.crash(1, Random(0))


def test_markers_from_another_thread_keep_their_place_behind_the_commit() -> None:
    rng = Random(5)
    finished: Queue[int] = Queue()
    with SimulatedDisk() as disk, connected(disk) as connection:
        prepare(connection)

        def store_all() -> None:
            for turn in range(100):
                store_turn(connection, turn)
                finished.put(turn)

        writer = Thread(target=store_all)
        writer.start()
        for _ in range(100):
            disk.mark(str(finished.get(timeout=10)))
        writer.join()
        for cut in disk.random_cuts(100, rng):
            assert lost_turns(disk, cut, rng) == set()


def run_on_failing_disk(disk: SimulatedDisk, turns: int) -> tuple[set[int], list[apsw.Error]]:
    """Open, store turns and close; return the turns that were acknowledged and the errors that were raised."""
    acked: set[int] = set()
    errors: list[apsw.Error] = []
    try:
        with connected(disk) as connection:
            prepare(connection)
            for turn in range(turns):
                try:
                    store_turn(connection, turn)
                    acked.add(turn)
                except apsw.Error as error:
                    errors.append(error)
    except apsw.Error as error:
        errors.append(error)
    return acked, errors


@pytest.mark.parametrize("once", [True, False], ids=["once", "forever"])
@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("io_error", (apsw.IOError, apsw.CantOpenError)),
        ("full", (apsw.FullError,)),
        ("read_only", (apsw.ReadOnlyError, apsw.CantOpenError, apsw.IOError)),
    ],
)
def test_a_fault_at_any_operation_is_a_clean_error_and_leaves_the_database_sound(
    kind: FaultKind, expected: tuple[type[apsw.Error], ...], *, once: bool
) -> None:
    for at in count(1):
        with SimulatedDisk() as disk:
            disk.fail(kind, at=at, once=once)
            acked, errors = run_on_failing_disk(disk, turns=12)
            disk.heal()
            assert bool(errors) == bool(disk.failures), f"fault at {at}"
            assert all(isinstance(error, expected) for error in errors), f"{errors} at {at}"
            assert acked <= stored_turns(disk), f"lost at {at}"
            if not disk.failures:
                assert len(acked) == 12
                break
    assert at > 150


@pytest.mark.parametrize(
    ("kind", "error"), [("full", apsw.FullError), ("read_only", apsw.ReadOnlyError), ("io_error", apsw.IOError)]
)
def test_an_open_connection_goes_on_once_the_disk_heals(kind: FaultKind, error: type[apsw.Error]) -> None:
    with SimulatedDisk() as disk, connected(disk) as connection:
        prepare(connection)
        store_turn(connection, 1)
        disk.fail(kind, once=False)
        for _ in range(3):
            with pytest.raises(error):
                store_turn(connection, 2)
        if kind != "io_error":
            assert connection.execute("SELECT count(*) FROM row").get == ROWS_PER_TURN
        disk.heal()
        store_turn(connection, 2)
        assert connection.execute("SELECT count(*) FROM row").get == 2 * ROWS_PER_TURN


def test_a_read_only_disk_can_be_opened_and_read_when_its_wal_is_there() -> None:
    with SimulatedDisk() as disk, connected(disk) as connection:
        prepare(connection)
        store_turn(connection, 1)
        files = disk.raw_bytes()
    with SimulatedDisk(files=files) as copy:
        copy.fail("read_only", once=False)
        with connected(copy) as connection:
            assert connection.execute("SELECT count(*) FROM row").get == ROWS_PER_TURN
            with pytest.raises(apsw.ReadOnlyError):
                store_turn(connection, 2)
        assert copy.raw_bytes() == files


def test_a_short_read_is_taken_for_corruption() -> None:
    with record(3) as disk:
        disk.fail("short_read", at=5, once=False)
        with pytest.raises(apsw.CorruptError):
            stored_turns(disk)
        disk.heal()
        assert stored_turns(disk) == {0, 1, 2}


def test_what_a_failed_sync_covered_is_not_saved_by_the_next_sync() -> None:
    with SimulatedDisk(files={PATH: b"old"}) as disk, opened_file(disk) as file:
        file.xWrite(b"new", 0)
        disk.fail("io_error")
        with pytest.raises(apsw.IOError):
            file.xSync(0)
        file.xSync(0)
        assert disk.raw_bytes() == {PATH: b"new"}
        assert image_bytes(disk, disk.operations, seed=0) == {PATH: b"old"}


def test_a_power_cut_after_a_fault_loses_no_acknowledged_turn() -> None:
    rng = Random(6)
    for at in range(1, 200, 7):
        with SimulatedDisk() as disk:
            disk.fail("io_error", at=at)
            acked, _ = run_on_failing_disk(disk, turns=12)
            for _ in range(5):
                with disk.crash(disk.operations, rng) as image:
                    assert acked <= stored_turns(image), f"lost after a fault at {at}"


def test_a_fault_in_an_automatic_checkpoint_is_raised_from_a_commit_that_succeeded() -> None:
    """Pin a habit of apsw: SQLite ignores this fault, but an exception in a VFS written in Python still comes out."""
    stored: list[object] = []
    for at in range(1, 20):
        with SimulatedDisk() as disk, connected(disk) as connection:
            prepare(connection)
            connection.pragma("wal_autocheckpoint", 1)
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO row VALUES (1, 0, NULL)")
            disk.fail("io_error", at=at)
            with suppress(apsw.IOError):
                connection.execute("COMMIT")
                disk.heal()
            if disk.failures:
                assert not connection.in_transaction
                stored.append(connection.execute("SELECT count(*) FROM row").get)
    assert set(stored) == {0, 1}


def test_a_flipped_bit_is_seen_by_readers_and_survives_a_power_cut() -> None:
    with SimulatedDisk() as disk:
        with connected(disk) as connection:
            connection.execute("CREATE TABLE note (body TEXT)")
            connection.execute("INSERT INTO note VALUES ('canary')")
        offset = disk.raw_bytes()[PATH].index(b"canary")
        disk.flip_bit(PATH, offset, 0)
        with disk.crash(disk.operations, Random(0)) as image, connected(image) as connection:
            assert connection.pragma("integrity_check") == "ok"
            assert connection.execute("SELECT body FROM note").get == "banary"


def test_a_flipped_bit_in_the_header_is_an_error() -> None:
    with record(1) as disk:
        disk.flip_bit(PATH, 0, 3)
        with pytest.raises(apsw.NotADBError):
            stored_turns(disk)


def test_a_second_connection_finds_the_file_locked() -> None:
    with SimulatedDisk() as disk:
        with connected(disk) as connection:
            prepare(connection)
            with pytest.raises(apsw.BusyError), connected(disk):
                pass
        assert stored_turns(disk) == set()


def test_operations_are_counted() -> None:
    with record(3) as disk:
        counts = disk.counts
        assert counts["sync"] >= 3
        assert counts["write"] > counts["sync"]
        assert disk.failures == 0


def test_a_closed_disk_is_no_longer_registered() -> None:
    with SimulatedDisk() as disk:
        assert disk.name in apsw.vfs_names()
    assert disk.name not in apsw.vfs_names()
