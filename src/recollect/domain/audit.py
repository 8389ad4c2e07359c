"""The audit trail: who changed what and when, in ids and counts, never in user text."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from recollect.domain.checks import check_limit, check_optional_id
from recollect.errors import InvalidCursorError


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One change that a person or an agent made."""

    id: str
    at: datetime
    agent: str
    #: What was done, as in the glossary: supersede, erase, pin, …
    action: str
    kind: str
    entity_id: str
    #: Counts, versions and states.
    detail: Mapping[str, Any]


class AuditQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which entries to list, newest first."""

    limit: int = 50
    before_id: str | None = None
    entity_id: str | None = None

    def __post_init__(self) -> None:
        check_limit(self.limit)
        check_optional_id(self.before_id, "cursor", InvalidCursorError)
        check_optional_id(self.entity_id, "entity id")
