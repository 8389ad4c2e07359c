"""Chat as a client does it: turns as JSON, and turns as events."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx2

CHAT = "/api/chat"
STREAM = {"Accept": "text/event-stream"}


def unique(word: str) -> str:
    """Return a word that no other test says."""
    return f"{word}{uuid.uuid4().hex[:12]}"


class Event(NamedTuple):
    """One event of a stream."""

    id: str
    name: str
    data: dict[str, Any]


def said(client: httpx2.Client, message: str | None = None, *, key: str | None = None, **fields: Any) -> dict[str, Any]:
    """Take a turn and return the answer."""
    body = fields if message is None else {"message": message, **fields}
    answer = client.post(CHAT, json=body, headers={} if key is None else {"Idempotency-Key": key})
    assert answer.status_code == 200, answer.text
    turn: dict[str, Any] = answer.json()
    return turn


def heard(client: httpx2.Client, message: str | None = None, *, key: str | None = None, **fields: Any) -> list[Event]:
    """Take a turn and return all its events."""
    headers = STREAM if key is None else {**STREAM, "Idempotency-Key": key}
    body = fields if message is None else {"message": message, **fields}
    with streaming(client, body, headers) as events:
        return list(events)


@contextmanager
def streaming(
    client: httpx2.Client, body: dict[str, Any], headers: dict[str, str] = STREAM
) -> Iterator[Iterator[Event]]:
    """Take a turn and give its events as they come; the connection is closed at the end."""
    with client.stream("POST", CHAT, json=body, headers=headers) as answer:
        if answer.status_code != 200:
            raise AssertionError(answer.read().decode())
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield events_of(answer.iter_lines())


def resumed(client: httpx2.Client, message_id: str, after: str | None = None) -> list[Event]:
    """Follow a reply again, after the event with this id."""
    headers = {} if after is None else {"Last-Event-ID": after}
    with client.stream("GET", f"{CHAT}/{message_id}/stream", headers=headers) as answer:
        if answer.status_code != 200:
            raise AssertionError(answer.read().decode())
        return list(events_of(answer.iter_lines()))


def events_of(lines: Iterable[str]) -> Iterator[Event]:
    """Read events; comments only show that the stream lives."""
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        if not line and fields:
            yield Event(fields["id"], fields["event"], json.loads(fields["data"]))
            fields = {}
        elif name:
            fields[name] = value


def text_of(events: Iterable[Event]) -> str:
    """Return what the deltas say together."""
    return "".join(event.data["text"] for event in events if event.name == "delta")


def names(events: Iterable[Event]) -> list[str]:
    """Return the names of the events, a run of deltas as one."""
    found: list[str] = []
    for event in events:
        if event.name != "delta" or found[-1:] != ["delta"]:
            found.append(event.name)
    return found
