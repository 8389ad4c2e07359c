"""Events between servers that share a Postgres database, by LISTEN and NOTIFY.

A NOTIFY inside a transaction takes a lock of the whole database and keeps it until the commit is on disk,
so all commits with one would wait for each other. Here events are sent after the commit, in batches, in
transactions that write nothing. Both connections are this object's own; a pooler between transactions cannot carry
a LISTEN, so the address must lead to the server itself.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from typing import Any

import msgspec

from recollect.domain.scope import Scope
from recollect.errors import RecollectError
from recollect.ports.events import Event
from recollect.storage.local_events import QUEUE, LocalEvents, LocalSubscription
from recollect.storage.postgres_connection import PostgresOptions, connection_string, translated
from recollect.storage.postgres_packages import psycopg

_log = logging.getLogger(__name__)
_decode = msgspec.json.Decoder(list[Event]).decode

CHANNEL = "recollect_events"
#: The notification that says that events were lost.
LOST = "[]"
#: Postgres refuses a payload of 8,000 bytes.
MAX_PAYLOAD = 7_900
#: Events sent in one transaction.
MAX_BATCH = 1_000
#: Events that may wait to be sent; beyond it the oldest are lost.
MAX_WAITING = 10_000
#: How long to wait before connecting again, in seconds: from, to.
_RECONNECT = (0.1, 0.5)
#: How long sending may take before the server counts as lost, in seconds.
_PATIENCE = 10.0

Connection = psycopg.AsyncConnection[tuple[Any, ...]]


class PostgresEvents:
    """Publish to all servers, and hand what they publish to the subscribers of this one."""

    def __init__(self, url: str, listener: Connection, size: int) -> None:
        self._url = url
        self._local = LocalEvents(size)
        self._waiting: deque[Event] = deque()
        self._has_lost = False
        self._changed = asyncio.Event()
        self._is_closed = False
        self._tasks = (
            asyncio.create_task(self._listen(listener), name="recollect-events-listen"),
            asyncio.create_task(self._notify(), name="recollect-events-notify"),
        )

    @classmethod
    async def open(cls, url: str, options: PostgresOptions | None = None, *, size: int = QUEUE) -> PostgresEvents:
        """Listen from now on; raise `StorageUnavailableError` if the server cannot be reached."""
        address = connection_string(url, options or PostgresOptions())
        try:
            return cls(address, await _listener(address), size)
        except psycopg.Error as exc:
            raise translated(exc) from exc

    def publish(self, events: Iterable[Event]) -> None:
        """Send the events soon, from a task of their own."""
        if self._is_closed:
            return
        self._waiting.extend(events)
        while len(self._waiting) > MAX_WAITING:
            self._waiting.popleft()
            self._has_lost = True
        self._changed.set()

    def subscribe(self, scope: Scope) -> LocalSubscription:
        """Receive what any server publishes for the scope's tenant and user."""
        return self._local.subscribe(scope)

    async def _listen(self, connection: Connection) -> None:
        """Hand on what arrives, for ever; what was sent while the connection was down is lost, and told so."""
        while True:
            try:
                async for notification in connection.notifies():
                    self._deliver(notification.payload)
            except psycopg.Error as exc:
                _log.warning("events are interrupted: %s", type(exc).__name__)
            finally:
                await connection.close()
            connection = await self._reconnected()
            self._local.lose()

    async def _reconnected(self) -> Connection:
        while True:
            await _pause()
            with suppress(psycopg.Error):
                return await _listener(self._url)

    def _deliver(self, payload: str) -> None:
        if payload == LOST:
            self._local.lose()
            return
        try:
            self._local.publish(_decode(payload))
        except (msgspec.MsgspecError, RecollectError):
            _log.warning("a notification that is no list of events was ignored")

    async def _notify(self) -> None:
        """Send what waits, in order; what cannot be sent is not sent again, but everybody is told."""
        connection: Connection | None = None
        try:
            while not self._is_closed or self._waiting:
                self._changed.clear()
                if not self._waiting and not self._has_lost:
                    await self._changed.wait()
                    continue
                try:
                    async with asyncio.timeout(_PATIENCE):
                        connection = connection or await _connected(self._url)
                        await connection.execute(_SEND, (CHANNEL, self._next_batch()))
                except (psycopg.Error, TimeoutError) as exc:
                    _log.warning("events cannot be sent: %s", type(exc).__name__)
                    self._has_lost = True
                    if connection is not None:
                        await connection.close()
                        connection = None
                    await _pause()
        finally:
            if connection is not None:
                await connection.close()

    def _next_batch(self) -> list[str]:
        events = list(islice(self._waiting, MAX_BATCH))
        for _ in events:
            self._waiting.popleft()
        first = [LOST] if self._has_lost else []
        self._has_lost = False
        return first + payloads(events)

    async def close(self) -> None:
        """Send what was published if the server takes it at once, then end every subscription."""
        self._is_closed = True
        self._changed.set()
        listening, notifying = self._tasks
        await asyncio.wait([notifying], timeout=1)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(listening, notifying, return_exceptions=True)
        await self._local.close()


_SEND = "SELECT pg_notify(%s, payload) FROM unnest(CAST(%s AS TEXT[])) AS payload"


async def _connected(address: str) -> Connection:
    return await psycopg.AsyncConnection.connect(address, autocommit=True)


async def _listener(address: str) -> Connection:
    connection = await _connected(address)
    try:
        await connection.execute(f"LISTEN {CHANNEL}")
    except psycopg.Error:
        await connection.close()
        raise
    return connection


async def _pause() -> None:
    await asyncio.sleep(random.uniform(*_RECONNECT))  # noqa: S311  # spreads retries, guards nothing


def payloads(events: Iterable[Event]) -> list[str]:
    """Return the events as notifications, as many in each as fit."""
    texts: list[str] = []
    size = MAX_PAYLOAD
    for event in events:
        text = msgspec.json.encode(event).decode()
        length = len(text.encode()) + 1
        if size + length >= MAX_PAYLOAD:
            texts.append(text)
            size = length + 1
        else:
            texts[-1] += f",{text}"
            size += length
    return [f"[{text}]" for text in texts]
