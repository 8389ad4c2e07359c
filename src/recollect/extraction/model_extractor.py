"""Have a language model read memories out of messages; the prompt is a file beside this one and has a version."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from recollect.domain.candidate import Rejection
from recollect.domain.checks import MAX_ID
from recollect.domain.secrets import redacted
from recollect.domain.turn import Usage
from recollect.errors import ProviderOutputError
from recollect.extraction.drafts import Draft, draft_of
from recollect.extraction.grounding import Sources, grounded
from recollect.extraction.parsing import Parsed, parse_items
from recollect.extraction.prompting import (
    SCHEMA,
    Part,
    chunks,
    context_lines,
    extraction_prompt,
    known_lines,
    labelled,
)
from recollect.ports.chat_model import ChatModel, ModelMessage, ModelReply, ModelRequest
from recollect.ports.extractor import Extracted, ExtractionRequest

#: Tokens of new messages that the model reads at once, so that a small local model can do it.
INPUT_TOKENS = 4_000
#: Tokens that it may write and think for one portion.
OUTPUT_TOKENS = 6_000
#: How much of an answer that cannot be used is kept for people to look at.
MOST_RAW = 4_000
#: How much of its own answer the model is shown when it is asked again.
MOST_SHOWN = 8_000


class ModelExtractor:
    """Read memories with a language model.

    What people and tools said is data inside a user message; only our own words are in the system's.
    """

    def __init__(self, model: ChatModel, *, input_tokens: int = INPUT_TOKENS) -> None:
        self._model = model
        self._input_tokens = input_tokens

    @property
    def name(self) -> str:
        """Tell the model and the version of the prompt."""
        version = f"@{extraction_prompt().version}"
        return self._model.name[: MAX_ID - len(version)] + version

    def is_available(self) -> bool:
        """Tell whether the model would be called now."""
        return self._model.is_available()

    async def extract(self, request: ExtractionRequest) -> Extracted:
        """Return what the model finds in the messages, portion by portion."""
        sources = await asyncio.to_thread(Sources, request)
        portions = chunks(sources.messages, self._input_tokens)
        drafts: list[Draft | Rejection] = []
        usage = Usage()
        before: Sequence[Part] = ()
        for portion in portions:
            asked, labels = self._question(request, sources, portion, before)
            parsed, cost = await self._answer(asked)
            usage = _sum(usage, cost)
            drafts += [draft_of(_hinted(item, labels)) for item in parsed.items]
            if parsed.cut:
                drafts.append("cut_off")
            before = portion
        found = await asyncio.to_thread(grounded, drafts, sources)
        return Extracted(candidates=found.candidates, rejected=found.rejected, usage=usage)

    def _question(
        self, request: ExtractionRequest, sources: Sources, portion: Sequence[Part], before: Sequence[Part]
    ) -> tuple[str, Mapping[str, str]]:
        prompt = extraction_prompt()
        text, labels = labelled(portion)
        asked = prompt.ask.format(
            style=getattr(prompt, request.mode),
            today=request.now.date().isoformat(),
            known=known_lines(request.known),
            context="\n".join(part.text for part in before[-2:]) or context_lines(sources.context),
            text=text,
        )
        return asked, labels

    async def _answer(self, asked: str) -> tuple[Parsed, Usage]:
        """Return the items of the model's answer; one that cannot be read is shown to it once."""
        question = ModelMessage(role="user", text=asked)
        first = await self._model.complete(_request(question))
        try:
            return _parsed(first), first.usage or Usage()
        except ProviderOutputError as exc:
            fault = str(exc)
        said = _shown(first.text)
        repair = ModelMessage(role="user", text=extraction_prompt().repair.format(fault=fault))
        second = await self._model.complete(_request(question, ModelMessage(role="assistant", text=said), repair))
        try:
            return _parsed(second), _sum(first.usage or Usage(), second.usage or Usage())
        except ProviderOutputError as exc:
            raise ProviderOutputError(f"{fault}; asked again: {exc}", raw=_raw(second.text or first.text)) from exc


def _request(*messages: ModelMessage) -> ModelRequest:
    return ModelRequest(
        system=extraction_prompt().system,
        messages=messages,
        json_schema=SCHEMA,
        max_output_tokens=OUTPUT_TOKENS,
        temperature=0.0,
    )


def _parsed(reply: ModelReply) -> Parsed:
    if reply.reason == "refused":
        raise ProviderOutputError("the model declined to read the messages")
    if reply.tool_calls:
        raise ProviderOutputError("the model called a tool instead of answering")
    parsed = parse_items(reply.text)
    return Parsed(items=parsed.items, cut=True) if reply.reason == "length" else parsed


def _hinted(item: Any, labels: Mapping[str, str]) -> Any:
    """Return the item with the id of the message that its label stands for."""
    if not isinstance(item, dict):
        return item
    label = item.get("message")
    return item | {"message_id": labels.get(label.strip("[] ")) if isinstance(label, str) else None}


def _shown(text: str) -> str:
    return text[:MOST_SHOWN].strip() or "(nothing)"


def _raw(text: str) -> str:
    """Return what a failed job may keep of an answer: text that every store can hold, without secrets."""
    sound = text.encode(errors="replace").decode().replace("\0", "?")
    return redacted(sound[: 2 * MOST_RAW]).text[:MOST_RAW]


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        input_tokens=one.input_tokens + other.input_tokens, output_tokens=one.output_tokens + other.output_tokens
    )
