"""Take the pictures in docs/screenshots: every view that is worth one, in the light, in the dark and on a phone.

Run as `python -m tests.browser.screenshots [view …]`; what they show is `tests/support/showcase.py`.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple

from playwright.async_api import Browser, Page, async_playwright
from playwright.async_api import Error as PlaywrightError

from tests.support.browsing import launch, visiting
from tests.support.showcase import seed_showcase
from tests.support.small_png import small_png
from tests.support.talking import Talk, talking
from tests.support.views import VIEWS, View

FOLDER = Path(__file__).parents[2] / "docs" / "screenshots"
#: What a picture may weigh: all of them are part of every clone.
MOST_BYTES = 150_000
NAMES = (
    "conversation",
    "unfolded",
    "inspector",
    "new",
    "temporary",
    "search",
    "memories",
    "memory",
    "review",
    "notes",
    "overview",
    "settings",
    "keyboard",
)
PATIENCE_MS = 15_000


class Look(NamedTuple):
    """How a view is looked at."""

    name: str
    scheme: Literal["light", "dark"] = "light"
    is_phone: bool = False


LOOKS = (Look("light"), Look("dark", scheme="dark"), Look("phone", is_phone=True))


async def take(names: tuple[str, ...] = NAMES) -> list[str]:
    """Take the pictures of these views and return what went wrong."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        await seed_showcase(folder / "recollect.db", datetime.now(UTC))
        async with talking(folder) as talk, async_playwright() as playwright:
            browser = await launch(playwright)
            for view in (one for one in VIEWS if one.name in names):
                for look in LOOKS:
                    problem = await _photograph(browser, talk, view, look)
                    print(f"{view.name}-{look.name}: {problem or 'taken'}")
                    wrong += [problem] if problem else []
            await browser.close()
    return wrong


async def _photograph(browser: Browser, talk: Talk, view: View, look: Look) -> str | None:
    """Take one picture and return what went wrong, if anything did; the others are taken all the same."""
    path = FOLDER / f"{view.name}-{look.name}.png"
    try:
        async with visiting(browser, talk.origin, scheme=look.scheme, is_phone=look.is_phone) as visit:
            visit.context.set_default_timeout(PATIENCE_MS)
            page = await visit.open(view.address)
            await view.then(page)
            await page.mouse.move(0, 0)
            await page.evaluate("document.fonts.ready")
            # A cursor that blinks would make every picture another one.
            taken = await page.screenshot(animations="disabled", caret="hide", scale="css")
        path.write_bytes(await small_png(await _empty(browser), taken))
    except (PlaywrightError, AssertionError) as exc:
        return f"{path.name}: {str(exc).splitlines()[0]}"
    size = path.stat().st_size
    return None if size <= MOST_BYTES else f"{path.name} has {size} bytes, more than {MOST_BYTES}"


async def _empty(browser: Browser) -> Page:
    """Give the page that pictures are made small in."""
    for context in browser.contexts:
        return context.pages[0]
    return await browser.new_page()


if __name__ == "__main__":
    problems = asyncio.run(take(tuple(sys.argv[1:]) or NAMES))
    print("\n".join(problems))
    sys.exit(1 if problems else 0)
