"""In which order memories are listed, and which part of the list is meant."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, get_args

import msgspec

from recollect.domain.checks import check_limit, check_one_of, check_optional_id, check_optional_time
from recollect.errors import InvalidCursorError, InvalidInputError

#: By when they were added, or by how much they matter, those that matter most first and then the last added.
MemorySort = Literal["newest", "oldest", "importance"]

MEMORY_SORTS: tuple[str, ...] = get_args(MemorySort)


class MemoryListing(msgspec.Struct, frozen=True, kw_only=True):
    """A page of a list of memories."""

    limit: int = 50
    sort: MemorySort = "newest"
    #: The last memory of the page before, whatever the order is.
    before_id: str | None = None
    #: Only what was learned from this time on.
    since: datetime | None = None
    #: Only what was learned before this time.
    until: datetime | None = None

    def __post_init__(self) -> None:
        check_limit(self.limit)
        check_one_of(self.sort, MEMORY_SORTS, "sort")
        check_optional_id(self.before_id, "cursor", InvalidCursorError)
        check_optional_time(self.since, "since")
        check_optional_time(self.until, "until")
        if self.since is not None and self.until is not None and self.until < self.since:
            raise InvalidInputError("until must not be before since")
