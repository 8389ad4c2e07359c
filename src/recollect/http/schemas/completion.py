"""OpenAI's chat completions on the wire, as far as they are understood here."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from recollect.domain.history_prefix import Spoken
from recollect.domain.message import MAX_TOOL_CALLS, ToolCall
from recollect.domain.turn import Usage
from recollect.errors import InvalidInputError
from recollect.http.schemas.message import Id, MemoryUsed
from recollect.ports.chat_model import MAX_MESSAGES, MAX_TOOLS, ToolSpec
from recollect.ports.responder import Sampling

_EXAMPLES: list[Any] = [
    {"model": "recollect", "messages": [{"role": "user", "content": "I moved to Oslo in May."}]},
    {
        "model": "recollect",
        "messages": [
            {"role": "system", "content": "You are brief."},
            {"role": "user", "content": "I moved to Oslo."},
            {"role": "assistant", "content": "Welcome!"},
            {"role": "user", "content": "Where do I live?"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
    },
]
Name = Annotated[str, Field(min_length=1, max_length=128)]


class TextPart(BaseModel):
    """A part of a message; only text is understood."""

    type: Literal["text"]
    text: str


class FunctionCall(BaseModel):
    """Which function is called, with what."""

    name: Annotated[str, Field(min_length=1, max_length=255)]
    arguments: str = Field("", description="A JSON object, as text.")


class FunctionToolCall(BaseModel):
    """A call of a tool that the client runs."""

    id: Id
    type: Literal["function"] = "function"
    function: FunctionCall

    def stored(self) -> ToolCall:
        """Return the call as it is kept."""
        try:
            given = msgspec.json.decode(self.function.arguments or "{}", type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            raise InvalidInputError("function.arguments of a tool call must be text that is a JSON object") from None
        return ToolCall(id=self.id, tool_name=self.function.name, input=given)


class CompletionMessage(BaseModel):
    """A message of the client's history."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[TextPart] | None = None
    name: Annotated[str, Field(max_length=255)] | None = None
    tool_calls: list[FunctionToolCall] | None = Field(None, max_length=MAX_TOOL_CALLS)
    tool_call_id: Id | None = Field(None, description="On a tool message: the call that it answers.")

    @property
    def text(self) -> str:
        """Return what it says."""
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content)
        return self.content or ""

    def spoken(self) -> Spoken | None:
        """Return what was said, or None if it is an instruction, or a reply that says nothing."""
        if self.role == "system" or self.role == "developer":  # noqa: PLR1714  # what a type checker understands
            return None
        if self.role == "assistant" and not self.text.strip() and not self.tool_calls:
            return None
        if self.role == "tool" and self.tool_call_id is None:
            raise InvalidInputError("a tool message needs the tool_call_id of the call that it answers")
        return Spoken(
            role=self.role,
            text=self.text,
            name=self.name or None,
            calls=tuple(call.stored() for call in self.tool_calls or ()) if self.role == "assistant" else (),
            answers=self.tool_call_id if self.role == "tool" else None,
        )


class FunctionSpec(BaseModel):
    """A function that the client can run."""

    name: Name
    description: str | None = None
    parameters: dict[str, Any] | None = Field(None, description='A JSON schema of `"type": "object"`.')


class FunctionTool(BaseModel):
    """A tool that the client runs."""

    type: Literal["function"]
    function: FunctionSpec

    def spec(self) -> ToolSpec:
        """Return the tool as a model is offered it."""
        function = self.function
        parameters = function.parameters or {"type": "object", "properties": {}}
        return ToolSpec(name=function.name, description=function.description or "", parameters=parameters)


class TextFormat(BaseModel):
    """Any text."""

    type: Literal["text"]


class JsonFormat(BaseModel):
    """A JSON object."""

    type: Literal["json_object"]


class NamedSchema(BaseModel):
    """A JSON schema and its name."""

    model_config = ConfigDict(populate_by_name=True)

    name: str | None = None
    schema_: dict[str, Any] = Field(alias="schema")


class SchemaFormat(BaseModel):
    """JSON of a schema."""

    type: Literal["json_schema"]
    json_schema: NamedSchema


class StreamOptions(BaseModel):
    """What else is streamed."""

    include_usage: bool | None = None


class CompletionIn(BaseModel):
    """A history whose last message is to be answered; fields that are not listed are ignored."""

    model_config = ConfigDict(json_schema_extra={"examples": _EXAMPLES})

    messages: list[CompletionMessage] = Field(min_length=1, max_length=MAX_MESSAGES)
    model: Annotated[str, Field(min_length=1, max_length=255)] | None = Field(
        None, description="Any name; it is echoed, and the model of the server answers."
    )
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_tokens: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(
        None, description="The same as `max_tokens`, and counts before it."
    )
    tools: list[FunctionTool] | None = Field(None, max_length=MAX_TOOLS)
    tool_choice: Literal["auto", "none"] | None = None
    response_format: TextFormat | JsonFormat | SchemaFormat | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Literal[1] | None = None
    stop: Annotated[list[str], Field(max_length=0)] | None = Field(None, description="Not supported.")
    logprobs: Literal[False] | None = Field(None, description="Not supported.")
    logit_bias: Annotated[dict[str, float], Field(max_length=0)] | None = Field(None, description="Not supported.")
    modalities: list[Literal["text"]] | None = None
    functions: Annotated[list[Any], Field(max_length=0)] | None = Field(None, description="Not supported: use `tools`.")

    @property
    def history(self) -> tuple[Spoken, ...]:
        """Return what was said."""
        return tuple(said for one in self.messages if (said := one.spoken()) is not None)

    @property
    def instructions(self) -> str:
        """Return what the application tells the model."""
        return "\n\n".join(one.text for one in self.messages if one.role in ("system", "developer") and one.text)

    @property
    def offered(self) -> tuple[ToolSpec, ...]:
        """Return the tools that the client runs."""
        specs = tuple(tool.spec() for tool in self.tools or ())
        if len({spec.name for spec in specs}) < len(specs):
            raise InvalidInputError("two tools have the same name")
        return () if self.tool_choice == "none" else specs

    @property
    def wants_usage(self) -> bool:
        """Tell whether a stream ends with what it cost."""
        return self.stream_options is not None and bool(self.stream_options.include_usage)

    def sampling(self) -> Sampling:
        """Return how the model is to write."""
        return Sampling(
            temperature=self.temperature,
            max_output_tokens=self.max_completion_tokens or self.max_tokens,
            json_schema=self._schema(),
        )

    def _schema(self) -> dict[str, Any] | None:
        match self.response_format:
            case JsonFormat():
                schema: dict[str, Any] = {"type": "object"}
            case SchemaFormat():
                schema = self.response_format.json_schema.schema_
            case _:
                return None
        if self.offered:
            raise InvalidInputError("response_format and tools exclude each other; leave one of them out")
        if schema.get("type") != "object":
            raise InvalidInputError('the schema of response_format must be of "type": "object"')
        return schema


class CompletionUsage(BaseModel):
    """Tokens that the model read and wrote, all rounds of its tools included."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int

    @classmethod
    def of(cls, usage: Usage) -> CompletionUsage:
        """Return the wire shape."""
        read, written = usage.input_tokens, usage.output_tokens
        return cls(prompt_tokens=read, completion_tokens=written, total_tokens=read + written)


class CompletionReply(BaseModel):
    """What was answered."""

    role: Literal["assistant"] = "assistant"
    content: str | None
    refusal: None = None
    tool_calls: list[FunctionToolCall] | None = None


class CompletionChoice(BaseModel):
    """The one answer."""

    index: int = 0
    message: CompletionReply
    logprobs: None = None
    finish_reason: Literal["stop", "length", "tool_calls"]


class KeptAs(BaseModel):
    """Where the turn is kept, and which memories the model was told."""

    conversation_id: str
    message_id: str
    memories_used: list[MemoryUsed]


class CompletionOut(BaseModel):
    """An answer in OpenAI's shape; `recollect` is ours."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[CompletionChoice]
    usage: CompletionUsage
    recollect: KeptAs


class ServedModel(BaseModel):
    """A model that can be asked."""

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "recollect"


class ServedModels(BaseModel):
    """The models that can be asked."""

    object: Literal["list"] = "list"
    data: list[ServedModel]
