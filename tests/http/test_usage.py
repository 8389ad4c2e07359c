"""Usage through a real socket: what models cost, in all and in parts (B13)."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from recollect.domain.scope import Scope
from recollect.domain.turn import Usage
from recollect.domain.usage import UsageEntry
from recollect.ports.store import Store
from tests.support.server_process import served
from tests.support.stored import with_store

JANUARY, MARCH = datetime(2026, 1, 10, tzinfo=UTC), datetime(2026, 3, 10, tzinfo=UTC)


def entry(number: int, at: datetime, kind: str, **more: Any) -> UsageEntry:
    spent = Usage(input_tokens=number, output_tokens=1)
    return UsageEntry(id=str(uuid.uuid4()), at=at, kind=kind, model=f"m-{kind}", usage=spent, **more)


@pytest.fixture(scope="module", autouse=True)
def _spent(client: httpx2.Client, served_database: str) -> None:
    """Let the user have spent something, and somebody else more."""

    async def work(store: Store) -> None:
        await store.record_usage(Scope(), entry(100, JANUARY, "chat", conversation_id="c1"))
        await store.record_usage(Scope(), entry(20, MARCH, "extract", conversation_id="c1", job_id="j1", calls=2))
        await store.record_usage(Scope(), entry(3, MARCH, "chat", conversation_id="c2", estimated=1))
        await store.record_usage(Scope("default", "somebody-else"), entry(5_000, MARCH, "chat"))

    with_store(served_database, work)


def totals(client: httpx2.Client, **params: Any) -> dict[str, Any]:
    answer = client.get("/api/usage", params=params)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def named(shares: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(share["name"], share["spent"]["input_tokens"]) for share in shares]


@pytest.mark.spec("B13")
def test_what_models_cost_is_added_up_by_kind_model_conversation_and_job(client: httpx2.Client) -> None:
    told = totals(client)
    assert told["total"] == {"input_tokens": 123, "output_tokens": 3, "calls": 4, "estimated": 1, "cost": None}
    assert named(told["by_kind"]) == [("chat", 103), ("extract", 20)]
    assert named(told["by_model"]) == [("m-chat", 103), ("m-extract", 20)]
    assert named(told["by_conversation"]) == [("c1", 120), ("c2", 3)]
    assert named(told["by_job"]) == [("j1", 20)]
    assert told["corrupt"] == []


@pytest.mark.spec("B13")
def test_tokens_cost_what_the_settings_say(client: httpx2.Client, served_database: str, tmp_path: Path) -> None:
    environ = {
        "RECOLLECT_MODEL_PRICES": json.dumps({"m-chat": {"input": 10, "output": 0.5}}),
        "RECOLLECT_MODEL_CURRENCY": "EUR",
        "RECOLLECT_JOBS_INSIDE": "false",
    }
    with served(served_database, tmp_path, environ) as priced:
        told = totals(priced.client)
        assert told["total"]["cost"] == {"amount": 0.001031, "currency": "EUR", "unpriced_tokens": 21}
        costs = {share["name"]: share["spent"]["cost"] for share in told["by_model"]}
        assert costs == {"m-chat": {"amount": 0.001031, "currency": "EUR", "unpriced_tokens": 0}, "m-extract": None}
        assert told["by_conversation"][0]["spent"]["cost"]["amount"] == pytest.approx(0.0010005)
        assert totals(priced.client, conversation_id="c2")["total"]["cost"]["amount"] == pytest.approx(0.0000305)
        assert totals(priced.client, conversation_id="nowhere")["total"]["cost"]["amount"] == 0


def test_a_period_and_a_conversation_can_be_asked_for(client: httpx2.Client) -> None:
    assert totals(client, conversation_id="c2")["total"]["input_tokens"] == 3
    assert totals(client, conversation_id="nowhere")["total"]["calls"] == 0
    assert totals(client, since="2026-03-10T00:00:00Z")["total"]["input_tokens"] == 23
    assert totals(client, until="2026-03-10T00:00:00Z")["total"]["input_tokens"] == 100
    assert totals(client, since="2026-03-10T01:00:00+02:00", until="2026-03-11T00:00:00Z")["total"]["calls"] == 3


@pytest.mark.parametrize(
    "params",
    [
        {"since": "yesterday"},
        {"since": "2026-03-10T00:00:00"},
        {"since": "2026-03-10T00:00:00Z", "until": "2026-03-09T00:00:00Z"},
        {"conversation_id": ""},
        {"conversation_id": "a\nb"},
        {"since": "0001-01-01T00:00:00+14:00"},
    ],
)
def test_a_question_that_makes_no_sense_is_422(client: httpx2.Client, params: dict[str, str]) -> None:
    answer = client.get("/api/usage", params=params)
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
