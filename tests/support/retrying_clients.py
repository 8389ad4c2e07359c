"""Clients that chat over HTTP and never give up: what is not answered is asked again with the same key."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx2

from tests.support.chat_client import CHAT

#: Answers after which a client asks again: the same request still runs, too many, something is away.
AGAIN = (409, 429, 503)
#: What is counted where there is no status: nobody listened, or the connection was lost with the request under way.
REFUSED, LOST = -1, 0
PAUSE = 0.05
PATIENCE_SECONDS = 120


class Said(NamedTuple):
    """One thing to say, and the key under which it is said."""

    key: str
    conversation_id: str
    text: str


class RetryingClients:
    """Some clients that share what is still to be answered."""

    def __init__(self, address: Callable[[], str], conversations: list[str], *, clients: int = 4) -> None:
        self._address = address
        self._conversations = conversations
        self._threads = [threading.Thread(target=self._work) for _ in range(clients)]
        self._numbers = iter(range(10**9))
        self._unanswered: deque[Said] = deque()
        self._lock = threading.Lock()
        self._is_ending, self._is_over = threading.Event(), threading.Event()
        #: What was acknowledged.
        self.answered: dict[Said, dict[str, Any]] = {}
        #: How often each status came.
        self.statuses: Counter[int] = Counter()
        #: What the server should never have said.
        self.odd: list[str] = []

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Chat inside the block, until it is finished or fails."""
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._is_over.set()
            for thread in self._threads:
                thread.join()

    def finish(self) -> None:
        """Say nothing new, and wait until everything is answered."""
        self._is_ending.set()
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)
        assert not self._unanswered, f"{len(self._unanswered)} are not answered: {self.statuses} {self.odd}"

    def wait_for(self, answers: int) -> None:
        """Wait until so many more are answered."""
        wanted, deadline = len(self.answered) + answers, time.monotonic() + PATIENCE_SECONDS
        while len(self.answered) < wanted:
            assert time.monotonic() < deadline, f"nothing is answered: {self.statuses} {self.odd}"
            time.sleep(0.01)

    def wait_for_status(self, status: int, times: int) -> None:
        """Wait until this status came so often in all."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.statuses[status] < times:
            assert time.monotonic() < deadline, f"{status} does not come: {self.statuses} {self.odd}"
            time.sleep(0.01)

    def _work(self) -> None:
        with httpx2.Client(timeout=30) as client:
            while not self._is_over.is_set() and (one := self._next()) is not None:
                self._say(client, one)

    def _next(self) -> Said | None:
        with self._lock:
            is_ending = self._is_ending.is_set()
            if self._unanswered and (is_ending or len(self._unanswered) > 2 * len(self._threads)):
                return self._unanswered.popleft()
            if is_ending:
                return None
            number = next(self._numbers)
        conversation_id = self._conversations[number % len(self._conversations)]
        return Said(f"key-{number}", conversation_id, f"thing number {number} to keep")

    def _say(self, client: httpx2.Client, one: Said) -> None:
        body = {"message": one.text, "conversation_id": one.conversation_id}
        try:
            answer = client.post(self._address() + CHAT, json=body, headers={"Idempotency-Key": one.key})
        except httpx2.TransportError as exc:
            self._again(one, REFUSED if isinstance(exc, httpx2.ConnectError) else LOST)
            return
        if answer.status_code == 200:
            with self._lock:
                self.statuses[200] += 1
                self.answered[one] = answer.json()
            return
        if answer.status_code not in AGAIN:
            self.odd.append(f"{answer.status_code} {answer.text}")
        self._again(one, answer.status_code)

    def _again(self, one: Said, status: int) -> None:
        with self._lock:
            self.statuses[status] += 1
            self._unanswered.append(one)
        time.sleep(PAUSE)


def check_nothing_lost_or_twice(client: httpx2.Client, clients: RetryingClients, conversations: list[str]) -> None:
    """Compare all that was acknowledged with all that is stored."""
    stored: list[dict[str, Any]] = []
    for conversation_id in conversations:
        stored += everything(client, conversation_id)
    asked = Counter((one["conversation_id"], one["content"]) for one in stored if one["role"] == "user")
    assert asked == Counter((one.conversation_id, one.text) for one in clients.answered)
    by_id = {one["id"]: one for one in stored}
    assert len(by_id) == len(stored) == 2 * len(clients.answered)
    for one, turn in clients.answered.items():
        (asked_id,) = turn["user_message_ids"]
        assert by_id[asked_id]["content"] == one.text
        assert by_id[turn["message"]["id"]]["parent_id"] == asked_id


def everything(client: httpx2.Client, conversation_id: str) -> list[dict[str, Any]]:
    """Return all messages of a conversation, oldest first, without summaries."""
    found: list[dict[str, Any]] = []
    params: dict[str, Any] = {"limit": 200}
    while True:
        answer = client.get(f"/api/conversations/{conversation_id}/messages", params=params)
        assert answer.status_code == 200, answer.text
        read = answer.json()
        found = [*(one for one in read["items"] if one["role"] != "summary"), *found]
        if read["next"] is None:
            seqs = [one["seq"] for one in found]
            assert seqs == list(range(1, len(seqs) + 1)), "seq has gaps or another order"
            return found
        params["before"] = read["next"]
