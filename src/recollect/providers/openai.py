"""The chat completions protocol: OpenAI, Ollama, vLLM, llama.cpp, LM Studio, OpenRouter and many more.

Servers differ in what they leave out; what one does not accept is left out of its next request.
"""

from __future__ import annotations

import json
from typing import Any

from recollect.domain.turn import Usage
from recollect.ports.chat_model import FinishReason, ModelMessage, ModelRequest
from recollect.providers.assembly import Assembly
from recollect.providers.dialect import Omissions, with_schema
from recollect.providers.sse import ServerEvent
from recollect.providers.text import at, count_at, items_at, parsed, text_at
from recollect.providers.transport import Call, problem_in

_REASONS: dict[str, FinishReason] = {
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "refused",
    "refusal": "refused",
}
_PARTS = {
    "stream_options": r"stream_options|include_usage",
    "temperature": r"temperature",
    "max_tokens": r"max_completion_tokens",
    "max_completion_tokens": r"max_completion_tokens",
    "json_schema": r"json_schema|response_format",
    "response_format": r"json_object|response_format",
}


class OpenAIDialect:
    """Write and read chat completions."""

    def __init__(self, model: str, *, newest: bool = False) -> None:
        self._model = model
        self._omissions = Omissions(_PARTS)
        # OpenAI's reasoning models refuse the older name, and other servers do not know the newer one.
        self._limit_names = (
            ("max_completion_tokens", "max_tokens") if newest else ("max_tokens", "max_completion_tokens")
        )

    def headers(self, key: str | None) -> dict[str, str]:
        """Return the key as the protocol wants it."""
        return {} if key is None else {"authorization": f"Bearer {key}"}

    def call(self, request: ModelRequest) -> Call:
        """Write a request."""
        body: dict[str, Any] = {"model": self._model, "messages": self._messages(request), "stream": True}
        body |= self._options(request)
        if request.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
                }
                for tool in request.tools
            ]
        return Call(path="/chat/completions", body=body)

    def reader(self, request: ModelRequest, assembly: Assembly) -> OpenAIReader:
        """Return a reader for a reply."""
        return OpenAIReader(assembly)

    def relent(self, request: ModelRequest, status: int, said: str) -> bool:
        """Leave out what the server complains of."""
        options = self._options(request)
        sent = set(options)
        if at(options, "response_format", "type") == "json_schema":
            sent = sent - {"response_format"} | {"json_schema"}
        return self._omissions.learn(sent, status, said)

    def _options(self, request: ModelRequest) -> dict[str, Any]:
        options: dict[str, Any] = {}
        limit = next((name for name in self._limit_names if name not in self._omissions), None)
        if limit is not None:
            options[limit] = request.max_output_tokens
        if request.temperature is not None and "temperature" not in self._omissions:
            options["temperature"] = request.temperature
        if "stream_options" not in self._omissions:
            options["stream_options"] = {"include_usage": True}
        if request.json_schema is not None and "response_format" not in self._omissions:
            schema = {"name": "reply", "strict": True, "schema": request.json_schema}
            options["response_format"] = (
                {"type": "json_object"}
                if "json_schema" in self._omissions
                else {"type": "json_schema", "json_schema": schema}
            )
        return options

    def _messages(self, request: ModelRequest) -> list[dict[str, Any]]:
        system = request.system
        if request.json_schema is not None and "json_schema" in self._omissions:
            system = with_schema(system, request.json_schema)
        written: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
        return written + [_message(message) for message in request.messages]


class OpenAIReader:
    """Read one reply; tolerant of servers that give no index, no id, or each call whole."""

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        self._open: dict[int, int] = {}
        self._ids: dict[int, str] = {}

    def read(self, event: ServerEvent) -> None:
        """Read a chunk."""
        if event.data.strip() == "[DONE]":
            self._assembly.ended = True
            return
        chunk = parsed(event.data)
        if at(chunk, "error") is not None or event.name == "error":
            raise problem_in(at(chunk, "error") or chunk)
        self._read_choice(chunk, "delta")

    def read_whole(self, body: Any) -> None:
        """Read a completion."""
        if at(body, "error") is not None:
            raise problem_in(at(body, "error"))
        self._read_choice(body, "message")
        self._assembly.ended = True

    def _read_choice(self, chunk: Any, part: str) -> None:
        said = at(chunk, "choices", 0, part)
        for piece in _texts(at(said, "content")):
            self._assembly.text(piece)
        refusal = text_at(said, "refusal")
        if refusal:
            self._assembly.text(refusal)
            self._assembly.reason = "refused"
        if text_at(said, "reasoning_content") or text_at(said, "reasoning"):
            self._assembly.begun = True
        for call in items_at(said, "tool_calls"):
            self._read_call(call)
        reason = text_at(chunk, "choices", 0, "finish_reason")
        if reason and self._assembly.reason != "refused":
            self._assembly.reason = _REASONS.get(reason, "stop")
        if isinstance(at(chunk, "usage"), dict):
            self._assembly.usage = Usage(
                input_tokens=count_at(chunk, "usage", "prompt_tokens"),
                output_tokens=count_at(chunk, "usage", "completion_tokens"),
            )

    def _read_call(self, part: Any) -> None:
        call_id, name = text_at(part, "id"), text_at(part, "function", "name")
        partial = self._assembly.call(self._key(at(part, "index"), call_id, name), call_id)
        partial.id = partial.id or call_id
        partial.tool_name = partial.tool_name or name
        given = at(part, "function", "arguments")
        if isinstance(given, str):
            partial.input.append(given)
        elif given is not None:
            partial.input = [json.dumps(given)]

    def _key(self, index: Any, call_id: str, name: str) -> int:
        """Tell which call a part belongs to: the last one of its index, unless it is visibly another."""
        numbered = isinstance(index, int)
        slot = index if numbered else -1
        key = self._open.get(slot)
        known = self._ids.get(-1 if key is None else key, "")
        other = bool(call_id and known and call_id != known)
        # Servers that give neither index nor id give each call whole, with its name.
        begins = not numbered and not call_id and bool(name)
        if key is None or other or begins:
            key = self._open[slot] = len(self._ids)
            known = ""
        self._ids[key] = known or call_id
        return key


def _message(message: ModelMessage) -> dict[str, Any]:
    written: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.tool_call_id is not None:
        written["tool_call_id"] = message.tool_call_id
    if message.tool_calls:
        written["content"] = message.text or None
        written["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.tool_name, "arguments": json.dumps(call.input)},
            }
            for call in message.tool_calls
        ]
    return written


def _texts(content: Any) -> list[str]:
    """Return the pieces of text in a content, which is a text or a list of parts."""
    if isinstance(content, str):
        return [content]
    return [text_at(part, "text") for part in content] if isinstance(content, list) else []
