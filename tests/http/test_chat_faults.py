"""Chat over HTTP while something is away: the store, the client, or the patience of five hundred others."""

from __future__ import annotations

import json
import signal
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from recollect.testing.models import Fault, ScriptedModelServer, ScriptedReply
from tests.support.chat_client import CHAT, heard, said
from tests.support.http_conversations import new_name, page, problem
from tests.support.played_model import ALONE
from tests.support.retrying_clients import RetryingClients, check_nothing_lost_or_twice, everything
from tests.support.scripted_model import wait_asked, wait_closed
from tests.support.server_process import Served, served
from tests.support.servers import PostgresServer

CONVERSATIONS = [f"c{number}" for number in range(4)]
#: Work in the background is not what is proved here.
QUIET = {"RECOLLECT_JOBS_INSIDE": "false", "RECOLLECT_STORAGE_POOL_TIMEOUT_SECONDS": "1"}
#: Five times what is promised, since other tests run on the same machine.
MOST_SECONDS = 5 * 10


def asking(model: ScriptedModelServer, **more: str) -> dict[str, str]:
    """Return the settings of a server that asks this model for chat alone, for as many streams as there are."""
    return {**ALONE, "RECOLLECT_MODEL_URL": model.url, "RECOLLECT_SERVER_MAX_STREAMS": "0", **more}


# The store


@pytest.mark.spec("R15")
@pytest.mark.timeout(900)
def test_a_postgres_that_is_killed_loses_nothing_and_makes_nobody_wait_for_ever(
    start_postgres: Callable[..., PostgresServer], tmp_path: Path, count: Callable[[int, int], int]
) -> None:
    postgres = start_postgres()
    recovered: list[float] = []
    with served(postgres.address.url(), tmp_path, QUIET) as opened:
        clients = RetryingClients(lambda: str(opened.client.base_url).rstrip("/"), CONVERSATIONS)
        with clients.at_work():
            for _ in range(count(2, 8)):
                clients.wait_for(10)
                refused = clients.statuses[503]
                postgres.kill()
                clients.wait_for_status(503, refused + 2)
                postgres.start()
                began = time.monotonic()
                clients.wait_for(1)
                recovered.append(time.monotonic() - began)
            clients.wait_for(10)
            clients.finish()
        assert set(clients.statuses) <= {200, 409, 503}
        assert clients.odd == []
        check_nothing_lost_or_twice(opened.client, clients, CONVERSATIONS)
        assert opened.client.get("/readyz").status_code == 200
    print(f"{len(recovered)} kills, {clients.statuses}, the first turn {max(recovered):.2f} s after the start at most")


def test_while_the_store_is_away_a_turn_is_refused_before_its_stream_begins(
    start_postgres: Callable[..., PostgresServer], tmp_path: Path
) -> None:
    postgres = start_postgres(durable=False)
    with served(postgres.address.url(), tmp_path, QUIET) as opened:
        said(opened.client, "hello", conversation_id="c")
        postgres.kill()
        for headers in ({}, {"Accept": "text/event-stream"}, {"Idempotency-Key": "k"}):
            answer = opened.client.post(CHAT, json={"message": "hi", "conversation_id": "d"}, headers=headers)
            assert problem(answer) == (503, "storage_unavailable")


def test_who_may_go_on_without_the_store_is_answered_and_told_that_nothing_is_kept(
    start_postgres: Callable[..., PostgresServer], tmp_path: Path
) -> None:
    postgres = start_postgres(durable=False)
    with served(postgres.address.url(), tmp_path, {**QUIET, "RECOLLECT_STORAGE_VOLATILE_FALLBACK": "true"}) as opened:
        kept = said(opened.client, "hello", conversation_id="c")
        postgres.kill()
        for name in ("c", "d"):
            turn = said(opened.client, "are you there?", conversation_id=name, key=f"key-{name}")
            assert (turn["durability"], turn["message"]["status"]) == ("volatile", "complete")
            assert turn["message"]["content"]
        (saved,) = [one.data for one in heard(opened.client, "and now?", conversation_id="e") if one.name == "saved"]
        assert saved["durability"] == "volatile"
        refused = opened.client.post(CHAT, json={"conversation_id": "c", "regenerate": kept["message"]["id"]})
        assert problem(refused) == (503, "storage_unavailable")
        postgres.start()
        again = said(opened.client, "are you there?", conversation_id="c", key="key-c")
        assert again["durability"] == "durable"
        assert [one["content"] for one in everything(opened.client, "c")][::2] == ["hello", "are you there?"]


# The client


def dropped(port: int, conversation_id: str) -> None:
    """Begin a turn, read the reply up to its first word, and go without a word."""
    body = json.dumps({"message": f"a tale of {conversation_id}", "conversation_id": conversation_id}).encode()
    head = f"POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += f"Accept: text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(head.encode() + body)
        read = b""
        while b"event: delta" not in read:
            part = connection.recv(65_536)
            assert part, read
            read += part
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")


@pytest.mark.spec("R17")
def test_clients_that_drop_a_stream_lose_neither_their_message_nor_what_was_said(
    model: ScriptedModelServer, tmp_path: Path, count: Callable[[int, int], int]
) -> None:
    names = [f"dropped-{number}" for number in range(count(20, 200))]
    environ = asking(model, RECOLLECT_SERVER_RESUME_SECONDS="0.5")
    with served(f"sqlite:///{tmp_path / 'r.db'}", tmp_path, environ) as opened:
        said(opened.client, "warm")
        before = connections(opened)
        model.script(*(ScriptedReply(text=("Once upon", "..."), fault=Fault.STALL) for _ in names))
        with ThreadPoolExecutor(20) as threads:
            list(threads.map(lambda name: dropped(opened.port, name), names))
        for name in names:
            assert kept(opened.client, name) == [
                ("user", f"a tale of {name}", "complete"),
                ("assistant", "Once upon", "interrupted"),
            ]
        # Whoever still wrote a reply would still be connected with the model.
        wait_closed(model)
        assert connections(opened) <= before
        assert said(opened.client, "still there?")["durability"] == "durable"


def connections(opened: Served) -> int:
    """Count what a task that was left behind would hold."""
    return len(psutil.Process(opened.process.pid).net_connections())


def kept(client: httpx2.Client, conversation_id: str) -> list[tuple[str, str, str]]:
    """Return what is stored once the turn is recorded."""
    while True:
        answer = client.get(f"/api/conversations/{conversation_id}/messages")
        if answer.status_code == 200:
            return [(one["role"], one["content"], one["status"]) for one in answer.json()["items"]]


@pytest.mark.spec("R18")
def test_a_server_that_is_told_to_end_keeps_fifty_replies_as_far_as_they_came(
    model: ScriptedModelServer, tmp_path: Path
) -> None:
    database = f"sqlite:///{tmp_path / 'r.db'}"
    names = [f"open-{number}" for number in range(50)]
    environ = asking(model)
    with served(database, tmp_path, environ) as opened, ThreadPoolExecutor(50) as threads:
        acknowledged = said(opened.client, "remember me")
        before = len(model.seen)
        model.script(*(ScriptedReply(text=("Well", "..."), fault=Fault.STALL) for _ in names))
        base = opened.client.base_url

        def follow(name: str) -> list[str]:
            with httpx2.Client(base_url=base, timeout=60) as client:
                return [one.name for one in heard(client, f"about {name}", conversation_id=name)]

        following = [threads.submit(follow, name) for name in names]
        wait_asked(model, before + len(names))
        opened.process.send_signal(signal.SIGTERM)
        told = [one.result(MOST_SECONDS) for one in following]
        assert opened.process.wait(MOST_SECONDS) == 0
    assert all(one[-2:] == ["saved", "done"] for one in told)
    with served(database, tmp_path, QUIET) as opened:
        for name in names:
            (asked, replied) = page(opened.client, name)["items"]
            assert (asked["content"], replied["status"]) == (f"about {name}", "interrupted")
            assert replied["content"] in ("Well", "")
        assert len(everything(opened.client, acknowledged["conversation_id"])) == 2


# Many at once


@pytest.mark.spec("R30")
def test_many_at_once_on_a_cold_conversation_are_all_kept_in_one_order(
    tmp_path: Path, count: Callable[[int, int], int]
) -> None:
    database, name, many = f"sqlite:///{tmp_path / 'r.db'}", new_name(), count(100, 500)
    with served(database, tmp_path, QUIET) as opened:
        said(opened.client, "first", conversation_id=name)
    with served(database, tmp_path, QUIET) as opened, ThreadPoolExecutor(100) as threads:

        def ask(number: int) -> dict[str, Any]:
            return said(opened.client, f"number {number}", conversation_id=name)

        turns = list(threads.map(ask, range(many)))
        stored = everything(opened.client, name)
    assert len(stored) == 2 * many + 2
    assert [one["parent_id"] for one in stored[1:]] == [one["id"] for one in stored[:-1]]
    pairs = {(asked["content"], answer["id"]) for asked, answer in zip(stored[2::2], stored[3::2], strict=True)}
    assert pairs == {(f"number {number}", turn["message"]["id"]) for number, turn in enumerate(turns)}
