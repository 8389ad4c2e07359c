"""Recollect as the conversation benchmark sees it: the only file of that benchmark that knows our names."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar, Literal

import apsw
import msgspec
from uuid_utils import uuid7

from benchmarks.conversation_systems import CONVERSATION, REPLY, Prompt, role_at
from benchmarks.systems import describe
from recollect import bootstrap
from recollect.domain.conversation import NewConversation
from recollect.domain.message import NewMessage
from recollect.domain.scope import Scope
from recollect.domain.summary import NewSummary
from recollect.domain.turn import Append
from recollect.history.plan import PlanSettings, Summarise, next_step
from recollect.ports.chat_model import TextDelta
from recollect.ports.responder import Hear, Question, Reply
from recollect.service.chat_request import ChatRequest
from recollect.service.conversations import Context
from recollect.settings import Settings
from recollect.settings.groups import JobSettings, MemorySettings, StorageSettings
from recollect.storage.driver import Work
from recollect.storage.sqlite import SqliteDriver
from recollect.storage.store import SqlStore

Policy = Literal["turn", "client"]

#: Conversations or batches in flight while a store is filled, so that one commit carries several.
FILLERS = 64
#: Messages of one append while a conversation is filled.
BATCH = 1_000
#: Messages looked at to write the next summary.
AHEAD = 200
#: Characters of a summary that stands for a range here.
SUMMARY = 600
SCOPE = Scope()


class Constant:
    """A model that answers at once; it keeps the prompt, which takes what any model would need."""

    name = "constant"

    def __init__(self) -> None:
        """Remember nothing yet."""
        self.prompt: Prompt = []

    async def reply(self, question: Question, hear: Hear) -> Reply:
        """Return the same reply to everything."""
        told = [(message.role, message.text) for message in question.context.messages]
        self.prompt = [("system", question.context.prompt), *told]
        hear(TextDelta(REPLY))
        return Reply()


class Recollect:
    """A chat turn of the whole service with its default settings on SQLite; it also recalls what the user said."""

    name: ClassVar[str] = "recollect"
    threaded: ClassVar[bool] = False
    policy: ClassVar[Policy] = "turn"
    recalls: ClassVar[bool] = True

    async def open(self, folder: Path, *, worker: bool = True) -> None:
        """Open the service and put the constant model into it."""
        self._recollect = await bootstrap.open(
            msgspec.structs.replace(
                _settings(folder, worker=worker),
                memory=MemorySettings(enabled=self.recalls),
                storage=StorageSettings(database=_database(folder), write_policy=self.policy),
            )
        )
        self._model = Constant()
        self._recollect.chat._responder = self._model

    async def seed(self, texts: Sequence[str]) -> None:
        """Append the messages as one batch."""
        await self._recollect.store.append(SCOPE, _append(CONVERSATION, texts, 0))

    async def turn(self, text: str) -> Prompt:
        """Take one turn."""
        await self._recollect.chat.turn(SCOPE, ChatRequest(text=text, conversation_id=CONVERSATION))
        return self._model.prompt

    async def count_driver_calls(self) -> DriverCalls:
        """Count from now on what the store asks of its driver; the check of the file, which asks by itself, is over."""
        store: Any = self._recollect.store
        await store._driver.checked()
        store._driver = driver = DriverCalls(store._driver)
        return driver

    def durability(self) -> str:
        """Ask the connection that writes."""
        store: Any = self._recollect.store
        connection = store._driver._writer.tx.connection
        return describe(connection.pragma("journal_mode"), connection.pragma("synchronous"))

    async def close(self) -> None:
        """Close the service."""
        await self._recollect.close()


class RecollectWindow(Recollect):
    """The same without recall: window, context and record, as the peers but mem0 do it."""

    name: ClassVar[str] = "recollect+window"
    recalls: ClassVar[bool] = False


class RecollectClient(Recollect):
    """The whole turn, of messages that become durable when the client archives them."""

    name: ClassVar[str] = "recollect+client"
    policy: ClassVar[Policy] = "client"


class RecollectWindowClient(RecollectWindow):
    """The same without recall."""

    name: ClassVar[str] = "recollect+window+client"
    policy: ClassVar[Policy] = "client"


class DriverCalls:
    """A driver that counts the transactions which it is asked for."""

    def __init__(self, driver: Any) -> None:
        """Stand before this driver."""
        self._driver = driver
        self.transactions = 0

    async def read(self, scope: Scope, work: Work[Any], *, quick: bool = False) -> Any:
        """Count a read."""
        self.transactions += 1
        return await self._driver.read(scope, work, quick=quick)

    async def write(self, scope: Scope, work: Work[Any]) -> Any:
        """Count a write."""
        self.transactions += 1
        return await self._driver.write(scope, work)

    async def write_any(self, work: Work[Any]) -> Any:
        """Count a write of no scope."""
        self.transactions += 1
        return await self._driver.write_any(work)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)


class SqliteTransactions:
    """What SQLite itself was asked to do by every connection that was opened meanwhile."""

    def __init__(self) -> None:
        """Count nothing yet."""
        #: Transactions that began, of reading and of writing, without pragmas.
        self.begun = 0
        #: Looks at the number that tells whether another connection wrote.
        self.looks = 0
        #: Transactions that changed something.
        self.committed = 0

    @classmethod
    @contextmanager
    def of_new_connections(cls) -> Iterator[SqliteTransactions]:
        """Watch each connection that is opened inside the block, also after it."""
        counted = cls()
        apsw.connection_hooks.append(counted._watch)
        try:
            yield counted
        finally:
            apsw.connection_hooks.remove(counted._watch)

    def _watch(self, connection: apsw.Connection) -> None:
        running: set[int] = set()

        def traced(event: dict[str, Any]) -> None:
            if event["code"] == apsw.SQLITE_TRACE_PROFILE:
                running.discard(event["id"])
                return
            # A statement outside a transaction begins one, by BEGIN or by itself; one inside COMMIT is SQLite's own.
            # The pragmas are those that set up a connection and, apart from them, the looks.
            if not running and not connection.in_transaction:
                words = event["sql"].lower().split()
                self.looks += words == ["pragma", "data_version"]
                self.begun += words[0] != "pragma"
            running.add(event["id"])

        def commit() -> bool:
            self.committed += 1
            return False

        connection.trace_v2(apsw.SQLITE_TRACE_STMT | apsw.SQLITE_TRACE_PROFILE, traced)
        connection.set_commit_hook(commit)


class LongConversation:
    """One conversation with many messages, summarised until nothing is left to summarise."""

    async def open(self, folder: Path) -> None:
        """Open the service twice: on a store without a cache for what is cold, and as it is for what is warm."""
        settings = _settings(folder)
        path = settings.storage.sqlite_path
        assert path is not None
        self._cold = bootstrap.assemble(SqlStore(await SqliteDriver.open(path)), settings)
        self._recollect = await bootstrap.open(settings)

    async def fill(self, texts: Sequence[str]) -> None:
        """Append the messages in batches."""
        for start in range(0, len(texts), BATCH):
            await self._recollect.store.append(SCOPE, _append(CONVERSATION, texts[start : start + BATCH], start))

    async def compact(self) -> int:
        """Summarise and fold as the plan says, with the begin of the covered text as summary; return how often."""
        steps = 0
        while True:
            backlog = await self._cold.store.get_backlog(SCOPE, CONVERSATION, AHEAD)
            step = next_step(
                backlog.messages, backlog.summaries, PlanSettings(), elsewhere=backlog.elsewhere, apart=backlog.apart
            )
            if step is None:
                return steps
            await self._recollect.store.put_summary(SCOPE, _summary(step))
            steps += 1

    async def cold(self) -> list[str]:
        """Return the context as the database has it."""
        return _texts(await self._cold.conversations.get_context(SCOPE, CONVERSATION))

    async def warm(self) -> list[str]:
        """Return the context as a server has it that just answered."""
        return _texts(await self._recollect.conversations.get_context(SCOPE, CONVERSATION))

    async def close(self) -> None:
        """Close both."""
        await self._cold.close()
        await self._recollect.close()


class IdleSessions:
    """Users whose conversations had no activity for long."""

    name: ClassVar[str] = "recollect"
    began: ClassVar[datetime] = datetime(2026, 1, 1, tzinfo=UTC)

    async def open(self, folder: Path) -> None:
        """Open the whole service."""
        self._recollect = await bootstrap.open(_settings(folder))

    async def fill(self, users: int, sessions: int) -> None:
        """Create the conversations of each user, one second apart."""
        numbers = iter(range(users * sessions))

        async def filler() -> None:
            for number in numbers:
                user, place = divmod(number, sessions)
                at = self.began + timedelta(seconds=place)
                new = NewConversation(id=_new_id(), at=at)
                await self._recollect.store.create_conversation(Scope(user=f"user-{user}"), new)

        await asyncio.gather(*(filler() for _ in range(FILLERS)))

    async def mark(self, user: int, limit: int) -> int:
        """Mark one batch of a user's idle conversations and return how many there were."""
        idle_since = self.began + timedelta(days=365)
        return len(await self._recollect.store.mark_inactive(Scope(user=f"user-{user}"), idle_since, limit))

    async def close(self) -> None:
        """Close the service."""
        await self._recollect.close()


def _settings(folder: Path, *, worker: bool = False) -> Settings:
    return Settings(storage=StorageSettings(database=_database(folder)), jobs=JobSettings(inside=worker))


def _database(folder: Path) -> str:
    return f"sqlite:///{folder / 'recollect.db'}"


def _texts(context: Context) -> list[str]:
    summaries = [summary.content for summary in context.summaries]
    return [*summaries, *(message.content for message in context.recent)]


def _new_id() -> str:
    return str(uuid7())


def _append(conversation_id: str, texts: Sequence[str], first: int) -> Append:
    now = datetime.now(UTC)
    messages = tuple(
        NewMessage(id=_new_id(), role=role_at(place), content=text, created_at=now)  # type: ignore[arg-type]
        for place, text in enumerate(texts, first)
    )
    return Append(conversation_id=conversation_id, messages=messages, at=now, create=True)


def _summary(step: Any) -> NewSummary:
    covered = step.messages if isinstance(step, Summarise) else step.summaries
    ids = tuple(one.id for one in covered)
    text = " ".join(one.content[: SUMMARY // len(covered)] for one in covered)
    return NewSummary(
        id=_new_id(),
        message_id=_new_id(),
        conversation_id=CONVERSATION,
        content=text,
        at=datetime.now(UTC),
        generator="begin of each",
        message_ids=ids if isinstance(step, Summarise) else (),
        folds=() if isinstance(step, Summarise) else ids,
    )
