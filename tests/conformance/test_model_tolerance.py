"""Servers that lack a part of a protocol are asked without it, and providers with wishes of their own get them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from recollect.errors import ProviderRejectedError
from recollect.ports.chat_model import ModelMessage, ModelRequest, ToolCallRequest
from recollect.providers.choose import model_of
from recollect.testing.models import SCHEMA, Fault, ScriptedModelServer, ScriptedReply, WireProtocol
from recollect.testing.models.conformance import WEATHER, asks
from tests.support.model_limits import USUAL, choice


@pytest.fixture
async def server() -> AsyncIterator[ScriptedModelServer]:
    async with ScriptedModelServer() as started:
        yield started
    assert started.errors == []


def refused(said: str) -> ScriptedReply:
    return ScriptedReply(fault=Fault.REJECTED, said=said)


@pytest.mark.parametrize(
    ("kind", "said", "request_more", "gone"),
    [
        ("openai", "Unrecognized request argument supplied: stream_options", {}, "stream_options"),
        ("openai", "Unsupported value: 'temperature' does not support 0.5", {"temperature": 0.5}, "temperature"),
        ("openai", "'max_tokens' is not supported, use 'max_completion_tokens'", {}, "max_tokens"),
        ("anthropic", "temperature may not be set with this model", {"temperature": 0.5}, "temperature"),
        ("anthropic", "output_config: Extra inputs are not permitted", {"json_schema": SCHEMA}, "output_config"),
    ],
)
async def test_what_a_server_does_not_accept_is_left_out_from_then_on(
    kind: WireProtocol, said: str, request_more: dict[str, Any], gone: str, server: ScriptedModelServer
) -> None:
    model = model_of(choice(kind, server), USUAL)
    server.script(refused(said))
    assert (await model.complete(asks("same", **request_more))).text == "same"
    assert (await model.complete(asks("same", **request_more))).text == "same"
    assert [gone in seen.body for seen in server.seen] == [True, False, False]
    await model.close()


async def test_a_schema_that_no_server_enforces_is_asked_for_in_words(server: ScriptedModelServer) -> None:
    model = model_of(choice("openai", server), USUAL)
    server.script(*[refused("response_format is not supported")] * 2)
    await model.complete(asks(json_schema=SCHEMA))
    first, second, third = (seen.body for seen in server.seen)
    assert first["response_format"]["type"] == "json_schema"
    assert second["response_format"] == {"type": "json_object"}
    assert "response_format" not in third
    assert '"memories"' in second["messages"][0]["content"]
    assert '"memories"' in third["messages"][0]["content"]
    await model.close()


async def test_a_prompt_that_names_a_setting_changes_nothing(server: ScriptedModelServer) -> None:
    model = model_of(choice("openai", server), USUAL)
    server.script(refused("the prompt is too long"))
    with pytest.raises(ProviderRejectedError):
        await model.complete(asks("stream_options is not supported"))
    await model.complete(asks())
    assert "stream_options" in server.seen[-1].body
    await model.close()


async def test_gemini_gets_its_signatures_back(server: ScriptedModelServer) -> None:
    model = model_of(choice("gemini", server), USUAL)
    signed = ToolCallRequest(id="call-1", tool_name="weather", input={"city": "Paris"}, signature="c2lnbmVk")
    server.script(ScriptedReply(tool_calls=(signed,)))
    calls = (await model.complete(asks(tools=(WEATHER,)))).tool_calls
    assert calls == (signed,)
    answered = (
        ModelMessage(role="user", text="Hi"),
        ModelMessage(role="assistant", tool_calls=calls),
        ModelMessage(role="tool", text="warm", tool_call_id="call-1"),
    )
    await model.complete(ModelRequest(messages=answered))
    seen = server.seen[-1].request
    assert seen is not None
    assert seen.messages == answered
    await model.close()


async def test_gemini_is_told_of_calls_whose_signature_is_lost(server: ScriptedModelServer) -> None:
    model = model_of(choice("gemini", server), USUAL)
    unsigned = ToolCallRequest(id="call-1", tool_name="weather", input={"city": "Paris"})
    messages = (
        ModelMessage(role="user", text="Hi"),
        ModelMessage(role="assistant", tool_calls=(unsigned,)),
        ModelMessage(role="tool", text="warm", tool_call_id="call-1"),
    )
    server.script(refused("Function call is missing a thought_signature in functionCall parts"))
    await model.complete(ModelRequest(messages=messages))
    sent = [seen.body["contents"][1]["parts"][0].get("thoughtSignature") for seen in server.seen]
    assert sent == [None, "skip_thought_signature_validator"]
    await model.close()
