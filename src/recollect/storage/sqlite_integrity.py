"""Check a SQLite file once, in the background, after it was opened.

Nobody waits for it: damage is logged and shown, and what is not damaged is served meanwhile.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Literal

import apsw

from recollect.errors import StorageError
from recollect.storage.migrations.sqlite import prepare
from recollect.storage.sqlite_connection import SqliteTransaction, our_errors

#: A tuple names what is wrong with the file; "unchecked" is a file that nobody asked to check.
Integrity = Literal["unchecked", "checking", "ok"] | tuple[str, ...]

_log = logging.getLogger(__name__)


class IntegrityCheck:
    """Compare the pages, the indexes and the references of a file, in a thread of its own."""

    def __init__(self, borrow: Callable[[], AbstractContextManager[apsw.Connection]] | None) -> None:
        self.result: Integrity = "unchecked" if borrow is None else "checking"
        self._borrow = borrow
        self._guard = threading.Lock()
        self._connection: apsw.Connection | None = None
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name="recollect-check", daemon=True)
        if borrow is not None:
            self._thread.start()

    def wait(self) -> Integrity:
        """Return the result once the check has ended."""
        if self._borrow is not None:
            self._thread.join()
        return self.result

    def stop(self) -> None:
        """End the check, finished or not."""
        with self._guard:
            self._is_stopped = True
            if self._connection is not None:
                self._connection.interrupt()
        self.wait()

    def _run(self) -> None:
        try:
            with our_errors(), self._connected() as connection:
                problems = _problems(connection)
        except StorageError as exc:
            if self._is_stopped:
                return
            problems = (f"the file cannot be checked: {exc}",)
        self.result = problems or "ok"
        if problems:
            _log.error(
                "the database file is damaged in %d places, first: %s; run `recollect db check`",
                len(problems),
                problems[0],
            )

    @contextmanager
    def _connected(self) -> Iterator[apsw.Connection]:
        assert self._borrow is not None
        with self._borrow() as connection:
            with self._guard:
                self._connection = connection
            try:
                if self._is_stopped:
                    raise StorageError("the check was stopped")
                yield connection
            finally:
                with self._guard:
                    self._connection = None


def _problems(connection: apsw.Connection) -> tuple[str, ...]:
    # Only a check needs this, and opening a store should stay quick.
    from recollect.storage.verify import unseen
    from recollect.storage.verify_sqlite import file_damage, reference_damage

    if _schema(connection) != _written_schema():
        return ("file schema: is not what this program wrote",)
    found = list(file_damage(connection, unseen)) or list(reference_damage(connection, unseen))
    problems = [f"{damage.table} {damage.record}: {damage.problem}" for damage in found]
    if not problems and not SqliteTransaction(connection, b"").all("indexed_to"):
        problems = ["file meta: the mark of the search index is damaged"]
    if not problems:
        problems = [
            f"{table}: {count} belong to another user than their conversation" for table, count in _lost(connection)
        ]
    return tuple(problems)


def _schema(connection: apsw.Connection) -> list[tuple[object, ...]]:
    # As bytes, since damaged text may be no text at all.
    columns = ", ".join(f"CAST({column} AS BLOB)" for column in ("name", "type", "tbl_name", "sql"))
    return connection.execute(f"SELECT {columns} FROM sqlite_schema ORDER BY name").fetchall()


def _written_schema() -> list[tuple[object, ...]]:
    connection = apsw.Connection(":memory:")
    try:
        prepare(connection)
        return _schema(connection)
    finally:
        connection.close(True)


def _lost(connection: apsw.Connection) -> Iterator[tuple[str, int]]:
    """Give the tables with rows that no user would be shown, for their owner is not that of their conversation."""
    for table in ("messages", "turns", "archive_batches", "summaries"):
        found = connection.execute(
            f"SELECT COUNT(*) FROM {table} p JOIN conversations c ON c.number = p.conversation_no "
            "WHERE p.tenant_id <> c.tenant_id OR p.user_id <> c.user_id"
        ).fetchall()
        if count := int(str(found[0][0])):
            yield table, count
