"""Nobody reaches what is somebody else's: every operation of the API, called by everybody who may not.

The operations come from the OpenAPI document, so a route without a case fails here.
Everything runs on SQLite, on Postgres, and on Postgres without the application's own filter, where row security alone
stands between users.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import httpx2
import psycopg
import pytest

from recollect.domain.identity import NewKey
from recollect.http.app import create_app
from recollect.settings import Settings
from recollect.storage.queries import load_queries
from tests.support.chat_client import said
from tests.support.listener import listening
from tests.support.servers import PostgresAddress
from tests.support.tenant_cases import CASES, Case, Ids
from tests.support.tenant_world import CANARY, MINE, OWNER, World, bearer, done, tenant_world, token
from tests.support.unfiltered_queries import without_filter

METHODS = {"get", "post", "put", "patch", "delete", "head", "options", "trace"}
#: Parameters and headers with which somebody might try to be the owner.
WIDER = Case(
    "",
    "open",
    query={"user": OWNER.user, "user_id": OWNER.user, "tenant": OWNER.tenant, "tenant_id": OWNER.tenant, "sub": "alice"},
    body={"user": OWNER.user, "user_id": OWNER.user, "tenant": OWNER.tenant, "tenant_id": OWNER.tenant},
    headers={"X-User": OWNER.user, "X-Tenant": OWNER.tenant, "Recollect-Tenant": OWNER.tenant, "From": OWNER.user},
)
#: What tells one answer from another although they say the same.
_ELSEWHERE = {"date", "content-length"}
_USED = {"access_count", "last_accessed_at"}


@pytest.fixture(scope="module")
def unfiltered_url(shared_postgres: PostgresAddress) -> Iterator[str]:
    name = f"test_{uuid.uuid4().hex}"
    yield shared_postgres.create_database(name)
    shared_postgres.drop_database(name)


@pytest.fixture(scope="module", params=["sqlite", "postgres", "row security alone"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("world")
    if request.param == "sqlite":
        database, program = f"sqlite:///{folder / 'a.db'}", "recollect"
    else:
        database = request.getfixturevalue("shared_postgres").create_database(f"test_{uuid.uuid4().hex}")
        program = "recollect" if request.param == "postgres" else "tests.support.unfiltered_queries"
    with tenant_world(database, folder, program=program) as opened:
        yield opened
    if request.param != "sqlite":
        request.getfixturevalue("shared_postgres").drop_database(database.rpartition("/")[2].partition("?")[0])


def others(world: World) -> dict[str, httpx2.Client]:
    """Return new callers who are not the owner: of the same tenant, of another one, and a service for one of them."""
    bob, tenant = f"bob-{uuid.uuid4()}", f"t-{uuid.uuid4()}"
    acting = world.caller(bearer(world.keys["service"]) | {"Recollect-User": bob})
    return {
        "another user": world.person(bob),
        "another tenant": world.person(OWNER.user, tenant),
        "a service for another user": acting,
    }


def refused_credentials(world: World) -> dict[str, tuple[dict[str, str], int]]:
    """Return what proves nothing or not enough, and the status that it gets."""
    unknown = f"rk_{uuid.uuid4()}_{'x' * 43}"
    tokens = {
        "garbage": "garbage",
        "an unknown key": unknown,
        "a key with another secret": world.keys["owner"][:-4] + "AAAA",
        "a revoked key": world.keys["revoked"],
        "an expired key": world.keys["expired"],
        "a forged token": token("another secret of more than thirty bytes"),
        "an unsigned token": token(algorithm="none"),
        "an expired token": token(exp=1),
        "a token for another audience": token(aud="another"),
    }
    found = {name: (bearer(one), 401) for name, one in tokens.items()}
    bob = world.new_key(NewKey(name="bob", tenant=OWNER.tenant, user="bob"))
    return found | {
        "nothing": ({}, 401),
        "another scheme": ({"Authorization": f"Basic {world.keys['owner']}"}, 401),
        "a cookie of a revoked key": ({"Cookie": f"recollect_session={world.keys['revoked']}"}, 401),
        "an address": ({"Recollect-User": OWNER.user}, 401),
        "a service for nobody": (bearer(world.keys["service"]), 403),
        "another user as the owner": (bearer(bob) | {"Recollect-User": OWNER.user}, 403),
        "the owner's token as another": (bearer(token()) | {"Recollect-User": "bob"}, 403),
    }


def told(answer: httpx2.Response, ids: Ids) -> tuple[int, dict[str, str], str]:
    """Return all that an answer tells, with the names of the ids that were asked for."""
    text = answer.text
    if answer.is_success and answer.headers.get("content-type", "").startswith("application/json"):
        text = json.dumps(without_uses(answer.json()))
    for name in sorted(ids, key=lambda one: -len(ids[one])):
        text = text.replace(ids[name], f"${name}")
    headers = {name: value for name, value in answer.headers.items() if name not in _ELSEWHERE}
    return answer.status_code, headers, text


def without_uses(value: Any) -> Any:
    """Return the value without what counts how often a memory was looked at."""
    if isinstance(value, list):
        return [without_uses(one) for one in value]
    if isinstance(value, dict):
        return {name: without_uses(one) for name, one in value.items() if name not in _USED}
    return value


def asked_since(world: World, before: int) -> str:
    """Return all that the model was told since it had been asked so often."""
    return "\n".join(f"{one.system} {[message.text for message in one.messages]}" for one in world.model.asked[before:])


# Every route has a case


def test_every_operation_has_a_case_and_every_case_an_operation(world: World) -> None:
    document = world.server.client.get("/openapi.json").json()
    operations = {
        f"{method.upper()} {path}" for path, told in document["paths"].items() for method in told if method in METHODS
    }
    assert {case.operation for case in CASES} == operations


def test_only_pages_are_left_out_of_the_document() -> None:
    app = create_app(Settings.load({}, {}))
    hidden = {route.path for route in app.routes if not getattr(route, "include_in_schema", False)}
    assert hidden == {
        "/openapi.json",
        "/",
        "/docs",
        *(f"/pages/{name}" for name in ("chat.js", "api.js", "page.css", "icon.svg")),
    }


# Who is let in at all


@pytest.mark.spec("R22", "B7")
def test_what_proves_nothing_is_refused_everywhere(world: World) -> None:
    before = world.everything()
    first = {case.operation: case for case in CASES if case.outcome != "open"}
    for name, (headers, status) in refused_credentials(world).items():
        caller = world.caller(headers)
        answers = {case.operation: case.send(caller, world.ids) for case in first.values()}
        assert {one: answer.status_code for one, answer in answers.items()} == dict.fromkeys(first, status), name
        # In the same words, wherever it is and whatever is there.
        assert len({answer.text for answer in answers.values()}) == 1, name
        assert CANARY not in next(iter(answers.values())).text
    assert world.everything() == before


@pytest.mark.spec("R22", "B7")
def test_who_may_only_read_changes_nothing(world: World) -> None:
    before = world.everything()
    reader = world.caller(bearer(world.keys["reader"]))
    for case in CASES:
        if case.is_writing and case.outcome != "open":
            answer = case.send(reader, world.ids)
            assert answer.status_code == 403, (case, answer.text)
        elif case.is_foreign_alone and case.outcome in ("same", "missing"):
            # The dead job's stream and the like are the owner's, who reads them.
            assert case.send_briefly(reader, world.ids) != 403, case
    assert world.everything() == before
