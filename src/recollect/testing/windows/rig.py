"""A database that stops wherever a test wants it to, and servers that use a cache in front of it as a store does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal

import msgspec

from recollect.domain.conversation import Conversation
from recollect.domain.message import Message
from recollect.domain.scope import Scope
from recollect.domain.window import Window
from recollect.errors import ConversationNotFoundError, StorageUnavailableError
from recollect.ports.windows import Load, WindowCache
from recollect.testing.clock import START

#: Stop at a point that is named.
Pause = Callable[[str], Awaitable[None]]
#: How a write ends: it says what the window is, it does not, or it fails and changes nothing.
Outcome = Literal["settled", "unsettled", "failed"]


async def no_pause(point: str) -> None:
    """Go on."""


def window_at(scope: Scope, conversation_id: str, revision: int) -> Window:
    """Return the window that a conversation has at a revision; it tells whose it is."""
    said = f"{scope.tenant} {scope.user} {conversation_id} {revision}"
    message = Message(conversation_id, revision, said, None, None, "user", None, said, "complete", START)
    return Window(
        conversation=Conversation(
            id=conversation_id,
            agent=scope.agent,
            title=said,
            title_source="auto",
            is_archived=False,
            is_pinned=False,
            metadata={"said": said},
            head_id=said,
            message_count=revision,
            summary=None,
            created_at=START,
            updated_at=START,
            last_activity_at=START,
            is_active=True,
            version=1,
            next_seq=revision + 1,
            is_branched=False,
            extracted_seq=0,
            revision=revision,
        ),
        messages=(message,),
    )


class Database:
    """The revisions of conversations; a conversation that was never written to does not exist."""

    def __init__(self) -> None:
        self.revisions: dict[tuple[str, str, str], int] = {}
        #: The newest revision of each that someone was told of.
        self.acknowledged: dict[tuple[str, str, str], int] = {}
        #: Every load that was begun, by what it knew.
        self.loads: list[int | None] = []
        self.commits = 0
        self.is_down = False

    def revision(self, scope: Scope, conversation_id: str) -> int:
        """Return the present revision of a conversation."""
        return self.revisions.get((scope.tenant, scope.user, conversation_id), 0)

    def told(self, scope: Scope, conversation_id: str) -> int:
        """Return the newest revision that someone was told of."""
        return self.acknowledged.get((scope.tenant, scope.user, conversation_id), 0)


class Connection:
    """What one server has of the database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._commits = 0

    def mark(self) -> int:
        """Count the writes of others."""
        return self.database.commits - self._commits

    def load(self, scope: Scope, conversation_id: str, pause: Pause = no_pause) -> Load:
        """Return what loads the window; it can be stopped before and after it reads."""

        async def load(known: int | None) -> Window | None:
            self.database.loads.append(known)
            await pause("loads")
            if self.database.is_down:
                raise StorageUnavailableError("the database is down")
            revision = self.database.revision(scope, conversation_id)
            await pause("loaded")
            if not revision:
                raise ConversationNotFoundError(conversation_id)
            return None if revision == known else window_at(scope, conversation_id, revision)

        return load

    def commit(self, scope: Scope, conversation_id: str) -> Window:
        """Change a conversation and return its window."""
        revision = self.database.revision(scope, conversation_id) + 1
        self.database.revisions[scope.tenant, scope.user, conversation_id] = revision
        self.database.commits += 1
        self._commits += 1
        return window_at(scope, conversation_id, revision)


class CacheServer:
    """One server: a cache in front of a connection, used as a store uses it."""

    def __init__(self, cache: WindowCache, connection: Connection) -> None:
        self.cache = cache
        self.connection = connection
        self.database = connection.database

    async def get(self, scope: Scope, conversation_id: str, pause: Pause = no_pause) -> Window:
        """Get a window, and check that it is none from before a write that was acknowledged before this call."""
        told = self.database.told(scope, conversation_id)
        window = await self.cache.get(scope, conversation_id, self.connection.load(scope, conversation_id, pause))
        revision = window.conversation.revision
        assert window == window_at(scope, conversation_id, revision), "the window is not what was stored"
        assert revision >= told, f"revision {revision} was given out after {told} was acknowledged"
        return window

    async def write(
        self, scope: Scope, conversation_id: str, outcome: Outcome = "settled", pause: Pause = no_pause
    ) -> int:
        """Write to a conversation and acknowledge it; return the revision."""
        revision = 0
        async with self.cache.changing(scope, conversation_id) as change:
            before = change.before
            if before is not None:
                assert before == window_at(scope, conversation_id, before.conversation.revision)
            await pause("begun")
            if outcome != "failed":
                window = self.connection.commit(scope, conversation_id)
                revision = window.conversation.revision
                await pause("committed")
                if outcome == "settled":
                    change.settle(window)
        self._acknowledge(scope, conversation_id, revision)
        return revision

    async def write_to_all(self, scope: Scope, pause: Pause = no_pause) -> None:
        """Write to every conversation of a user and acknowledge it."""
        owner = (scope.tenant, scope.user)
        async with self.cache.erasing(scope):
            await pause("begun")
            ids = [key[2] for key in self.database.revisions if key[:2] == owner]
            windows = [self.connection.commit(scope, one) for one in ids]
            await pause("committed")
        for window in windows:
            self._acknowledge(scope, window.conversation.id, window.conversation.revision)

    def _acknowledge(self, scope: Scope, conversation_id: str, revision: int) -> None:
        told = self.database.told(scope, conversation_id)
        self.database.acknowledged[scope.tenant, scope.user, conversation_id] = max(told, revision)


async def turns(count: int = 30) -> None:
    """Let everything run that only waits for its turn."""
    for _ in range(count):
        await asyncio.sleep(0)


class WindowRig(msgspec.Struct, kw_only=True):
    """What the suite needs: how a server opens its cache, and how to know that a cache has done what it can."""

    open_cache: Callable[[Connection], Awaitable[WindowCache]]
    #: Wait until every cache is done or waits for the database.
    settle: Callable[[], Awaitable[None]] = turns
    #: What may happen at any time to what the servers share.
    troubles: tuple[Callable[[], Awaitable[None]], ...] = ()
    database: Database = msgspec.field(default_factory=Database)

    async def server(self) -> CacheServer:
        """Open one more server."""
        connection = Connection(self.database)
        return CacheServer(await self.open_cache(connection), connection)


class Stepped:
    """A call that stops at every point until it is told to go on."""

    def __init__(self, call: Callable[[Pause], Awaitable[object]]) -> None:
        #: Where it stands now, if it was stopped.
        self.point: str | None = None
        self._go = asyncio.Event()
        self._stopped = asyncio.Event()
        self.task = asyncio.ensure_future(call(self._pause))
        self.task.add_done_callback(lambda _: self._stopped.set())

    def go(self) -> None:
        """Go on to the next point."""
        self.point = None
        self._stopped.clear()
        if self.task.done():
            self._stopped.set()
        self._go.set()

    async def stops(self) -> None:
        """Wait until it stands at a point, or is done."""
        await self._stopped.wait()

    @property
    def is_over(self) -> bool:
        """Tell whether it is done, and so is what it left behind when it was cancelled."""
        return self.task.done() and self.point is None

    async def _pause(self, point: str) -> None:
        self.point = point
        self._go.clear()
        self._stopped.set()
        await self._go.wait()


async def until(rig: WindowRig, call: Stepped, point: str) -> None:
    """Let a call go on until it stops at this point."""
    for _ in range(10):
        await rig.settle()
        if call.point == point:
            return
        call.go()
    raise AssertionError(f"it never reached {point!r}")
