"""Keep a conversation short: plan a step, have it written, store it in one transaction, and plan again.

Nothing is held between the steps, so a crash anywhere leaves every message verbatim or covered once.
The one place that decides when the built-in generator stands in for one that fails.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any, Self, TypeVar

import msgspec

from recollect.domain.candidate import BROUGHT
from recollect.domain.checks import MAX_LIMIT, check_id, later
from recollect.domain.context import UNTRUSTED
from recollect.domain.job import Job, JobQuery, JobState
from recollect.domain.message import Message
from recollect.domain.scope import Scope
from recollect.domain.summary import NewSummary
from recollect.domain.window import Backlog
from recollect.errors import (
    CircuitOpenError,
    ConflictError,
    InvalidInputError,
    ProviderError,
    ProviderOutputError,
    ProviderUnavailableError,
)
from recollect.history.checking import checked_summary, length_of
from recollect.history.extractive import AT_MOST
from recollect.history.generators import Generators
from recollect.history.plan import Fold, PlanSettings, Summarise, next_step
from recollect.history.strategies import SUMMARISE
from recollect.ports.clock import Clock
from recollect.ports.store import Store
from recollect.ports.strategy import Compacted, Work
from recollect.ports.summary_generator import SummaryGenerator
from recollect.service.keeping import EXTRACT
from recollect.settings import HistorySettings

_log = logging.getLogger(__name__)
#: Conflicts in a row after which somebody else is left to it.
MOST_CONFLICTS = 2
#: How long a generator that is told to stop may take to release what it holds.
_FAREWELL = 1.0

T = TypeVar("T")


class CompactionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How short conversations are kept, and what one call may take."""

    plan: PlanSettings = PlanSettings()
    delete_originals: bool = False
    #: Whether memories are learned from messages; then no original is deleted before that.
    learns: bool = False
    #: How long a job waits for that before it looks again.
    learning_time: timedelta = timedelta(minutes=1)
    #: Characters of a summary.
    at_most: int = AT_MOST
    #: How long a generator may take for one summary; a model has limits of its own that are shorter.
    time_limit: timedelta = timedelta(minutes=6)
    #: Summaries that one call writes.
    steps: int = 50
    #: After this time a call begins no other summary, so that a slow model and a long import still are short jobs.
    call_time: timedelta = timedelta(minutes=5)

    @classmethod
    def of(cls, settings: HistorySettings, *, learns: bool = False) -> Self:
        """Return what these settings mean."""
        plan = PlanSettings(threshold=settings.threshold, keep_verbatim=settings.keep_verbatim)
        return cls(plan=plan, delete_originals=settings.delete_originals, learns=learns)


class _Written(msgspec.Struct, frozen=True):
    """A summary that passed every check, and who wrote it."""

    text: str
    generator: str


class Compactor:
    """Summarise and fold what is due.

    If the first generator fails, its error is raised, so that the job is tried again later.
    Once so much waits that the prompt would grow without bound, the fallback writes at once instead.
    """

    def __init__(
        self,
        store: Store,
        generators: Generators,
        settings: CompactionSettings,
        *,
        clock: Clock,
        new_id: Callable[[], str],
    ) -> None:
        self._store = store
        self._generators = generators
        self._settings = settings
        self._clock = clock
        self._new_id = new_id

    async def compact(self, scope: Scope, conversation_id: str) -> Compacted:
        """Write the summaries that are due, at least one of them, but not more than one call may.

        Originals to be deleted are learned from first: while a job is about to do that, another one is queued to look
        again. Where learning failed they are kept for good.
        """
        done = await self._compact(scope, conversation_id)
        if done.waits:
            await self._look_again(scope, conversation_id, self._settings.learning_time)
        return done

    async def _compact(self, scope: Scope, conversation_id: str) -> Compacted:
        summaries = folds = conflicts = 0
        end = later(self._clock(), self._settings.call_time)
        while summaries + folds < self._settings.steps and (not summaries + folds or self._clock() < end):
            backlog, step = await self._plan(scope, conversation_id)
            if step is None:
                return Compacted(summaries=summaries, folds=folds)
            if self._is_early(backlog, step) and await self._is_learning(scope, conversation_id):
                return Compacted(summaries=summaries, folds=folds, waits=True)
            try:
                await self._carry_out(scope, backlog, step)
            except ConflictError:
                conflicts += 1
                if conflicts > MOST_CONFLICTS:
                    raise
                continue
            conflicts = 0
            summaries += isinstance(step, Summarise)
            folds += isinstance(step, Fold)
        return Compacted(summaries=summaries, folds=folds, more=True)

    async def summarise_job(self, scope: Scope, job: Job) -> None:
        """Do a job of the kind "summarise", and queue another if there is more to do than one may take."""
        conversation_id = job.conversation_id
        if conversation_id is None:
            raise InvalidInputError("a job to summarise names no conversation")
        if (await self.compact(scope, conversation_id)).more:
            await self._look_again(scope, conversation_id, timedelta(0))

    async def _look_again(self, scope: Scope, conversation_id: str, wait: timedelta) -> None:
        now = self._clock()
        job = Work(kind=SUMMARISE).job(conversation_id, self._new_id(), later(now, wait))
        await self._store.enqueue_job(scope, job, now)

    def _deletes(self, backlog: Backlog) -> bool:
        """Tell whether summaries take the place of messages; other branches may still show what this one summarises."""
        return self._settings.delete_originals and not backlog.conversation.is_branched

    def _is_early(self, backlog: Backlog, step: Summarise | Fold) -> bool:
        """Tell whether a summary would take the place of messages that nobody has learned from."""
        if not self._settings.learns or not self._deletes(backlog) or isinstance(step, Fold):
            return False
        return any(message.seq > backlog.conversation.extracted_seq for message in step.messages)

    async def _is_learning(self, scope: Scope, conversation_id: str) -> bool:
        """Tell whether a job is about to learn from the conversation and has not failed yet."""
        states: tuple[JobState, ...] = ("queued", "running")
        for state in states:
            found = await self._store.list_jobs(scope, JobQuery(conversation_id=conversation_id, state=state))
            if any(job.kind == EXTRACT and job.error is None for job in found):
                return True
        return False

    async def _plan(self, scope: Scope, conversation_id: str) -> tuple[Backlog, Summarise | Fold | None]:
        """Return the next step, from as few messages as it takes: mostly one batch, more where tools or branches do."""
        plan = self._settings.plan
        limit = min(plan.threshold + 2 * plan.batch, MAX_LIMIT)
        while True:
            backlog = await self._store.get_backlog(scope, conversation_id, limit)
            step = next_step(
                backlog.messages, backlog.summaries, plan, elsewhere=backlog.elsewhere, apart=backlog.apart
            )
            if step is not None and self._is_early(backlog, step):
                return backlog, self._learned_part(backlog) or step
            if step is not None or limit == MAX_LIMIT or _is_whole(backlog):
                return backlog, step
            limit = min(4 * limit, MAX_LIMIT)

    def _learned_part(self, backlog: Backlog) -> Summarise | Fold | None:
        return next_step(
            backlog.messages,
            backlog.summaries,
            self._settings.plan,
            elsewhere=backlog.elsewhere,
            apart=backlog.apart,
            up_to=backlog.conversation.extracted_seq,
        )

    async def _carry_out(self, scope: Scope, backlog: Backlog, step: Summarise | Fold) -> None:
        written = await self._write(backlog, step)
        whole = isinstance(step, Summarise)
        new = NewSummary(
            id=self._new_id(),
            message_id=self._new_id(),
            conversation_id=backlog.conversation.id,
            content=written.text,
            at=self._clock(),
            generator=written.generator,
            message_ids=tuple(message.id for message in step.messages) if isinstance(step, Summarise) else (),
            folds=tuple(summary.id for summary in step.summaries) if isinstance(step, Fold) else (),
            delete_originals=whole and self._deletes(backlog) and not self._is_early(backlog, step),
            metadata={UNTRUSTED: True} if _is_untrusted(step) else {},
        )
        await self._store.put_summary(scope, new)

    async def _write(self, backlog: Backlog, step: Summarise | Fold) -> _Written:
        try:
            return await self._within_time(self._ask(self._generators.first, step))
        except ProviderError as exc:
            fallback = self._generators.fallback
            instead = fallback is not None and self._is_overdue(backlog)
            _log.warning(
                "a summary could not be written: %s; %s", exc.code, "the fallback writes it" if instead else "it waits"
            )
            if fallback is None or not instead:
                raise
        return await self._within_time(self._ask(fallback, step))

    def _is_overdue(self, backlog: Backlog) -> bool:
        return len(backlog.messages) > self._settings.plan.threshold + self._settings.plan.batch

    async def _ask(self, generator: SummaryGenerator, step: Summarise | Fold) -> _Written:
        """Have a step written and check all that comes back."""
        if not generator.is_available():
            raise CircuitOpenError("who writes summaries is not available now")
        at_most = self._settings.at_most
        if isinstance(step, Summarise):
            text: object = await generator.summarise(step.messages, at_most=at_most)
            covered = length_of(step.messages)
        else:
            text = await generator.fold(step.summaries, at_most=at_most)
            covered = length_of(step.summaries)
        name = check_id(generator.name, "the name of a generator", ProviderOutputError)
        return _Written(checked_summary(text, at_most=at_most, covered=covered), name)

    async def _within_time(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what comes of the work, or raise `ProviderError`, whatever the generator does or fails to do.

        It runs as a task of its own: one that does not end when told to is left behind.
        """
        task = asyncio.create_task(work)
        try:
            done, _ = await asyncio.wait((task,), timeout=self._settings.time_limit.total_seconds())
        finally:
            if not task.done():
                await _stop(task)
        if not done or task.cancelled():
            raise ProviderUnavailableError("who writes summaries took too long or gave up")
        return _result(task)


async def _stop(task: asyncio.Task[Any]) -> None:
    """Tell a task to stop, and wait a little until it did."""
    task.cancel()
    await asyncio.wait((task,), timeout=_FAREWELL)
    if task.done() and not task.cancelled():
        # What it fails with now is of no interest, and asyncio is not to complain that nobody looked.
        task.exception()


def _result(task: asyncio.Task[T]) -> T:
    error = task.exception()
    if error is None:
        return task.result()
    if isinstance(error, ProviderError):
        raise error
    raise ProviderOutputError(f"who writes summaries failed: {type(error).__name__}") from error


def _is_untrusted(step: Summarise | Fold) -> bool:
    """Tell whether a summary tells of what no person said here, and so must not speak with the voice of the system."""
    if isinstance(step, Fold):
        return any(summary.metadata.get(UNTRUSTED) for summary in step.summaries)
    return any(_is_brought(message) for message in step.messages)


def _is_brought(message: Message) -> bool:
    is_output = message.role == "tool" or any(call.output is not None for call in message.tool_calls)
    return is_output or message.metadata.get("origin") in BROUGHT


def _is_whole(backlog: Backlog) -> bool:
    """Tell whether the backlog goes up to the head."""
    head = backlog.conversation.head_id
    if backlog.messages:
        return backlog.messages[-1].id == head
    return head is None or (bool(backlog.summaries) and backlog.summaries[-1].last_message_id == head)
