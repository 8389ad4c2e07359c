"""Google's Gemini protocol, generateContent; the same models also speak chat completions."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import groupby
from typing import Any
from urllib.parse import quote

from recollect.domain.turn import Usage
from recollect.errors import ProviderOutputError
from recollect.ports.chat_model import FinishReason, ModelMessage, ModelRequest
from recollect.providers.assembly import Assembly
from recollect.providers.dialect import BEGAN_EARLIER, Omissions, with_schema
from recollect.providers.sse import ServerEvent
from recollect.providers.text import at, count_at, items_at, parsed, text_at
from recollect.providers.transport import Call, problem_in

#: Google's own word for a call whose signature is not known any more, for instance one of an earlier day.
NO_SIGNATURE = "skip_thought_signature_validator"
_REASONS: dict[str, FinishReason] = {
    "MAX_TOKENS": "length",
    "SAFETY": "refused",
    "RECITATION": "refused",
    "LANGUAGE": "refused",
    "BLOCKLIST": "refused",
    "PROHIBITED_CONTENT": "refused",
    "SPII": "refused",
    "IMAGE_SAFETY": "refused",
}
_UNUSABLE = {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE"}
_PARTS = {
    "temperature": r"temperature",
    "responseJsonSchema": r"response_?json_?schema|response_?schema|schema",
    "responseMimeType": r"response_?mime_?type",
    "bare_calls": r"thought_?signature",
}


class GeminiDialect:
    """Write and read contents."""

    def __init__(self, model: str) -> None:
        self._model = model.removeprefix("models/")
        self._omissions = Omissions(_PARTS)

    def headers(self, key: str | None) -> dict[str, str]:
        """Return the key as the protocol wants it."""
        return {} if key is None else {"x-goog-api-key": key}

    def call(self, request: ModelRequest) -> Call:
        """Write a request."""
        body: dict[str, Any] = {
            "contents": self._contents(request.messages),
            "generationConfig": self._options(request),
        }
        system = request.system
        if request.json_schema is not None and "responseJsonSchema" in self._omissions:
            system = with_schema(system, request.json_schema)
        if system:
            body["systemInstruction"] = {"parts": [{"text": system}]}
        if request.tools:
            declared = [
                {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters}
                for tool in request.tools
            ]
            body["tools"] = [{"functionDeclarations": declared}]
        return Call(path=f"/v1beta/models/{quote(self._model, safe='')}:streamGenerateContent?alt=sse", body=body)

    def reader(self, request: ModelRequest, assembly: Assembly) -> GeminiReader:
        """Return a reader for a reply."""
        return GeminiReader(assembly)

    def relent(self, request: ModelRequest, status: int, said: str) -> bool:
        """Leave out what the server complains of."""
        return self._omissions.learn([*self._options(request), "bare_calls"], status, said)

    def _options(self, request: ModelRequest) -> dict[str, Any]:
        options: dict[str, Any] = {"maxOutputTokens": request.max_output_tokens}
        if request.temperature is not None and "temperature" not in self._omissions:
            options["temperature"] = request.temperature
        if request.json_schema is not None:
            if "responseMimeType" not in self._omissions:
                options["responseMimeType"] = "application/json"
            if "responseJsonSchema" not in self._omissions:
                options["responseJsonSchema"] = request.json_schema
        return options

    def _contents(self, messages: Iterable[ModelMessage]) -> list[dict[str, Any]]:
        messages = tuple(messages)
        names = {call.id: call.tool_name for message in messages for call in message.tool_calls}
        written = []
        for role, group in groupby(messages, lambda message: "model" if message.role == "assistant" else "user"):
            parts = [part for message in group for part in self._parts(message, names)]
            if parts:
                written.append({"role": role, "parts": parts})
        if written[0]["role"] == "model":
            written.insert(0, {"role": "user", "parts": [{"text": BEGAN_EARLIER}]})
        return written

    def _parts(self, message: ModelMessage, names: dict[str, str]) -> list[dict[str, Any]]:
        if message.tool_call_id is not None:
            name = names.get(message.tool_call_id, "unknown")
            response = {"id": message.tool_call_id, "name": name, "response": {"output": message.text}}
            return [{"functionResponse": response}]
        parts: list[dict[str, Any]] = [{"text": message.text}] if message.text else []
        for call in message.tool_calls:
            part = {"functionCall": {"id": call.id, "name": call.tool_name, "args": call.input}}
            signature = call.signature or (NO_SIGNATURE if "bare_calls" in self._omissions else None)
            parts.append(part | ({"thoughtSignature": signature} if signature else {}))
        return parts


class GeminiReader:
    """Read one reply; the protocol has no end mark but the reason of the end."""

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        self._calls = 0

    def read(self, event: ServerEvent) -> None:
        """Read a chunk."""
        self._read_chunk(parsed(event.data))

    def read_whole(self, body: Any) -> None:
        """Read a response, or the list of chunks that a server sends which knows no events."""
        for chunk in body if isinstance(body, list) else [body]:
            self._read_chunk(chunk)
        self._assembly.ended = True

    def _read_chunk(self, chunk: Any) -> None:
        if at(chunk, "error") is not None:
            raise problem_in(at(chunk, "error"))
        for part in items_at(chunk, "candidates", 0, "content", "parts"):
            self._read_part(part)
        usage = at(chunk, "usageMetadata")
        if isinstance(usage, dict):
            written = count_at(usage, "candidatesTokenCount") + count_at(usage, "thoughtsTokenCount")
            self._assembly.usage = Usage(input_tokens=count_at(usage, "promptTokenCount"), output_tokens=written)
        if text_at(chunk, "promptFeedback", "blockReason"):
            self._assembly.reason = "refused"
        reason = text_at(chunk, "candidates", 0, "finishReason")
        if reason in _UNUSABLE:
            raise ProviderOutputError("the model wrote a tool call that its provider cannot read")
        if reason:
            self._assembly.reason = _REASONS.get(reason, "stop")

    def _read_part(self, part: Any) -> None:
        if at(part, "thought") is True:
            self._assembly.begun = True
        elif isinstance(at(part, "functionCall"), dict):
            self._calls += 1
            partial = self._assembly.call(
                self._calls, text_at(part, "functionCall", "id"), text_at(part, "functionCall", "name")
            )
            partial.input.append(json.dumps(at(part, "functionCall", "args") or {}))
            partial.signature = text_at(part, "thoughtSignature") or None
        else:
            self._assembly.text(text_at(part, "text"))
