"""What a scripted server answers, and the ways in which it misbehaves."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from recollect.domain.turn import Usage
from recollect.ports.chat_model import FinishReason, ToolCallRequest
from recollect.testing.models.vectors import VectorFault

#: What is asked for where a test wants JSON.
SCHEMA = {
    "type": "object",
    "properties": {"memories": {"type": "array", "items": {"type": "string"}}},
    "required": ["memories"],
    "additionalProperties": False,
}


class Fault(StrEnum):
    """A way in which providers are known to fail."""

    # Instead of an answer
    RATE_LIMITED = "status 429"
    SERVER_ERROR = "status 500"
    OVERLOADED = "status 503"
    ENDLESS_ERROR = "status 500 with a body that does not end"
    REJECTED = "status 400"
    UNAUTHORISED = "status 401"
    REDIRECT = "status 307 to another address"
    SILENT = "a connection, but never a byte"
    HANG_UP = "a connection that is closed before the answer"
    NOT_HTTP = "bytes that are no HTTP"
    WEB_PAGE = "status 200 with a web page"
    COMPRESSED = "a compressed body that nobody asked for"
    # In the stream
    LATE = "comments, but never a token"
    STALL = "one token, then comments, but never another token"
    DRIP = "one byte at a time, slowly, for ever"
    TRICKLE = "one token at a time, slowly, for ever"
    DISCONNECT = "one token, then the connection is lost"
    CUT_SHORT = "one token, then an end without a reason"
    ERROR_EVENT = "an error inside the stream"
    TRUNCATED_EVENT = "an event whose JSON is cut"
    GARBAGE = "random bytes"
    HUGE_LINE = "a line that does not end"
    ENDLESS = "tokens without end"
    ENDLESS_COMMENTS = "comments without end"
    # In the reply
    EMPTY = "no text at all"
    REFUSAL = "a refusal"
    INVALID_UTF8 = "bytes that are no UTF-8"
    SURROGATES = "halves of surrogate pairs, and a NUL"
    PARTIAL_CALL = "half a tool call"
    DUPLICATE_CALL = "the same tool call twice"
    CALLS_WITHOUT_ID = "tool calls without an id"
    # In the JSON that was asked for
    PROSE = "prose"
    FENCED = "JSON in a fence"
    TRUNCATED_JSON = "JSON cut by the output limit"
    WRONG_SCHEMA = "JSON of another schema"


#: What the text is where a fault is about the JSON that was asked for.
JSON_FAULTS = {
    Fault.PROSE: "Sure! The user likes tea.",
    Fault.FENCED: 'Here it is:\n```json\n{"memories": ["likes tea"]}\n```',
    Fault.TRUNCATED_JSON: '{"memories": ["likes tea", "lives in Ber',
    Fault.WRONG_SCHEMA: '{"facts": 3}',
}


class ScriptedReply(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of the server: a good one, unless it has a fault."""

    #: The text, in the pieces in which it is sent.
    text: tuple[str, ...] = ("Hello", ", ", "world")
    tool_calls: tuple[ToolCallRequest, ...] = ()
    reason: FinishReason = "stop"
    #: None sends none.
    usage: Usage | None = Usage(input_tokens=7, output_tokens=3)
    fault: Fault | None = None
    #: The header of this name, on a fault with a status.
    retry_after: str | None = None
    #: The words of a refused request.
    said: str = "no"
    #: Wait this many seconds before the first token.
    delay: float = 0.0
    #: Answer at once with one JSON document, as a server does that cannot stream.
    whole: bool = False
    #: Send CRLF, comments, data over several lines, and a few bytes at a time.
    ragged: bool = False
    #: Answer with the user's last message instead of the text.
    echo: bool = False
    #: What is wrong with the vectors, where embeddings are asked for.
    vectors: VectorFault | None = None
    #: Send the vectors last to first, each with its place.
    shuffled: bool = False


#: What is answered when the script is over.
ECHO = ScriptedReply(echo=True)
