"""A model that answers at once, so that what is measured is everything that a server does around it.

It runs in a process of its own, `python -m benchmarks.server_model`, and prints its address when it listens.
"""

from __future__ import annotations

import asyncio
import json

from benchmarks.conversation_systems import REPLY

_HOST = "127.0.0.1"


def _chunk(delta: dict[str, str], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return b"data: %b\n\n" % json.dumps({"id": "stub", "model": "stub", "choices": [choice]}).encode()


def _model_answer() -> bytes:
    """Return the one answer of the model as it is sent: a stream of three events, with its length."""
    usage = {"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 40}}
    events = [
        _chunk({"role": "assistant", "content": REPLY}),
        _chunk({}, "stop"),
        b"data: %b\n\n" % json.dumps(usage).encode(),
        b"data: [DONE]\n\n",
    ]
    body = b"".join(events)
    return b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)


class StubModel(asyncio.Protocol):
    """Read requests of the chat completions protocol and answer each with the same reply, without looking at it."""

    answer = _model_answer()

    def __init__(self) -> None:
        """Wait for a request."""
        self._read = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection; it is used again."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer as soon as a whole request is there."""
        self._read += data
        while (head := self._read.find(b"\r\n\r\n")) >= 0:
            end = head + 4 + length_of(bytes(self._read[:head]))
            if len(self._read) < end:
                return
            del self._read[:end]
            self._transport.write(self.answer)


def length_of(head: bytes) -> int:
    """Return how long the body after this head is."""
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line[15:])
    return 0


async def _serve() -> None:
    server = await asyncio.get_running_loop().create_server(StubModel, _HOST, 0)
    print(f"http://{_HOST}:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve())
