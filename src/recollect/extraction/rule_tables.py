"""Read the tables of the rules: one file for each language, with its words and its patterns.

In a pattern `<value>` stands for what is said, up to a word that ends it; `<kin>` and the like for one of the words
of that list; everything else is a regular expression that begins where a clause begins.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache, cached_property
from importlib import resources

import msgspec

from recollect.domain.memory import MemoryType

LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "ru", "zh")

_PLACEHOLDER = re.compile(r"(?<!\?P)<([a-z_]+)>")
#: Groups that take what is there; all others are lists of words.
_FREE = {"value": r"\S.*?", "other": r"\S.*?", "name": r"[^\W\d_][\w'’.-]*(?: [^\W\d_][\w'’-]*){0,2}?"}


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """What a clause of one of these shapes says."""

    patterns: tuple[str, ...]
    says: str
    attribute: str | None = None
    subject: str = "{subject}"
    value: str = "{value}"
    #: What the value must look like: see `values.py`.
    kind: str = "thing"
    type: MemoryType = "fact"
    category: str = "personal"
    importance: float = 0.6
    confidence: float = 0.8
    negated: bool = False


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """The words of one language and its rules, in the order in which they are tried."""

    #: Who is meant where the speaker has no name.
    who: str
    #: The same as an owner, and how a name is one.
    of: str = ""
    of_name: str = "{name}"
    #: What a sentence holds at least if a rule is to fit.
    trigger: str
    #: Words before or in a clause that make it no statement: conditions, hearsay, play.
    never: str
    #: Begins of sentences that ask for work on a text; then the text is no statement either.
    task: str
    #: Words that may stand before a statement.
    lead: str
    #: Between two clauses.
    split: str
    #: What ends a value.
    stop: str
    #: Words at the end of a value that do not belong to it.
    trailing: str
    #: Words at the begin of a value that do not make it another one.
    article: str
    #: Words that mean another day each day.
    relative: str
    #: What is added to a statement with such words.
    said_on: str = "{date}"
    words: dict[str, str] = {}
    #: Values that are none, by kind.
    reject: dict[str, str] = {}
    #: Words of the first person and what they are in the third.
    swap: dict[str, str] = {}
    #: Words for numbers.
    numbers: dict[str, str] = {}
    #: Whether words are parted by spaces.
    spaced: bool = True
    rules: tuple[Rule, ...] = ()


class CompiledRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule and its patterns, ready to use."""

    rule: Rule
    patterns: tuple[re.Pattern[str], ...]


class Language:
    """A table whose patterns are compiled, those of the rules when the first sentence asks for them."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.trigger = _compiled(table.trigger)
        self.never = _compiled(table.never)
        self.task = _compiled(rf"(?:\A|[.!?:\n])\s*(?:{table.task})")
        self.lead = _compiled(rf"(?:{table.lead})*")
        self.split = _compiled(table.split)
        self.trailing = _compiled(rf"(?:{table.trailing})\s*\Z")
        self.article = _compiled(rf"\A(?:{table.article})")
        self.relative = _compiled(table.relative)
        self.reject = {kind: _compiled(rf"(?:{pattern})") for kind, pattern in table.reject.items()}
        self.swap = _compiled("|".join(rf"\b{word}\b" for word in table.swap)) if table.swap else None

    @cached_property
    def rules(self) -> tuple[CompiledRule, ...]:
        """Compile the rules."""
        return tuple(
            CompiledRule(rule=rule, patterns=tuple(self._pattern(one) for one in rule.patterns))
            for rule in self.table.rules
        )

    def _pattern(self, pattern: str) -> re.Pattern[str]:
        table = self.table
        filled = _PLACEHOLDER.sub(lambda mark: f"(?P<{mark[1]}>{_FREE.get(mark[1]) or table.words[mark[1]]})", pattern)
        edge = r"(?!\w)" if table.spaced else ""
        return _compiled(rf"(?:{filled}){edge}(?=\s*(?:{table.stop}|[.!。！…,;，；()\n]|\Z))")


# Made on import: msgspec crashes if two threads are the first to read a type, and jobs read these in threads.
_table = msgspec.json.Decoder(Table).decode


@cache
def languages() -> tuple[Language, ...]:
    """Read and compile all tables."""
    folder = resources.files("recollect.extraction").joinpath("languages")
    texts = (folder.joinpath(f"{name}.toml").read_text(encoding="utf-8") for name in LANGUAGES)
    return tuple(Language(_table(msgspec.json.encode(tomllib.loads(text)))) for text in texts)


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
