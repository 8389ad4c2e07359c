"""Anthropic's Messages protocol."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import groupby
from typing import Any

from recollect.domain.turn import Usage
from recollect.ports.chat_model import FinishReason, ModelMessage, ModelRequest
from recollect.providers.assembly import Assembly
from recollect.providers.dialect import BEGAN_EARLIER, Omissions
from recollect.providers.sse import ServerEvent
from recollect.providers.text import at, count_at, items_at, parsed, text_at
from recollect.providers.transport import Call, problem_in

ANTHROPIC_VERSION = "2023-06-01"
#: The tool that a model is made to call when its server cannot enforce a schema on text.
REPLY_TOOL = "reply"
_REASONS: dict[str, FinishReason] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "refused",
}
_PARTS = {"temperature": r"temperature", "output_config": r"output_config|output_format|schema|format"}


class AnthropicDialect:
    """Write and read messages."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._omissions = Omissions(_PARTS)

    def headers(self, key: str | None) -> dict[str, str]:
        """Return the version of the protocol and the key."""
        return {"anthropic-version": ANTHROPIC_VERSION} | ({} if key is None else {"x-api-key": key})

    def call(self, request: ModelRequest) -> Call:
        """Write a request."""
        body: dict[str, Any] = {
            "model": self._model,
            "max_tokens": request.max_output_tokens,
            "messages": _messages(request.messages),
            "stream": True,
            **self._options(request),
        }
        if request.system:
            body["system"] = request.system
        if request.tools:
            body["tools"] = [
                {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
                for tool in request.tools
            ]
        return Call(path="/v1/messages", body=body)

    def reader(self, request: ModelRequest, assembly: Assembly) -> AnthropicReader:
        """Return a reader for a reply."""
        return AnthropicReader(assembly, json_tool=REPLY_TOOL if request.json_schema is not None else None)

    def relent(self, request: ModelRequest, status: int, said: str) -> bool:
        """Leave out what the server complains of."""
        return self._omissions.learn(self._options(request), status, said)

    def _options(self, request: ModelRequest) -> dict[str, Any]:
        options: dict[str, Any] = {}
        if request.temperature is not None and "temperature" not in self._omissions:
            options["temperature"] = request.temperature
        if request.json_schema is None:
            return options
        if "output_config" not in self._omissions:
            options["output_config"] = {"format": {"type": "json_schema", "schema": request.json_schema}}
        else:
            tool = {"name": REPLY_TOOL, "description": "Give your reply.", "input_schema": request.json_schema}
            options |= {"tools": [tool], "tool_choice": {"type": "tool", "name": REPLY_TOOL}}
        return options


class AnthropicReader:
    """Read one reply; the input of the forced tool is its text."""

    def __init__(self, assembly: Assembly, *, json_tool: str | None) -> None:
        self._assembly = assembly
        self._json_tool = json_tool
        self._json_blocks: set[Any] = set()
        self._usage: dict[str, int] = {}

    def read(self, event: ServerEvent) -> None:
        """Read an event; its kind stands in the data too."""
        data = parsed(event.data)
        index = count_at(data, "index")
        match text_at(data, "type") or event.name:
            case "message_start":
                self._count(at(data, "message", "usage"))
            case "content_block_start":
                self._begin(index, at(data, "content_block"))
            case "content_block_delta":
                self._continue(index, at(data, "delta"))
            case "message_delta":
                self._count(at(data, "usage"))
                self._stop(text_at(data, "delta", "stop_reason"))
            case "message_stop":
                self._assembly.ended = True
            case "error":
                raise problem_in(at(data, "error"))

    def read_whole(self, body: Any) -> None:
        """Read a message."""
        if text_at(body, "type") == "error":
            raise problem_in(at(body, "error"))
        for index, block in enumerate(items_at(body, "content")):
            self._begin(index, block)
        self._count(at(body, "usage"))
        self._stop(text_at(body, "stop_reason"))
        self._assembly.ended = True

    def _begin(self, index: int, block: Any) -> None:
        kind = text_at(block, "type")
        if kind == "tool_use" and text_at(block, "name") == self._json_tool:
            self._json_blocks.add(index)
            # A stream begins with an empty input and sends the true one in pieces.
            if at(block, "input"):
                self._assembly.text(json.dumps(at(block, "input"), ensure_ascii=False))
        elif kind == "tool_use":
            partial = self._assembly.call(index, text_at(block, "id"), text_at(block, "name"))
            if at(block, "input"):
                partial.input = [json.dumps(at(block, "input"))]
        elif kind == "text":
            self._assembly.text(text_at(block, "text"))

    def _continue(self, index: int, delta: Any) -> None:
        match text_at(delta, "type"):
            case "text_delta":
                self._assembly.text(text_at(delta, "text"))
            case "input_json_delta" if index in self._json_blocks:
                self._assembly.text(text_at(delta, "partial_json"))
            case "input_json_delta":
                self._assembly.call(index).input.append(text_at(delta, "partial_json"))
            case "thinking_delta":
                self._assembly.begun = True

    def _count(self, usage: Any) -> None:
        if not isinstance(usage, dict):
            return
        for key in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"):
            self._usage[key] = count_at(usage, key) or self._usage.get(key, 0)
        total = sum(self._usage.values())
        written = self._usage["output_tokens"]
        self._assembly.usage = Usage(input_tokens=total - written, output_tokens=written)

    def _stop(self, reason: str) -> None:
        if reason:
            self._assembly.reason = _REASONS.get(reason, "stop")


def _messages(messages: Iterable[ModelMessage]) -> list[dict[str, Any]]:
    """Write messages as the protocol wants them: user and assistant in turn, results with the user."""
    written = []
    for role, group in groupby(messages, lambda message: "assistant" if message.role == "assistant" else "user"):
        blocks = [block for message in group for block in _blocks(message)]
        if blocks:
            written.append({"role": role, "content": blocks})
    if written[0]["role"] == "assistant":
        written.insert(0, {"role": "user", "content": [{"type": "text", "text": BEGAN_EARLIER}]})
    return written


def _blocks(message: ModelMessage) -> list[dict[str, Any]]:
    if message.role == "tool":
        return [{"type": "tool_result", "tool_use_id": message.tool_call_id, "content": message.text}]
    # The protocol refuses a text without a letter.
    blocks: list[dict[str, Any]] = [{"type": "text", "text": message.text}] if message.text.strip() else []
    return blocks + [
        {"type": "tool_use", "id": call.id, "name": call.tool_name, "input": call.input} for call in message.tool_calls
    ]
