"""What keeps others out: names, origins, cookies, keys, rates and the headers of every answer."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from recollect.http.origin import known_hosts
from recollect.settings import ServerSettings
from tests.support.server_process import Served, clean_environ, served

ALLOWED = "https://app.example.com"


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("local")
    environ = {"RECOLLECT_SERVER_CORS_ORIGINS": ALLOWED, "RECOLLECT_SERVER_ALLOWED_HOSTS": "Memory.Example.com"}
    with served(f"sqlite:///{folder / 'a.db'}", folder, environ) as opened:
        yield opened


def new_key(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "recollect", "keys", "create", "test", "--database", str(folder / "a.db")]
    made = subprocess.run(
        [*command, *arguments], cwd=folder, env=clean_environ(), capture_output=True, text=True, timeout=60, check=True
    )
    return made.stdout.strip()


class Guarded:
    """A server that asks who calls, and the keys of its callers."""

    def __init__(self, opened: Served, folder: Path) -> None:
        self.opened = opened
        self.client = opened.client
        self.ada = new_key(folder, "--user", "ada")
        self.admin = new_key(folder, "--user", "operator", "--rights", "read,admin")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder = tmp_path_factory.mktemp("guarded")
    environ = {
        "RECOLLECT_AUTH_MODE": "token",
        "RECOLLECT_SERVER_TRUSTED_PROXIES": "127.0.0.1",
        "RECOLLECT_SERVER_REQUESTS_PER_MINUTE": "100",
    }
    with served(f"sqlite:///{folder / 'a.db'}", folder, environ) as opened:
        yield Guarded(opened, folder)


# Names


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:99", "memory.example.com:443"])
def test_known_names_are_answered(local: Served, host: str) -> None:
    assert local.client.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["attacker.example", "localhost.attacker.example", "127.0.0.1.nip.io", "", "127.0.0.2", "[::2]", "memory.example"],
)
def test_other_names_are_refused(local: Served, host: str) -> None:
    answer = local.client.get("/healthz", headers={"Host": host})
    assert answer.status_code == 400
    assert answer.json()["code"] == "unknown_host"


def test_two_names_at_once_are_refused(local: Served) -> None:
    with local.connected() as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: attacker.example\r\n\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    ("host", "listed", "known", "unknown"),
    [
        ("127.0.0.1", "", "localhost", "10.0.0.5"),
        ("10.0.0.5", "", "10.0.0.5", "10.0.0.6"),
        ("0.0.0.0", "a.example", "a.example", "0.0.0.0"),
        ("fd00::1", "B.example", "[fd00::1]", "fd00::1"),
    ],
)
def test_the_names_are_the_machines_own_the_address_and_the_listed_ones(
    host: str, listed: str, known: str, unknown: str
) -> None:
    names = known_hosts(ServerSettings(host=host, allowed_hosts=listed))
    assert {"localhost", "127.0.0.1", "[::1]", known} <= names
    assert unknown not in names
    assert all(name == name.lower() for name in names)


# Origins


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://attacker.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "http://localhost"},
        {"Origin": "null"},
        {"Origin": "https://app.example.com.attacker.example"},
        {"Origin": "http://app.example.com"},
        {"Origin": "garbage"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_page_of_somebody_else_changes_nothing(local: Served, headers: dict[str, str], method: str) -> None:
    content = b'{"title": "planted"}'
    answer = local.client.request(
        method, "/api/conversations", content=content, headers={"Content-Type": "text/plain", **headers}
    )
    assert (answer.status_code, answer.json()["code"]) == (403, "foreign_origin")
    listed = local.client.get("/api/conversations").json()["items"]
    assert "planted" not in [one["title"] for one in listed]


def test_our_own_pages_allowed_pages_and_programs_may_change_things(local: Served) -> None:
    own = {"Origin": f"http://127.0.0.1:{local.port}", "Sec-Fetch-Site": "same-origin"}
    proxied = {"Host": "memory.example.com", "Origin": "https://memory.example.com"}
    for headers in (own, proxied, {"Origin": ALLOWED}, {"Sec-Fetch-Site": "none"}, {}):
        answer = local.client.post("/api/conversations", json={"title": "mine"}, headers=headers)
        assert answer.status_code == 201, headers


def test_only_allowed_pages_may_read(local: Served) -> None:
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,if-match"}
    allowed = local.client.options("/api/conversations", headers={"Origin": ALLOWED, **asked})
    assert allowed.status_code == 200
    assert allowed.headers["access-control-allow-origin"] == ALLOWED
    assert "access-control-allow-credentials" not in allowed.headers
    other = local.client.options("/api/conversations", headers={"Origin": "https://attacker.example", **asked})
    assert "access-control-allow-origin" not in other.headers
    read = local.client.get("/api/conversations", headers={"Origin": "https://attacker.example"})
    assert "access-control-allow-origin" not in read.headers


# Headers of answers


def test_every_answer_tells_browsers_what_not_to_do(local: Served) -> None:
    for path in (
        "/",
        "/docs",
        "/api/conversations",
        "/api/conversations/none",
        "/nowhere",
        "/healthz",
        "/openapi.json",
    ):
        headers = local.client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert "strict-transport-security" not in headers
        assert "server" not in headers
        assert headers["x-request-id"]
        assert ("no-store" in headers.get("cache-control", "")) == path.startswith("/api/")


def test_refusals_have_the_headers_too(local: Served) -> None:
    refused = local.client.get("/api/conversations", headers={"Host": "attacker.example"})
    assert refused.headers["cache-control"] == "no-store"
    assert refused.headers["x-request-id"] == refused.json()["request_id"]


# Sessions of browsers


def test_a_browser_keeps_its_key_in_a_cookie_that_scripts_and_other_sites_cannot_use(guarded: Guarded) -> None:
    with httpx2.Client(base_url=guarded.client.base_url) as browser:
        assert browser.get("/api/session").status_code == 401
        made = browser.post("/api/session", json={"token": guarded.ada})
        assert made.status_code == 200
        assert made.json() == {
            "tenant": "default",
            "user": "ada",
            "agent": "assistant",
            "rights": ["read", "write"],
            "auth": "token",
        }
        attributes = [part.strip().lower() for part in made.headers["set-cookie"].split(";")][1:]
        assert {"httponly", "samesite=strict", "path=/"} <= set(attributes)
        assert "secure" not in attributes
        assert browser.get("/api/session").json()["user"] == "ada"
        assert browser.post("/api/conversations", json={"title": "by cookie"}).status_code == 201
        foreign = browser.post("/api/conversations", json={}, headers={"Origin": "https://attacker.example"})
        assert foreign.status_code == 403
        assert browser.delete("/api/session").status_code == 204
        assert browser.get("/api/session").status_code == 401


def test_behind_tls_the_cookie_is_secure_and_so_are_all_later_visits(guarded: Guarded) -> None:
    headers = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.9"}
    made = httpx2.post(f"{guarded.client.base_url}/api/session", json={"token": guarded.ada}, headers=headers)
    assert "secure" in made.headers["set-cookie"].lower()
    assert made.headers["strict-transport-security"].startswith("max-age=")


def test_a_header_wins_over_the_cookie(guarded: Guarded) -> None:
    cookie = {"Cookie": f"recollect_session={guarded.ada}"}
    wrong = guarded.client.get("/api/session", headers={**cookie, "Authorization": "Bearer rk_wrong"})
    assert wrong.status_code == 401
    other = guarded.client.get("/api/session", headers={**cookie, "Authorization": f"Bearer {guarded.admin}"})
    assert other.json()["user"] == "operator"


@pytest.mark.parametrize("token", ["", "x" * 4_000, "a b", "rk_none_" + "x" * 43, "é", 7, None])
def test_no_other_token_becomes_a_session(guarded: Guarded, token: object) -> None:
    answer = guarded.client.post("/api/session", json={"token": token})
    assert answer.status_code in (401, 422)
    assert "set-cookie" not in answer.headers


def test_the_local_user_needs_no_cookie_and_one_of_another_server_does_no_harm(local: Served) -> None:
    answer = local.client.get("/api/session", headers={"Cookie": "recollect_session=of-another-server"})
    assert (answer.status_code, answer.json()["user"], answer.json()["auth"]) == (200, "local", "local")


# Counts of the server


def test_metrics_are_for_operators_and_for_the_machine_itself(guarded: Guarded) -> None:
    through_a_proxy = {"X-Forwarded-For": "203.0.113.9"}
    assert guarded.client.get("/metrics").status_code == 200
    assert guarded.client.get("/metrics", headers=through_a_proxy).status_code == 401
    ada = {"Authorization": f"Bearer {guarded.ada}", **through_a_proxy}
    assert guarded.client.get("/metrics", headers=ada).status_code == 403
    admin = {"Authorization": f"Bearer {guarded.admin}", **through_a_proxy}
    assert guarded.client.get("/metrics", headers=admin).status_code == 200


# Rates


def test_one_user_who_asks_too_often_is_told_to_wait_and_others_are_not(guarded: Guarded, tmp_path: Path) -> None:
    folder = Path(guarded.opened.log.parent)
    busy = {"Authorization": f"Bearer {new_key(folder, '--user', 'busy')}"}
    answers = [guarded.client.get("/api/conversations", headers=busy) for _ in range(130)]
    statuses = [answer.status_code for answer in answers]
    assert 100 <= statuses.count(200) < 130
    assert set(statuses) == {200, 429}
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert (refused.json()["code"], refused.headers["retry-after"]) == ("rate_limited", "1")
    calm = {"Authorization": f"Bearer {guarded.admin}"}
    assert guarded.client.get("/api/conversations", headers=calm).status_code == 200
