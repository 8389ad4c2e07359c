"""Turns that are followed while they are taken: by whoever asked, and again by whoever lost the connection.

A turn goes on without a listener for a moment, so that one who comes back misses nothing; then it is stopped, and what
was heard is kept. Streams live in the process that takes the turn.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator
from datetime import timedelta

import msgspec

from recollect.domain.scope import Scope
from recollect.errors import MessageNotFoundError, RecollectError
from recollect.ports.conversations import ConversationStore
from recollect.service.chat import Chat
from recollect.service.chat_request import ChatEvent, ChatReply, ChatRequest, Failed, Hearing, Started

#: Ended streams that can still be followed from their beginning.
MOST_ENDED = 1_000

_log = logging.getLogger(__name__)


class Done(msgspec.Struct, frozen=True):
    """The turn ended; nothing comes after it."""

    reply: ChatReply


StreamEvent = ChatEvent | Failed | Done


class StreamOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How long streams wait."""

    #: For how long a turn goes on while nobody follows it.
    linger: timedelta = timedelta(seconds=5)
    #: For how long an ended stream can be followed again.
    keep: timedelta = timedelta(seconds=60)


class Stream:
    """What was heard of one turn so far; its events are numbered from 1."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.stop = asyncio.Event()
        self.message_id: str | None = None
        #: What came of the turn, once it ended.
        self.reply: ChatReply | None = None
        self.error: Exception | None = None
        self._events: list[StreamEvent] = []
        self._has_more = asyncio.Event()
        self._followers = 0
        self._alone = asyncio.Event()
        self.is_ended = False

    def put(self, event: StreamEvent) -> None:
        """Take in an event."""
        self._events.append(event)
        self._has_more.set()
        self._has_more = asyncio.Event()

    def end(self) -> None:
        """Say that nothing more comes."""
        self.is_ended = True
        self._has_more.set()

    async def follow(self, after: int = 0) -> AsyncIterator[tuple[int, StreamEvent]]:
        """Give the events after this number, and all that come, until the turn ends."""
        self._followers += 1
        try:
            while True:
                has_more = self._has_more
                while after < len(self._events):
                    after += 1
                    yield after, self._events[after - 1]
                if self.is_ended:
                    return
                await has_more.wait()
        finally:
            self._followers -= 1
            if not self._followers:
                self._alone.set()

    async def result(self) -> ChatReply:
        """Follow the turn to its end; return what came of it or raise why nothing did."""
        async for _ in self.follow():
            pass
        if self.error is not None:
            raise self.error
        if self.reply is None:
            raise AssertionError("a turn ends with a reply or an error")
        return self.reply

    async def left_alone(self, linger: timedelta) -> None:
        """Return once nobody followed for so long."""
        while True:
            await self._alone.wait()
            self._alone.clear()
            if self._followers:
                continue
            await asyncio.sleep(linger.total_seconds())
            if not self._followers:
                return


class Streams:
    """Take turns that can be followed."""

    def __init__(self, chat: Chat, store: ConversationStore, options: StreamOptions) -> None:
        self._chat = chat
        self._store = store
        self._options = options
        self._open: dict[tuple[str, str, str], Stream] = {}
        self._ended: OrderedDict[tuple[str, str, str], Stream] = OrderedDict()
        self._running: dict[asyncio.Task[None], Stream] = {}

    def start(self, scope: Scope, request: ChatRequest) -> Stream:
        """Take a turn, to be followed."""
        stream = Stream(scope)
        task = asyncio.create_task(self._run(scope, request, stream))
        self._running[task] = stream
        task.add_done_callback(lambda ended: self._running.pop(ended, None))
        return stream

    async def find(self, scope: Scope, message_id: str) -> Stream:
        """Return the stream of this reply, or raise `MessageNotFoundError` if it is none of this user's here.

        One that ended is found only while its reply is stored: what is erased is not told again.
        """
        name = (scope.tenant, scope.user, message_id)
        found = self._open.get(name) or self._ended.get(name)
        if found is None:
            raise MessageNotFoundError("this reply is not being written; read it from its conversation")
        reply = found.reply
        if reply is not None and reply.durability == "durable":
            await self._store.get_message(scope, reply.conversation_id, message_id)
        return found

    async def close(self) -> None:
        """End all replies where they are, and wait until they are kept."""
        for stream in self._running.values():
            stream.stop.set()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _run(self, scope: Scope, request: ChatRequest, stream: Stream) -> None:
        def hear(event: ChatEvent) -> None:
            if isinstance(event, Started):
                stream.message_id = event.message_id
                self._open[scope.tenant, scope.user, event.message_id] = stream
            stream.put(event)

        waiting = asyncio.create_task(self._stop_if_alone(stream))
        try:
            reply = await self._chat.turn(scope, request, Hearing(hear=hear, stop=stream.stop))
            if reply.failure is not None:
                stream.put(reply.failure)
            stream.put(Done(reply))
            stream.reply = reply
        except RecollectError as exc:
            stream.error = exc
            stream.put(Failed(exc.code, str(exc)))
        except Exception as exc:  # noqa: BLE001  # whoever follows must be told that it ended
            _log.exception("a turn failed")
            stream.error = exc
            stream.put(Failed(RecollectError.code, f"the turn failed ({type(exc).__name__}); look into the log"))
        finally:
            waiting.cancel()
            stream.end()
            self._let_go(scope, stream)

    async def _stop_if_alone(self, stream: Stream) -> None:
        await stream.left_alone(self._options.linger)
        stream.stop.set()

    def _let_go(self, scope: Scope, stream: Stream) -> None:
        """Keep an ended stream for those who come back."""
        if stream.message_id is None:
            return
        name = (scope.tenant, scope.user, stream.message_id)
        self._open.pop(name, None)
        self._ended[name] = stream
        if len(self._ended) > MOST_ENDED:
            self._ended.popitem(last=False)
        loop = asyncio.get_running_loop()
        loop.call_later(self._options.keep.total_seconds(), self._ended.pop, name, None)
