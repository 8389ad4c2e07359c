"""Everything of a user at a glance, through a real socket."""

from __future__ import annotations

import itertools
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from recollect.domain.job import ClaimRequest, JobFailure, NewJob
from recollect.domain.scope import Scope
from recollect.ports.store import Store
from recollect.testing.models import Fault, ScriptedModelServer, ScriptedReply
from tests.http.conftest import AsUser
from tests.support.server_process import Served
from tests.support.stored import with_store

EMPTY = {"active": 0, "archived": 0, "pending": 0, "rejected": 0, "superseded": 0}


def overview(client: httpx2.Client, **params: Any) -> dict[str, Any]:
    answer = client.get("/api/overview", params=params)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def today(told: dict[str, Any]) -> tuple[int, int, int]:
    last = told["memories"]["by_day"][-1]
    return last["learned"], last["superseded"], last["forgotten"]


@pytest.fixture
def caller(as_user: AsUser) -> httpx2.Client:
    """Give a client of a user who has nothing yet."""
    return as_user(f"user-{uuid.uuid4().hex}")


def remember(client: httpx2.Client, content: str, **more: Any) -> str:
    answer = client.post("/api/memories", json={"content": content, "memory_type": "fact", **more})
    assert answer.status_code == 201, answer.text
    memory_id: str = answer.json()["id"]
    return memory_id


def test_a_user_who_has_nothing_sees_zeros_and_every_day(caller: httpx2.Client) -> None:
    told = overview(caller)
    assert (told["conversations"], told["messages"]) == ({"total": 0, "archived": 0}, 0)
    assert told["memories"]["by_state"] == EMPTY
    assert told["jobs"] == {"queued": 0, "running": 0, "done": 0, "dead": 0}
    days = [datetime.fromisoformat(one["day"]).date() for one in told["memories"]["by_day"]]
    assert len(days) == 90
    assert [later - earlier for earlier, later in itertools.pairwise(days)] == [timedelta(days=1)] * 89
    assert abs(datetime.now(UTC).date() - days[-1]) <= timedelta(days=1)


def test_conversations_messages_and_memories_are_counted(caller: httpx2.Client) -> None:
    for name in ("c1", "c2"):
        said = [{"id": f"m{number}", "role": "user", "content": "four"} for number in range(3)]
        caller.post("/api/conversations", json={"id": name}).raise_for_status()
        caller.post(f"/api/conversations/{name}/messages", json={"messages": said}).raise_for_status()
    caller.patch("/api/conversations/c2", json={"is_archived": True}).raise_for_status()
    remember(caller, "Prefers green tea", memory_type="preference", category="food")
    aside = remember(caller, "Owns a telescope", category="things")
    gone = remember(caller, "Collects stamps")
    caller.patch(f"/api/memories/{aside}", json={"is_archived": True}).raise_for_status()
    caller.delete(f"/api/memories/{gone}", params={"now": True}).raise_for_status()
    caller.post("/api/notes/operations", json={"operation": "append", "content": "Größe"}).raise_for_status()
    told = overview(caller, days=1)
    assert (told["conversations"], told["messages"]) == ({"total": 2, "archived": 1}, 6)
    memories = told["memories"]
    assert memories["by_state"] == EMPTY | {"active": 1, "archived": 1}
    assert memories["by_type"] == [{"name": "preference", "count": 1}]
    assert memories["by_category"] == [{"name": "food", "count": 1}]
    assert memories["by_origin"] == [{"name": "manual", "count": 1}]
    assert (len(memories["by_day"]), today(told)) == (1, (3, 0, 1))
    assert told["storage"] == {
        "message_bytes": 24,
        "memory_bytes": len("Prefers green tea" + "Owns a telescope"),
        "note_bytes": 7,
        "database_bytes": None,
    }


def test_only_the_local_user_is_told_the_size_of_the_database(client: httpx2.Client, caller: httpx2.Client) -> None:
    assert overview(client)["storage"]["database_bytes"] > 10_000
    assert overview(caller)["storage"]["database_bytes"] is None


def test_dead_letters_are_counted(caller: httpx2.Client, served_database: str) -> None:
    user = caller.get("/api/session").json()["user"]
    kind, now = f"kind-{uuid.uuid4().hex}", datetime.now(UTC)

    async def work(store: Store) -> None:
        scope = Scope("default", user)
        await store.enqueue_job(scope, NewJob(id="j1", kind=kind, run_at=now), now)
        await store.enqueue_job(scope, NewJob(id="j2", kind=kind, run_at=now + timedelta(days=1)), now)
        (claimed,) = await store.claim_jobs(
            ClaimRequest(worker="w", now=now, lease=timedelta(minutes=1), limit=1, kinds=(kind,))
        )
        await store.fail_job(scope, claimed.claim, JobFailure(at=now, error="broken", retry_at=None))

    with_store(served_database, work)
    assert overview(caller)["jobs"] == {"queued": 1, "running": 0, "done": 0, "dead": 1}


def test_what_embeds_and_whether_it_learns_is_told(caller: httpx2.Client) -> None:
    caller.post("/api/conversations", json={"id": "c1"}).raise_for_status()
    said = {"messages": [{"role": "user", "content": "I moved to Oslo."}]}
    caller.post("/api/conversations/c1/messages", json=said).raise_for_status()
    told = overview(caller)
    assert told["embedding"]["model"].startswith("recollect-static")
    assert (told["embedding"]["done"], told["embedding"]["total"], told["extraction"]) == (1, 1, True)
    caller.patch("/api/settings", json={"memory_enabled": False}).raise_for_status()
    assert overview(caller)["extraction"] is False


def test_the_built_in_responder_says_so(caller: httpx2.Client) -> None:
    assert overview(caller)["model"] == {"name": None, "is_builtin": True, "breaker": None}


@pytest.mark.parametrize("days", ["0", "367", "-1", "many", "1.5"])
def test_days_that_cannot_be_told_are_422(client: httpx2.Client, days: str) -> None:
    answer = client.get("/api/overview", params={"days": days})
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")


def test_the_state_of_the_breaker_is_told_with_its_time(with_model: Served, model: ScriptedModelServer) -> None:
    client = with_model.client
    before = overview(client)["model"]
    assert (before["is_builtin"], before["breaker"]["state"], before["breaker"]["retry_at"]) == (False, "closed", None)
    assert before["name"]
    model.script(ScriptedReply(fault=Fault.OVERLOADED, retry_after="600"))
    client.post("/api/chat", json={"message": "hi"})
    after = overview(client)["model"]["breaker"]
    assert after["state"] == "open"
    assert before["breaker"]["since"] < after["since"] < after["retry_at"]
