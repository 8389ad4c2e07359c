"""Jobs through a real socket: listed, looked at, and queued again after they died."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest

from recollect.domain.job import Job, NewJob
from recollect.domain.scope import Scope
from recollect.ports.store import Store
from tests.support.listener import listening
from tests.support.server_process import served
from tests.support.stored import with_store

LOCAL = Scope()
SHAPE = {
    *("id", "kind", "state", "attempts", "max_attempts", "conversation_id", "error", "run_at"),
    *("created_at", "updated_at"),
}


@pytest.fixture(scope="module")
def client(served_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    """Give a client of a server that looks often for jobs of others."""
    environ = {"RECOLLECT_JOBS_POLL_SECONDS": "0.2"}
    with served(served_database, tmp_path_factory.mktemp("server"), environ) as opened:
        yield opened.client


def queued(database: str, *kinds: str, conversation_id: str | None = None, scope: Scope = LOCAL) -> list[str]:
    """Queue jobs of these kinds and return their ids; nobody does those of kinds that nobody knows."""

    async def work(store: Store) -> list[Job]:
        now = datetime.now(UTC)
        new = [NewJob(id=str(uuid.uuid4()), kind=kind, run_at=now, conversation_id=conversation_id) for kind in kinds]
        return [await store.enqueue_job(scope, one, now) for one in new]

    return [job.id for job in with_store(database, work)]


def dead(client: httpx2.Client, database: str) -> dict[str, Any]:
    """Return a job that died: one to learn from a conversation, which names none."""
    with listening(client) as heard:
        (job_id,) = queued(database, "extract")
        heard.hear_until(("job.updated", {"id": job_id}))
    job: dict[str, Any] = client.get(f"/api/jobs/{job_id}").json()
    assert job["state"] == "dead"
    return job


def test_a_dead_job_tells_why_and_nothing_that_only_workers_need(client: httpx2.Client, served_database: str) -> None:
    job = dead(client, served_database)
    assert set(job) == SHAPE
    assert (job["kind"], job["attempts"], job["conversation_id"]) == ("extract", 1, None)
    assert job["error"].startswith("invalid_input")
    assert job["run_at"].endswith("Z")
    listed = client.get("/api/jobs", params={"state": "dead"}).json()["items"]
    assert job in listed
    assert job not in client.get("/api/jobs", params={"state": "queued"}).json()["items"]


def test_a_dead_job_is_queued_again_with_all_its_attempts(client: httpx2.Client, served_database: str) -> None:
    job = dead(client, served_database)
    with listening(client) as heard:
        accepted = client.post(f"/api/jobs/{job['id']}/retry")
        assert (accepted.status_code, list(accepted.json())) == (202, ["job"])
        again = accepted.json()["job"]
        assert (again["id"], again["state"], again["attempts"]) == (job["id"], "queued", 0)
        told = ("job.updated", {"id": job["id"]})
        heard.hear_until(told)
        heard.hear_until(told)
    assert client.get(f"/api/jobs/{job['id']}").json()["state"] == "dead"


def test_the_same_idempotency_key_retries_once(client: httpx2.Client, served_database: str) -> None:
    job = dead(client, served_database)
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    with listening(client) as heard:
        first, again = (client.post(f"/api/jobs/{job['id']}/retry", headers=headers) for _ in range(2))
        assert (first.status_code, again.status_code, again.content) == (202, 202, first.content)
        told = ("job.updated", {"id": job["id"]})
        heard.hear_until(told)
        heard.hear_until(told)
    other = client.post(f"/api/jobs/{uuid.uuid4()}/retry", headers=headers)
    assert other.status_code == 422


def test_only_a_dead_job_can_be_retried(client: httpx2.Client, served_database: str) -> None:
    (waiting,) = queued(served_database, "nobody-does-this")
    answer = client.post(f"/api/jobs/{waiting}/retry")
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    assert client.get(f"/api/jobs/{waiting}").json()["state"] == "queued"


def test_jobs_are_paged_to_the_end_newest_first(client: httpx2.Client, served_database: str) -> None:
    mine = f"c-{uuid.uuid4()}"
    made = queued(served_database, *["nobody-does-this"] * 5, conversation_id=mine)
    seen: list[str] = []
    params: dict[str, Any] = {"conversation_id": mine, "limit": 2}
    for expected in (2, 2, 1):
        page = client.get("/api/jobs", params=params).json()
        assert len(page["items"]) == expected
        seen += [job["id"] for job in page["items"]]
        params["cursor"] = page["next"]
    assert params["cursor"] is None
    assert seen == made[::-1]
    exact = client.get("/api/jobs", params={"conversation_id": mine, "limit": 5}).json()
    assert (len(exact["items"]), exact["next"]) == (5, None)
    nothing = client.get("/api/jobs", params={"conversation_id": mine, "state": "dead"}).json()
    assert nothing == {"items": [], "next": None}


def test_a_job_of_somebody_else_is_as_missing_as_one_that_is_not_there(
    client: httpx2.Client, served_database: str
) -> None:
    (other,) = queued(served_database, "nobody-does-this", scope=Scope("default", "somebody-else"))
    for method, path in (("GET", "/api/jobs/{}"), ("POST", "/api/jobs/{}/retry")):
        theirs, none = (client.request(method, path.format(one)) for one in (other, "none"))
        assert (theirs.status_code, theirs.json()["code"]) == (404, "job_not_found")
        assert {**theirs.json(), "request_id": ""} == {**none.json(), "request_id": ""}
    assert other not in [job["id"] for job in client.get("/api/jobs", params={"limit": 200}).json()["items"]]


@pytest.mark.parametrize(
    "params",
    [
        {"state": "tired"},
        {"limit": "0"},
        {"limit": "201"},
        {"limit": "many"},
        {"cursor": "nonsense"},
        {"cursor": "NQ"},
        {"cursor": "Im5vbmUi"},
        {"conversation_id": ""},
        {"conversation_id": "x" * 129},
    ],
)
def test_a_question_that_makes_no_sense_is_422(client: httpx2.Client, params: dict[str, str]) -> None:
    answer = client.get("/api/jobs", params=params)
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
