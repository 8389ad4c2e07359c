"""One server per test file and database; tests of one file share it and keep apart by ids and words of their own."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest

from recollect.cli.keys import open_keys
from recollect.domain.identity import USUAL_RIGHTS, NewKey, Right
from recollect.settings import Settings
from recollect.testing.models import ScriptedModelServer
from tests.support.played_model import ALONE, played_model
from tests.support.server_process import Served, served, serving
from tests.support.servers import PostgresAddress

#: Give a client that calls as this user: `as_user("ada", tenant="acme", rights=frozenset(("read",)))`.
AsUser = Callable[..., httpx2.Client]


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def served_database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Give the address of a database that no other test file uses."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path_factory.mktemp('database') / 'recollect.db'}"
        return
    postgres: PostgresAddress = request.getfixturevalue("shared_postgres")
    name = f"test_{uuid.uuid4().hex}"
    yield postgres.create_database(name)
    postgres.drop_database(name)


@pytest.fixture(scope="module")
def client(served_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    """Give a client of a real server process, whose one user is `local`."""
    folder: Path = tmp_path_factory.mktemp("server")
    with serving(served_database, folder) as opened:
        yield opened


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModelServer]:
    """Give the model behind `with_model`, which answers from a script and then with the user's own words."""
    with played_model() as opened:
        yield opened


@pytest.fixture(scope="module")
def with_model(
    served_database: str, model: ScriptedModelServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    """Give a server of the local user that asks the scripted model and does no jobs."""
    folder = tmp_path_factory.mktemp("with-model")
    with served(served_database, folder, {**ALONE, "RECOLLECT_MODEL_URL": model.url}) as opened:
        yield opened


@pytest.fixture(scope="module")
def as_user(served_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AsUser]:
    """Give clients of a second server on the same database, which asks each caller for an API key."""
    settings = Settings.load({"storage.database": served_database})
    with ExitStack() as opened:
        folder = tmp_path_factory.mktemp("guarded")
        server = opened.enter_context(served(served_database, folder, {"RECOLLECT_AUTH_MODE": "token"}))

        def client(user: str, *, tenant: str = "default", rights: frozenset[Right] = USUAL_RIGHTS) -> httpx2.Client:
            key = asyncio.run(_new_key(settings, NewKey(name="test", tenant=tenant, user=user, rights=rights)))
            headers = {"Authorization": f"Bearer {key}"}
            return opened.enter_context(httpx2.Client(base_url=server.client.base_url, headers=headers, timeout=30))

        yield client


async def _new_key(settings: Settings, new: NewKey) -> str:
    async with open_keys(settings) as keys:
        return (await keys.create(new)).text
