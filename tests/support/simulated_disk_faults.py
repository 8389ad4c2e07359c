"""Decide which operation of a simulated disk fails, and with which SQLite code.

Only counting happens here; the disk itself knows what a failed operation leaves behind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Literal

import apsw

FaultKind = Literal["io_error", "full", "read_only", "short_read"]
CountedOperation = Literal["open", "access", "size", "read", "write", "truncate", "sync", "delete"]

#: The code that each kind of fault gives to each operation; an operation that is not named goes on as usual.
CODES: Mapping[FaultKind, Mapping[CountedOperation, int]] = {
    "io_error": {
        "open": apsw.SQLITE_CANTOPEN,
        "access": apsw.SQLITE_IOERR_ACCESS,
        "size": apsw.SQLITE_IOERR_FSTAT,
        "read": apsw.SQLITE_IOERR_READ,
        "write": apsw.SQLITE_IOERR_WRITE,
        "truncate": apsw.SQLITE_IOERR_TRUNCATE,
        "sync": apsw.SQLITE_IOERR_FSYNC,
        "delete": apsw.SQLITE_IOERR_DELETE,
    },
    "full": {"write": apsw.SQLITE_FULL},
    "read_only": {
        "open": apsw.SQLITE_READONLY,
        "write": apsw.SQLITE_READONLY,
        "truncate": apsw.SQLITE_READONLY,
        "delete": apsw.SQLITE_IOERR_DELETE,
    },
    "short_read": {"read": apsw.SQLITE_IOERR_SHORT_READ},
}


class Faults:
    """Count the operations of one disk and name those that fail."""

    def __init__(self) -> None:
        self.counts: Counter[CountedOperation] = Counter()
        self.failures = 0
        self._codes: Mapping[CountedOperation, int] | None = None
        self._remaining = 0
        self._once = True

    def arm(self, kind: FaultKind, at: int, *, once: bool) -> None:
        """Fail the first operation that the kind can hit, from the `at`-th from now on."""
        if at < 1:
            raise ValueError(f"at must be at least 1, not {at}")
        self._codes, self._remaining, self._once = CODES[kind], at, once

    def disarm(self) -> None:
        """Let every operation succeed again."""
        self._codes = None

    def count(self, operation: CountedOperation) -> int:
        """Count the operation and return the code with which it fails, or zero."""
        self.counts[operation] += 1
        if self._codes is None:
            return 0
        self._remaining -= 1
        if self._remaining > 0:
            return 0
        code = self._codes.get(operation, 0)
        if code:
            self.failures += 1
            if self._once:
                self.disarm()
        return code


def error_for(code: int, operation: CountedOperation) -> Exception:
    """Build the apsw error for the code, with a message that tells it from a real one."""
    error = apsw.exception_for(code)
    error.args = (f"simulated fault on {operation}",)
    return error
