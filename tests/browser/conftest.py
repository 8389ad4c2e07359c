"""A browser for all tests of a worker, a server for each file, and an empty profile for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright, expect

from recollect.testing.models import ScriptedModelServer
from tests.support.browsing import Visit, launch, visiting
from tests.support.played_model import ALONE, played_model
from tests.support.server_process import Served, served

HERE = Path(__file__).parent
#: A busy machine is slow, and what never comes is no less missed after a while.
PATIENCE_MS = 30_000

expect.set_options(timeout=PATIENCE_MS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # The browser outlives a test, so all of them run in the loop that started it.
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        opened = await launch(playwright)
        yield opened
        await opened.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server without a model: it answers from memory."""
    folder = tmp_path_factory.mktemp("site")
    with served(f"sqlite:///{folder / 'recollect.db'}", folder) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="session")
async def visit(browser: Browser, site: Served) -> AsyncIterator[Visit]:
    """Somebody at a desk, in the light, who was never here."""
    async with visiting(browser, f"http://127.0.0.1:{site.port}") as opened:
        yield opened


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModelServer]:
    """The model behind `talking`: it answers from a script, and then with the user's own words."""
    with played_model() as opened:
        yield opened


@pytest.fixture(scope="module")
def talking(model: ScriptedModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that asks the scripted model and does no jobs; it summarises at once, by itself."""
    folder = tmp_path_factory.mktemp("talking")
    environ = {
        **ALONE,
        "RECOLLECT_MODEL_URL": model.url,
        "RECOLLECT_MODEL_PRICES": '{"small": {"input": 1000, "output": 2000}}',
        "RECOLLECT_HISTORY_WHEN": "inline",
        "RECOLLECT_HISTORY_SUMMARISER": "extractive",
    }
    with served(f"sqlite:///{folder / 'recollect.db'}", folder, environ) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="session")
async def talk(browser: Browser, talking: Served, model: ScriptedModelServer) -> AsyncIterator[Visit]:
    """Somebody at a desk who talks with the scripted model."""
    model.script()
    async with visiting(browser, f"http://127.0.0.1:{talking.port}") as opened:
        yield opened
