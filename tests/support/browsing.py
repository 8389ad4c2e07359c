"""A real browser that looks at a server of ours, and notes whatever a page does that it must not do."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any, Literal

from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, Playwright, Request

#: The browser of the system; as root it runs without its sandbox, and it never calls home.
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
)
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
#: What of the accessibility guidelines a machine can check.
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
_AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"


async def launch(playwright: Playwright) -> Browser:
    """Start Chromium."""
    found = shutil.which("chromium")
    assert found, "the browser tests need Chromium: `make chromium` installs it"
    return await playwright.chromium.launch(executable_path=found, args=list(ARGUMENTS))


class Visit:
    """A browser of somebody who looks at one server; it ends with an error if a page did what no page may do."""

    def __init__(self, context: BrowserContext, origin: str) -> None:
        self.context = context
        self.origin = origin
        #: What went wrong, in order; a test that makes it go wrong on purpose empties this.
        self.faults: list[str] = []
        context.on("console", self._console)
        context.on("request", self._request)
        context.on("weberror", lambda error: self.faults.append(f"error: {error.error}"))

    async def open(self, address: str = "#/") -> Page:
        """Open the app in a tab of its own."""
        page = await self.context.new_page()
        await page.goto(f"{self.origin}/{address}")
        return page

    def _console(self, message: ConsoleMessage) -> None:
        # A server that does not answer is a line of the browser's own, whatever the page makes of it.
        if message.type in ("error", "warning") and not message.text.startswith("Failed to load resource"):
            self.faults.append(f"{message.type}: {message.text}")

    def _request(self, request: Request) -> None:
        if not request.url.startswith((self.origin, "data:", "blob:")):
            self.faults.append(f"asked outside: {request.url}")


@asynccontextmanager
async def visiting(
    browser: Browser, origin: str, *, scheme: Literal["light", "dark"] = "light", is_phone: bool = False
) -> AsyncIterator[Visit]:
    """Give a browser with nothing stored in it, and see at the end that nothing went wrong."""
    shape: dict[str, Any] = {"viewport": PHONE if is_phone else DESKTOP, "has_touch": is_phone, "is_mobile": is_phone}
    context = await browser.new_context(color_scheme=scheme, reduced_motion="reduce", **shape)
    visit = Visit(context, origin)
    try:
        yield visit
        assert visit.faults == []
    finally:
        await context.close()


async def violations(page: Page) -> list[str]:
    """Return what axe finds on the page, one line each."""
    # Evaluated text is not held to the policy of the page, unlike a script in it.
    await page.evaluate(_axe())
    found = await page.evaluate("rules => axe.run(document, {runOnly: rules})", list(RULES))
    nodes = [(one["id"], node) for one in found["violations"] for node in one["nodes"]]
    return [f"{rule}: {node['target']} {node['failureSummary']}" for rule, node in nodes]


@cache
def _axe() -> str:
    return f"{_AXE.read_text()};0"
