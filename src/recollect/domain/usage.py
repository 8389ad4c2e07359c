"""What models cost: an entry of the ledger, and what entries add up to.

Counts and ids only: an entry never holds a word that was said.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import datetime

import msgspec

from recollect.domain.checks import (
    as_utc,
    check_count,
    check_id,
    check_limit,
    check_optional_id,
    check_optional_time,
    check_time,
    check_type,
)
from recollect.domain.price import Cost, Prices, cost_of
from recollect.domain.turn import TurnRecord, Usage
from recollect.errors import InvalidInputError

#: The kind of work that answers a person.
CHAT = "chat"
#: Stands for a model whose name nobody told.
UNNAMED_MODEL = "unknown"


class UsageEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What one piece of work spent on one model."""

    id: str
    at: datetime
    #: What the work was: `chat`, `summarise`, `extract`, `title`, `embed`, …
    kind: str
    model: str
    usage: Usage
    conversation_id: str | None = None
    job_id: str | None = None
    #: How many calls of the model it was.
    calls: int = 1
    #: How many of these calls were not counted by the provider, so that their tokens are our estimate.
    estimated: int = 0

    def __post_init__(self) -> None:
        check_id(self.id, "usage id")
        check_time(self.at, "at")
        check_id(self.kind, "kind of work")
        check_id(self.model, "model")
        check_type(self.usage, Usage, "usage")
        check_optional_id(self.conversation_id, "conversation id")
        check_optional_id(self.job_id, "job id")
        check_count(self.calls, "calls", at_least=1)
        check_count(self.estimated, "estimated", at_most=self.calls)


class UsageQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which entries to add up: all of the user, or those of one conversation, one job or one period."""

    conversation_id: str | None = None
    job_id: str | None = None
    #: From this time on, it included.
    since: datetime | None = None
    #: Before this time.
    until: datetime | None = None
    #: How many conversations and jobs to name, those that cost most first.
    limit: int = 20
    #: What models cost; without it only tokens are added up.
    prices: Prices | None = None

    def __post_init__(self) -> None:
        check_optional_id(self.conversation_id, "conversation id")
        check_optional_id(self.job_id, "job id")
        check_optional_time(self.since, "since")
        check_optional_time(self.until, "until")
        check_limit(self.limit)
        if self.prices is not None:
            check_type(self.prices, Prices, "prices")
        if self.since is not None and self.until is not None and self.until < self.since:
            raise InvalidInputError("until must not be before since")


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """What some entries add up to."""

    input_tokens: int = 0
    output_tokens: int = 0
    calls: int = 0
    #: How many of the calls are our estimate.
    estimated: int = 0
    #: What they cost, if that is known of any.
    cost: Cost | None = None

    @property
    def tokens(self) -> int:
        """Tell how many tokens were read and written."""
        return self.input_tokens + self.output_tokens


class Share(msgspec.Struct, frozen=True):
    """The part of the spending that has one name: a kind of work, a model, a conversation or a job."""

    name: str
    spent: Spent


class UsageTotals(msgspec.Struct, frozen=True, kw_only=True):
    """What a user's models cost; each list names what cost most first."""

    total: Spent = Spent()
    by_kind: tuple[Share, ...] = ()
    by_model: tuple[Share, ...] = ()
    #: The conversations that cost most; the rest, and work for no conversation, is in the total only.
    by_conversation: tuple[Share, ...] = ()
    #: The jobs that cost most, with all their attempts.
    by_job: tuple[Share, ...] = ()
    #: The ids of entries that are damaged and not counted.
    corrupt: tuple[str, ...] = ()


def usage_id(*parts: str) -> str:
    """Return an id that the same parts always have, so that what is entered twice counts once."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        raw = part.encode()
        digest.update(len(raw).to_bytes(8, "big") + raw)
    return digest.hexdigest()


def turn_entry(record: TurnRecord) -> UsageEntry | None:
    """Return what a turn enters into the ledger, or None if it spent nothing."""
    usage = record.usage
    if not (usage.input_tokens or usage.output_tokens):
        return None
    model = record.model or UNNAMED_MODEL
    conversation_id = record.append.conversation_id
    return UsageEntry(
        id=usage_id(conversation_id, record.id, model),
        at=as_utc(record.append.at),
        kind=CHAT,
        model=model,
        usage=usage,
        conversation_id=conversation_id,
    )


def added_up(entries: Iterable[UsageEntry], query: UsageQuery, corrupt: tuple[str, ...] = ()) -> UsageTotals:
    """Return the total of the entries, and their shares by kind, model, conversation and job."""
    found = tuple(entries)
    limit, prices = query.limit, query.prices
    return UsageTotals(
        total=_sum(found, prices),
        by_kind=_shares(((entry.kind, entry) for entry in found), prices),
        by_model=_shares(((entry.model, entry) for entry in found), prices),
        by_conversation=_shares(((entry.conversation_id, entry) for entry in found), prices)[:limit],
        by_job=_shares(((entry.job_id, entry) for entry in found), prices)[:limit],
        corrupt=corrupt,
    )


def _shares(named: Iterable[tuple[str | None, UsageEntry]], prices: Prices | None) -> tuple[Share, ...]:
    by_name: dict[str, list[UsageEntry]] = defaultdict(list)
    for name, entry in named:
        if name is not None:
            by_name[name].append(entry)
    shares = (Share(name, _sum(entries, prices)) for name, entries in by_name.items())
    return tuple(sorted(shares, key=lambda share: (-share.spent.tokens, share.name)))


def _sum(entries: Collection[UsageEntry], prices: Prices | None) -> Spent:
    read = written = calls = estimated = 0
    for entry in entries:
        read += entry.usage.input_tokens
        written += entry.usage.output_tokens
        calls += entry.calls
        estimated += entry.estimated
    cost = cost_of(((entry.model, entry.usage) for entry in entries), prices)
    return Spent(input_tokens=read, output_tokens=written, calls=calls, estimated=estimated, cost=cost)
