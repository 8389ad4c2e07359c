"""Nobody reaches what is somebody else's: every operation of the API, called by everybody who may not.

The operations come from the OpenAPI document, so a route without a case fails here.
Everything runs on SQLite, on Postgres, and on Postgres without the application's own filter, where row security alone
stands between users.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from fastapi.routing import APIRoute
from starlette.routing import Mount, Route, WebSocketRoute

from recollect.domain.identity import NewKey
from recollect.http import web_app
from recollect.http.app import ROUTERS, create_app
from recollect.settings import Settings
from tests.support.listener import listening
from tests.support.scripted_model import asked
from tests.support.server_process import new_service_key, served
from tests.support.servers import PostgresAddress
from tests.support.tenant_cases import CASES, Case, Ids
from tests.support.tenant_world import CANARY, MINE, OWNER, ROOT, TEXT, World, bearer, done, tenant_world, token

METHODS = {"get", "post", "put", "patch", "delete", "head", "options", "trace"}
#: Parameters and headers with which somebody might try to be the owner.
WIDER = Case(
    "",
    "open",
    query={
        "user": OWNER.user,
        "user_id": OWNER.user,
        "tenant": OWNER.tenant,
        "tenant_id": OWNER.tenant,
        "sub": "alice",
    },
    body={"user": OWNER.user, "user_id": OWNER.user, "tenant": OWNER.tenant, "tenant_id": OWNER.tenant},
    headers={"X-User": OWNER.user, "X-Tenant": OWNER.tenant, "Recollect-Tenant": OWNER.tenant, "From": OWNER.user},
)
#: The program whose queries do not say whose rows they mean.
UNFILTERED = "tests.support.unfiltered_queries"
#: What others get for what is not theirs, and for what is not there.
STATUS = {"missing": 404, "refused": 422, "same": 200}
#: What tells one answer from another although they say the same.
_ELSEWHERE = {"date", "content-length"}
_USED = {"access_count", "last_accessed_at"}


@pytest.fixture(scope="module", params=["sqlite", "postgres", "row security alone"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("world")
    if request.param == "sqlite":
        database, program = f"sqlite:///{folder / 'a.db'}", "recollect"
    else:
        database = request.getfixturevalue("shared_postgres").create_database(f"test_{uuid.uuid4().hex}")
        program = "recollect" if request.param == "postgres" else UNFILTERED
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
    return "\n".join(
        f"{one.system} {[message.text for message in one.messages]}" for one in asked(world.model)[before:]
    )


# Every route has a case


def test_every_operation_has_a_case_and_every_case_an_operation(world: World) -> None:
    document = world.server.client.get("/openapi.json").json()
    operations = {
        f"{method.upper()} {path}" for path, told in document["paths"].items() for method in told if method in METHODS
    }
    assert {case.operation for case in CASES} == operations


def test_only_pages_are_left_out_of_the_document() -> None:
    routes = [*create_app(Settings.load({}, {})).routes, *(route for router in ROUTERS for route in router.routes)]
    hidden = {one.path for one in routes if isinstance(one, Route | APIRoute) and not one.include_in_schema}
    built = Path(web_app.__file__).with_name("static")
    assert not any(isinstance(one, Mount | WebSocketRoute) for one in routes)
    assert hidden == {
        "/openapi.json",
        "/",
        "/docs",
        *(f"/pages/{name}" for name in ("api.js", "page.css", "icon.svg")),
        *(f"/{one.relative_to(built)}" for one in built.rglob("*.*") if one.name != web_app.INDEX),
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
        # In the same words, wherever it is and whatever is there; OpenAI's clients want them in another shape.
        assert len({(" /v1/" in one, answer.text) for one, answer in answers.items()}) == 2, name
        assert not any(CANARY in answer.text for answer in answers.values())
    assert world.everything() == before


@pytest.mark.spec("R22", "B7")
def test_who_may_only_read_changes_nothing(world: World) -> None:
    before = world.everything()
    reader = world.caller(bearer(world.keys["reader"]))
    for case in CASES:
        if case.is_writing and case.outcome != "open":
            answer = case.send(reader, world.ids)
            assert answer.status_code == 403, (case, answer.text)
    assert world.everything() == before


# What is found


@pytest.mark.spec("R22", "R23", "B7")
def test_what_is_somebody_elses_is_as_missing_as_what_never_was(world: World) -> None:
    before = world.everything()
    wrong = []
    for name, caller in others(world).items():
        for case in CASES:
            if case.outcome not in STATUS:
                continue
            never = case.send(caller, world.nothing)
            for answer in (case.send(caller, world.ids), case.send(caller, world.ids, WIDER)):
                is_same = told(answer, world.ids) == told(never, world.nothing)
                is_silent = CANARY not in answer.text and (answer.is_success or answer.content == never.content)
                if not is_same or not is_silent or answer.status_code != STATUS[case.outcome]:
                    wrong.append((name, case, answer.status_code, answer.text, never.text))
    assert wrong == []
    assert world.everything() == before


@pytest.mark.spec("R22", "R23", "B7")
def test_what_others_write_under_the_same_ids_is_their_own(world: World) -> None:
    before, times = world.everything(), len(asked(world.model))
    own = [case for case in CASES if case.outcome == "own"]
    wrong = [
        (name, case, answer.status_code, answer.text)
        for name, caller in others(world).items()
        for case in own
        for answer in (case.send(caller, world.ids), case.send(caller, world.ids, WIDER))
        if not answer.is_success or CANARY in answer.text
    ]
    assert wrong == []
    assert CANARY not in asked_since(world, times)
    assert world.everything() == before


@pytest.mark.spec("R22", "R23", "B7")
def test_whoever_erases_a_user_erases_themselves(world: World) -> None:
    before = world.everything()
    (case,) = (case for case in CASES if case.outcome == "end")
    for name, caller in others(world).items():
        assert done(case.send(caller, world.ids, WIDER))["erased"]["conversations"] >= (" for " not in name)
    assert world.everything() == before


@pytest.mark.spec("R22")
def test_the_counts_of_the_server_are_for_its_operators(world: World) -> None:
    cases = [case for case in CASES if case.outcome == "admin"]
    assert cases
    for name, caller in others(world).items():
        assert [case.send(caller, world.ids).status_code for case in cases] == [403] * len(cases), name


@pytest.mark.spec("R22", "R23")
def test_others_hear_nothing_of_what_happens_to_the_owner(world: World) -> None:
    for name, caller in others(world).items():
        with listening(caller) as heard:
            done(world.owner.post("/api/conversations", json={"title": CANARY}))
            done(world.owner.post("/api/memories", json={"content": f"{uuid.uuid4()}", "memory_type": "fact"}))
            done(world.owner.post("/api/notes/operations", json={"operation": "append", "content": CANARY}))
            mine = done(caller.post("/api/conversations", json={}))["id"]
            assert heard.hear_until(("conversation.created", {"id": mine}))[0][1] == {"id": mine}, name


# Words that stand for somebody


@pytest.mark.spec("R22", "R23")
def test_an_archive_token_archives_to_its_own_session_and_nothing_else(world: World) -> None:
    before = world.everything()
    bob = world.person(f"bob-{uuid.uuid4()}")
    batch = [{"id": "mine", "text": "words of another", "sender": "user"}]
    body = {"session_id": MINE["mine"], "messages_batch": batch}
    path = "/api/chat/session/archive_messages"
    for caller in (bob, world.caller({})):
        refused = caller.post(path, params={"archive_token": world.archive_token}, json=body)
        assert (refused.status_code, refused.json()["code"]) == (403, "permission_denied")
        for other in ("/api/conversations", "/api/memories", "/api/me/export"):
            answer = caller.get(other, params={"archive_token": world.archive_token})
            assert answer.status_code == (200 if caller is bob else 401)
            assert CANARY not in answer.text
    # A token that another user got for a session of the same name is for their own session.
    own = done(bob.post("/api/chat/session/archive_token", json={"session_id": world.ids["conversation"]}))
    stolen = body | {"session_id": world.ids["conversation"]}
    done(world.caller({}).post(path, params={"archive_token": own["archive_token"]}, json=stolen))
    kept = bob.get(f"/api/conversations/{world.ids['conversation']}/messages").json()["items"]
    assert [one["content"] for one in kept] == ["words of another"]
    assert world.everything() == before


@pytest.mark.spec("R22", "R23")
def test_an_idempotency_key_is_of_one_user(world: World) -> None:
    before = world.everything()
    bob = world.person(f"bob-{uuid.uuid4()}")
    same = {"message": f"{TEXT}?", "conversation_id": world.ids["conversation"]}
    answer = bob.post("/api/chat", json=same, headers={"Idempotency-Key": "owners-key"})
    assert answer.status_code == 200
    assert "Idempotent-Replayed" not in answer.headers
    assert answer.json()["message"]["id"] != world.ids["answer"]
    other = bob.post("/api/conversations", json={}, headers={"Idempotency-Key": "another-key"})
    assert other.status_code == 201
    assert world.everything() == before


@pytest.mark.spec("R22", "R23")
def test_what_is_known_of_one_user_changes_no_answer_to_another(world: World) -> None:
    before = world.everything()
    bob = world.person(f"bob-{uuid.uuid4()}")
    # The owner said so too, and whoever says what is known already gets the memory that is there.
    added = bob.post("/api/memories", json={"content": "Prefers green tea", "memory_type": "preference"})
    assert (added.status_code, added.json()["access_count"]) == (201, 0)
    assert world.everything() == before


@pytest.mark.spec("R22", "R23")
def test_the_same_history_finds_the_conversation_of_its_own_user(world: World) -> None:
    history = [{"role": "user", "content": TEXT}]
    path = "/v1/chat/completions"
    first = done(world.owner.post(path, json={"messages": history}))
    history += [first["choices"][0]["message"] | {"role": "assistant"}, {"role": "user", "content": "and then?"}]
    before = world.everything()
    bob = world.person(f"bob-{uuid.uuid4()}")
    other = done(bob.post(path, json={"messages": history}))["recollect"]["conversation_id"]
    assert other != first["recollect"]["conversation_id"]
    assert bob.get(f"/api/conversations/{first['recollect']['conversation_id']}").status_code == 404
    assert world.everything() == before
    again = done(world.owner.post(path, json={"messages": history}))
    assert again["recollect"]["conversation_id"] == first["recollect"]["conversation_id"]


@pytest.mark.spec("R22", "R23")
def test_a_file_of_the_owner_is_taken_in_as_ones_own(world: World) -> None:
    before = world.everything()
    exported = world.owner.get("/api/me/export").content
    bob = world.person(f"bob-{uuid.uuid4()}")
    taken = done(bob.post("/api/import", params={"trusted": "true"}, content=exported))
    assert taken["messages"] >= 6
    assert bob.get(f"/api/conversations/{world.ids['conversation']}").status_code == 200
    assert done(bob.delete("/api/me"))["erased"]["messages"] >= taken["messages"]
    assert world.everything() == before
    assert records(world.owner.get("/api/me/export").content) == records(exported)


def records(exported: bytes) -> list[Any]:
    """Return the records of an export, without the moment when it was made."""
    return [json.loads(line) for line in exported.splitlines()][1:]


@pytest.mark.spec("R22")
@pytest.mark.parametrize("credential", ["owner", "token"])
def test_the_owner_finds_all_that_others_do_not(world: World, credential: str) -> None:
    caller = world.owner if credential == "owner" else world.caller(bearer(token(agent=OWNER.agent)))
    for case in CASES:
        is_reading = case.outcome in ("missing", "same") and not case.is_writing
        if case.found and (is_reading or (credential == "token" and case.outcome == "missing")):
            status = case.status(caller, world.ids)
            assert status not in (401, 403, 404, 405, 422, 500), case


@pytest.mark.spec("R23")
def test_without_filters_a_missing_policy_would_show(shared_postgres: PostgresAddress, tmp_path: Path) -> None:
    name = f"test_{uuid.uuid4().hex}"
    database = shared_postgres.create_database(name)
    environ = {"RECOLLECT_AUTH_MODE": "token", "PYTHONPATH": str(ROOT)}
    with served(database, tmp_path, environ, program=UNFILTERED) as opened:
        service = {"Authorization": f"Bearer {new_service_key(database, tmp_path)}"}
        alice, bob = ({**service, "Recollect-User": user} for user in ("alice", "bob"))
        done(opened.client.post("/api/conversations", json={"id": "c1"}, headers=alice))
        assert opened.client.get("/api/conversations/c1", headers=bob).status_code == 404
        with psycopg.connect(database) as connection:
            connection.execute("ALTER TABLE recollect.conversations DISABLE ROW LEVEL SECURITY")
        # The row is reached then, and only its checksum, which covers whose it is, keeps it from being told.
        assert opened.client.get("/api/conversations/c1", headers=bob).json()["code"] == "corrupt_record"
    shared_postgres.drop_database(name)
