"""The cost ledger: what each piece of work spends on models is entered to its user, conversation and job.

A bill is open while the work is done; at its end what was spent is entered, also if the work failed or was cancelled.
The work never fails because of its bill: an entry that the store does not take waits for the next one that it does.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext

import msgspec

from recollect.domain.checks import check_id
from recollect.domain.job import Job
from recollect.domain.price import Prices
from recollect.domain.scope import Scope
from recollect.domain.usage import UsageEntry, UsageQuery, UsageTotals, usage_id
from recollect.errors import RecollectError, StorageError
from recollect.ports.bill import Bill, Charge, current_bill, paying
from recollect.ports.clock import Clock
from recollect.ports.meter import Meter, NoMeter
from recollect.ports.usage import UsageStore
from recollect.service.job_attempts import Handler

_log = logging.getLogger(__name__)
#: Entries that wait for a store that does not answer; the oldest go first if there are more.
MAX_UNWRITTEN = 10_000


class _Work(msgspec.Struct, frozen=True, kw_only=True):
    """What a bill is for."""

    scope: Scope
    kind: str
    conversation_id: str | None
    job_id: str | None
    #: What the ids of the entries are made of, together with the model.
    id_parts: tuple[str, ...]


class _OpenBill(Bill):
    """A bill that hands on what is added after it was closed, as a call does that outlives its work."""

    def __init__(self, late: Callable[[str, Charge], None]) -> None:
        super().__init__()
        self._late = late
        self._is_closed = False

    def add(self, model: str, charge: Charge) -> None:
        """Add what a call cost."""
        if self._is_closed:
            self._late(model, charge)
        else:
            super().add(model, charge)

    def close(self) -> None:
        """Take no more."""
        self._is_closed = True


class Ledger:
    """Open bills, and enter what they come to."""

    def __init__(
        self,
        store: UsageStore,
        *,
        clock: Clock,
        new_id: Callable[[], str],
        meter: Meter | None = None,
        prices: Prices | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id
        self._prices = prices
        self._unwritten: deque[tuple[Scope, UsageEntry]] = deque()
        self._writing: set[asyncio.Task[None]] = set()
        (meter or NoMeter()).gauge("recollect.usage.unwritten", lambda: len(self._unwritten))

    @asynccontextmanager
    async def bill(
        self,
        scope: Scope,
        *,
        kind: str,
        conversation_id: str | None = None,
        job_id: str | None = None,
        turn_id: str | None = None,
    ) -> AsyncIterator[Bill]:
        """Let what models spend in the block be entered at its end, in one entry for each model.

        A turn that has a conversation enters its own usage: settle it once the turn is recorded.
        If that is not known, the entry made here is the same one, and counts once.
        """
        check_id(kind, "kind of work")
        by_turn = (conversation_id, turn_id) if conversation_id is not None and turn_id is not None else None
        work = _Work(
            scope=scope,
            kind=kind,
            conversation_id=conversation_id,
            job_id=job_id,
            id_parts=by_turn or (self._new_id(),),
        )
        bill = _OpenBill(lambda model, late: self._enter_late(work, model, late))
        try:
            with paying(bill):
                yield bill
        finally:
            bill.close()
            entries = [self._entry(work, model, charge) for model, charge in bill.take().items()]
            if entries:
                await self._to_its_end(scope, entries)

    def covering(
        self, scope: Scope, *, kind: str, conversation_id: str | None = None
    ) -> AbstractAsyncContextManager[Bill | None]:
        """Open a bill unless the block is part of work that has one."""
        if current_bill() is not None:
            return nullcontext()
        return self.bill(scope, kind=kind, conversation_id=conversation_id)

    def billed(self, kind: str, handler: Handler) -> Handler:
        """Return the handler with a bill around each attempt of its jobs."""

        async def with_bill(scope: Scope, job: Job) -> None:
            async with self.bill(scope, kind=kind, conversation_id=job.conversation_id, job_id=job.id):
                await handler(scope, job)

        return with_bill

    async def totals(self, scope: Scope, query: UsageQuery | None = None) -> UsageTotals:
        """Add up what the user's models cost, at the prices of the settings unless the query has others."""
        asked = query or UsageQuery()
        if asked.prices is None and self._prices is not None:
            asked = msgspec.structs.replace(asked, prices=self._prices)
        return await self._store.usage_totals(scope, asked)

    async def flush(self) -> int:
        """Wait for entries under way, try once more what the store did not take, and return how many are left."""
        while self._writing:
            await asyncio.wait(self._writing)
        await self._catch_up()
        return len(self._unwritten)

    def _entry(self, work: _Work, model: str, charge: Charge) -> UsageEntry:
        return UsageEntry(
            id=usage_id(*work.id_parts, model),
            at=self._clock(),
            kind=work.kind,
            model=model,
            usage=charge.usage,
            conversation_id=work.conversation_id,
            job_id=work.job_id,
            calls=charge.calls,
            estimated=charge.estimated,
        )

    def _enter_late(self, work: _Work, model: str, charge: Charge) -> None:
        """Enter what a call cost that ended after its bill."""
        fresh = msgspec.structs.replace(work, id_parts=(self._new_id(),))
        late = Bill()
        late.add(model, charge)
        self._begin(work.scope, [self._entry(fresh, name, cost) for name, cost in late.take().items()])

    async def _to_its_end(self, scope: Scope, entries: list[UsageEntry]) -> None:
        """Write the entries, to the end also if whoever waits is cancelled."""
        await asyncio.wait({self._begin(scope, entries)})

    def _begin(self, scope: Scope, entries: list[UsageEntry]) -> asyncio.Task[None]:
        writing = asyncio.create_task(self._write(scope, entries))
        self._writing.add(writing)
        writing.add_done_callback(self._ended)
        return writing

    def _ended(self, writing: asyncio.Task[None]) -> None:
        self._writing.discard(writing)
        if not writing.cancelled() and (error := writing.exception()) is not None:
            _log.error("a bill could not be entered in the ledger: %s", type(error).__name__)

    async def _write(self, scope: Scope, entries: list[UsageEntry]) -> None:
        is_taken = True
        for entry in entries:
            is_taken = await self._enter(scope, entry) and is_taken
        if is_taken:
            await self._catch_up()

    async def _catch_up(self) -> None:
        """Write what waits, oldest first, until the store does not take one."""
        for _ in range(len(self._unwritten)):
            if not self._unwritten or not await self._enter(*self._unwritten.popleft()):
                return

    async def _enter(self, scope: Scope, entry: UsageEntry) -> bool:
        """Write one entry, or keep it for later; tell whether the store answers."""
        try:
            await self._store.record_usage(scope, entry)
        except StorageError as exc:
            _log.warning("%s is not entered in the ledger yet: %s", _told(entry), exc.code)
            self._unwritten.append((scope, entry))
            if len(self._unwritten) > MAX_UNWRITTEN:
                _log.error("%s is lost to the ledger: too much waits", _told(self._unwritten.popleft()[1]))
            return False
        except RecollectError as exc:
            _log.error("%s is lost to the ledger: %s", _told(entry), exc.code)
        return True


def _told(entry: UsageEntry) -> str:
    """Tell what was spent, so that it can be entered by hand."""
    usage = entry.usage
    return f"usage {entry.id} ({entry.kind}, {entry.model}, {usage.input_tokens} read, {usage.output_tokens} written)"
