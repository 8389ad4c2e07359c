"""Put a backup in the place of a SQLite file, so that a kill at any moment leaves one whole database there.

Everything is done to a copy beside the database: it is verified, brought to the current schema, and erasures that
the database in place knows of are replayed. The last step gives the copy the name of the database, in one rename.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import apsw

from recollect.errors import StorageError
from recollect.storage import verify_sqlite
from recollect.storage.backup import MANIFEST, read_manifest, sync, verified
from recollect.storage.maintenance import Manifest, RestoreOptions, RestoreReport
from recollect.storage.migrations import load_migrations, require_ready
from recollect.storage.migrations.sqlite import migrate
from recollect.storage.migrations.sqlite import status as schema_status
from recollect.storage.replay import Erasures, Replayed, gather, replay_or_refuse
from recollect.storage.sqlite_connection import connect, our_errors
from recollect.storage.sqlite_reading import COMPANIONS, alone, beside, open_file, salted
from recollect.storage.sqlite_scrubber import scrub
from recollect.storage.verify import Progress

#: Bytes copied between two looks at the progress.
CHUNK = 4 * 2**20


def restore(database: Path, file: Path, options: RestoreOptions, progress: Progress) -> RestoreReport:
    """Verify the backup, erase in it what was erased since, and put it in place."""
    manifest = read_manifest(file)
    require_known(file, manifest)
    with alone(database) as place:
        if place.exists() and file.samefile(place):
            raise StorageError(f"{file} is the database itself; name a backup")
        old = beside(place, ".before-restore")
        _refuse_foreign(place)
        _settle_earlier(place, old)
        past = _erasures_in_place(place, options)
        fresh = beside(place, ".restoring")
        _remove(fresh)
        try:
            _copy(file, fresh, progress)
            damage = verified(fresh, manifest, progress, f"{file} is damaged; use another backup")
            migrated, replayed = _make_ready(fresh, past, options)
            if place.exists():
                shutil.copymode(place, fresh)
            sync(fresh)
            _swap(place, fresh, old)
        finally:
            _remove(fresh)
        _verify_in_place(place, old, progress)
        kept = options.keep_old and old.exists()
        if not kept:
            _remove(old)
    return RestoreReport(
        manifest=manifest,
        erased=replayed.erased,
        tombstones=replayed.tombstones,
        migrated=migrated,
        damage=damage,
        old=str(old) if kept else None,
    )


def require_known(file: Path, manifest: Manifest) -> None:
    """Raise for a backup that a newer program made, or that is of another kind of database."""
    latest = load_migrations(manifest.dialect)[-1].version if manifest.dialect in {"sqlite", "postgres"} else 0
    if manifest.schema > latest:
        raise StorageError(
            f"{file} has schema {manifest.schema}, newer than this program's {latest}; install a newer recollect"
        )


def _settle_earlier(place: Path, old: Path) -> None:
    """Undo a restore that was stopped just before its swap; refuse to lose what a finished one kept."""
    if not old.exists():
        return
    if not (place.exists() and old.samefile(place)):
        raise StorageError(f"{old} holds the database as it was before an earlier restore; move or remove it first")
    for suffix in COMPANIONS:
        if beside(old, suffix).exists() and not beside(place, suffix).exists():
            beside(old, suffix).replace(beside(place, suffix))
    _remove(old)


def _erasures_in_place(place: Path, options: RestoreOptions) -> Erasures | None:
    """Read what was erased from the database that is about to be replaced, and write its WAL back."""
    if not place.exists():
        return None
    try:
        connection = connect(str(place))
        try:
            status = schema_status(connection)
            if status.current > 0:
                require_ready(status)
            found = gather(salted(connection)) if status.current > 0 else None
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        finally:
            connection.close(True)
    except (apsw.Error, StorageError) as exc:
        if options.lose_erasures:
            return None
        why = str(exc) if isinstance(exc, StorageError) else f"{place} is damaged ({type(exc).__name__})"
        raise StorageError(
            f"{why}; what was erased from it cannot be read: pass --lose-erasures to restore all the same"
        ) from exc
    return found


def _refuse_foreign(place: Path) -> None:
    """Raise before a database of another program would be replaced; one that cannot be read may be ours."""
    if not place.exists():
        return
    try:
        connection = open_file(place, writable=False)
        try:
            others = connection.execute("SELECT 1 FROM sqlite_schema WHERE name <> 'schema_migrations'").fetchall()
            is_foreign = schema_status(connection).current == 0 and others
        finally:
            connection.close(True)
    except apsw.Error:
        return
    if is_foreign:
        raise StorageError(f"{place} is a database of another program; name another file with --database")


def _copy(file: Path, to: Path, progress: Progress) -> None:
    """Copy the backup into a file that nobody else can read."""
    descriptor = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with file.open("rb") as source, os.fdopen(descriptor, "wb") as target:
        total, done = file.stat().st_size, 0
        while chunk := source.read(CHUNK):
            target.write(chunk)
            done += len(chunk)
            progress("copy", done, total)


def _make_ready(fresh: Path, past: Erasures | None, options: RestoreOptions) -> tuple[tuple[str, ...], Replayed]:
    """Bring the copy to the current schema and replay the erasures; leave one file without a WAL."""
    with our_errors():
        connection = connect(str(fresh))
        try:
            migrated = tuple(f"{step.version:04} {step.name}" for step in migrate(connection))
            with connection:
                connection.execute("DELETE FROM meta WHERE name = ?", (MANIFEST,))
                tx = salted(connection)
                replayed = replay_or_refuse(tx, past, lose=options.lose_erasures)
                tx.write_index()
            scrub(connection)
        finally:
            connection.close(True)
    return migrated, replayed


def _swap(place: Path, fresh: Path, old: Path) -> None:
    """Give the copy the name of the database; until the last step the old one has it, and after it the new one."""
    if place.exists():
        _link(place, old)
    # What is left here belongs to an old file that could not be read; beside a new file it would destroy it.
    for suffix in COMPANIONS:
        companion = beside(place, suffix)
        if companion.exists():
            _link(companion, beside(old, suffix))
            companion.unlink()
    sync(place.parent)
    fresh.replace(place)
    sync(place.parent)


def _link(file: Path, name: Path) -> None:
    """Give a file a second name, or copy it where the file system has no second names."""
    try:
        name.hardlink_to(file)
    except OSError:
        partial = beside(name, ".partial")
        shutil.copy2(file, partial)
        sync(partial)
        partial.replace(name)


def _verify_in_place(place: Path, old: Path, progress: Progress) -> None:
    """Look at the new database where it is now; bring the old one back if it cannot be used."""
    with our_errors():
        connection = open_file(place)
        try:
            damage = [*verify_sqlite.file_damage(connection, progress)]
            damage += verify_sqlite.reference_damage(connection, progress)
        finally:
            connection.close(True)
    if damage:
        if old.exists():
            old.replace(place)
            sync(place.parent)
        raise StorageError(f"the restored database is damaged ({damage[0].problem}); the old one is back in place")


def _remove(file: Path) -> None:
    for leftover in (file, *(beside(file, suffix) for suffix in COMPANIONS)):
        leftover.unlink(missing_ok=True)
