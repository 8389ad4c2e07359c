"""A database that a test may read and change behind the back of its store."""

from __future__ import annotations

from pathlib import Path

import apsw
import psycopg
from psycopg import sql

from recollect.ports.store import Store
from recollect.storage.postgres import PostgresDriver
from recollect.storage.sqlite import SqliteDriver
from recollect.storage.store import SqlStore

#: How long whoever goes past the store waits for it.
BUSY_MS = 10_000


class Place:
    """One database by its file or address."""

    def __init__(self, address: str) -> None:
        self._address = address

    async def open(self) -> Store:
        """Open a store on it."""
        if self._address.startswith("postgresql"):
            return SqlStore(await PostgresDriver.open(self._address))
        return SqlStore(await SqliteDriver.open(Path(self._address)))

    def execute(self, statement: str) -> list[tuple[object, ...]]:
        """Run a statement on it, past any store."""
        if self._address.startswith("postgresql"):
            with psycopg.connect(self._address, options="-c search_path=recollect") as connection:
                cursor = connection.execute(sql.SQL(statement))
                return cursor.fetchall() if cursor.description else []
        file = apsw.Connection(self._address)
        # After a write the store may still be writing its log back.
        file.set_busy_timeout(BUSY_MS)
        try:
            return file.execute(statement).fetchall()
        finally:
            file.close()
