"""The web app comes with the server, complete, and browsers keep what never changes."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from importlib.resources import files

import httpx2
import pytest
from fastapi import FastAPI

from recollect.http import web_app
from tests.support.server_process import serving


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    folder = tmp_path_factory.mktemp("served")
    with serving(f"sqlite:///{folder / 'recollect.db'}", folder) as opened:
        yield opened


def test_the_first_page_names_files_that_are_there(client: httpx2.Client) -> None:
    page = client.get("/")
    named = re.findall(r'(?:src|href)="\./([^"]+)"', page.text)
    assert any(name.endswith(".js") for name in named)
    assert any(name.endswith(".css") for name in named)
    for name in named:
        assert client.get(f"/{name}").status_code == 200
    assert page.headers["cache-control"] == "no-cache"
    assert "default-src 'self'" in page.headers["content-security-policy"]


def test_a_file_named_by_its_content_is_asked_for_once(client: httpx2.Client) -> None:
    name = next(one.name for one in files("recollect.http").joinpath("static", "assets").iterdir())
    first = client.get(f"/assets/{name}")
    assert "immutable" in first.headers["cache-control"]
    again = client.get(f"/assets/{name}", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_files_come_compressed_to_those_who_can_read_that(client: httpx2.Client) -> None:
    plain = client.get("/", headers={"Accept-Encoding": "identity"})
    with client.stream("GET", "/", headers={"Accept-Encoding": "gzip"}) as packed:
        sent = b"".join(packed.iter_raw())
    assert "content-encoding" not in plain.headers
    assert gzip.decompress(sent) == plain.content


def test_a_head_is_answered_without_the_file(client: httpx2.Client) -> None:
    answer = client.head("/")
    assert (answer.status_code, answer.content) == (200, b"")


async def test_a_server_without_the_built_app_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_app, "_read", lambda folder: {})
    app = FastAPI()
    web_app.add_web_app(app)
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://here") as client:
        page = await client.get("/")
    assert page.status_code == 200
    assert "make web" in page.text
