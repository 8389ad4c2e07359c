"""The whole service on a real store, for one example after another.

A place holds the open database of a test; each example gets a user of its own there, so none sees another.
The worker does not run: a test says when jobs are done, and they are done as the worker does them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from itertools import count as numbers
from typing import Any, TypeVar

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy

from recollect.bootstrap import new_id
from recollect.cache.local import LocalWindows
from recollect.domain.job import ClaimRequest, Job, JobQuery
from recollect.domain.message import Message, NewMessage
from recollect.domain.page import MessageQuery
from recollect.domain.scope import Scope
from recollect.domain.summary import Summary
from recollect.domain.tool_pairs import joined
from recollect.domain.window import Window
from recollect.embedding.static import StaticEmbedder
from recollect.history.generators import ExtractiveGenerator, Generators
from recollect.history.strategies import SUMMARISE, open_strategy
from recollect.ports.chat_model import TextDelta
from recollect.ports.meter import NoMeter
from recollect.ports.responder import Hear, Question, Reply, Responder
from recollect.ports.store import Store
from recollect.ports.strategy import Strategy, StrategyParts
from recollect.ports.summary_generator import SummaryGenerator
from recollect.ports.windows import Load, WindowCache
from recollect.service.chat import Chat
from recollect.service.chat_request import ChatOptions
from recollect.service.compaction import CompactionSettings, Compactor
from recollect.service.context import ContextOptions, Contexts
from recollect.service.conversations import Conversations
from recollect.service.embedding import Embedding
from recollect.service.job_attempts import AttemptLimits, Attempts, Handler
from recollect.service.keeping import TIDY, Keeper, KeeperOptions, no_wake
from recollect.service.knowledge import Knowledge
from recollect.service.ledger import Ledger
from recollect.service.lifecycle import Lifecycle, LifecycleOptions
from recollect.service.means import Means
from recollect.service.notes import Notes
from recollect.service.patience import Pace, Patience
from recollect.service.recall import Recall
from recollect.service.tools import Toolbox
from recollect.service.turn_taking import ChatParts
from recollect.settings import HistorySettings
from recollect.storage.driver import Driver
from recollect.storage.local_events import LocalEvents
from recollect.storage.store import SqlStore
from recollect.testing.clock import FakeClock

T = TypeVar("T")
C = "c1"
#: How long a generator may take in these tests.
BRIEF = timedelta(milliseconds=10)


class WatchedWindows(LocalWindows):
    """A cache of windows that tells whether the last one asked for was held."""

    was_held = False

    async def get(self, scope: Scope, conversation_id: str, load: Load) -> Window:
        """Return the window, and remember whether it had to be read whole."""
        self.was_held = True

        async def watched(known: int | None) -> Window | None:
            self.was_held = known is not None
            return await load(known)

        return await super().get(scope, conversation_id, watched)


class Echo:
    """Answer what was asked, and keep the questions."""

    name = "echo"

    def __init__(self) -> None:
        self.questions: list[Question] = []

    async def reply(self, question: Question, hear: Hear) -> Reply:
        """Repeat the question."""
        self.questions.append(question)
        hear(TextDelta(f"You said: {question.text[:1000]}"))
        return Reply()


#: Read once, for it is the same for all.
EMBEDDER = StaticEmbedder()


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What an example decides of the service."""

    history: HistorySettings = HistorySettings()
    timeout: timedelta = timedelta(hours=24)
    retention: timedelta | None = None
    max_cached: int = 1000
    window_size: int = 20
    chat: ChatOptions = ChatOptions()
    #: Whether chat recalls what was said.
    recall: bool = False
    #: Parts of compaction that no setting names.
    compaction: dict[str, Any] = {}


class Rig:
    """The service of one example: its user, its clock, and whatever writes summaries and answers."""

    def __init__(
        self,
        driver: Driver,
        scope: Scope,
        options: Options,
        *,
        generators: tuple[SummaryGenerator, ...] = (),
        responder: Responder | None = None,
        change_strategy: Callable[[Strategy], Strategy] = lambda strategy: strategy,
        change_store: Callable[[Store], Store] = lambda store: store,
        cache: WindowCache | None = None,
    ) -> None:
        self.scope = scope
        self.options = options
        self.clock = FakeClock()
        self.responder = responder or Echo()
        self.cache = WatchedWindows(
            mark=driver.mark, clock=self.clock, max_conversations=options.max_cached, idle=options.timeout
        )
        self.store = change_store(SqlStore(driver, cache or self.cache, window_size=options.window_size))
        first, *rest = generators or (ExtractiveGenerator(),)
        self.compactor = Compactor(
            self.store,
            Generators(first=first, fallback=rest[0] if rest else None),
            msgspec.structs.replace(CompactionSettings.of(options.history), time_limit=BRIEF, **options.compaction),
            clock=self.clock,
            new_id=new_id,
        )
        self._embedding = Embedding(self.store, EMBEDDER, self._means())
        self.keeper = self._keeper(change_strategy)
        self.conversations = Conversations(self.store, self.keeper, clock=self.clock, new_id=new_id)
        self.lifecycle = Lifecycle(
            self.store,
            LifecycleOptions(timeout=options.timeout, retention=options.retention),
            clock=self.clock,
            new_id=new_id,
        )
        contexts = Contexts(self.store, self.keeper, self._recall(), ContextOptions(budget=10_000_000))
        toolbox = Toolbox(Notes(self.store, LocalEvents(), clock=self.clock), None)
        parts = ChatParts(self.store, self.keeper, contexts, self.responder, toolbox, self._means(), options.chat)
        self.chat = Chat(parts)
        self._workers = numbers()

    def _recall(self) -> Recall | None:
        if not self.options.recall:
            return None
        knowledge = Knowledge(self.store, self._embedding)
        return Recall(self.store, knowledge, self._embedding, self._means())

    def _means(self) -> Means:
        return Means(
            clock=self.clock,
            new_id=new_id,
            events=LocalEvents(),
            meter=NoMeter(),
            ledger=Ledger(self.store, clock=self.clock, new_id=new_id),
            wake=no_wake,
        )

    def _keeper(self, change_strategy: Callable[[Strategy], Strategy]) -> Keeper:
        parts = StrategyParts(
            store=self.store,
            compaction=self.compactor,
            settings=self.options.history,
            clock=self.clock,
            new_id=new_id,
            window_size=self.options.window_size,
        )
        options = KeeperOptions(idle=self.options.timeout, propagate_errors=self.options.history.propagate_errors)
        strategy = change_strategy(open_strategy(parts))
        embedding = self._embedding if self.options.recall else None
        return Keeper(self.store, strategy, clock=self.clock, new_id=new_id, options=options, embedding=embedding)

    async def drain(self) -> list[str]:
        """Do the jobs that are due, as a worker does, until there are none; return what became of each."""
        handlers: dict[str, Handler] = {SUMMARISE: self.compactor.summarise_job, TIDY: self.lifecycle.tidy_job}
        pace = Pace(self.clock, chance=lambda: 0.5)
        attempts = Attempts(self.store, handlers, limits=AttemptLimits(), pace=pace, patience=Patience(pace))
        outcomes: list[str] = []
        while True:
            name = f"{self.scope.user}:{next(self._workers)}"
            lease = timedelta(minutes=1)
            taken = await self.store.claim_jobs(ClaimRequest(worker=name, now=self.clock(), lease=lease, limit=100))
            if not taken:
                return outcomes
            for held in taken:
                if held.scope.user == self.scope.user:
                    outcomes.append((await attempts.make(held)).outcome)
                else:
                    # Left over by an example before this one.
                    await self.store.complete_job(held.scope, held.claim, self.clock())

    async def add(self, messages: tuple[NewMessage, ...], conversation_id: str = C) -> tuple[Message, ...]:
        """Add messages and do what they make necessary."""
        appended = await self.conversations.add_messages(self.scope, conversation_id, messages)
        await self.drain()
        return appended.messages

    async def all_messages(self, conversation_id: str = C, *, all_branches: bool = False) -> tuple[Message, ...]:
        """Return every message of the head path, or of all branches, with the results of calls in their places."""
        found: list[Message] = []
        before = None
        while True:
            query = MessageQuery(conversation_id=conversation_id, limit=200, before=before, all_branches=all_branches)
            page = await self.store.list_messages(self.scope, query)
            found = [*page.messages, *found]
            if not page.more:
                return joined(found)
            before = page.messages[0].id

    async def covered(self, summaries: tuple[Summary, ...], conversation_id: str = C) -> list[str]:
        """Return the ids of all messages that these summaries stand for, summary by summary."""
        found: list[str] = []
        for summary in summaries:
            layers = await self.store.expand_summary(self.scope, conversation_id, summary.id)
            base = sorted((layer for layer in layers if not layer.folds), key=lambda layer: layer.first_seq)
            found += [one for layer in base for one in layer.message_ids]
        return found

    async def jobs(self, conversation_id: str | None = C) -> tuple[Job, ...]:
        """Return the jobs of a conversation, or all of the user."""
        return await self.store.list_jobs(self.scope, JobQuery(conversation_id=conversation_id, limit=200))


class Place:
    """The open database of a test, and how often to try."""

    def __init__(self, open_driver: Callable[[], Awaitable[Driver]], url: str, examples: int) -> None:
        self.url = url
        self._examples = examples
        self._users = numbers(1)
        self._runner = asyncio.Runner()
        self.driver = self._runner.run(_opened(open_driver))

    def scope(self) -> Scope:
        """Return a user whom nobody knows yet."""
        return Scope("acme", f"user-{next(self._users)}")

    def rig(self, options: Options | None = None, **parts: Any) -> Rig:
        """Return the service for one example."""
        return Rig(self.driver, self.scope(), options or Options(), **parts)

    def check(self, example: Callable[[T], Awaitable[None]], drawn: SearchStrategy[T]) -> None:
        """Prove that the example holds for whatever is drawn, as often as told."""
        ran = 0

        def one(value: T) -> None:
            nonlocal ran
            self._runner.run(_awaited(example(value)))
            ran += 1

        # Failures are remembered by the name of what failed.
        one.__name__ = example.__qualname__.partition(".")[0]
        limits = settings(
            max_examples=self._examples, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True
        )
        limits(given(drawn)(one))()
        assert ran >= self._examples

    def close(self) -> None:
        """Close the database."""
        self._runner.run(self.driver.close())
        self._runner.close()


async def _opened(open_driver: Callable[[], Awaitable[Driver]]) -> Driver:
    return await open_driver()


async def _awaited(work: Awaitable[T]) -> T:
    return await work
