"""The embeddings of a scripted server: vectors that words make, and the ways in which servers get them wrong."""

from __future__ import annotations

import hashlib
import json
import math
import re
from enum import StrEnum
from typing import Any

from recollect.domain.turn import Usage
from recollect.ports.chat_model import FinishReason, ModelRequest, ToolCallRequest

#: How long the vectors are.
VECTOR_DIMENSIONS = 64
_WORD = re.compile(r"\w+|[^\w\s]")


class VectorFault(StrEnum):
    """A way in which servers are known to answer what are no vectors for the texts."""

    TOO_FEW = "one vector less than there are texts"
    TOO_MANY = "one vector more than there are texts"
    SAME_PLACE = "all vectors for the first text"
    ODD_PLACE = "a place that is no number"
    SHORT = "vectors that are too short"
    LONG = "vectors that are too long"
    NO_NUMBERS = "a vector of words"
    ENCODED = "vectors in base64"
    NULL = "a number that is null"
    NAN = "a number that is NaN"
    INFINITE = "a number beyond all others"
    HUGE_INTEGER = "an integer beyond all others"
    PROSE = "prose"
    NOTHING = "an object without vectors"
    CUT = "JSON that is cut"
    TOO_LONG = "more than any vectors need"


def vector_of(text: str) -> list[float]:
    """Return the vector of a text: the sum of what its words hash to, longer than one."""
    total = [0.0] * VECTOR_DIMENSIONS
    for word in _WORD.findall(text.lower()) or [text]:
        digest = hashlib.blake2b(word.encode(), digest_size=VECTOR_DIMENSIONS).digest()
        total = [had + byte - 127.5 for had, byte in zip(total, digest, strict=True)]
    return total


class EmbeddingsWire:
    """Embeddings, which come as one document; there is nothing to stream."""

    def __init__(self, body: Any) -> None:
        self._texts: list[str] = body["input"]
        assert body["encoding_format"] == "float"
        assert self._texts, "a server refuses to embed nothing"
        assert all(text.strip() for text in self._texts), "a server refuses an empty text"
        #: What is wrong with the answer.
        self.fault: VectorFault | None = None
        #: Whether the vectors come last to first, each with its place.
        self.shuffled = False

    def request(self) -> ModelRequest:
        """Tell that nothing was asked of a chat model."""
        raise StopIteration

    def begin(self) -> list[dict[str, Any]]:
        """Begin with nothing."""
        return []

    def text(self, piece: str) -> list[dict[str, Any]]:
        """Say a piece of what is no embedding."""
        return [{"object": piece}]

    def call(self, number: int, call: ToolCallRequest, *, cut: bool = False, unnamed: bool = False) -> list[Any]:
        """Call no tool."""
        return []

    def refusal(self) -> list[dict[str, Any]]:
        """Refuse nothing."""
        return []

    def end(self, reason: FinishReason, usage: Usage | None) -> list[dict[str, Any]]:
        """End with nothing."""
        return []

    def error(self) -> list[dict[str, Any]]:
        """Report an error."""
        return [{"error": {"code": 502, "message": "upstream is overloaded"}}]

    def whole(self, text: str, calls: tuple[ToolCallRequest, ...], usage: Usage | None) -> Any:
        """Return the vectors, or what is wrong with them."""
        items = [{"object": "embedding", "index": n, "embedding": vector_of(t)} for n, t in enumerate(self._texts)]
        if self.shuffled:
            items.reverse()
        match self.fault:
            case VectorFault.PROSE:
                return "These are fine texts."
            case VectorFault.NOTHING:
                return {"object": "list"}
            case VectorFault.TOO_LONG:
                return {"object": "list", "data": items, "padding": "x" * 10_000_000}
            case None:
                counted = {"usage": {"prompt_tokens": usage.input_tokens}} if usage else {}
                return {"object": "list", "data": items} | counted
        document = json.dumps({"object": "list", "data": _wrong(items, self.fault)})
        return document[: len(document) // 2] if self.fault is VectorFault.CUT else document


def _wrong(items: list[dict[str, Any]], fault: VectorFault) -> list[dict[str, Any]]:
    """Return vectors that are wrong in their number, their places or what they hold."""
    match fault:
        case VectorFault.TOO_FEW:
            return items[1:]
        case VectorFault.TOO_MANY:
            return [*items, items[0] | {"index": len(items)}]
        case VectorFault.SAME_PLACE:
            return [item | {"index": 0} for item in items]
        case VectorFault.ODD_PLACE:
            return [item | {"index": "first"} for item in items]
    return [item | {"embedding": _wrong_vector(item["embedding"], fault)} for item in items]


def _wrong_vector(vector: list[float], fault: VectorFault) -> object:
    instead: dict[VectorFault, object] = {
        VectorFault.SHORT: vector[1:],
        VectorFault.LONG: [*vector, 1.0],
        VectorFault.NO_NUMBERS: ["one"] * len(vector),
        VectorFault.ENCODED: "AACAPwAAAEA=",
        VectorFault.NULL: [None, *vector[1:]],
        VectorFault.NAN: [math.nan, *vector[1:]],
        VectorFault.INFINITE: [math.inf, *vector[1:]],
        VectorFault.HUGE_INTEGER: [10**400, *vector[1:]],
    }
    return instead.get(fault, vector)
