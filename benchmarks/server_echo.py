"""A bare route on the framework and server that ours runs on: what a request takes when nothing is done with it.

It runs in a process of its own, `python -m benchmarks.server_echo`, and prints its address when it listens.
"""

from __future__ import annotations

import socket

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from benchmarks.conversation_systems import REPLY

_HOST = "127.0.0.1"


class Said(BaseModel):
    """What a client says."""

    message: str
    conversation_id: str


class Answered(BaseModel):
    """An answer in the shape of a turn."""

    conversation_id: str
    message: dict[str, str]
    durability: str


app = FastAPI(openapi_url=None)


@app.post("/api/chat")
async def chat(body: Said) -> Answered:
    """Answer and keep nothing."""
    message = {"role": "assistant", "content": REPLY}
    return Answered(conversation_id=body.conversation_id, message=message, durability="none")


def _serve() -> None:
    listening = socket.create_server((_HOST, 0), backlog=1024)
    print(f"http://{_HOST}:{listening.getsockname()[1]}", flush=True)
    config = uvicorn.Config(app, http="httptools", ws="none", lifespan="off", log_config=None, access_log=False)
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    _serve()
