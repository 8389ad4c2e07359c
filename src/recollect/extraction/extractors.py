"""Who reads memories: the built-in rules that need nothing, a model, or the one where the other fails."""

from __future__ import annotations

import asyncio
import logging

import msgspec

from recollect.extraction.model_extractor import ModelExtractor
from recollect.extraction.rules import extract_by_rules
from recollect.ports.chat_model import ChatModel
from recollect.ports.extractor import Extracted, ExtractionRequest, Extractor
from recollect.settings import MemorySettings

_log = logging.getLogger(__name__)
#: The name under which what the rules find is recorded.
RULES = "rules"


class RuleExtractor:
    """Read memories by rules; always available, and calls nobody."""

    @property
    def name(self) -> str:
        """Tell that these are rules."""
        return RULES

    def is_available(self) -> bool:
        """Tell that it always is."""
        return True

    async def extract(self, request: ExtractionRequest) -> Extracted:
        """Return what the rules find in the user's messages."""
        # In a thread even for one sentence: a language is compiled when it is first spoken, which takes a moment.
        return await asyncio.to_thread(extract_by_rules, request)


class Extractors(msgspec.Struct, frozen=True, kw_only=True):
    """Who is asked for memories, and who instead once the first failed for long."""

    first: Extractor
    fallback: Extractor | None = None


def choose_extractor(settings: MemorySettings, model: ChatModel | None) -> Extractors:
    """Return who reads memories by the settings; without a model it is the built-in rules."""
    if model is None and settings.extractor == "model":
        _log.warning("memory.extractor is model, but there is no model; the built-in rules read memories")
    if model is None or settings.extractor == "rules":
        return Extractors(first=RuleExtractor())
    fallback = None if settings.extractor == "model" else RuleExtractor()
    return Extractors(first=ModelExtractor(model), fallback=fallback)
