"""What `Account` looks like to blocking callers; written by `python -m tests.support.blocking_signatures`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from recollect.domain.erasure import Receipt
from recollect.domain.exported_knowledge import UserRecord
from recollect.domain.scope import Scope
from recollect.service.importing import Imported


class BlockingAccount(Protocol):
    """What a user can do with all that is theirs."""

    def export(self, scope: Scope) -> Iterator[UserRecord]:
        """Give everything of the user: conversations with summaries, memories with history, notes, preferences."""

    def import_lines(self, scope: Scope, lines: Iterator[bytes], *, trusted: bool = False) -> Imported:
        """Take in the lines of an export, this user's or another's, and return what was stored."""

    def erase(self, scope: Scope) -> Receipt:
        """Erase everything of the user, and return the receipt; whatever comes later starts afresh."""
