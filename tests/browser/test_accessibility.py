"""Nothing that axe can find is wrong in any view, in the light, in the dark and on a phone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.support.browsing import violations, visiting
from tests.support.server_process import served
from tests.support.showcase import seed_showcase
from tests.support.talking import Talk, talking
from tests.support.views import VIEWS, View, routed

pytestmark = [pytest.mark.spec("S4.6")]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def talk(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Talk]:
    folder = tmp_path_factory.mktemp("accessible")
    await seed_showcase(folder / "recollect.db", datetime.now(UTC))
    async with talking(folder) as opened:
        yield opened


async def test_every_page_of_the_router_is_looked_at() -> None:
    assert {view.page for view in VIEWS} == routed()


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
@pytest.mark.parametrize("shape", ["desk", "phone"])
async def test_a_view_is_accessible_in_light_and_dark(browser: Browser, talk: Talk, view: View, shape: str) -> None:
    async with visiting(browser, talk.origin, is_phone=shape == "phone") as visit:
        page = await visit.open(view.address)
        await view.then(page)
        assert await violations(page) == []
        await page.emulate_media(color_scheme="dark")
        assert await violations(page) == []


@pytest.mark.parametrize("shape", ["desk", "phone"])
async def test_signing_in_is_accessible(browser: Browser, tmp_path_factory: pytest.TempPathFactory, shape: str) -> None:
    folder = tmp_path_factory.mktemp("guarded")
    with served(f"sqlite:///{folder / 'r.db'}", folder, {"RECOLLECT_AUTH_MODE": "token"}) as guarded:
        async with visiting(browser, f"http://127.0.0.1:{guarded.port}", is_phone=shape == "phone") as visit:
            page = await visit.open()
            await expect(page.get_by_role("button", name="Sign in")).to_be_visible()
            assert await violations(page) == []
            await page.emulate_media(color_scheme="dark")
            assert await violations(page) == []
