"""A process that is one server of several: it does what it is told, each command a line of JSON, several at a time.

Run as `python -m tests.support.service_process DATABASE REDIS FENCE`, the fence in milliseconds, `-` for no Redis.
"""

from __future__ import annotations

import asyncio
import os
import sys
import traceback
from datetime import timedelta
from itertools import count
from typing import Any

import msgspec

from recollect.bootstrap import new_id, system_clock
from recollect.domain.erasure import Erasure
from recollect.domain.message import NewMessage
from recollect.domain.scope import Scope
from recollect.domain.summary import NewSummary
from recollect.errors import RecollectError
from recollect.service.chat_request import ChatRequest
from recollect.service.recollect import Recollect
from tests.support.services import PATIENT, WatchedWindows, opened, settings_of

SCOPE = Scope("tenant", "user")
Reply = dict[str, Any]


class Operator:
    """Do the commands of a test on a service; one that fails is answered with its code."""

    def __init__(self, service: Recollect, windows: WatchedWindows | None = None) -> None:
        self._service = service
        self._windows = windows

    async def ask(self, do: str, conversation: str = "c", **more: Any) -> Reply:
        """Do one command and answer with plain data."""
        try:
            reply = await getattr(self, f"do_{do}")(conversation, **more)
        except RecollectError as exc:
            reply = {"error": exc.code}
        answer: Reply = msgspec.json.decode(msgspec.json.encode(reply))
        return answer

    async def do_add(self, conversation: str, text: str) -> Reply:
        """Add a message and tell the revision."""
        new = NewMessage(id=new_id(), role="user", content=text, created_at=system_clock())
        appended = await self._service.conversations.add_messages(SCOPE, conversation, (new,))
        return {"revision": appended.conversation.revision}

    async def do_edit(self, conversation: str, message: str, text: str) -> Reply:
        """Say something else in the place of a message."""
        appended = await self._service.conversations.edit(SCOPE, conversation, message, text)
        return {"revision": appended.conversation.revision}

    async def do_rename(self, conversation: str, text: str) -> Reply:
        """Set the title."""
        changed = await self._service.conversations.update(SCOPE, conversation, title=text)
        return {"revision": changed.revision}

    async def do_undo(self, conversation: str) -> Reply:
        """Go back to before the newest user message."""
        return {"revision": (await self._service.conversations.undo(SCOPE, conversation)).revision}

    async def do_turn(self, conversation: str, text: str, key: str | None = None) -> Reply:
        """Chat."""
        request = ChatRequest(text=text, conversation_id=conversation, key=key)
        reply = await self._service.chat.turn(SCOPE, request)
        return {"message": reply.message.id}

    async def do_summarise(self, conversation: str, size: int) -> Reply:
        """Summarise the oldest messages that no summary covers."""
        backlog = await self._service.store.get_backlog(SCOPE, conversation, size)
        ids = tuple(message.id for message in backlog.messages)
        new = NewSummary(
            id=new_id(),
            message_id=new_id(),
            conversation_id=conversation,
            content=f"{len(ids)} messages",
            at=system_clock(),
            message_ids=ids,
            generator="test",
        )
        return {"summary": (await self._service.store.put_summary(SCOPE, new)).id}

    async def do_erase(self, conversation: str, message: str) -> Reply:
        """Erase a message."""
        await self._service.conversations.erase_message(SCOPE, conversation, message)
        return {}

    async def do_clear(self, conversation: str) -> Reply:
        """Erase all messages."""
        await self._service.conversations.clear_messages(SCOPE, conversation)
        return {}

    async def do_delete(self, conversation: str) -> Reply:
        """Erase the conversation."""
        await self._service.conversations.delete(SCOPE, conversation)
        return {}

    async def do_leave(self, conversation: str) -> Reply:
        """Erase the user with everything."""
        await self._service.store.erase_user(SCOPE, Erasure(receipt_id=new_id(), at=system_clock()))
        return {}

    async def do_scrub(self, conversation: str) -> Reply:
        """Clean the file now, as every process does once after it opened it."""
        store: Any = self._service.store
        await store._driver.scrub()
        return {}

    async def do_window(self, conversation: str) -> Reply:
        """Tell the window."""
        return {"window": await self._service.store.get_window(SCOPE, conversation)}

    async def do_context(self, conversation: str) -> Reply:
        """Tell the context."""
        return {"context": await self._service.conversations.get_context(SCOPE, conversation)}

    async def do_loads(self, conversation: str) -> Reply:
        """Tell how many windows were loaded."""
        assert self._windows is not None
        return {"loads": self._windows.loads}

    async def do_die(self, conversation: str, when: str) -> Reply:
        """Die around the next write."""
        assert self._windows is not None
        self._windows.death = "before" if when == "before" else "after"
        return {}


class ChildOperator:
    """Tell a process of its own what to do."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._numbers = count()
        self._answers: dict[int, asyncio.Future[Reply]] = {}
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, database: str, redis: str | None, fence_ms: int = 30_000) -> ChildOperator:
        """Start the process and wait until it is open."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.support.service_process", database, redis or "-", str(fence_ms)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=2**24,
        )
        child = cls(process)
        assert "loads" in await child.ask("loads")
        return child

    async def ask(self, do: str, conversation: str = "c", **more: Any) -> Reply:
        """Let it do one command; one that dies answers with the error `died`."""
        if self._reading.done():
            return {"error": "died"}
        number = next(self._numbers)
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        assert self._process.stdin is not None
        line = msgspec.json.encode([number, {"do": do, "conversation": conversation, **more}])
        self._process.stdin.write(line + b"\n")
        return await answer

    async def end(self) -> int:
        """Close its input and wait until it has ended."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._reading
        return await self._process.wait()

    def kill(self) -> None:
        """Kill it if it lives."""
        if self._process.returncode is None:
            self._process.kill()

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            number, reply = msgspec.json.decode(line)
            self._answers.pop(number).set_result(reply)
        for answer in self._answers.values():
            answer.set_result({"error": "died"})


async def main(database: str, redis: str, fence_ms: int) -> None:
    """Do commands until the input ends."""
    limits = msgspec.structs.replace(PATIENT, fence=timedelta(milliseconds=fence_ms))
    settings = settings_of(database, None if redis == "-" else redis)
    async with opened(settings, limits=limits) as parts, asyncio.TaskGroup() as commands:
        operator = Operator(parts.service, parts.windows)

        async def answer(number: int, command: Reply) -> None:
            try:
                reply = await operator.ask(**command)
            except BaseException:  # noqa: BLE001  # whoever waits for an answer must see the end of the process
                traceback.print_exc()
                os._exit(1)
            print(msgspec.json.encode([number, reply]).decode(), flush=True)

        while line := await asyncio.to_thread(sys.stdin.readline):
            commands.create_task(answer(*msgspec.json.decode(line)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
