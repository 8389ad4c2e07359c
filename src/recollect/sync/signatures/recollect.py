"""What `Recollect` looks like to blocking callers; written by `python -m tests.support.blocking_signatures`."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

from recollect.ports.meter import Meter
from recollect.ports.tracer import Tracer
from recollect.sync.signatures.account import BlockingAccount
from recollect.sync.signatures.chat import BlockingChat
from recollect.sync.signatures.chatmodel import BlockingChatModel
from recollect.sync.signatures.contexts import BlockingContexts
from recollect.sync.signatures.conversations import BlockingConversations
from recollect.sync.signatures.embedder import BlockingEmbedder
from recollect.sync.signatures.embedding import BlockingEmbedding
from recollect.sync.signatures.events import BlockingEvents
from recollect.sync.signatures.forgetting import BlockingForgetting
from recollect.sync.signatures.identity import BlockingIdentity
from recollect.sync.signatures.jobs import BlockingJobs
from recollect.sync.signatures.learner import BlockingLearner
from recollect.sync.signatures.ledger import BlockingLedger
from recollect.sync.signatures.lifecycle import BlockingLifecycle
from recollect.sync.signatures.memories import BlockingMemories
from recollect.sync.signatures.notes import BlockingNotes
from recollect.sync.signatures.overviews import BlockingOverviews
from recollect.sync.signatures.readinesscheck import BlockingReadinessCheck
from recollect.sync.signatures.recall import BlockingRecall
from recollect.sync.signatures.store import BlockingStore
from recollect.sync.signatures.streams import BlockingStreams
from recollect.sync.signatures.userpreferences import BlockingUserPreferences
from recollect.sync.signatures.worker import BlockingWorker


class BlockingRecollect(Protocol):
    """Everything an application calls; made by `recollect.open`."""

    store: BlockingStore
    chat: BlockingChat
    streams: BlockingStreams
    conversations: BlockingConversations
    contexts: BlockingContexts
    memories: BlockingMemories
    learner: BlockingLearner
    recall: BlockingRecall
    forgetting: BlockingForgetting
    notes: BlockingNotes
    preferences: BlockingUserPreferences
    embedding: BlockingEmbedding
    lifecycle: BlockingLifecycle
    ledger: BlockingLedger
    overview: BlockingOverviews
    readiness: BlockingReadinessCheck
    identity: BlockingIdentity
    jobs: BlockingJobs
    account: BlockingAccount
    worker: BlockingWorker
    events: BlockingEvents
    embedder: BlockingEmbedder
    model: BlockingChatModel | None
    meter: Meter
    tracer: Tracer

    def close(self) -> None:
        """Finish what was accepted, give back what is under way, then release everything."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
