"""Who writes summaries: the built-in generator that needs nothing, a model, or the one where the other fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import msgspec

from recollect.domain.message import Message
from recollect.domain.summary import Summary
from recollect.history.extractive import GENERATOR, fold_summaries, summarise_messages
from recollect.history.model_generator import ModelGenerator
from recollect.ports.chat_model import ChatModel
from recollect.ports.summary_generator import SummaryGenerator
from recollect.settings import HistorySettings

_log = logging.getLogger(__name__)
#: More characters are summarised in a thread, so that nobody waits for them.
AT_ONCE = 20_000


class ExtractiveGenerator:
    """Keep the sentences that say most; always available, and calls nobody."""

    @property
    def name(self) -> str:
        """Tell the name of the built-in generator."""
        return GENERATOR

    def is_available(self) -> bool:
        """Tell that it always is."""
        return True

    async def summarise(self, messages: Sequence[Message], *, at_most: int) -> str:
        """Return the best sentences of the messages."""
        if sum(len(message.content) for message in messages) <= AT_ONCE:
            return summarise_messages(messages, at_most=at_most)
        return await asyncio.to_thread(summarise_messages, messages, at_most=at_most)

    async def fold(self, summaries: Sequence[Summary], *, at_most: int) -> str:
        """Return the best sentences of the summaries."""
        texts = [summary.content for summary in summaries]
        if sum(map(len, texts)) <= AT_ONCE:
            return fold_summaries(texts, at_most=at_most)
        return await asyncio.to_thread(fold_summaries, texts, at_most=at_most)


class Generators(msgspec.Struct, frozen=True, kw_only=True):
    """Who is asked for a summary, and who instead once too much waits for one."""

    first: SummaryGenerator
    fallback: SummaryGenerator | None = None


def choose_generator(settings: HistorySettings, model: ChatModel | None) -> Generators:
    """Return who writes summaries by the settings; without a model it is the built-in generator."""
    if model is None and settings.summariser == "model":
        _log.warning("history.summariser is model, but there is no model; the built-in generator writes summaries")
    if model is None or settings.summariser == "extractive":
        return Generators(first=ExtractiveGenerator())
    fallback = None if settings.summariser == "model" else ExtractiveGenerator()
    return Generators(first=ModelGenerator(model), fallback=fallback)
