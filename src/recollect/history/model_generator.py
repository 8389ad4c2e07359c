"""Have a language model write summaries; the prompt is a file beside this one and has a version."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from functools import cache
from importlib import resources

import msgspec

from recollect.domain.checks import MAX_ID
from recollect.domain.message import Message
from recollect.domain.prompt import prompt_from
from recollect.domain.summary import Summary
from recollect.errors import ProviderOutputError
from recollect.history.checking import ALWAYS_SHORT, length_of
from recollect.history.extractive import SHARE
from recollect.history.sentences import cut_at_sentence
from recollect.history.transcript import parts, transcript
from recollect.ports.chat_model import ChatModel, ModelMessage, ModelReply, ModelRequest

#: Tokens of the conversation that the model reads for one summary, so that a small local model can do it.
INPUT_TOKENS = 6_000
#: Tokens that a model may think before it writes.
THINKING_TOKENS = 2_048

_THOUGHT = re.compile(r"\s*<think>.*?</think>", re.DOTALL)


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """What the model is told; `{text}` and `{at_most}` are put in."""

    version: int
    system: str
    messages: str
    summaries: str


@cache
def summary_prompt() -> Prompt:
    """Read the prompt."""
    text = resources.files("recollect.history").joinpath("prompts/summary.md").read_text(encoding="utf-8")
    return prompt_from(text, Prompt)


class ModelGenerator:
    """Write summaries with a language model.

    What people and tools said is data inside a user message; only our own words are in the system's.
    """

    def __init__(self, model: ChatModel, *, input_tokens: int = INPUT_TOKENS) -> None:
        self._model = model
        self._input_tokens = input_tokens

    @property
    def name(self) -> str:
        """Tell the model and the version of the prompt."""
        version = f"@{summary_prompt().version}"
        return self._model.name[: MAX_ID - len(version)] + version

    def is_available(self) -> bool:
        """Tell whether the model would be called now."""
        return self._model.is_available()

    async def summarise(self, messages: Sequence[Message], *, at_most: int) -> str:
        """Return what the model makes of the messages."""
        text = await asyncio.to_thread(transcript, messages, self._input_tokens)
        return await self._answer(summary_prompt().messages, text, min(at_most, _share(length_of(messages))))

    async def fold(self, summaries: Sequence[Summary], *, at_most: int) -> str:
        """Return what the model makes of the summaries."""
        text = await asyncio.to_thread(parts, summaries, self._input_tokens)
        return await self._answer(summary_prompt().summaries, text, min(at_most, _share(length_of(summaries))))

    async def _answer(self, template: str, text: str, at_most: int) -> str:
        asked = template.format(text=text, at_most=at_most)
        request = ModelRequest(
            system=summary_prompt().system,
            messages=(ModelMessage(role="user", text=asked),),
            max_output_tokens=2 * at_most + THINKING_TOKENS,
        )
        return _said(await self._model.complete(request))


def _share(length: int) -> int:
    """Return how long a summary of so many characters is asked to be at the most."""
    return max(int(length * SHARE), ALWAYS_SHORT)


def _said(reply: ModelReply) -> str:
    """Return the text of a reply without thoughts and without half a sentence at its end."""
    if reply.reason == "refused":
        raise ProviderOutputError("the model declined to write a summary")
    if reply.tool_calls:
        raise ProviderOutputError("the model called a tool instead of writing a summary")
    text = _THOUGHT.sub("", reply.text, count=1) if reply.text.lstrip().startswith("<think>") else reply.text
    text = text.strip()
    if text.startswith("<think>"):
        raise ProviderOutputError("the model came to no end of its thoughts")
    return cut_at_sentence(text, len(text) - 1) if reply.reason == "length" else text
