"""Events through real sockets: what one session does, another hears, also on another server (S2.11, S2.15)."""

from __future__ import annotations

import signal
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.listener import Heard, Listener, listening
from tests.support.server_process import Served, new_service_key, served

STREAMS = 3
ENVIRON = {
    "RECOLLECT_AUTH_MODE": "token",
    "RECOLLECT_JOBS_DEBOUNCE_SECONDS": "0",
    "RECOLLECT_SERVER_MAX_STREAMS": str(STREAMS),
}


class Sessions:
    """Clients of one user: the one acts on the first server, the other listens on the last."""

    def __init__(self, servers: list[Served], headers: dict[str, str]) -> None:
        self.acting, self.listening = (
            httpx2.Client(base_url=one.client.base_url, timeout=30, headers=headers)
            for one in (servers[0], servers[-1])
        )

    def act(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        """Do something and return what was answered."""
        answer = self.acting.request(method, path, **more)
        assert answer.is_success, answer.text
        told: dict[str, Any] = answer.json() if answer.content else {}
        return told


@pytest.fixture(scope="module")
def servers(served_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Served]]:
    """Serve a SQLite file once, and a Postgres database by two processes."""
    many = 1 if served_database.startswith("sqlite") else 2
    with ExitStack() as stack:
        yield [
            stack.enter_context(served(served_database, tmp_path_factory.mktemp("server"), ENVIRON))
            for _ in range(many)
        ]


@pytest.fixture(scope="module")
def service_key(served_database: str, servers: list[Served], tmp_path_factory: pytest.TempPathFactory) -> str:
    return new_service_key(served_database, tmp_path_factory.mktemp("keys"))


@pytest.fixture
def make_user(servers: list[Served], service_key: str) -> Iterator[Callable[[], Sessions]]:
    made: list[Sessions] = []

    def make() -> Sessions:
        headers = {"Authorization": f"Bearer {service_key}", "Recollect-User": f"user-{uuid.uuid4()}"}
        made.append(Sessions(servers, headers))
        return made[-1]

    yield make
    for user in made:
        user.acting.close()
        user.listening.close()


@pytest.fixture
def user(make_user: Callable[[], Sessions]) -> Sessions:
    return make_user()


def about(kind: str, id: str | None) -> Heard:  # noqa: A002  # the name of the field
    return kind, {"id": id}


@pytest.mark.spec("S2.11")
def test_a_change_of_the_notes_is_heard_by_the_users_other_sessions(user: Sessions) -> None:
    with listening(user.listening) as heard:
        assert heard.response.status_code == 200
        assert heard.response.headers["content-type"].startswith("text/event-stream")
        assert heard.response.headers["cache-control"] == "no-store"
        user.act("POST", "/api/notes/operations", json={"operation": "append", "content": "tea", "agent": "guide"})
        assert heard.hear() == about("notes.updated", "guide")
        user.act("POST", "/api/notes/operations", json={"operation": "read", "agent": "guide"})
        user.act("POST", "/api/notes/operations", json={"operation": "append", "content": "", "agent": "guide"})
        user.act("POST", "/api/notes/undo", params={"agent": "guide"})
        user.act("POST", "/api/notes/operations", json={"operation": "append", "content": "end"})
        assert [heard.hear(), heard.hear()] == [about("notes.updated", "guide"), about("notes.updated", "assistant")]


def test_memories_are_told_of_when_they_come_change_and_go(user: Sessions) -> None:
    with listening(user.listening) as heard:
        made = user.act("POST", "/api/memories", json={"content": "Plays the cello", "memory_type": "fact"})["id"]
        user.act("PATCH", f"/api/memories/{made}", json={"is_pinned": True})
        user.act("DELETE", f"/api/memories/{made}", params={"now": True})
        kinds = [about(f"memory.{what}", made) for what in ("created", "updated", "deleted")]
        assert [heard.hear() for _ in kinds] == kinds


def without_jobs(heard: Listener, last: Heard) -> list[Heard]:
    return [one for one in heard.hear_until(last) if one[0] != "job.updated"]


def test_conversations_are_told_of_when_they_come_change_and_go(user: Sessions) -> None:
    with listening(user.listening) as heard:
        made = user.act("POST", "/api/conversations", json={"id": "c1"})["id"]
        user.act("POST", "/api/conversations", json={"id": "c0"})
        user.act("PATCH", f"/api/conversations/{made}", json={"title": "Mine"})
        said = {"messages": [{"id": "m1", "role": "user", "content": "The door is blue."}]}
        user.act("POST", f"/api/conversations/{made}/messages", json=said)
        user.act("DELETE", f"/api/conversations/{made}/messages/m1")
        user.act("DELETE", f"/api/conversations/{made}")
        assert without_jobs(heard, about("conversation.deleted", made)) == [
            about("conversation.created", made),
            about("conversation.created", "c0"),
            *[about("conversation.updated", made)] * 3,
            about("conversation.deleted", made),
        ]


def test_the_current_conversation_is_told_of_once(user: Sessions) -> None:
    with listening(user.listening) as heard:
        current = user.act("GET", "/api/conversations/current")["id"]
        assert user.act("GET", "/api/conversations/current")["id"] == current
        user.act("PATCH", f"/api/conversations/{current}", json={"is_pinned": True})
        assert [heard.hear(), heard.hear()] == [
            about(f"conversation.{what}", current) for what in ("created", "updated")
        ]


def test_an_archived_batch_is_told_of_once(user: Sessions) -> None:
    batch = {"session_id": "s1", "messages_batch": [{"id": "m1", "text": "hello", "sender": "user"}]}
    with listening(user.listening) as heard:
        for _ in range(2):
            user.act("POST", "/api/chat/session/archive_messages", json=batch)
        user.act("POST", "/api/chat/clear", json={"session_id": "s1"})
        user.act("DELETE", "/api/conversations/s1")
        assert without_jobs(heard, about("conversation.deleted", "s1")) == [
            about(f"conversation.{what}", "s1") for what in ("created", "updated", "deleted")
        ]


def test_what_goes_with_a_conversation_is_told_of_without_names(user: Sessions) -> None:
    said = {"messages": [{"id": "m1", "role": "user", "content": "My name is Ada and I live in Bergen."}]}
    user.act("POST", "/api/conversations", json={"id": "c1"})
    user.act("POST", "/api/conversations/c1/messages", json=said)
    learned = user.act("POST", "/api/memories/extract", json={"conversation_id": "c1"}, params={"wait": True})
    assert user.act("GET", "/api/memories")["items"], learned
    with listening(user.listening) as heard:
        user.act("DELETE", "/api/conversations/c1")
        heard.hear_until(about("memory.deleted", None))


def test_a_job_that_is_done_is_told_of(user: Sessions) -> None:
    user.act("POST", "/api/conversations", json={"id": "c1"})
    said = {"messages": [{"role": "user", "content": "I like tea."}]}
    with listening(user.listening) as heard:
        user.act("POST", "/api/conversations/c1/messages", json=said)
        (job,) = (
            one
            for one in user.act("GET", "/api/jobs", params={"conversation_id": "c1"})["items"]
            if one["kind"] == "extract"
        )
        heard.hear_until(about("job.updated", job["id"]))
        assert user.act("GET", f"/api/jobs/{job['id']}")["state"] == "done"


def test_nobody_hears_of_another_user(make_user: Callable[[], Sessions]) -> None:
    ada, bob = make_user(), make_user()
    with listening(ada.listening) as heard:
        bob.act("POST", "/api/conversations", json={"id": "his"})
        bob.act("POST", "/api/memories", json={"content": "Plays the flute", "memory_type": "fact"})
        ada.act("POST", "/api/conversations", json={"id": "hers"})
        assert heard.hear() == about("conversation.created", "hers")


def test_every_session_hears_each_event_once(user: Sessions) -> None:
    with listening(user.listening) as one, listening(user.listening) as other:
        user.act("POST", "/api/conversations", json={"id": "c1"})
        user.act("POST", "/api/conversations", json={"id": "c2"})
        for heard in (one, other):
            assert [heard.hear(), heard.hear()] == [about("conversation.created", one_id) for one_id in ("c1", "c2")]


def test_an_event_says_nothing_of_what_changed(user: Sessions) -> None:
    with listening(user.listening) as heard:
        user.act("POST", "/api/notes/operations", json={"operation": "append", "content": "Geheimnis"})
        kind, data = heard.hear() or ("", {})
        assert (kind, list(data)) == ("notes.updated", ["id"])


def test_streams_of_one_user_are_limited_and_come_back_when_one_ends(make_user: Callable[[], Sessions]) -> None:
    user, other = make_user(), make_user()
    with ExitStack() as stack:
        opened = [stack.enter_context(ExitStack()) for _ in range(STREAMS)]
        for one in opened:
            assert one.enter_context(listening(user.listening)).response.status_code == 200
        refused = user.listening.get("/api/events")
        assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
        assert refused.headers["retry-after"]
        assert stack.enter_context(listening(other.listening)).response.status_code == 200
        opened[0].close()
        # The server learns of a closed connection a moment later.
        status = 429
        while status == 429:
            with listening(user.listening) as again:
                status = again.response.status_code
        assert status == 200


def test_a_stream_needs_a_caller(servers: list[Served]) -> None:
    refused = servers[0].client.get("/api/events")
    assert (refused.status_code, refused.json()["code"]) == (401, "unauthenticated")


def test_a_server_that_stops_ends_its_streams(tmp_path: Path) -> None:
    with served(f"sqlite:///{tmp_path / 'a.db'}", tmp_path) as opened, listening(opened.client) as heard:
        opened.client.post("/api/conversations", json={"id": "c1"})
        assert heard.hear() == about("conversation.created", "c1")
        opened.process.send_signal(signal.SIGTERM)
        assert heard.hear() is None
        assert opened.process.wait(10) == 0
