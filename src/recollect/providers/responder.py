"""Answer with a language model, and run the tools that it asks for."""

from __future__ import annotations

import logging

import msgspec

from recollect.domain.context import PromptMessage
from recollect.domain.tool_pairs import in_words
from recollect.domain.turn import Usage
from recollect.errors import ProviderOutputError, ProviderRejectedError
from recollect.ports.chat_model import (
    ChatModel,
    Finished,
    ModelMessage,
    ModelRequest,
    TextDelta,
    ToolCallRequest,
    UsageReport,
)
from recollect.ports.responder import Hear, Question, Reply, ReplyEvent, Tool, ToolOutput, ToolReturned
from recollect.ports.tracer import TOOL, TOOL_TYPE, NoTracer, Tracer, operation

#: Rounds of calls after which a reply ends with what was said.
MAX_ROUNDS = 8
#: The statuses by which a server says that it cannot take what the request asks for.
_UNACCEPTABLE = (400, 422)

_log = logging.getLogger(__name__)


class ModelResponder:
    """Ask a model, with what is remembered as its context."""

    def __init__(self, model: ChatModel, tracer: Tracer | None = None) -> None:
        self._model = model
        self._tracer = tracer or NoTracer()
        #: Whether the model refused to be offered tools; many small ones do.
        self._refuses_tools = False

    @property
    def name(self) -> str:
        """Tell the name of the model."""
        return self._model.name

    async def reply(self, question: Question, hear: Hear) -> Reply:
        """Let the model's answer be heard; one that says nothing is an error."""
        ours_only = all(tool.run is not None for tool in question.tools)
        tools = () if self._refuses_tools and ours_only else question.tools
        was_heard = False

        def hear_first(event: ReplyEvent) -> None:
            nonlocal was_heard
            was_heard = True
            hear(event)

        try:
            return await self._reply(question, tools, hear_first)
        except ProviderRejectedError as exc:
            # A model that took tools before refuses something else, and what was heard must not be said again.
            if was_heard or not tools or not ours_only or exc.status not in _UNACCEPTABLE:
                raise
            _log.warning("%s refuses a request with tools; it is asked without from now on", self.name)
        reply = await self._reply(question, (), hear)
        self._refuses_tools = True
        return reply

    async def _reply(self, question: Question, tools: tuple[Tool, ...], hear: Hear) -> Reply:
        request = _request(question, tools)
        usage = Usage()
        has_said = False
        for _ in range(MAX_ROUNDS):
            heard = _Heard(hear)
            await self._listen(request, heard)
            usage = _sum(usage, heard.usage)
            has_said |= bool(heard.text)
            if not heard.calls:
                if not has_said:
                    raise ProviderOutputError(f"{self.name} answered with no text ({heard.reason})")
                return Reply(usage=usage, is_cut=heard.reason == "length")
            results = await self._run(tools, heard.calls, hear)
            if len(results) < len(heard.calls):
                return Reply(usage=usage)
            asked = ModelMessage(role="assistant", text=heard.text, tool_calls=tuple(heard.calls))
            request = msgspec.structs.replace(request, messages=(*request.messages, asked, *results))
        if not has_said:
            raise ProviderOutputError(f"{self.name} called tools {MAX_ROUNDS} times and never answered")
        return Reply(usage=usage)

    async def _listen(self, request: ModelRequest, heard: _Heard) -> None:
        async with self._model.stream(request) as events:
            async for event in events:
                heard.take(event)

    async def _run(self, tools: tuple[Tool, ...], calls: list[ToolCallRequest], hear: Hear) -> list[ModelMessage]:
        """Run the calls one after the other; one that somebody else runs has no result here."""
        known = {tool.spec.name: tool for tool in tools}
        for call in calls:
            hear(call)
        results: list[ModelMessage] = []
        for call in calls:
            tool = known.get(call.tool_name)
            if tool is not None and tool.run is None:
                continue
            output = ToolOutput(f"Error: there is no tool {call.tool_name}.")
            if tool is not None and tool.run is not None:
                about = {TOOL: tool.spec.name, TOOL_TYPE: "function"}
                with operation(self._tracer, "execute_tool", tool.spec.name, **about):
                    output = await tool.run(call.input)
            hear(ToolReturned(call.id, output.text, output.repeats))
            results.append(ModelMessage(role="tool", text=output.text, tool_call_id=call.id))
        return results


class _Heard:
    """What came of one request."""

    def __init__(self, hear: Hear) -> None:
        self._hear = hear
        self._text: list[str] = []
        self.calls: list[ToolCallRequest] = []
        self.usage = Usage()
        self.reason = "stop"

    @property
    def text(self) -> str:
        return "".join(self._text)

    def take(self, event: TextDelta | ToolCallRequest | UsageReport | Finished) -> None:
        """Hand on what is to be heard at once, and keep the rest."""
        match event:
            case TextDelta():
                self._text.append(event.text)
                self._hear(event)
            case ToolCallRequest():
                self.calls.append(event)
            case UsageReport():
                self.usage = event.usage
            case Finished():
                self.reason = event.reason


def _request(question: Question, tools: tuple[Tool, ...]) -> ModelRequest:
    sampling = question.sampling
    limit = {} if sampling.max_output_tokens is None else {"max_output_tokens": sampling.max_output_tokens}
    return ModelRequest(
        messages=tuple(_shown(message, bool(tools)) for message in question.context.messages),
        system=question.context.prompt,
        tools=tuple(tool.spec for tool in tools),
        json_schema=None if tools else sampling.json_schema,
        temperature=sampling.temperature,
        **limit,
    )


def _shown(message: PromptMessage, with_tools: bool) -> ModelMessage:
    """Return a message of the prompt; a model that is offered no tools may refuse calls and results."""
    if not with_tools:
        message = in_words(message)
    calls = tuple(
        ToolCallRequest(id=call.id, tool_name=call.tool_name, input=call.input or {}) for call in message.tool_calls
    )
    return ModelMessage(role=message.role, text=message.text, tool_calls=calls, tool_call_id=message.tool_call_id)


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        input_tokens=one.input_tokens + other.input_tokens, output_tokens=one.output_tokens + other.output_tokens
    )
