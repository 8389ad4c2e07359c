"""Turns that are followed while they are taken: by whoever asked, and again by whoever lost the connection.

A turn goes on without a listener for a moment, so that one who comes back misses nothing; then it is stopped, and what
was heard is kept. Streams live in the process that takes the turn.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import timedelta

import msgspec

from recollect.domain.scope import Scope
from recollect.errors import MessageNotFoundError, RecollectError
from recollect.ports.conversations import ConversationStore
from recollect.service.chat import Chat
from recollect.service.chat_request import ChatEvent, ChatReply, ChatRequest, Failed, Hearing, Started

#: Ended streams that can still be followed from their beginning, and the events that they hold together.
MOST_ENDED, MOST_EVENTS = 1_000, 200_000
#: The least that a turn goes on alone, in seconds: a response takes a moment to begin.
MOMENT = 0.5

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
        self.is_ended = False
        self._events: list[StreamEvent] = []
        self._has_more = asyncio.Event()
        self._followers = 0
        self._is_followed, self._is_alone = asyncio.Event(), asyncio.Event()
        self._is_alone.set()

    @property
    def length(self) -> int:
        """Count the events so far."""
        return len(self._events)

    def put(self, event: StreamEvent) -> None:
        """Take in an event."""
        self._events.append(event)
        self._has_more.set()
        self._has_more = asyncio.Event()

    def end(self) -> None:
        """Say that nothing more comes."""
        self.is_ended = True
        self._has_more.set()

    async def begun(self) -> None:
        """Wait until the reply begins; raise why it never does."""
        async with aclosing(self.follow()) as events:
            await anext(events, None)
        if self.message_id is None and self.error is not None:
            raise self.error

    async def follow(self, after: int = 0) -> AsyncGenerator[tuple[int, StreamEvent], None]:
        """Give the events after this number, and all that come, until the turn ends.

        A number that no event has yet is none of this stream, and it is given from its beginning.
        """
        if after > len(self._events):
            after = 0
        self._joined()
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
            self._left()

    def _joined(self) -> None:
        self._followers += 1
        self._is_alone.clear()
        self._is_followed.set()

    def _left(self) -> None:
        self._followers -= 1
        if not self._followers:
            self._is_followed.clear()
            self._is_alone.set()

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
        """Return once nobody followed for so long at a stretch."""
        wait = max(linger.total_seconds(), MOMENT)
        while True:
            await self._is_alone.wait()
            try:
                async with asyncio.timeout(wait):
                    await self._is_followed.wait()
            except TimeoutError:
                return


class Streams:
    """Take turns that can be followed."""

    def __init__(self, chat: Chat, store: ConversationStore, options: StreamOptions) -> None:
        self._chat = chat
        self._store = store
        self._options = options
        self._open: dict[tuple[str, str, str], Stream] = {}
        self._ended: OrderedDict[tuple[str, str, str], Stream] = OrderedDict()
        #: What lets go of an ended stream in time, and holds it until then.
        self._timers: dict[tuple[str, str, str], asyncio.TimerHandle] = {}
        self._held_events = 0
        self._running: dict[asyncio.Task[None], Stream] = {}
        self._is_closing = False

    def start(self, scope: Scope, request: ChatRequest) -> Stream:
        """Take a turn, to be followed."""
        stream = Stream(scope)
        if self._is_closing:
            stream.stop.set()
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
        """End all replies where they are, also those that begin from now on, and wait until they are kept."""
        self._is_closing = True
        for stream in self._running.values():
            stream.stop.set()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _run(self, scope: Scope, request: ChatRequest, stream: Stream) -> None:
        def hear(event: ChatEvent) -> None:
            if isinstance(event, Started):
                # A turn that is taken again elsewhere, since its conversation is damaged, begins a second time.
                self._open.pop((scope.tenant, scope.user, stream.message_id or ""), None)
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
        self._forget(name, self._ended.get(name))
        self._ended[name] = stream
        self._held_events += stream.length
        keep = self._options.keep.total_seconds()
        self._timers[name] = asyncio.get_running_loop().call_later(keep, self._forget, name, stream)
        while len(self._ended) > MOST_ENDED or (self._held_events > MOST_EVENTS and len(self._ended) > 1):
            self._forget(*next(iter(self._ended.items())))

    def _forget(self, name: tuple[str, str, str], stream: Stream | None) -> None:
        """Let go of this stream, and of no other that has its name."""
        if stream is not None and self._ended.get(name) is stream:
            del self._ended[name]
            self._held_events -= stream.length
            if (timer := self._timers.pop(name, None)) is not None:
                timer.cancel()
