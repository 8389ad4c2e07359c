"""A conversation on the page: what a reply shows while it comes and afterwards, and what can be done with it (S4.6)."""

from __future__ import annotations

import re
from typing import Any

import httpx2
import pytest
from playwright.async_api import Browser, Page, expect

from recollect.ports.chat_model import ToolCallRequest
from recollect.testing.models import Fault, ScriptedModelServer, ScriptedReply
from tests.support.browsing import Visit, violations, visiting
from tests.support.chat_client import said, unique
from tests.support.http_conversations import add, conversation, new_name, page
from tests.support.server_process import Served

pytestmark = pytest.mark.spec("S4.6")

OPEN_FENCE = "Run **this**:\n\n```python\nprint('miso')\n"


async def say(shown: Page, text: str) -> None:
    await shown.get_by_role("textbox", name="Message").fill(text)
    await shown.keyboard.press("Enter")


def remembered(client: httpx2.Client, content: str) -> dict[str, Any]:
    made: dict[str, Any] = client.post("/api/memories", json={"content": content, "memory_type": "fact"}).json()
    return made


# While a reply comes


async def test_a_reply_is_formatted_while_it_is_written_also_inside_an_open_code_block(
    talk: Visit, model: ScriptedModelServer
) -> None:
    model.script(ScriptedReply(text=(OPEN_FENCE,), fault=Fault.STALL))
    shown = await talk.open("#/new")
    await say(shown, "How?")
    reply = shown.get_by_role("article", name="Assistant")
    await expect(reply.locator("strong")).to_have_text("this")
    await expect(reply.locator("pre code")).to_have_text(re.compile("print"))
    await expect(reply.get_by_role("button", name="Copy")).to_be_visible()
    await shown.get_by_role("button", name="Stop").click()
    await expect(shown.get_by_text("Stopped here")).to_be_visible()
    await expect(reply.locator("pre code")).to_have_text(re.compile("print"))


async def test_escape_stops_a_reply_and_what_was_written_stays(talk: Visit, model: ScriptedModelServer) -> None:
    model.script(ScriptedReply(text=("The first half",), fault=Fault.STALL))
    shown = await talk.open("#/new")
    await say(shown, "Tell me")
    await expect(shown.get_by_text("The first half")).to_be_visible()
    await shown.keyboard.press("Escape")
    await expect(shown.get_by_text("Stopped here")).to_be_visible()
    await shown.reload()
    await expect(shown.get_by_text("The first half")).to_be_visible()


# What a reply shows


async def test_a_code_block_is_copied_as_it_is_written(talk: Visit, model: ScriptedModelServer) -> None:
    model.script(ScriptedReply(text=("```\nif a < b:\n    pass\n```",)))
    await talk.context.grant_permissions(["clipboard-read", "clipboard-write"])
    shown = await talk.open("#/new")
    await say(shown, "Code?")
    # Once it is stored, the draft gives its place to the messages.
    await expect(shown.get_by_role("button", name="Answer again")).to_be_visible()
    block = shown.get_by_role("article", name="Assistant").locator(".code-block")
    await block.get_by_role("button", name="Copy").click()
    await expect(block.get_by_role("button", name="Copied")).to_be_visible()
    assert await shown.evaluate("navigator.clipboard.readText()") == "if a < b:\n    pass"


async def test_calls_of_tools_are_folded_and_open_by_keyboard(talk: Visit, model: ScriptedModelServer) -> None:
    request = ToolCallRequest(
        id="call-1", tool_name="manage_long_term_memory", input={"operation": "append", "content": "likes tea"}
    )
    model.script(ScriptedReply(text=(), tool_calls=(request,)), ScriptedReply(text=("Noted.",)))
    shown = await talk.open("#/new")
    await say(shown, "I like tea.")
    await expect(shown.get_by_text("Noted.", exact=True)).to_be_visible()
    # Once it is stored, the draft gives its place to the messages.
    await expect(shown.get_by_role("button", name="Answer again")).to_be_visible()
    call = shown.get_by_text("manage_long_term_memory")
    asked = shown.get_by_text('"content": "likes tea"')
    await expect(asked).to_be_hidden()
    await call.locator("xpath=ancestor::summary").focus()
    await shown.keyboard.press("Enter")
    await expect(asked).to_be_visible()
    await expect(shown.get_by_text("Answered")).to_be_visible()


async def test_suggested_values_go_into_the_composer_and_suggested_actions_are_said(
    talk: Visit, talking: Served
) -> None:
    name = conversation(talking.client)
    suggesting = {
        "role": "assistant",
        "content": "When?",
        "suggested_values": ["On Monday"],
        "suggested_actions": [{"label": "Cancel it", "value": "Please cancel"}],
    }
    add(talking.client, name, {"role": "user", "content": "Book it"}, suggesting)
    shown = await talk.open(f"#/c/{name}")
    await shown.get_by_role("button", name="On Monday").click()
    await expect(shown.get_by_role("textbox", name="Message")).to_have_value("On Monday")
    await shown.get_by_role("button", name="Cancel it").click()
    await expect(shown.get_by_role("article", name="You").get_by_text("Please cancel")).to_be_visible()
    await expect(shown.get_by_role("button", name="On Monday")).to_have_count(0)


async def test_memories_that_were_used_are_still_named_after_a_reload_and_can_be_opened_edited_and_forgotten(
    talk: Visit, talking: Served
) -> None:
    town = unique("Town")
    made = remembered(talking.client, f"The user lives in {town}.")
    turn = said(talking.client, f"Is {town} nice?")
    shown = await talk.open(f"#/c/{turn['conversation_id']}")
    used = shown.get_by_role("group", name="Memories used")
    await used.get_by_role("button", name=f"The user lives in {town}.").click()
    opened = shown.get_by_role("dialog", name="Memory")
    await opened.get_by_role("button", name="Edit").click()
    await opened.get_by_role("textbox", name="Memory").fill(f"The user works in {town}.")
    await shown.keyboard.press("Enter")
    await expect(used.get_by_role("button", name=f"The user works in {town}.")).to_be_attached()
    await opened.get_by_role("button", name="Forget").click()
    await expect(used).to_have_count(0)
    await shown.get_by_role("button", name="Undo").click()
    await used.get_by_role("button", name=f"The user works in {town}.").click()
    await opened.get_by_role("button", name="Open").click()
    await expect(shown).to_have_url(re.compile(f"#/memories/{made['id']}"))


async def test_a_memory_that_was_learned_meanwhile_is_told_of(talk: Visit, talking: Served) -> None:
    shown = await talk.open("#/new")
    async with shown.expect_response(re.compile("/api/events")):
        await shown.reload()
    remembered(talking.client, unique("The user has a boat called "))
    await expect(shown.get_by_role("region", name="Notices").get_by_text("Memory updated")).to_be_visible()


async def test_a_summary_is_a_divider_that_opens_over_what_it_stands_for(talk: Visit, talking: Served) -> None:
    name = conversation(talking.client, *(f"Step {n} of the plan is done." for n in range(1, 14)))
    shown = await talk.open(f"#/c/{name}")
    divider = shown.get_by_role("button", name="Summarised up to here").last
    await divider.click()
    await shown.get_by_role("button", name="Show what it stands for").click()
    await expect(shown.get_by_role("listitem").filter(has_text="Step 1 of the plan").last).to_be_visible()
    assert await violations(shown) == []


# Its header


async def test_the_title_is_edited_in_its_place(talk: Visit, talking: Served) -> None:
    name = conversation(talking.client, "Hello", title="Before")
    shown = await talk.open(f"#/c/{name}")
    await shown.get_by_role("heading", name="Before").get_by_role("button").click()
    await shown.get_by_role("textbox", name="Title").fill("After")
    await shown.keyboard.press("Enter")
    await expect(shown.get_by_role("heading", name="After")).to_be_visible()
    await expect(shown).to_have_title(re.compile("After"))
    assert talking.client.get(f"/api/conversations/{name}").json()["title"] == "After"


async def test_a_conversation_is_exported_as_markdown_and_as_json(talk: Visit, talking: Served) -> None:
    name = conversation(talking.client, "Keep this sentence")
    shown = await talk.open(f"#/c/{name}")
    for form, ending in (("Markdown", ".md"), ("JSON", ".json")):
        await shown.get_by_role("button", name="More for this conversation").click()
        async with shown.expect_download() as loading:
            await shown.get_by_role("menuitem", name=f"Export as {form}").click()
        file = await loading.value
        assert file.suggested_filename.endswith(ending)
        assert "Keep this sentence" in (await file.path()).read_text()


async def test_the_header_tells_tokens_and_what_they_cost(talk: Visit) -> None:
    shown = await talk.open("#/new")
    await say(shown, "Count this")
    spent = shown.get_by_role("button", name=re.compile("tokens read"))
    await expect(spent).to_have_text(re.compile(r"^10 tokens · \$0\.01"))


@pytest.mark.spec("S3.7")
async def test_clearing_is_asked_about_first_and_empties_the_conversation(talk: Visit, talking: Served) -> None:
    name = conversation(talking.client, "One", "Two")
    shown = await talk.open(f"#/c/{name}")
    await shown.get_by_role("button", name="More for this conversation").click()
    await shown.get_by_role("menuitem", name="Clear messages").click()
    asked = shown.get_by_role("dialog", name="Clear this conversation?")
    await asked.get_by_role("button", name="Cancel").click()
    await expect(asked).to_have_count(0)
    assert len(page(talking.client, name)["items"]) == 2
    await shown.get_by_role("button", name="More for this conversation").click()
    await shown.get_by_role("menuitem", name="Clear messages").click()
    await asked.get_by_role("button", name="Clear messages").click()
    await expect(shown.get_by_text("What is on your mind?")).to_be_visible()
    assert page(talking.client, name)["items"] == []


# What leaves no trace


async def test_a_temporary_conversation_is_answered_and_nowhere_kept(talk: Visit, talking: Served) -> None:
    secret = unique("secret")
    shown = await talk.open("#/temporary")
    await say(shown, f"My {secret}")
    await expect(shown.get_by_role("article", name="Assistant").get_by_text(secret)).to_be_visible()
    await shown.get_by_role("button", name="What the model saw").click()
    await expect(shown.get_by_text("keeps no record of it")).to_be_visible()
    assert talking.client.get("/api/conversations", params={"q": secret}).json()["items"] == []
    await shown.reload()
    await expect(shown.get_by_text("A temporary conversation", exact=True)).to_be_visible()
    await expect(shown.get_by_text(secret)).to_have_count(0)


# For everybody


@pytest.mark.parametrize(("scheme", "is_phone"), [("light", False), ("dark", False), ("light", True)])
async def test_a_conversation_has_no_barrier(
    browser: Browser, talking: Served, model: ScriptedModelServer, scheme: Any, is_phone: bool
) -> None:
    town = unique("Town")
    remembered(talking.client, f"The user lives in {town}.")
    model.script(
        ScriptedReply(text=(f"# Yes\n\n{town} is *nice*:\n\n```\ncode\n```\n\n| a | b |\n|-|-|\n| 1 | 2 |\n",))
    )
    turn = said(talking.client, f"Is {town} nice?", conversation_id=new_name())
    async with visiting(browser, f"http://127.0.0.1:{talking.port}", scheme=scheme, is_phone=is_phone) as visit:
        shown = await visit.open(f"#/c/{turn['conversation_id']}")
        await expect(shown.get_by_role("group", name="Memories used")).to_be_visible()
        assert await violations(shown) == []
