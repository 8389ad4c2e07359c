"""Learn memories from what was said: read what is new, have it extracted, save it once and move the mark.

The model is asked before anything is written, and what it found is saved with the mark and the end of the job in one
transaction, so a crash anywhere leaves the range to be read again or saved exactly once.
"""

from __future__ import annotations

import logging
from datetime import timedelta

import msgspec

from recollect.domain.candidate import WAITING, Candidate
from recollect.domain.checks import check_id
from recollect.domain.context import may_instruct
from recollect.domain.job import Claim, Job
from recollect.domain.memory import Extraction, Memory, MemoryQuery, NewMemory, SavedMemories, Source, Trust
from recollect.domain.memory_plan import Plan
from recollect.domain.scope import Scope
from recollect.domain.turn import MODES, Mode, Usage
from recollect.domain.window import Unextracted
from recollect.errors import ConflictError, InvalidInputError, ProviderError
from recollect.extraction.extractors import Extractors
from recollect.ports.extractor import Extracted, ExtractionRequest
from recollect.ports.store import Store
from recollect.ports.strategy import Work
from recollect.ports.tracer import CONVERSATION, RECORDS, operation
from recollect.service.keeping import EXTRACT
from recollect.service.means import Means
from recollect.service.memories import MEMORY_CREATED, MEMORY_UPDATED
from recollect.service.memory_writer import MemoryWriter, Written

_log = logging.getLogger(__name__)
#: Messages that are read at once, and messages before them that help to understand them.
READ, CONTEXT = 40, 6
#: Memories that are shown to a model so that it can tell an update from a repetition.
SHOWN = 30
#: How often a range is read again because somebody else learned from it or something in it was erased.
MOST_CONFLICTS = 3


class LearningOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What is worth learning."""

    #: Keep a memory only from this importance on.
    threshold: float = 0.3


class Learned(msgspec.Struct, frozen=True, kw_only=True):
    """What was learned from a conversation."""

    memories: tuple[Memory, ...] = ()
    changed: tuple[Memory, ...] = ()
    #: How many messages were read; none while the user wants nothing learned.
    read: int = 0
    #: How many proposals were rejected.
    rejected: int = 0
    usage: Usage = Usage()


class Learner:
    """Extract memories, each range of a conversation once."""

    def __init__(
        self,
        store: Store,
        writer: MemoryWriter,
        extractors: Extractors,
        means: Means,
        options: LearningOptions,
    ) -> None:
        self._store = store
        self._writer = writer
        self._extractors = extractors
        self._means = means
        self._options = options

    async def queue(self, scope: Scope, conversation_id: str, mode: Mode = "chat") -> Job:
        """Have a worker learn from what is new in a conversation, now; return the job."""
        await self._store.get_conversation(scope, conversation_id)
        now = self._means.clock()
        job = Work(kind=EXTRACT, payload={"mode": mode}).job(conversation_id, self._means.new_id(), now)
        # A key of its own, for the job that waits for more messages is not to be waited for.
        job = msgspec.structs.replace(job, key=f"{job.key}:now", max_delay=timedelta(0))
        queued = await self._store.enqueue_job(scope, job, now)
        self._means.wake(now)
        return queued

    async def extract_job(self, scope: Scope, job: Job) -> None:
        """Learn from what is new in a conversation."""
        if job.conversation_id is None:
            raise InvalidInputError("a job to learn from a conversation names none")
        mode = job.payload.get("mode", "chat")
        claim = Claim(job.id, job.worker or "", job.attempts)
        await self.learn(scope, job.conversation_id, mode=mode if mode in MODES else "chat", claim=claim)

    async def learn(
        self, scope: Scope, conversation_id: str, *, mode: Mode = "chat", claim: Claim | None = None
    ) -> Learned:
        """Extract what is new in a conversation and save it; return what was learned.

        While the user has memory switched off nothing is, and what is new then will not be learned later.
        Raise `ConversationNotFoundError` if there is no such conversation, `ProviderError` if nobody could extract.
        """
        check_id(conversation_id, "conversation id")
        with operation(self._means.tracer, "upsert_memory", **{CONVERSATION: conversation_id}) as span:
            async with self._means.ledger.covering(scope, kind=EXTRACT, conversation_id=conversation_id):
                learned = await self._learn(scope, conversation_id, mode, claim)
            span.set(RECORDS, len(learned.memories) + len(learned.changed))
            return learned

    async def _learn(self, scope: Scope, conversation_id: str, mode: Mode, claim: Claim | None) -> Learned:
        learned = Learned()
        conflicts = 0
        while True:
            unread = await self._store.list_unextracted(scope, conversation_id, READ, CONTEXT)
            if unread.to_seq == unread.from_seq:
                return learned
            try:
                step = await self._learn_range(scope, unread, mode, None if unread.more else claim)
            except ConflictError as exc:
                _log.info("what was read of %s changed meanwhile: %s", conversation_id, exc.code)
                conflicts += 1
                if conflicts > MOST_CONFLICTS:
                    raise ConflictError("the conversation keeps changing while it is read; try again") from exc
                continue
            learned, conflicts = _plus(learned, step), 0
            if not unread.more:
                return learned

    async def _learn_range(self, scope: Scope, unread: Unextracted, mode: Mode, claim: Claim | None) -> Learned:
        wants = bool(unread.messages) and await self._is_wanted(scope)
        extracted = await self._extracted(scope, unread, mode) if wants else Extracted()
        if extracted.candidates and not await self._is_wanted(scope):
            extracted = Extracted(usage=extracted.usage)
        new = tuple(self._memory(scope, unread.conversation_id, one) for one in extracted.candidates)

        async def save(plan: Plan, revision: int) -> SavedMemories:
            result = Extraction(
                conversation_id=unread.conversation_id,
                from_seq=unread.from_seq,
                to_seq=unread.to_seq,
                at=self._means.clock(),
                new=plan.new,
                edits=plan.edits,
                claim=claim,
                memory_revision=revision,
                read=tuple(message.id for message in (*unread.context, *unread.messages)),
            )
            return await self._store.save_extraction(scope, result)

        written = await self._writer.write(scope, new, save)
        self._tell(scope, written)
        return Learned(
            memories=written.saved.created,
            changed=written.saved.changed,
            read=len(unread.messages) if wants else 0,
            rejected=sum(extracted.rejected.values()),
            usage=extracted.usage,
        )

    async def _is_wanted(self, scope: Scope) -> bool:
        """Tell whether the user wants anything learned; what is said while not is passed by for good."""
        return (await self._store.get_preferences(scope)).memory_enabled

    async def _extracted(self, scope: Scope, unread: Unextracted, mode: Mode) -> Extracted:
        request = ExtractionRequest(
            messages=unread.messages,
            context=unread.context,
            mode=mode,
            known=await self._known(scope),
            now=self._means.clock(),
            threshold=self._options.threshold,
        )
        self._means.meter.add("memory.extraction.count")
        try:
            extracted = await self._asked(request, waiting=unread.more)
        except BaseException:  # whatever went wrong is counted and told to whoever asked
            self._means.meter.add("memory.extraction.errors")
            raise
        self._means.meter.add("memory.extraction.success")
        for reason, count in extracted.rejected.items():
            self._means.meter.add("memory.rejected.count", count, reason=reason)
        return extracted

    async def _known(self, scope: Scope) -> tuple[Memory, ...]:
        """Return what people said lately; what others said must not become a person's word by being shown."""
        page = await self._store.list_memories(scope, MemoryQuery(limit=SHOWN))
        return tuple(memory for memory in page.items if may_instruct(memory))

    async def _asked(self, request: ExtractionRequest, *, waiting: bool) -> Extracted:
        """Ask who is asked first, and the fallback where that one fails and so much waits that it never catches up."""
        try:
            return await self._extractors.first.extract(request)
        except ProviderError as exc:
            if self._extractors.fallback is None or not waiting:
                raise
            _log.warning("the built-in rules learn in place of a model that failed: %s", exc.code)
            return await self._extractors.fallback.extract(request)

    def _memory(self, scope: Scope, conversation_id: str, candidate: Candidate) -> NewMemory:
        trust: Trust = "pending" if candidate.origin in WAITING else "active"
        return NewMemory(
            id=self._means.new_id(),
            content=candidate.content,
            at=self._means.clock(),
            memory_type=candidate.memory_type,
            category=candidate.category,
            agent=scope.agent,
            importance=candidate.importance,
            confidence=candidate.confidence,
            origin=candidate.origin,
            trust=trust,
            quote=candidate.quote,
            conversation_id=conversation_id,
            sources=tuple(Source(conversation_id, one) for one in candidate.message_ids),
            subject=candidate.subject,
            attribute=candidate.attribute,
            valid_from=candidate.valid_from,
            valid_to=candidate.valid_to,
            denies=candidate.value if candidate.negated and not _names_value(candidate) else None,
        )

    def _tell(self, scope: Scope, written: Written) -> None:
        saved = written.saved
        changed = (*saved.changed, *written.archived)
        self._means.tell(scope, MEMORY_CREATED, (one.id for one in saved.created))
        self._means.tell(scope, MEMORY_UPDATED, (one.id for one in changed))


def _names_value(candidate: Candidate) -> bool:
    """Tell whether the slot is that of one value among many, as `likes: sushi` is."""
    return ":" in (candidate.attribute or "")


def _plus(one: Learned, other: Learned) -> Learned:
    return Learned(
        memories=(*one.memories, *other.memories),
        changed=(*one.changed, *other.changed),
        read=one.read + other.read,
        rejected=one.rejected + other.rejected,
        usage=Usage(
            input_tokens=one.usage.input_tokens + other.usage.input_tokens,
            output_tokens=one.usage.output_tokens + other.usage.output_tokens,
        ),
    )
