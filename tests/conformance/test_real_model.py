"""A real model in a real llama.cpp server: the protocol is judged, never what the small model says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator

import pytest

from recollect.domain.turn import Usage
from recollect.errors import ProviderRejectedError
from recollect.ports.chat_model import ChatModel, Finished, ModelMessage, TextDelta, ToolSpec, UsageReport
from recollect.providers.choose import open_model
from recollect.settings import ModelSettings, Settings
from recollect.testing.clock import FakeClock
from recollect.testing.models.conformance import asks, events_of, text_of
from tests.support.small_model import small_model

AGE = {
    "type": "object",
    "properties": {"age": {"type": "integer", "minimum": 0, "maximum": 99}, "known": {"type": "boolean"}},
    "required": ["age", "known"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def llama_url() -> Iterator[str]:
    with small_model() as address:
        yield address


@pytest.fixture(params=["openai", "anthropic"])
async def model(request: pytest.FixtureRequest, llama_url: str) -> AsyncIterator[ChatModel]:
    settings = Settings(model=ModelSettings(url=llama_url, kind=request.param))
    opened = open_model(settings, FakeClock())
    assert opened is not None
    yield opened
    await opened.close()


async def test_it_streams_a_reply(model: ChatModel) -> None:
    events = await events_of(model, asks("Tell me a story.", max_output_tokens=16, temperature=0.0))
    assert sum(isinstance(event, TextDelta) for event in events) > 4
    assert text_of(events).strip()
    usage, end = events[-2:]
    assert isinstance(usage, UsageReport)
    assert usage.usage.input_tokens > 0
    assert (usage.usage.output_tokens, end) == (16, Finished("length"))


async def test_it_knows_the_conversation(model: ChatModel) -> None:
    longer = asks("Say hi.", system="You are brief.", max_output_tokens=4)
    short = await model.complete(longer)
    said = (ModelMessage(role="user", text="Hello."), ModelMessage(role="assistant", text="Hello to you."))
    long = await model.complete(
        asks("Say hi.", system="You are brief.", max_output_tokens=4, messages=said + longer.messages)
    )
    assert isinstance(short.usage, Usage)
    assert isinstance(long.usage, Usage)
    assert long.usage.input_tokens > short.usage.input_tokens


async def test_several_replies_at_once_all_come(model: ChatModel) -> None:
    replies = await asyncio.gather(*(model.complete(asks(f"Count to {n}.", max_output_tokens=8)) for n in range(4)))
    assert all(reply.text for reply in replies)


async def test_leaving_early_leaves_the_server_working(model: ChatModel) -> None:
    for _ in range(3):
        async with model.stream(asks("Write a long book.", max_output_tokens=2000)) as events:
            await anext(aiter(events))
    assert (await model.complete(asks(max_output_tokens=4))).text


async def test_a_request_beyond_its_window_is_refused(model: ChatModel) -> None:
    with pytest.raises(ProviderRejectedError):
        await model.complete(asks("word " * 5000))


async def test_tools_are_accepted(model: ChatModel) -> None:
    tool = ToolSpec(name="weather", description="Tell the weather.")
    reply = await model.complete(asks("Is it warm?", tools=(tool,), max_output_tokens=8))
    assert reply.text or reply.tool_calls


async def test_json_of_a_schema_is_enforced(llama_url: str) -> None:
    model = open_model(Settings(model=ModelSettings(url=llama_url)), FakeClock())
    assert model is not None
    reply = await model.complete(asks("How old is Ann?", json_schema=AGE, max_output_tokens=60))
    assert reply.reason == "stop"
    value = json.loads(reply.text)
    assert sorted(value) == ["age", "known"]
    assert 0 <= value["age"] <= 99
    await model.close()
