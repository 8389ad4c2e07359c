"""Answering with a model: rounds of tools, and models that want none."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from recollect.bootstrap import system_clock
from recollect.domain.context import Context, PromptMessage
from recollect.domain.message import ToolCall
from recollect.domain.turn import Usage
from recollect.errors import ProviderOutputError, ProviderRejectedError
from recollect.ports.chat_model import TextDelta, ToolCallRequest, ToolSpec
from recollect.ports.responder import Question, ReplyEvent, Sampling, Tool, ToolOutput, ToolReturned
from recollect.providers.choose import open_model
from recollect.providers.responder import MAX_ROUNDS, ModelResponder
from recollect.settings import Settings
from recollect.testing.models import Fault, ScriptedModelServer, ScriptedReply

REJECTED = ScriptedReply(fault=Fault.REJECTED)


@pytest.fixture
async def server() -> AsyncIterator[ScriptedModelServer]:
    async with ScriptedModelServer() as opened:
        yield opened
        assert opened.errors == []


@pytest.fixture
async def responder(server: ScriptedModelServer) -> AsyncIterator[ModelResponder]:
    flags = {"model.url": f"{server.url}/v1", "model.kind": "openai", "model.name": "m", "model.max_retries": 0}
    model = open_model(Settings.load(flags, {}), system_clock)
    assert model is not None
    yield ModelResponder(model)
    await model.close()


async def looked_up(given: Mapping[str, Any]) -> ToolOutput:
    return ToolOutput(f"found {given.get('query')}")


def unheard(event: ReplyEvent) -> None:
    """Take in what nobody looks at."""


SEARCH = Tool(spec=ToolSpec(name="search", description="Search."), run=looked_up)
THEIRS = Tool(spec=ToolSpec(name="weather", description="Tell the weather."))


def question(*tools: Tool, messages: tuple[PromptMessage, ...] = (), **more: Any) -> Question:
    asked = (*messages, PromptMessage(role="user", text="hello"))
    context = Context(budget=100, tokens=1, over=0, blocks=(), left_out=(), prompt="", tail="", messages=asked)
    return Question(text="hello", context=context, tools=tools, **more)


def call(name: str = "search", number: int = 1, text: str = "") -> ScriptedReply:
    request = ToolCallRequest(id=f"c{number}", tool_name=name, input={"query": str(number)})
    return ScriptedReply(text=(text,) if text else (), tool_calls=(request,))


async def test_what_a_tool_returns_is_told_to_the_model(responder: ModelResponder, server: ScriptedModelServer) -> None:
    server.script(call(text="Wait. "), ScriptedReply(text=("It is 1.",)))
    heard: list[ReplyEvent] = []
    reply = await responder.reply(question(SEARCH), heard.append)
    assert heard == [
        TextDelta("Wait. "),
        ToolCallRequest(id="c1", tool_name="search", input={"query": "1"}),
        ToolReturned("c1", "found 1"),
        TextDelta("It is 1."),
    ]
    assert reply.usage == Usage(input_tokens=14, output_tokens=6)
    last = server.seen[-1].request
    assert last is not None
    assert [(one.role, one.text) for one in last.messages] == [
        ("user", "hello"),
        ("assistant", "Wait. "),
        ("tool", "found 1"),
    ]


async def test_a_model_that_never_ends_calling_is_ended(responder: ModelResponder, server: ScriptedModelServer) -> None:
    server.script(*(call(number=number) for number in range(50)))
    with pytest.raises(ProviderOutputError):
        await responder.reply(question(SEARCH), unheard)
    assert len(server.seen) == MAX_ROUNDS
    server.script(*(call(number=number, text="still looking") for number in range(50)))
    heard: list[ReplyEvent] = []
    await responder.reply(question(SEARCH), heard.append)
    assert len([one for one in heard if isinstance(one, ToolReturned)]) == MAX_ROUNDS


async def test_a_call_that_the_caller_runs_ends_the_reply(
    responder: ModelResponder, server: ScriptedModelServer
) -> None:
    server.script(call("weather"))
    heard: list[ReplyEvent] = []
    await responder.reply(question(SEARCH, THEIRS), heard.append)
    assert heard == [ToolCallRequest(id="c1", tool_name="weather", input={"query": "1"})]
    assert len(server.seen) == 1


async def test_a_tool_that_does_not_exist_is_an_error_that_the_model_reads(
    responder: ModelResponder, server: ScriptedModelServer
) -> None:
    server.script(call("launch"), ScriptedReply(text=("Sorry.",)))
    heard: list[ReplyEvent] = []
    await responder.reply(question(SEARCH), heard.append)
    assert ToolReturned("c1", "Error: there is no tool launch.") in heard


async def test_a_model_that_refuses_tools_is_asked_without_from_then_on(
    responder: ModelResponder, server: ScriptedModelServer
) -> None:
    server.script(REJECTED, ScriptedReply(text=("Plain.",)), ScriptedReply(text=("Plain again.",)))
    called = ToolCall(id="c0", tool_name="search", input={"query": "0"})
    earlier = (
        PromptMessage(role="user", text="before"),
        PromptMessage(role="assistant", text="", tool_calls=(called,)),
        PromptMessage(role="tool", text="found 0", tool_call_id="c0"),
    )
    heard: list[ReplyEvent] = []
    for _ in range(2):
        await responder.reply(question(SEARCH, messages=earlier), heard.append)
    assert heard == [TextDelta("Plain."), TextDelta("Plain again.")]
    offered = [len(one.request.tools) for one in server.seen if one.request is not None]
    assert offered == [1, 0, 0]
    last = server.seen[-1].request
    assert last is not None
    assert all(one.role != "tool" and not one.tool_calls for one in last.messages)
    assert any("found 0" in one.text for one in last.messages)


async def test_a_refusal_that_has_another_reason_is_no_refusal_of_tools(
    responder: ModelResponder, server: ScriptedModelServer
) -> None:
    server.script(REJECTED, REJECTED, call(), ScriptedReply(text=("Here.",)))
    with pytest.raises(ProviderRejectedError):
        await responder.reply(question(SEARCH), unheard)
    heard: list[ReplyEvent] = []
    await responder.reply(question(SEARCH), heard.append)
    assert ToolReturned("c1", "found 1") in heard


async def test_what_was_heard_is_not_said_again_when_a_later_round_is_refused(
    responder: ModelResponder, server: ScriptedModelServer
) -> None:
    server.script(call(text="Wait. "), REJECTED, ScriptedReply(text=("never asked",)))
    heard: list[ReplyEvent] = []
    with pytest.raises(ProviderRejectedError):
        await responder.reply(question(SEARCH), heard.append)
    assert [one.text for one in heard if isinstance(one, TextDelta)] == ["Wait. "]
    assert len(server.seen) == 2
    server.script(call(), ScriptedReply(text=("Tools work.",)))
    await responder.reply(question(SEARCH), heard.append)
    assert heard[-1] == TextDelta("Tools work.")


async def test_the_callers_own_tools_are_never_taken_away(
    responder: ModelResponder, server: ScriptedModelServer
) -> None:
    server.script(REJECTED)
    with pytest.raises(ProviderRejectedError):
        await responder.reply(question(SEARCH, THEIRS), unheard)
    assert len(server.seen) == 1


async def test_how_it_is_to_write_is_told_to_the_model(responder: ModelResponder, server: ScriptedModelServer) -> None:
    await responder.reply(question(sampling=Sampling(temperature=0.5, max_output_tokens=17)), unheard)
    request = server.seen[-1].request
    assert request is not None
    assert (request.temperature, request.max_output_tokens) == (0.5, 17)
