"""Speak OpenAI's protocol by hand, and look at what is stored of it."""

from __future__ import annotations

import json
import uuid
from typing import Any

import httpx2

Json = dict[str, Any]


def user(text: str) -> Json:
    """Return what a user says."""
    return {"role": "user", "content": text}


def bot(text: str) -> Json:
    """Return what the assistant said."""
    return {"role": "assistant", "content": text}


def new_words() -> str:
    """Return something that nobody said before."""
    return f"The code is {uuid.uuid4().hex}."


def post(client: httpx2.Client, *messages: Json, headers: dict[str, str] | None = None, **more: Any) -> httpx2.Response:
    """Ask, and return the response as it came."""
    body = {"model": "any", "messages": list(messages), **more}
    return client.post("/v1/chat/completions", json=body, headers=headers)


def ask(client: httpx2.Client, *messages: Json, headers: dict[str, str] | None = None, **more: Any) -> Json:
    """Ask, and return the answer."""
    answer = post(client, *messages, headers=headers, **more)
    assert answer.status_code == 200, answer.text
    told: Json = answer.json()
    assert answer.headers["Recollect-Conversation"] == told["recollect"]["conversation_id"]
    return told


def text_of(answer: Json) -> str:
    """Return what was answered."""
    return str(answer["choices"][0]["message"]["content"])


def place_of(answer: Json) -> str:
    """Return the conversation of an answer."""
    return str(answer["recollect"]["conversation_id"])


def stored(client: httpx2.Client, conversation_id: str) -> list[tuple[str, str]]:
    """Return what a conversation holds on the branch that is read."""
    page = client.get(f"/api/conversations/{conversation_id}/messages", params={"limit": 200}).json()
    return [(one["role"], one["content"]) for one in page["items"]]


def error_of(answer: httpx2.Response) -> tuple[int, str, str]:
    """Return the status, the type and the code of an error in OpenAI's shape."""
    assert answer.headers["content-type"] == "application/json", answer.text
    told = answer.json()
    assert set(told) == {"error"}
    assert set(told["error"]) == {"message", "type", "param", "code"}
    assert told["error"]["message"]
    return answer.status_code, told["error"]["type"], told["error"]["code"]


def data_of(answer: httpx2.Response) -> list[Any]:
    """Return the data of each event of a stream, the mark of its end as text."""
    assert answer.headers["content-type"].startswith("text/event-stream")
    lines = [line for line in answer.text.split("\n") if line and not line.startswith(":")]
    assert all(line.startswith("data: ") for line in lines)
    told = [line.removeprefix("data: ") for line in lines]
    assert told[-1] == "[DONE]"
    return [json.loads(one) for one in told[:-1]]
