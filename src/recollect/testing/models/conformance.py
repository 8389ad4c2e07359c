"""What every chat model promises, as tests; subclass the suite and give it a fixture named `rig`."""

from __future__ import annotations

import asyncio
import time
import tracemalloc
from collections.abc import Iterable

import msgspec

from recollect.domain.turn import Usage
from recollect.errors import (
    ProviderError,
    ProviderOutputError,
    ProviderRejectedError,
    ProviderUnavailableError,
)
from recollect.ports.chat_model import (
    ChatModel,
    Finished,
    ModelEvent,
    ModelMessage,
    ModelReply,
    ModelRequest,
    TextDelta,
    ToolCallRequest,
    ToolSpec,
    UsageReport,
)
from recollect.testing.expect import raises
from recollect.testing.models.script import JSON_FAULTS, SCHEMA, Fault, ScriptedReply
from recollect.testing.models.server import ScriptedModelServer

#: Time that any one fault may take, on a machine that is busy with other things.
SECONDS = 10.0
#: Memory that any one fault may take, with what the server itself takes.
BYTES = 8_000_000

WEATHER = ToolSpec(
    name="weather",
    description="Tell the weather.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
PARIS = ToolCallRequest(id="call-1", tool_name="weather", input={"city": "Paris", "days": [1, 2.5, None, True]})
KYIV = ToolCallRequest(id="call-2", tool_name="weather", input={"city": "Київ 🌧"})
NO_INPUT = ToolCallRequest(id="call-3", tool_name="now", input={})

#: The faults after which a request may work another time.
UNAVAILABLE = (
    Fault.RATE_LIMITED,
    Fault.SERVER_ERROR,
    Fault.OVERLOADED,
    Fault.ENDLESS_ERROR,
    Fault.HANG_UP,
    Fault.NOT_HTTP,
    Fault.DISCONNECT,
    Fault.CUT_SHORT,
    Fault.ERROR_EVENT,
)
#: The faults after which it may work too, and that only a clock can tell.
SLOW = (Fault.SILENT, Fault.LATE, Fault.STALL, Fault.DRIP, Fault.TRICKLE)
#: The faults that trying again does not mend.
REJECTED = (Fault.REJECTED, Fault.UNAUTHORISED, Fault.REDIRECT)
#: The faults that leave no reply.
UNUSABLE = (
    Fault.WEB_PAGE,
    Fault.COMPRESSED,
    Fault.TRUNCATED_EVENT,
    Fault.GARBAGE,
    Fault.HUGE_LINE,
    Fault.EMPTY,
    Fault.PARTIAL_CALL,
)
#: The faults in spite of which there is a reply.
USABLE = (
    *JSON_FAULTS,
    Fault.REFUSAL,
    Fault.INVALID_UTF8,
    Fault.SURROGATES,
    Fault.DUPLICATE_CALL,
    Fault.CALLS_WITHOUT_ID,
)
#: The faults that end in a limit: which one is met first is a matter of speed.
ENDLESS = (Fault.ENDLESS, Fault.ENDLESS_COMMENTS)


class ModelRig(msgspec.Struct, frozen=True, kw_only=True):
    """A model, once with time and once in a hurry, and the server that both talk to; neither tries again."""

    server: ScriptedModelServer
    #: Waits for many seconds, and reads at most 300 kB.
    model: ChatModel
    #: Waits a quarter of a second for anything and two seconds in all.
    hurried: ChatModel


def asks(text: str = "Hi", **more: object) -> ModelRequest:
    """Return a request of one user message."""
    return msgspec.structs.replace(ModelRequest(messages=(ModelMessage(role="user", text=text),)), **more)


async def events_of(model: ChatModel, request: ModelRequest) -> list[ModelEvent]:
    """Return all events of a reply."""
    async with model.stream(request) as events:
        return [event async for event in events]


def text_of(events: Iterable[ModelEvent]) -> str:
    """Join the text of a reply."""
    return "".join(event.text for event in events if isinstance(event, TextDelta))


class ChatModelConformance:
    """Check what a chat model promises; each test gets a rig with a fresh server."""

    async def test_a_reply_is_text_then_usage_then_the_end(self, rig: ModelRig) -> None:
        rig.server.script(ScriptedReply())
        events = await events_of(rig.model, asks())
        assert text_of(events) == "Hello, world"
        assert all(isinstance(event, TextDelta) and event.text for event in events[:-2])
        assert events[-2:] == [UsageReport(Usage(input_tokens=7, output_tokens=3)), Finished("stop")]

    async def test_the_text_comes_as_it_is_written(self, rig: ModelRig) -> None:
        rig.server.script(ScriptedReply(text=("first ", "second "), fault=Fault.STALL))
        async with rig.model.stream(asks()) as events:
            assert await anext(aiter(events)) == TextDelta("first ")

    async def test_a_whole_reply_is_the_sum_of_its_events(self, rig: ModelRig) -> None:
        rig.server.script(ScriptedReply(tool_calls=(PARIS,)))
        reply = await rig.model.complete(asks(tools=(WEATHER,)))
        usage = Usage(input_tokens=7, output_tokens=3)
        assert reply == ModelReply(text="Hello, world", reason="tool_calls", tool_calls=(PARIS,), usage=usage)

    async def test_the_provider_gets_the_whole_request(self, rig: ModelRig) -> None:
        request = ModelRequest(
            system="Be brief — будь ласка.",
            messages=(
                ModelMessage(role="user", text="Where is it warm?"),
                ModelMessage(role="assistant", text="Let me see.", tool_calls=(PARIS, KYIV)),
                ModelMessage(role="tool", text='{"celsius": 31}', tool_call_id="call-1"),
                ModelMessage(role="tool", text="storm", tool_call_id="call-2"),
                ModelMessage(role="assistant", text="In Paris."),
                ModelMessage(role="user", text="And\nnow? 🙂"),
            ),
            tools=(WEATHER, ToolSpec(name="now", description="Tell the time.")),
            max_output_tokens=77,
            temperature=0.5,
        )
        await rig.model.complete(request)
        assert rig.server.seen[-1].request == request

    async def test_a_request_may_begin_with_the_assistant_and_end_with_a_tool(self, rig: ModelRig) -> None:
        messages = (
            ModelMessage(role="assistant", tool_calls=(NO_INPUT,)),
            ModelMessage(role="tool", tool_call_id=NO_INPUT.id),
        )
        rig.server.script(ScriptedReply())
        await rig.model.complete(ModelRequest(messages=messages))
        seen = rig.server.seen[-1].request
        assert seen is not None
        assert seen.messages[-2:] == messages

    async def test_json_of_a_schema_is_asked_for_and_comes_as_text(self, rig: ModelRig) -> None:
        text = '{"memories": ["пʼє чай"]}'
        rig.server.script(ScriptedReply(text=tuple(text)))
        reply = await rig.model.complete(asks(json_schema=SCHEMA))
        assert (reply.text, reply.reason, reply.tool_calls) == (text, "stop", ())
        seen = rig.server.seen[-1].request
        assert seen is not None
        assert seen.json_schema == SCHEMA

    async def test_parallel_tool_calls_come_whole_and_in_order(self, rig: ModelRig) -> None:
        rig.server.script(ScriptedReply(text=(), tool_calls=(PARIS, KYIV, NO_INPUT)))
        events = await events_of(rig.model, asks(tools=(WEATHER,)))
        assert [event for event in events if isinstance(event, ToolCallRequest)] == [PARIS, KYIV, NO_INPUT]
        assert events[-1] == Finished("tool_calls")

    async def test_tool_calls_without_an_id_get_one(self, rig: ModelRig) -> None:
        rig.server.script(ScriptedReply(tool_calls=(PARIS, KYIV), fault=Fault.CALLS_WITHOUT_ID))
        calls = (await rig.model.complete(asks(tools=(WEATHER,)))).tool_calls
        assert [call.input for call in calls] == [PARIS.input, KYIV.input]
        assert len({call.id for call in calls}) == 2

    async def test_a_repeated_tool_call_comes_once(self, rig: ModelRig) -> None:
        rig.server.script(ScriptedReply(tool_calls=(PARIS, KYIV), fault=Fault.DUPLICATE_CALL))
        assert (await rig.model.complete(asks(tools=(WEATHER,)))).tool_calls == (PARIS, KYIV)

    async def test_half_a_tool_call_never_comes(self, rig: ModelRig) -> None:
        rig.server.script(ScriptedReply(tool_calls=(PARIS,), fault=Fault.PARTIAL_CALL))
        came: list[ModelEvent] = []
        with raises(ProviderOutputError):
            async with rig.model.stream(asks(tools=(WEATHER,))) as events:
                async for event in events:
                    came.append(event)  # noqa: PERF401  # what came before the error counts
        assert not [event for event in came if isinstance(event, ToolCallRequest | Finished)]

    async def test_a_reply_that_a_limit_cut_says_so(self, rig: ModelRig) -> None:
        rig.server.script(ScriptedReply(reason="length"))
        assert (await rig.model.complete(asks())).reason == "length"

    async def test_a_reply_without_usage_has_none(self, rig: ModelRig) -> None:
        rig.server.script(ScriptedReply(usage=None, whole=True))
        assert (await rig.model.complete(asks())).usage is None

    async def test_a_server_that_cannot_stream_is_understood(self, rig: ModelRig) -> None:
        rig.server.script(ScriptedReply(whole=True, tool_calls=(PARIS, KYIV)))
        reply = await rig.model.complete(asks(tools=(WEATHER,)))
        assert (reply.text, reply.tool_calls) == ("Hello, world", (PARIS, KYIV))
        assert reply.usage == Usage(input_tokens=7, output_tokens=3)

    async def test_text_of_any_script_comes_unchanged_however_it_is_cut(self, rig: ModelRig) -> None:
        pieces = ("Ґава 🏳️‍🌈 ", "नमस्ते\r\n\ttab", "\u2028 العربية ", "中文", "𝒜 ", 'quote " \\ data: ', "\n\n")
        rig.server.script(ScriptedReply(text=pieces, ragged=True))
        assert (await rig.model.complete(asks())).text == "".join(pieces)

    async def test_a_character_cut_between_two_pieces_is_joined(self, rig: ModelRig) -> None:
        rig.server.script(ScriptedReply(text=("a\ud83d", "\ude00b")))
        assert (await rig.model.complete(asks())).text == "a😀b"

    async def test_what_is_no_unicode_is_replaced(self, rig: ModelRig) -> None:
        rig.server.script(ScriptedReply(fault=Fault.SURROGATES))
        assert (await rig.model.complete(asks())).text == "a\ufffd x \ufffd \ufffd \ufffdb"
        rig.server.script(ScriptedReply(fault=Fault.INVALID_UTF8))
        text = (await rig.model.complete(asks())).text
        assert (text[:3], text[-3:]) == ("caf", "olé")
        assert set(text[3:-3]) == {"\ufffd"}

    async def test_a_refusal_says_so(self, rig: ModelRig) -> None:
        rig.server.script(ScriptedReply(fault=Fault.REFUSAL))
        assert (await rig.model.complete(asks())).reason == "refused"

    async def test_json_that_is_not_what_was_asked_for_still_comes(self, rig: ModelRig) -> None:
        for fault, text in JSON_FAULTS.items():
            rig.server.script(ScriptedReply(fault=fault))
            reply = await rig.model.complete(asks(json_schema=SCHEMA))
            assert reply.text == text
            assert reply.reason == ("length" if fault is Fault.TRUNCATED_JSON else "stop")

    async def test_every_fault_ends_as_documented_within_time_and_memory(self, rig: ModelRig) -> None:
        for fault in Fault:
            request = asks(tools=(WEATHER,)) if fault not in JSON_FAULTS else asks(json_schema=SCHEMA)
            rig.server.script(ScriptedReply(fault=fault, tool_calls=(PARIS,) if request.tools else ()))
            began = time.monotonic()
            tracemalloc.start()
            outcome = await _outcome(rig.hurried if fault in SLOW else rig.model, request)
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert outcome in _expected(fault), (fault.name, outcome)
            assert time.monotonic() - began < SECONDS, fault.name
            assert peak < BYTES, (fault.name, peak)
            assert (await rig.model.complete(asks("still there?"))).text == "still there?", fault.name

    async def test_a_refused_connection_is_unavailable_and_then_forgotten(self, rig: ModelRig) -> None:
        async with rig.server.down():
            with raises(ProviderUnavailableError):
                await rig.model.complete(asks())
        assert (await rig.model.complete(asks("back?"))).text == "back?"

    async def test_leaving_a_stream_closes_its_connection(self, rig: ModelRig) -> None:
        rig.server.script(ScriptedReply(fault=Fault.ENDLESS))
        async with rig.model.stream(asks()) as events:
            await anext(aiter(events))
        await asyncio.wait_for(rig.server.all_closed(), SECONDS)

    async def test_cancelling_closes_the_connection(self, rig: ModelRig) -> None:
        for fault in (Fault.SILENT, Fault.LATE, Fault.STALL):
            rig.server.script(ScriptedReply(fault=fault))
            before = len(rig.server.seen)
            task = asyncio.create_task(rig.model.complete(asks()))
            await asyncio.wait_for(rig.server.all_seen(before + 1), SECONDS)
            task.cancel()
            with raises(asyncio.CancelledError):
                await task
            await asyncio.wait_for(rig.server.all_closed(), SECONDS)

    async def test_a_stream_that_nobody_reads_sends_nothing(self, rig: ModelRig) -> None:
        async with rig.model.stream(asks()):
            pass
        assert rig.server.seen == []

    async def test_concurrent_calls_get_their_own_replies(self, rig: ModelRig) -> None:
        replies = await asyncio.gather(*(rig.model.complete(asks(f"question {number}")) for number in range(40)))
        assert [reply.text for reply in replies] == [f"question {number}" for number in range(40)]

    async def test_the_state_counts_what_happened(self, rig: ModelRig) -> None:
        assert rig.model.is_available()
        rig.server.script(ScriptedReply(), ScriptedReply(fault=Fault.UNAUTHORISED))
        await rig.model.complete(asks())
        with raises(ProviderRejectedError):
            await rig.model.complete(asks())
        state = rig.model.state
        assert (state.counters.calls, state.counters.failures, state.last_error) == (2, 1, "provider_rejected")

    async def test_a_closed_model_is_unavailable(self, rig: ModelRig) -> None:
        await rig.model.complete(asks())
        await rig.model.close()
        await asyncio.wait_for(rig.server.all_closed(), SECONDS)
        with raises(ProviderUnavailableError):
            await rig.model.complete(asks())

    async def test_every_fault_has_an_outcome(self, rig: ModelRig) -> None:
        listed = [*UNAVAILABLE, *SLOW, *REJECTED, *UNUSABLE, *USABLE, *ENDLESS]
        assert sorted(listed) == sorted(Fault)
        assert rig.server.errors == []


async def _outcome(model: ChatModel, request: ModelRequest) -> object:
    try:
        await model.complete(request)
    except ProviderError as exc:
        return type(exc)
    return "usable"


def _expected(fault: Fault) -> tuple[object, ...]:
    if fault in ENDLESS:
        return ("usable", ProviderOutputError, ProviderUnavailableError)
    if fault in UNAVAILABLE + SLOW:
        return (ProviderUnavailableError,)
    if fault in REJECTED:
        return (ProviderRejectedError,)
    return (ProviderOutputError,) if fault in UNUSABLE else ("usable",)
