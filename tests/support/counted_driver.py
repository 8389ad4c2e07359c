"""How many transactions something takes."""

from __future__ import annotations

from typing import Any

from recollect.storage.driver import Driver
from recollect.storage.sqlite import SqliteDriver


class Counted:
    """A driver that counts its transactions."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self.is_sqlite = isinstance(driver, SqliteDriver)
        self.reads = 0
        self.writes = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)

    async def read(self, *given: Any, **named: Any) -> Any:
        """Count a snapshot."""
        self.reads += 1
        return await self._driver.read(*given, **named)

    async def write(self, *given: Any, **named: Any) -> Any:
        """Count a transaction that writes."""
        self.writes += 1
        return await self._driver.write(*given, **named)
