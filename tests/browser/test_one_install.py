"""The whole job from one wheel and one file: chat, memory, recall and the page, without Node, network or a model."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from playwright.async_api import Browser, expect

from tests.support.browsing import visiting
from tests.support.server_process import Served, served

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel; what it needs is there already."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
    command = [*pip, "--no-build-isolation", "--target", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    asked = [sys.executable, "-c", "import recollect; print(recollect.__file__)"]
    found = subprocess.run(asked, env={"PYTHONPATH": str(folder)}, capture_output=True, text=True, check=True)
    assert Path(found.stdout.strip()).is_relative_to(folder)
    return folder


@pytest.fixture
def server(installed: Path, tmp_path: Path) -> Iterator[Served]:
    with served(f"sqlite:///{tmp_path / 'all.db'}", tmp_path, {"PYTHONPATH": str(installed)}) as opened:
        yield opened


@pytest.mark.spec("B1")
async def test_one_install_and_one_file_do_the_whole_job(browser: Browser, server: Served, tmp_path: Path) -> None:
    async with visiting(browser, f"http://127.0.0.1:{server.port}") as visit:
        page = await visit.open("#/new")
        box = page.get_by_role("textbox", name="Message")
        await box.fill("My name is Ada and I live in Bergen.")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("button", name="Answer again")).to_be_visible()
        learned(server.client)
        await page.goto(f"{visit.origin}/#/new")
        await box.fill("Where do I live?")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("article", name="Assistant").get_by_text("Bergen").first).to_be_visible()
        await page.goto(f"{visit.origin}/#/memories")
        await expect(page.get_by_text("Bergen").first).to_be_visible()

    server.process.terminate()
    server.process.wait(20)
    assert left(tmp_path) == ["all.db", "server.log"]


def left(folder: Path) -> list[str]:
    """Return the files that hold anything."""
    return sorted(one.name for one in folder.iterdir() if one.stat().st_size > 0)


def learned(client: httpx2.Client) -> None:
    """Learn from the newest conversation now."""
    newest = client.get("/api/conversations").json()["items"][0]["id"]
    done = client.post("/api/memories/extract", params={"wait": True}, json={"conversation_id": newest})
    assert done.is_success, done.text
