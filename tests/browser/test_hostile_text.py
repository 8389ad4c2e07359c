"""Whatever a text says, the page only shows it: nothing of it runs, and nobody outside is asked for anything (R25)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from urllib.parse import quote

import httpx2
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from recollect.ports.chat_model import ToolCallRequest
from recollect.testing.models import ScriptedModelServer, ScriptedReply
from tests.support.browsing import Visit, visiting
from tests.support.chat_client import said
from tests.support.hostile_texts import HOSTILE, PLANTED, RUN, TRACES
from tests.support.http_conversations import add, conversation
from tests.support.server_process import Served

pytestmark = pytest.mark.spec("R25")

#: Titles and memories are short, and a line or two.
SHORT = [text for text in HOSTILE if len(text) < 200]


@pytest_asyncio.fixture(loop_scope="session")
async def victim(browser: Browser, talking: Served, model: ScriptedModelServer) -> AsyncIterator[Visit]:
    """Somebody whose browser hears whatever a text gets to run; a request to outside is a fault of the visit."""
    model.script()
    async with visiting(browser, f"http://127.0.0.1:{talking.port}") as opened:
        await opened.context.add_init_script(PLANTED)
        yield opened


async def unharmed(shown: Page) -> None:
    """See that nothing ran and nothing that could run is there, after whatever was begun has ended."""
    await shown.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    assert await shown.evaluate(TRACES) == []


async def read_all(shown: Page, count: int) -> None:
    """Show each message once, from the newest to the oldest, looking for harm at each stop."""
    for n in range(count, 0, -3):
        await expect(shown.get_by_text(f"Text {n}.", exact=True).first).to_be_attached()
        await shown.get_by_text(f"Text {n}.", exact=True).first.scroll_into_view_if_needed()
        await unharmed(shown)


def remembered(client: httpx2.Client, content: str) -> str:
    made = client.post("/api/memories", json={"content": content, "memory_type": "fact", "category": content[:100]})
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


async def test_the_traps_catch_what_would_run(victim: Visit) -> None:
    shown = await victim.open("#/new")
    await expect(shown.get_by_role("textbox", name="Message")).to_be_visible()
    await unharmed(shown)
    await shown.evaluate(f"document.body.insertAdjacentHTML('beforeend', '<img src=x onerror={RUN}>')")
    await shown.wait_for_function("() => window.__heard.length > 0")
    assert len(await shown.evaluate(TRACES)) > 1
    assert any("inline event handler" in fault for fault in victim.faults)
    victim.faults.clear()


async def test_messages_of_every_role_are_only_shown(victim: Visit, talking: Served) -> None:
    texts = [f"Text {n}.\n\n{text}" for n, text in enumerate(HOSTILE, 1)]
    for role in ("user", "assistant", "system"):
        target = conversation(talking.client, title=f"Hostile {role}")
        add(talking.client, target, *({"role": role, "content": text} for text in texts))
        shown = await victim.open(f"#/c/{target}")
        if role == "assistant":
            await read_all(shown, len(texts))
        else:
            await expect(shown.get_by_text(f"Text {len(texts)}.").first).to_be_attached()
            await shown.get_by_role("region", name="Messages").focus()
            await shown.keyboard.press("Home")
            await unharmed(shown)
        await shown.close()


async def test_a_reply_is_only_shown_while_it_streams_in_pieces_that_cut_tags(
    victim: Visit, model: ScriptedModelServer
) -> None:
    whole = "\n\n".join(HOSTILE)
    pieces = tuple(whole[at : at + 9] for at in range(0, len(whole), 9))
    model.script(ScriptedReply(text=(*pieces, "\n\n```\nThe end")))
    shown = await victim.open("#/new")
    await shown.get_by_role("textbox", name="Message").fill(HOSTILE[1])
    await shown.keyboard.press("Enter")
    await expect(shown.get_by_role("button", name="Answer again")).to_be_visible()
    await unharmed(shown)


async def test_calls_of_tools_and_suggestions_are_only_shown(
    victim: Visit, talking: Served, model: ScriptedModelServer
) -> None:
    name = conversation(talking.client, "Use them")
    calls = [
        {"id": f"call-{n}", "tool_name": text[:100], "input": {"given": text}, "output": text}
        for n, text in enumerate(HOSTILE)
    ]
    suggested = {"suggested_values": SHORT, "suggested_actions": [{"label": one, "value": one} for one in SHORT]}
    add(talking.client, name, {"role": "assistant", "content": "Done.", "tool_calls": calls, **suggested})
    shown = await victim.open(f"#/c/{name}")
    await expect(shown.get_by_text("Done.", exact=True)).to_be_attached()
    await shown.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    await unharmed(shown)
    request = ToolCallRequest(id="c", tool_name="manage_long_term_memory", input={"operation": HOSTILE[1]})
    model.script(ScriptedReply(text=(), tool_calls=(request,)), ScriptedReply(text=("Noted.",)))
    await shown.get_by_role("button", name=SHORT[1], exact=True).last.click()
    await expect(shown.get_by_text("Noted.", exact=True)).to_be_attached()
    await unharmed(shown)


async def test_titles_and_what_a_search_finds_are_only_shown(victim: Visit, talking: Served) -> None:
    for text in SHORT:
        conversation(talking.client, f"needle {text}", title=text)
    shown = await victim.open("#/new")
    await expect(shown.get_by_role("link", name=SHORT[-1], exact=True)).to_be_visible()
    await unharmed(shown)
    await shown.get_by_role("searchbox", name="Search conversations").fill("needle")
    await expect(shown.get_by_role("link", name="needle").first).to_be_visible()
    await unharmed(shown)
    await shown.get_by_role("link", name="needle").first.click()
    await expect(shown.get_by_role("article", name="You").first).to_be_visible()
    await unharmed(shown)


async def test_summaries_are_only_shown(victim: Visit, talking: Served) -> None:
    name = conversation(talking.client, *(f"Remember: {text}" for text in SHORT))
    shown = await victim.open(f"#/c/{name}")
    divider = shown.get_by_role("button", name="Summarised up to here").last
    await divider.click()
    await shown.get_by_role("button", name="Show what it stands for").click()
    await expect(shown.get_by_role("listitem").filter(has_text="Remember:").first).to_be_visible()
    await unharmed(shown)


async def test_memories_in_chips_prompts_and_on_their_own_page_are_only_shown(victim: Visit, talking: Served) -> None:
    made = [remembered(talking.client, f"Parrot {text}") for text in SHORT[:8]]
    name = said(talking.client, "Parrot?")["conversation_id"]
    shown = await victim.open(f"#/c/{name}")
    await shown.get_by_role("group", name="Memories used").get_by_role("button").first.click()
    await expect(shown.get_by_role("dialog", name="Memory")).to_be_visible()
    await unharmed(shown)
    await shown.keyboard.press("Escape")
    await shown.get_by_role("button", name="What the model saw").click()
    await expect(shown.get_by_text("Recalled memories")).to_be_visible()
    await unharmed(shown)
    for address in ("#/memories", f"#/memories/{made[0]}"):
        opened = await victim.open(address)
        await expect(opened.get_by_text("Parrot").first).to_be_visible()
        await unharmed(opened)


async def test_notes_are_only_shown(victim: Visit, talking: Served) -> None:
    text = "\n\n".join(f"## Section {n}\n\n{one}" for n, one in enumerate(HOSTILE, 1))
    kept = talking.client.post("/api/notes/operations", json={"operation": "overwrite", "content": text})
    assert kept.status_code == 200, kept.text
    shown = await victim.open("#/memories?tab=notes")
    await expect(shown.get_by_text("Section 1", exact=True).first).to_be_visible()
    await unharmed(shown)


async def test_an_address_is_only_followed(victim: Visit, talking: Served) -> None:
    name = conversation(talking.client, *(f"Quoted {text}" for text in HOSTILE[:4]))
    shown = await victim.open(f"#/c/{name}")
    for text in HOSTILE:
        await shown.evaluate("address => { location.hash = address }", f"#/c/{name}/m/m2?quote={quote(text)}")
        await unharmed(shown)
        await shown.evaluate("address => { location.hash = address }", f"#/c/{quote(text, safe='')}")
    await unharmed(shown)
    await shown.evaluate("address => { location.hash = address }", f"#/c/{name}/m/m1?quote={quote('Quoted')}")
    await expect(shown.get_by_text("Marked: Quoted")).to_be_attached()
    await unharmed(shown)
