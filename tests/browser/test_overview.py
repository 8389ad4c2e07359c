"""The overview: figures, memories over time, how the parts fare, and dead letters that are tried again."""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from recollect.domain.job import NewJob
from recollect.domain.scope import Scope
from recollect.ports.store import Store
from tests.support.browsing import Visit, violations, visiting
from tests.support.server_process import Served, served
from tests.support.stored import with_store

OVERVIEW = "#/overview"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"sqlite:///{tmp_path_factory.mktemp('overview') / 'recollect.db'}"


@pytest.fixture(scope="module")
def site(database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that looks often for jobs of others, and knows something for a while."""
    with served(database, tmp_path_factory.mktemp("site"), {"RECOLLECT_JOBS_POLL_SECONDS": "0.1"}) as opened:
        remember(opened, days_ago=0, count=3)
        remember(opened, days_ago=2, count=2, category="food")
        remember(opened, days_ago=200, count=1)
        yield opened


def remember(site: Served, *, days_ago: int, count: int, category: str = "work") -> None:
    """Store memories of so many days ago."""
    at = (datetime.now(UTC) - timedelta(days=days_ago)).isoformat()
    rest = {"agent": "assistant", "trust": "active", "memory_type": "fact", "created_at": at, "updated_at": at}
    records = [
        {
            "kind": "memory",
            "id": str(uuid.uuid4()),
            "content": f"Statement {uuid.uuid4()}",
            "category": category,
            **rest,
        }
        for _ in range(count)
    ]
    lines = "\n".join(json.dumps(record) for record in records)
    answer = site.client.post("/api/import", params={"trusted": True}, content=lines)
    assert answer.json()["memories"] == count, answer.text


async def dead_letters(database: str, count: int) -> None:
    """Have jobs die: each is to learn from a conversation, and names none."""

    async def work(store: Store) -> None:
        now = datetime.now(UTC)
        for _ in range(count):
            await store.enqueue_job(Scope(), NewJob(id=str(uuid.uuid4()), kind="extract", run_at=now), now)

    await asyncio.to_thread(with_store, database, work)


@pytest.mark.spec("S4.6")
async def test_the_figures_are_those_of_the_user(visit: Visit) -> None:
    page = await visit.open(OVERVIEW)
    figures = page.get_by_role("definition")
    await expect(figures.nth(0)).to_contain_text("6")
    types = page.get_by_role("region", name="Types")
    await expect(types.get_by_role("listitem")).to_have_text(["fact6"])
    categories = page.get_by_role("region", name="Categories")
    await expect(categories.get_by_role("listitem")).to_have_text(["work4", "food2"])
    health = page.get_by_role("region", name="Model and learning")
    await expect(health).to_contain_text("Built-in responder")
    await expect(health).to_contain_text("6 of 6")
    await expect(page.get_by_role("region", name="Storage")).to_contain_text(
        re.compile(r"The whole database\s*[\d.,]+ [kM]B")
    )


@pytest.mark.spec("S4.6")
async def test_each_day_of_the_chart_is_reached_by_keys_and_told(visit: Visit) -> None:
    page = await visit.open(OVERVIEW)
    card = page.get_by_role("region", name="Memories over time")
    slider = card.get_by_role("slider", name="Memories by time")
    await expect(card).to_contain_text("Learned 5")
    await card.get_by_role("button", name="1 year").focus()
    await page.keyboard.press("Tab")
    await expect(slider).to_be_focused()
    await expect(card).to_contain_text("Learned 3")
    await page.keyboard.press("ArrowLeft")
    await page.keyboard.press("ArrowLeft")
    await expect(card).to_contain_text("Learned 2")
    await expect(slider).to_have_attribute("aria-valuetext", re.compile(": 2 learned, 0 superseded, 0 forgotten$"))
    await card.get_by_role("button", name="1 year").click()
    await expect(card).to_contain_text("Learned 6")


async def test_the_chart_is_a_table_too(visit: Visit) -> None:
    page = await visit.open(OVERVIEW)
    card = page.get_by_role("region", name="Memories over time")
    await card.get_by_text("As a table").click()
    rows = card.get_by_role("table").get_by_role("row")
    await expect(rows).to_have_count(3)
    await expect(rows.nth(1).get_by_role("cell")).to_have_text(["3", "0", "0"])
    await expect(rows.nth(2).get_by_role("cell")).to_have_text(["2", "0", "0"])
    assert await violations(page) == []


async def test_what_is_learned_elsewhere_is_counted_at_once(visit: Visit, site: Served) -> None:
    page = await visit.open(OVERVIEW)
    origins = page.get_by_role("region", name="Origins")
    await expect(origins.get_by_role("listitem")).to_have_text(["import6"])
    made = site.client.post("/api/memories", json={"content": "Likes the sea.", "memory_type": "fact"}).json()
    await expect(origins.get_by_role("listitem")).to_have_text(["import6", "manual1"])
    site.client.delete(f"/api/memories/{made['id']}", params={"now": True})
    await expect(origins.get_by_role("listitem")).to_have_text(["import6"])


@pytest.mark.spec("S4.6")
async def test_dead_letters_tell_why_and_are_tried_again_one_by_one_or_all_together(
    visit: Visit, database: str
) -> None:
    page = await visit.open(OVERVIEW)
    jobs = page.get_by_role("region", name="Jobs")
    await expect(jobs).to_contain_text("No job has failed for good.")
    await dead_letters(database, 3)
    letters = jobs.get_by_role("list", name="Dead letters").get_by_role("listitem")
    await expect(letters).to_have_count(3)
    await expect(letters.first).to_contain_text("names none")
    async with page.expect_response(re.compile(r"/api/jobs/.*/retry")) as retried:
        await letters.first.get_by_role("button", name="Retry: Learning from a conversation").click()
    assert (await retried.value).status == 202
    notices = page.get_by_role("region", name="Notices")
    await expect(notices).to_contain_text("The job is queued again")
    # It dies again, since it still names no conversation.
    await expect(letters).to_have_count(3)
    await jobs.get_by_role("button", name="Retry all").click()
    await expect(notices).to_contain_text(re.compile(r"[23] jobs are queued again"))


async def test_a_long_error_is_readable_to_its_end(visit: Visit) -> None:
    error = "provider_output: " + "what a model answered that was no use, " * 20 + "the end"
    job = {
        "id": "j-1",
        "kind": "summarise",
        "state": "dead",
        "attempts": 8,
        "max_attempts": 8,
        "error": error,
        "conversation_id": "c-1",
        **dict.fromkeys(("run_at", "created_at", "updated_at"), "2026-05-17T09:30:00Z"),
    }
    page = await visit.context.new_page()
    await page.route("**/api/jobs?*", lambda route: route.fulfill(json={"items": [job], "next": None}))
    await page.goto(f"{visit.origin}/{OVERVIEW}")
    letter = page.get_by_role("list", name="Dead letters").get_by_role("listitem")
    await expect(letter).to_contain_text("Tried 8 times")
    await letter.get_by_text("whole error").click()
    await expect(letter.locator("pre")).to_have_text(error)
    await expect(letter.get_by_role("link", name="its conversation")).to_have_attribute("href", "#/c/c-1")


async def test_a_model_that_fails_is_told_with_when_it_is_asked_again(visit: Visit, site: Served) -> None:
    told: dict[str, Any] = site.client.get("/api/overview").json()
    times = {"since": "2026-05-17T09:30:00Z", "retry_at": "2026-05-17T09:31:00Z"}
    told["model"] = {"name": "small-model", "is_builtin": False, "breaker": {"state": "open", **times}}
    told["embedding"] = {"model": "e-1", "done": 5, "total": 20}
    page = await visit.context.new_page()
    await page.route("**/api/overview*", lambda route: route.fulfill(json=told))
    await page.goto(f"{visit.origin}/{OVERVIEW}")
    health = page.get_by_role("region", name="Model and learning")
    await expect(health).to_contain_text("Not called, since it failed repeatedly")
    await expect(health).to_contain_text("Called again from")
    await expect(health.get_by_role("progressbar", name="Texts with a vector")).to_have_attribute("value", "5")
    assert await violations(page) == []


@pytest.mark.spec("S4.6")
@pytest.mark.parametrize(("scheme", "is_phone"), [("light", False), ("dark", False), ("light", True)])
async def test_the_overview_is_accessible(browser: Browser, site: Served, scheme: Any, is_phone: bool) -> None:
    async with visiting(browser, f"http://127.0.0.1:{site.port}", scheme=scheme, is_phone=is_phone) as visit:
        page = await visit.open(OVERVIEW)
        await expect(page.get_by_role("region", name="Jobs")).to_be_visible()
        assert await violations(page) == []
        assert await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
