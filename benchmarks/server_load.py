"""Clients of a chat server that cost little: one connection each, bytes that are made before the clock runs.

Knows HTTP as far as these servers speak it: every answer has its length.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.harness import Sample
from benchmarks.server_model import length_of

#: Seconds after which an answer is not waited for any more.
PATIENCE = 30.0


class Client:
    """One user with one conversation, on one connection."""

    def __init__(self, port: int, conversation: str, headers: dict[str, str]) -> None:
        """Know whom to ask; nothing is opened yet."""
        self._port = port
        self.conversation = conversation
        self.turns = 0
        lines = {"Host": f"127.0.0.1:{port}", "Content-Type": "application/json", **headers}
        self._headers = "".join(f"{name}: {value}\r\n" for name, value in lines.items())

    async def open(self) -> None:
        """Connect."""
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)

    async def say(self, text: str) -> bytes:
        """Take a turn and return the answer."""
        body = json.dumps({"message": text, "conversation_id": self.conversation}).encode()
        answer = await self._ask("POST /api/chat", body)
        self.turns += 1
        return answer

    async def get(self, path: str) -> Any:
        """Return what is at this path."""
        return json.loads(await self._ask(f"GET {path}", b""))

    async def _ask(self, what: str, body: bytes) -> bytes:
        head = f"{what} HTTP/1.1\r\n{self._headers}Content-Length: {len(body)}\r\n\r\n"
        self._writer.write(head.encode() + body)
        answered = await self._reader.readuntil(b"\r\n\r\n")
        content = await self._reader.readexactly(length_of(answered))
        if not answered.startswith(b"HTTP/1.1 200 "):
            raise SystemExit(f"{what} was answered with {answered[:12].decode()}: {content[:300].decode()}")
        return content

    async def close(self) -> None:
        """Disconnect."""
        self._writer.close()
        await self._writer.wait_closed()


@dataclass(slots=True)
class Load:
    """How much is asked: until the time is over, but at least so many turns of each client, or so many of all."""

    texts: Sequence[str]
    seconds: float = 0.0
    at_least: int = 1
    #: Turns of all clients together; None goes by time.
    total: int | None = None
    _begun: int = field(default=0, init=False)

    def goes_on(self, turns: int, end: float) -> bool:
        """Tell whether a client that took so many turns takes another."""
        if self.total is not None:
            self._begun += 1
            return self._begun <= self.total
        return turns < self.at_least or time.perf_counter() < end


async def drive(clients: Sequence[Client], load: Load, processor: Callable[[], float]) -> Sample:
    """Let all clients talk at once, each waiting for its answer before it goes on.

    What processors worked is asked of `processor`: the clients' own work is none of the server's.
    They connect before the clock runs and part after it, since a server closes what rests for long.
    """
    for client in clients:
        await client.open()
    try:
        return await _talked(clients, load, processor)
    finally:
        for client in clients:
            await client.close()


async def _talked(clients: Sequence[Client], load: Load, processor: Callable[[], float]) -> Sample:
    latencies: list[float] = []
    worked, started = processor(), time.perf_counter()

    async def talk(place: int, client: Client) -> None:
        turns = 0
        while load.goes_on(turns, started + load.seconds):
            text = load.texts[(client.turns * len(clients) + place) % len(load.texts)]
            before = time.perf_counter()
            async with asyncio.timeout(PATIENCE):
                await client.say(text)
            latencies.append(time.perf_counter() - before)
            turns += 1

    await asyncio.gather(*(talk(place, client) for place, client in enumerate(clients)))
    return Sample(latencies, time.perf_counter() - started, processor() - worked)
