"""Input that was made to break things: it is refused clearly or kept byte for byte, and never fails the server."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.server_process import Served, served
from tests.support.servers import PostgresAddress

Servers = dict[str, Served]

#: Texts that stores, encoders and people stumble over; each is kept as it is.
ODD_TEXTS = {
    "right to left": "\u202e\u05e9\u05dc\u05d5\u05dd\u200f \u2067\u0645\u0631\u062d\u0628\u0627\u2069 abc",
    "joined": "👩‍👩‍👧‍👦 👩🏽‍🚀 🏳️‍🌈",
    "composed and decomposed": "é e\u0301 ﬁ ℌ ½",
    "marks without end": "a" + "\u0301" * 2_000,
    "not characters": "\ufffe\uffff\U0001fffe\U0010ffff",
    "private": "\ue000\U000f0000",
    "line ends": "a\r\nb\rc\nd\u2028e\u2029f\x85g\x0bh\x0ci",
    "controls": "".join(map(chr, [*range(1, 32), *range(127, 160)])),
    "byte order mark": "\ufeffa\ufeff",
    "spaces": " \t a \u00a0\u3000\u200b ",
    "astral": "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𠜎𠜱 😀",
    "quotes": "'\";--/*\\%_$1 ?{}[]<>`\\x00 \\u0000",
    "markup": "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "wide": "ｆｕｌｌ　ｗｉｄｔｈ",
    "turkish": "İıſẞß",
}
#: Bodies that are no JSON, or no JSON that means anything.
BAD_BODIES: dict[str, bytes] = {
    "empty": b"",
    "half": b"{",
    "null": b"null",
    "list": b"[]",
    "text": b'"text"',
    "nan": b'{"title": NaN, "content": NaN, "message": NaN, "messages": NaN}',
    "infinity": b'{"title": Infinity, "content": -Infinity, "message": Infinity}',
    "huge number": b'{"title": 1e999999, "message": 1e999999, "importance": 1e999999}',
    "long integer": b'{"title": ' + b"9" * 10_000 + b', "message": ' + b"9" * 10_000 + b"}",
    "deep lists": b'{"metadata": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep objects": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "lone surrogate": b'{"title": "a\\ud800b", "content": "a\\ud800b", "message": "a\\udfff"}',
    "raw surrogate": b'{"title": "\xed\xa0\x80", "content": "\xed\xa0\x80", "message": "\xed\xa0\x80"}',
    "nul": b'{"title": "a\\u0000b", "content": "a\\u0000b", "message": "a\\u0000b"}',
    "no utf-8": b'{"title": "\xff\xfe\x80", "message": "\xc3\x28"}',
    "utf-16": '{"title": "a"}'.encode("utf-16"),
    "byte order mark": b'\xef\xbb\xbf{"title": "a"}',
    "twice the same": b'{"title": "a", "title": 7, "message": "a", "message": 7}',
    "proto": b'{"__proto__": {"a": 1}, "constructor": {"prototype": 1}}',
}
KINDS = ["application/json", "text/plain", "application/xml", "multipart/form-data", "application/json; charset=x", ""]
#: Values that would widen a query if they became part of it.
INJECTIONS = [
    "zzqx' OR '1'='1",
    "zzqx'; DROP TABLE messages; --",
    'zzqx" OR "" = "',
    "zzqx) UNION SELECT * FROM api_keys --",
    "zzqx\\' OR 1=1 --",
    'zzqx* NOT "',
    "zzqx NEAR(",
    "zzqx:* | !zzqy & (",
    "{zzqx}^1",
    "%zzqx%",
    "_",
    "$zzqx1",
    "%00",
    "zzqx\u0000",
    "../../etc/passwd",
    '{"$ne": null}',
]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory, shared_postgres: PostgresAddress) -> Iterator[Servers]:
    folders = {name: tmp_path_factory.mktemp(name) for name in ("sqlite", "postgres")}
    name = f"test_{uuid.uuid4().hex}"
    databases = {
        "sqlite": f"sqlite:///{folders['sqlite'] / 'a.db'}",
        "postgres": shared_postgres.create_database(name),
    }
    with ExitStack() as stack:
        yield {kind: stack.enter_context(served(databases[kind], folders[kind])) for kind in databases}
    shared_postgres.drop_database(name)


def answers(servers: Servers, ask: Callable[[httpx2.Client], httpx2.Response]) -> list[httpx2.Response]:
    """Ask both servers the same."""
    return [ask(one.client) for one in servers.values()]


def stored(client: httpx2.Client, texts: list[str]) -> list[str]:
    """Say texts and return what was kept of them."""
    conversation = f"c-{uuid.uuid4()}"
    client.post("/api/conversations", json={"id": conversation}).raise_for_status()
    messages = [{"role": "user", "content": text} for text in texts]
    client.post(f"/api/conversations/{conversation}/messages", json={"messages": messages}).raise_for_status()
    page = client.get(f"/api/conversations/{conversation}/messages", params={"limit": 200}).json()
    return [message["content"] for message in page["items"] if message["role"] == "user"]


# What is accepted is kept


@pytest.mark.spec("R20")
def test_odd_texts_are_kept_byte_for_byte_on_both_stores(servers: Servers) -> None:
    texts = list(ODD_TEXTS.values())
    for server in servers.values():
        assert stored(server.client, texts) == texts


@pytest.mark.spec("R20")
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).filter(str.strip),
        min_size=1,
        max_size=20,
    )
)
def test_any_text_is_kept_byte_for_byte_on_both_stores(servers: Servers, texts: list[str]) -> None:
    for server in servers.values():
        assert stored(server.client, texts) == texts


def test_the_longest_message_fits_however_it_is_escaped(servers: Servers) -> None:
    longest = "😀" * 1_000_000
    body = json.dumps({"messages": [{"role": "user", "content": longest}]}).encode()
    assert len(body) > 12_000_000
    for server in servers.values():
        server.client.post("/api/conversations", json={"id": "long"}).raise_for_status()
        headers = {"Content-Type": "application/json"}
        answer = server.client.post("/api/conversations/long/messages", content=body, headers=headers, timeout=60)
        assert answer.status_code in (200, 201)
        page = server.client.get("/api/conversations/long/messages", timeout=60).json()
        assert page["items"][0]["content"] == longest


# What is not accepted is refused


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Return every call that the document tells of: its method, its path and what is said of it."""
    return [
        (method.upper(), path, told)
        for path, methods in document["paths"].items()
        for method, told in methods.items()
        if method in {"get", "post", "put", "patch", "delete"}
    ]


def filled(path: str, value: str = "nothing-here") -> str:
    """Return a path with something in the place of each parameter."""
    while "{" in path:
        before, _, rest = path.partition("{")
        path = before + value + rest.partition("}")[2]
    return path


@pytest.mark.spec("R20")
@pytest.mark.parametrize("name", BAD_BODIES)
def test_no_body_fails_the_server_on_any_route(servers: Servers, name: str) -> None:
    document = servers["sqlite"].client.get("/openapi.json").json()
    with_body = [(method, path) for method, path, told in operations(document) if "requestBody" in told]
    assert len(with_body) >= 10
    for method, path in with_body:
        both = answers(
            servers,
            lambda client, method=method, path=path: client.request(  # type: ignore[misc]  # bound to this round
                method, filled(path), content=BAD_BODIES[name], headers={"Content-Type": "application/json"}
            ),
        )
        statuses = [answer.status_code for answer in both]
        assert max(statuses) < 500, (method, path, both[0].text)
        assert statuses[0] == statuses[1], (method, path)


@pytest.mark.parametrize("kind", KINDS)
def test_no_kind_of_content_fails_the_server_on_any_route(servers: Servers, kind: str) -> None:
    client = servers["sqlite"].client
    document = client.get("/openapi.json").json()
    for method, path, told in operations(document):
        if "requestBody" in told:
            for body in (b'{"title": "a", "message": "a", "content": "a"}', b"a=b", b"--x\r\n\r\n--x--"):
                answer = client.request(method, filled(path), content=body, headers={"Content-Type": kind})
                assert answer.status_code < 500, (method, path, kind, answer.text)


@pytest.mark.spec("R20")
def test_half_characters_nul_and_depth_are_refused_in_words_that_say_so(servers: Servers) -> None:
    headers = {"Content-Type": "application/json"}
    for name in ("lone surrogate", "nul", "nan", "deep lists", "no utf-8"):
        for server in servers.values():
            answer = server.client.post("/api/conversations", content=BAD_BODIES[name], headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (422, "invalid_input"), name
            assert answer.json()["detail"]


@pytest.mark.spec("R20")
def test_a_body_of_100_mb_is_refused_whether_it_is_announced_or_not(
    servers: Servers, count: Callable[[int, int], int]
) -> None:
    server = servers["sqlite"]
    with server.connected() as connection:
        head = b"POST /api/chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\n"
        connection.sendall(head)
        assert connection.recv(65_536).startswith(b"HTTP/1.1 413 ")
    with server.connected() as connection:
        connection.sendall(head.replace(b"100000000", b"9" * 6_000))
        assert connection.recv(65_536).split(b" ")[1] in (b"400", b"413")
    chunks = (b"x" * 1_000_000 for _ in range(count(20, 100)))
    answer = server.client.post("/api/chat", content=chunks, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (413, "limit_exceeded")
    assert server.client.get("/healthz").status_code == 200


@pytest.mark.spec("R20")
def test_odd_paths_headers_and_parameters_do_not_fail_the_server(servers: Servers) -> None:
    document = servers["sqlite"].client.get("/openapi.json").json()
    odd = ["%00", "%ff%fe", "%ed%a0%80", "a" * 5_000, "%2e%2e%2f", "%0d%0aX-Injected:%201", "😀", "*", ".", "%"]
    asked = [
        (method, path, value)
        for method, path, told in operations(document)
        for value in odd
        if "{" in path and "requestBody" not in told
    ]

    def ask(server: Served, method: str, path: str, value: str) -> None:
        answer = server.client.request(method, filled(path, value))
        assert answer.status_code < 500, (method, path, value, answer.text)
        assert "x-injected" not in answer.headers

    for server in servers.values():
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda one, server=server: ask(server, *one), asked))
        for headers in (
            {"Idempotency-Key": "x" * 300},
            {"Idempotency-Key": ""},
            {"If-Match": "\\"},
            {"X-Request-Id": "a" * 1_000},
            {"Recollect-User": "somebody"},
        ):
            assert server.client.post("/api/conversations", json={}, headers=headers).status_code < 500, headers


# What looks like a query is a value


@pytest.mark.spec("R24")
def test_no_parameter_widens_a_query_or_changes_what_is_stored(servers: Servers) -> None:
    for server in servers.values():
        client = server.client
        for number in range(3):
            words = f"alpha beta {number}"
            client.post("/api/conversations", json={"id": f"inject-{number}", "title": words}).raise_for_status()
            body = {"content": words, "memory_type": "fact", "category": "plain"}
            client.post("/api/memories", json=body).raise_for_status()
        before = everything(client)
        for path, parameter in text_parameters(client):
            for value in INJECTIONS:
                answer = client.get(filled(path, "inject-0"), params={parameter: value})
                assert answer.status_code < 500, (path, parameter, value, answer.text)
                found = answer.json().get("items") if answer.status_code == 200 and is_json(answer) else []
                assert not found, (path, parameter, value, found)
        after = everything(client)
        assert {key: after[key] for key in before} == before


def text_parameters(client: httpx2.Client) -> list[tuple[str, str]]:
    """Return every parameter in an address that takes text, with its path."""
    found = []
    for method, path, told in operations(client.get("/openapi.json").json()):
        kinds = {one["name"]: one.get("schema", {}) for one in told.get("parameters", ()) if one["in"] == "query"}
        # A stream has no end to wait for.
        if method == "GET" and path != "/api/events":
            found += [(path, name) for name, schema in kinds.items() if "enum" not in schema]
    assert len(found) >= 10
    return found


def is_json(answer: httpx2.Response) -> bool:
    return answer.headers["content-type"].startswith("application/json") and isinstance(answer.json(), dict)


def everything(client: httpx2.Client) -> dict[str, Any]:
    """Return what is stored, by id."""
    conversations = client.get("/api/conversations", params={"limit": 200}).json()["items"]
    memories = client.get("/api/memories", params={"limit": 200}).json()["items"]
    # Looking at a memory counts as using it.
    used = {"access_count", "last_accessed_at"}
    return {
        one["id"]: {key: value for key, value in one.items() if key not in used} for one in conversations + memories
    }
