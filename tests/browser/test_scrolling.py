"""Ten thousand messages scroll, and typing goes on while a reply streams, without blocking the page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from recollect.testing.models import Fault, ScriptedModelServer, ScriptedReply
from tests.support.browsing import Visit, visiting
from tests.support.http_conversations import add, conversation
from tests.support.main_thread import watched
from tests.support.played_model import ALONE
from tests.support.server_process import Served, served

pytestmark = pytest.mark.spec("S4.6")

MESSAGES = 10_000
AT_ONCE = 1_000
#: Elements of the page at the very most; all messages together would have half a million.
NODES = 1_500
#: Of every hundred frames, so many may be late: a garbage collection, or a page of messages that arrives.
LATE_PER_HUNDRED = 2
BODY = "Message number {n} has **bold** words and a list:\n\n- one\n- two\n\n```python\nprint({n})\n```\n"
#: Scroll by so many pixels in each frame, and tell how far one came and how many elements there were at most.
SCROLL = """async ([step, frames]) => {
  const box = document.querySelector("section[aria-label=Messages]");
  let most = 0;
  for (let n = 0; n < frames; n++) {
    box.scrollTop += step;
    await new Promise(requestAnimationFrame);
    if (n % 10 === 0) most = Math.max(most, document.getElementsByTagName("*").length);
  }
  return most;
}"""


@pytest.fixture(scope="module")
def talking(model: ScriptedModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that keeps what it is given and does nothing else with it."""
    folder = tmp_path_factory.mktemp("huge")
    environ = {
        **ALONE,
        "RECOLLECT_MODEL_URL": model.url,
        "RECOLLECT_HISTORY_STRATEGY": "keep_all",
        "RECOLLECT_MEMORY_ENABLED": "false",
    }
    with served(f"sqlite:///{folder / 'recollect.db'}", folder, environ) as opened:
        yield opened


@pytest.fixture(scope="module")
def huge(talking: Served) -> str:
    """A conversation of ten thousand messages."""
    name = conversation(talking.client, title="Huge")
    for start in range(1, MESSAGES, AT_ONCE):
        numbers = range(start, start + AT_ONCE)
        roles = ("assistant", "user")
        add(
            talking.client,
            name,
            *({"id": f"m{n}", "role": roles[n % 2], "content": BODY.format(n=n)} for n in numbers),
        )
    return name


@pytest_asyncio.fixture(loop_scope="session")
async def reader(browser: Browser, talking: Served) -> AsyncIterator[Visit]:
    async with visiting(browser, f"http://127.0.0.1:{talking.port}") as opened:
        yield opened


async def scrolled(browser: Browser, shown: Page, *, step: int, frames: int) -> None:
    """Scroll, and see that the page stays small and is not blocked."""
    async with watched(browser, shown) as tasks:
        most = await shown.evaluate(SCROLL, [step, frames])
    print(f"{frames} frames of {step} px: at most {most} elements; {tasks}")
    assert most < NODES
    assert len(tasks.milliseconds) >= frames
    assert len(tasks.long) <= frames * LATE_PER_HUNDRED / 100


async def test_ten_thousand_messages_scroll_from_the_end_without_blocking(
    browser: Browser, reader: Visit, huge: str, count: Callable[[int, int], int]
) -> None:
    shown = await reader.open(f"#/c/{huge}")
    await expect(shown.get_by_text(f"Message number {MESSAGES}").last).to_be_in_viewport()
    frames = count(100, 2_000)
    await scrolled(browser, shown, step=-1_500, frames=frames)
    await expect(shown.get_by_text(f"Message number {MESSAGES}").last).not_to_be_attached()
    await scrolled(browser, shown, step=1_500, frames=frames)


async def test_ten_thousand_messages_scroll_from_their_middle_in_both_directions_without_blocking(
    browser: Browser, reader: Visit, huge: str, count: Callable[[int, int], int]
) -> None:
    shown = await reader.open(f"#/c/{huge}/m/m5000")
    await expect(shown.get_by_text("Message number 5000").last).to_be_in_viewport()
    for step in (-900, 900, 900):
        await scrolled(browser, shown, step=step, frames=count(50, 1_000))


async def test_typing_goes_on_while_a_reply_streams(
    browser: Browser, reader: Visit, huge: str, model: ScriptedModelServer
) -> None:
    model.script(ScriptedReply(text=("word ",), fault=Fault.TRICKLE))
    shown = await reader.open(f"#/c/{huge}")
    field = shown.get_by_role("textbox", name="Message")
    await field.fill("Go on and on")
    await shown.keyboard.press("Enter")
    await expect(shown.get_by_role("article", name="Assistant").last).to_have_attribute("aria-busy", "true")
    await shown.evaluate(
        """() => {
          window.waits = [];
          const note = list => window.waits.push(...list.getEntries().filter(one => one.name === "keydown"));
          new PerformanceObserver(note).observe({type: "event", durationThreshold: 16});
        }"""
    )
    text = "These are the words of somebody who does not wait for the end of the reply. "
    async with watched(browser, shown) as tasks:
        await field.press_sequentially(text)
    await expect(field).to_have_value(text)
    waits = sorted(await shown.evaluate("window.waits.map(one => one.duration)"))
    seen = f"slowest {waits[-1]:.0f} ms" if waits else "none took a frame"
    print(f"{len(text)} keys while a reply streams: {tasks}; from key to picture on the clock: {seen}")
    assert len(tasks.long) <= 1
    await shown.get_by_role("button", name="Stop").click()
    await expect(shown.get_by_text("Stopped here")).to_be_visible()
    await expect(field).to_have_value(text)
