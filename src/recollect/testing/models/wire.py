"""Three wire protocols from the server's side: read a request, write the parts of a reply.

Written from the providers' documentation and apart from `recollect.providers`, so that one checks the other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

from recollect.domain.turn import Usage
from recollect.ports.chat_model import FinishReason, ModelMessage, ModelRequest, ToolCallRequest, ToolSpec

Json = dict[str, Any]
REFUSAL_TEXT = "I cannot help with that."


class Wire(Protocol):
    """Speak a protocol for one request; each part is the events that carry it."""

    def request(self) -> ModelRequest:
        """Return what was asked, in the words of the port."""

    def begin(self) -> list[Json]:
        """Begin a reply."""

    def text(self, piece: str) -> list[Json]:
        """Say a piece of text."""

    def call(self, number: int, call: ToolCallRequest, *, cut: bool = False, unnamed: bool = False) -> list[Json]:
        """Ask for a tool call, of which half may be missing, or the id."""

    def refusal(self) -> list[Json]:
        """Refuse, and end."""

    def end(self, reason: FinishReason, usage: Usage | None) -> list[Json]:
        """End the reply."""

    def error(self) -> list[Json]:
        """Report that the server is overloaded."""

    def whole(self, text: str, calls: tuple[ToolCallRequest, ...], usage: Usage | None) -> Any:
        """Return a reply as one document."""


class OpenAIWire:
    """Chat completions."""

    def __init__(self, body: Any) -> None:
        self._body = body

    def request(self) -> ModelRequest:
        """Return what was asked."""
        system, *messages = self._body["messages"]
        if system["role"] != "system":
            system, messages = {"content": ""}, self._body["messages"]
        functions = [tool["function"] for tool in self._body.get("tools", ())]
        limits = [self._body.get(name) for name in ("max_tokens", "max_completion_tokens")]
        form = self._body.get("response_format", {})
        return ModelRequest(
            system=system["content"],
            messages=tuple(_openai_message(message) for message in messages),
            tools=tuple(ToolSpec(**function) for function in functions),
            json_schema=form.get("json_schema", {}).get("schema"),
            max_output_tokens=next(limit for limit in limits if limit is not None),
            temperature=self._body.get("temperature"),
        )

    def begin(self) -> list[Json]:
        """Begin with the role."""
        return [self._chunk({"role": "assistant", "content": ""})]

    def text(self, piece: str) -> list[Json]:
        """Say a piece of text."""
        return [self._chunk({"content": piece})]

    def call(self, number: int, call: ToolCallRequest, *, cut: bool = False, unnamed: bool = False) -> list[Json]:
        """Give the name, then the input in pieces."""
        begin = {"index": number, "type": "function", "function": {"name": call.tool_name, "arguments": ""}}
        pieces = _cut(call.input, cut)
        parts = [begin | ({} if unnamed else {"id": call.id})]
        parts += [{"index": number, "function": {"arguments": piece}} for piece in pieces]
        return [self._chunk({"tool_calls": [part]}) for part in parts]

    def refusal(self) -> list[Json]:
        """Refuse in the field for it."""
        return [self._chunk({"refusal": REFUSAL_TEXT}), *self.end("stop", None)]

    def end(self, reason: FinishReason, usage: Usage | None) -> list[Json]:
        """Give the reason and, if asked for, the usage."""
        said = {"refused": "content_filter"}.get(reason, reason)
        chunks: list[Json] = [{"choices": [{"index": 0, "delta": {}, "finish_reason": said}]}]
        if usage is not None and self._body.get("stream_options", {}).get("include_usage"):
            chunks.append({"choices": [], "usage": self._usage(usage)})
        return chunks

    def error(self) -> list[Json]:
        """Report an error."""
        return [{"error": {"code": 502, "message": "upstream is overloaded"}}]

    def whole(self, text: str, calls: tuple[ToolCallRequest, ...], usage: Usage | None) -> Any:
        """Return a completion."""
        message: Json = {"role": "assistant", "content": text}
        if calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.tool_name, "arguments": json.dumps(call.input)},
                }
                for call in calls
            ]
        body: Json = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        return body | ({"usage": self._usage(usage)} if usage else {})

    def _chunk(self, delta: Json) -> Json:
        return {"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]}

    def _usage(self, usage: Usage) -> Json:
        return {"prompt_tokens": usage.input_tokens, "completion_tokens": usage.output_tokens}


class AnthropicWire:
    """Messages."""

    def __init__(self, body: Any) -> None:
        self._body = body
        self._forced = body.get("tool_choice", {}).get("type") == "tool"

    def request(self) -> ModelRequest:
        """Return what was asked."""
        schema = self._body.get("output_config", {}).get("format", {}).get("schema")
        tools = self._body.get("tools", [])
        if self._forced:
            schema, tools = tools[0]["input_schema"], []
        return ModelRequest(
            system=self._body.get("system", ""),
            messages=tuple(one for message in self._body["messages"] for one in _anthropic_messages(message)),
            tools=tuple(
                ToolSpec(name=tool["name"], description=tool["description"], parameters=tool["input_schema"])
                for tool in tools
            ),
            json_schema=schema,
            max_output_tokens=self._body["max_tokens"],
            temperature=self._body.get("temperature"),
        )

    def begin(self) -> list[Json]:
        """Begin a message, with the tokens that were read."""
        kind = {"type": "tool_use", "id": "reply", "name": "reply", "input": {}} if self._forced else {"type": "text"}
        return [
            {"type": "message_start", "message": {"usage": {"input_tokens": 7, "output_tokens": 1}}},
            {"type": "content_block_start", "index": 0, "content_block": kind},
            {"type": "ping"},
        ]

    def text(self, piece: str) -> list[Json]:
        """Say a piece of text, or of the forced tool's input."""
        delta = {"type": "text_delta", "text": piece}
        if self._forced:
            delta = {"type": "input_json_delta", "partial_json": piece}
        return [{"type": "content_block_delta", "index": 0, "delta": delta}]

    def call(self, number: int, call: ToolCallRequest, *, cut: bool = False, unnamed: bool = False) -> list[Json]:
        """Give a block, then its input in pieces."""
        block = {"type": "tool_use", "id": "" if unnamed else call.id, "name": call.tool_name, "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in _cut(call.input, cut)]
        place = {"index": number + 1}
        events: list[Json] = [{"type": "content_block_start", "content_block": block} | place]
        events += [{"type": "content_block_delta", "delta": delta} | place for delta in deltas]
        return [*events, {"type": "content_block_stop"} | place]

    def refusal(self) -> list[Json]:
        """Refuse by the reason, with nothing said."""
        return self.end("refused", None)

    def end(self, reason: FinishReason, usage: Usage | None) -> list[Json]:
        """Give the reason and the tokens that were written."""
        words = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "refused": "refusal"}
        delta: Json = {"type": "message_delta", "delta": {"stop_reason": words[reason]}}
        return [delta | ({"usage": {"output_tokens": usage.output_tokens}} if usage else {}), {"type": "message_stop"}]

    def error(self) -> list[Json]:
        """Report an error."""
        return [{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}]

    def whole(self, text: str, calls: tuple[ToolCallRequest, ...], usage: Usage | None) -> Any:
        """Return a message."""
        blocks: list[Json] = [{"type": "text", "text": text}] if text else []
        blocks += [{"type": "tool_use", "id": call.id, "name": call.tool_name, "input": call.input} for call in calls]
        body: Json = {"type": "message", "content": blocks, "stop_reason": "end_turn"}
        counts = usage and {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
        return body | ({"usage": counts} if counts else {})


class GeminiWire:
    """generateContent."""

    def __init__(self, body: Any) -> None:
        self._body = body

    def request(self) -> ModelRequest:
        """Return what was asked."""
        config = self._body["generationConfig"]
        declared = [one for tool in self._body.get("tools", ()) for one in tool["functionDeclarations"]]
        return ModelRequest(
            system=self._body.get("systemInstruction", {}).get("parts", [{"text": ""}])[0]["text"],
            messages=tuple(one for content in self._body["contents"] for one in _gemini_messages(content)),
            tools=tuple(
                ToolSpec(name=one["name"], description=one["description"], parameters=one["parametersJsonSchema"])
                for one in declared
            ),
            json_schema=config.get("responseJsonSchema"),
            max_output_tokens=config["maxOutputTokens"],
            temperature=config.get("temperature"),
        )

    def begin(self) -> list[Json]:
        """Begin with nothing: the protocol has no such event."""
        return []

    def text(self, piece: str) -> list[Json]:
        """Say a piece of text."""
        return [self._chunk({"text": piece})]

    def call(self, number: int, call: ToolCallRequest, *, cut: bool = False, unnamed: bool = False) -> list[Json]:
        """Give a call, which comes whole; a cut one is reported by the reason."""
        if cut:
            return [{"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]}]
        part: Json = {"functionCall": {"name": call.tool_name, "args": call.input}}
        if not unnamed:
            part["functionCall"]["id"] = call.id
        if call.signature is not None:
            part["thoughtSignature"] = call.signature
        return [self._chunk(part)]

    def refusal(self) -> list[Json]:
        """Refuse the prompt."""
        return [{"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}]

    def end(self, reason: FinishReason, usage: Usage | None) -> list[Json]:
        """Give the reason and the usage."""
        words = {"stop": "STOP", "length": "MAX_TOKENS", "tool_calls": "STOP", "refused": "SAFETY"}
        chunk: Json = {"candidates": [{"content": {"parts": []}, "finishReason": words[reason]}]}
        if usage is not None:
            counts = {"promptTokenCount": usage.input_tokens, "candidatesTokenCount": usage.output_tokens}
            chunk["usageMetadata"] = counts
        return [chunk]

    def error(self) -> list[Json]:
        """Report an error."""
        return [{"error": {"code": 503, "status": "UNAVAILABLE", "message": "overloaded"}}]

    def whole(self, text: str, calls: tuple[ToolCallRequest, ...], usage: Usage | None) -> Any:
        """Return the chunks as one list."""
        said = self.text(text) if text else []
        asked = [event for number, call in enumerate(calls) for event in self.call(number, call)]
        return [*said, *asked, *self.end("stop", usage)]

    def _chunk(self, part: Json) -> Json:
        return {"candidates": [{"content": {"role": "model", "parts": [part]}}]}


def _cut(given: Mapping[str, Any], cut: bool) -> list[str]:
    text = json.dumps(given, ensure_ascii=False)
    middle = max(1, len(text) // 2)
    return [text[:middle]] if cut else [text[:middle], text[middle:]]


def _openai_message(message: Json) -> ModelMessage:
    calls = [
        ToolCallRequest(
            id=call["id"], tool_name=call["function"]["name"], input=json.loads(call["function"]["arguments"])
        )
        for call in message.get("tool_calls", ())
    ]
    return ModelMessage(
        role=message["role"],
        text=message["content"] or "",
        tool_calls=tuple(calls),
        tool_call_id=message.get("tool_call_id"),
    )


def _anthropic_messages(message: Json) -> list[ModelMessage]:
    blocks = message["content"]
    if message["role"] == "assistant":
        text = "".join(block["text"] for block in blocks if block["type"] == "text")
        calls = [block for block in blocks if block["type"] == "tool_use"]
        given = [ToolCallRequest(id=call["id"], tool_name=call["name"], input=call["input"]) for call in calls]
        return [ModelMessage(role="assistant", text=text, tool_calls=tuple(given))]
    return [
        ModelMessage(role="user", text=block["text"])
        if block["type"] == "text"
        else ModelMessage(role="tool", text=block["content"], tool_call_id=block["tool_use_id"])
        for block in blocks
    ]


def _gemini_messages(content: Json) -> list[ModelMessage]:
    parts = content["parts"]
    if content["role"] == "model":
        text = "".join(part.get("text", "") for part in parts)
        calls = [(part["functionCall"], part.get("thoughtSignature")) for part in parts if "functionCall" in part]
        given = [
            ToolCallRequest(id=call["id"], tool_name=call["name"], input=call["args"], signature=signature)
            for call, signature in calls
        ]
        return [ModelMessage(role="assistant", text=text, tool_calls=tuple(given))]
    return [
        ModelMessage(role="user", text=part["text"])
        if "text" in part
        else ModelMessage(
            role="tool",
            text=part["functionResponse"]["response"]["output"],
            tool_call_id=part["functionResponse"]["id"],
        )
        for part in parts
    ]
