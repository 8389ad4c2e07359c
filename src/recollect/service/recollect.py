"""The whole service behind one object."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from recollect.ports.chat_model import ChatModel
    from recollect.ports.embedder import Embedder
    from recollect.ports.events import Events
    from recollect.ports.meter import Meter
    from recollect.ports.store import Store
    from recollect.ports.tracer import Tracer
    from recollect.service.account import Account
    from recollect.service.chat import Chat
    from recollect.service.context import Contexts
    from recollect.service.conversations import Conversations
    from recollect.service.embedding import Embedding
    from recollect.service.forgetting import Forgetting
    from recollect.service.identity import Identity
    from recollect.service.jobs import Jobs
    from recollect.service.learning import Learner
    from recollect.service.ledger import Ledger
    from recollect.service.lifecycle import Lifecycle
    from recollect.service.memories import Memories
    from recollect.service.notes import Notes
    from recollect.service.overview import Overviews
    from recollect.service.preferences import UserPreferences
    from recollect.service.readiness import ReadinessCheck
    from recollect.service.recall import Recall
    from recollect.service.streams import Streams
    from recollect.service.worker import Worker


class UseCases(NamedTuple):
    """What an application can do."""

    chat: Chat
    streams: Streams
    conversations: Conversations
    contexts: Contexts
    memories: Memories
    learner: Learner
    recall: Recall
    forgetting: Forgetting
    notes: Notes
    preferences: UserPreferences
    embedding: Embedding
    lifecycle: Lifecycle
    ledger: Ledger
    overview: Overviews
    readiness: ReadinessCheck
    identity: Identity
    jobs: Jobs
    account: Account


class Outside(NamedTuple):
    """What the service uses and closes."""

    events: Events
    embedder: Embedder
    model: ChatModel | None
    meter: Meter
    #: Tell all counts as Prometheus reads them.
    metrics: Callable[[], bytes]
    tracer: Tracer


class Recollect:
    """Everything an application calls; made by `recollect.open`."""

    def __init__(self, store: Store, use: UseCases, *, worker: Worker, outside: Outside) -> None:
        #: The store, for what has no use case of its own.
        self.store = store
        #: Chat turns.
        self.chat: Chat = use.chat
        #: Chat turns that are followed while they are taken.
        self.streams: Streams = use.streams
        #: Conversations and their messages.
        self.conversations: Conversations = use.conversations
        #: What a model is given.
        self.contexts: Contexts = use.contexts
        #: What is remembered of a user, by hand.
        self.memories: Memories = use.memories
        #: Learning from conversations.
        self.learner: Learner = use.learner
        #: Finding what a question asks for.
        self.recall: Recall = use.recall
        #: Memories that nobody uses any more.
        self.forgetting: Forgetting = use.forgetting
        #: What agents note about a user.
        self.notes: Notes = use.notes
        #: What users set for themselves.
        self.preferences: UserPreferences = use.preferences
        #: The vectors of what was said and is known.
        self.embedding: Embedding = use.embedding
        #: Conversations that nobody uses any more.
        self.lifecycle: Lifecycle = use.lifecycle
        #: What models cost.
        self.ledger: Ledger = use.ledger
        #: Everything of a user at a glance.
        self.overview: Overviews = use.overview
        #: Whether it can do its work.
        self.readiness: ReadinessCheck = use.readiness
        #: Who calls, and the API keys they are known by.
        self.identity: Identity = use.identity
        #: The work of a user in the background.
        self.jobs: Jobs = use.jobs
        #: Everything of a user at once.
        self.account: Account = use.account
        #: The worker that does jobs in the background of this process.
        self.worker = worker
        #: What tells a user's sessions that something changed.
        self.events: Events = outside.events
        #: What turns texts into vectors.
        self.embedder: Embedder = outside.embedder
        #: The language model, or None.
        self.model: ChatModel | None = outside.model
        #: What counts what is done.
        self.meter: Meter = outside.meter
        #: All counts, as Prometheus reads them.
        self.metrics = outside.metrics
        #: What traces what is done.
        self.tracer: Tracer = outside.tracer

    async def close(self) -> None:
        """Finish what was accepted, give back what is under way, then release everything."""
        await self.streams.close()
        await self.worker.stop()
        if self.model is not None:
            await self.model.close()
        await self.ledger.flush()
        await self.identity.close()
        await self.embedder.close()
        await self.events.close()
        await self.store.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
