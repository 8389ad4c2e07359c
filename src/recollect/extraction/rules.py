"""Read memories out of what users say about themselves, by rules: no model, no guess.

The rules are tables, one for each language; this file only applies them, clause by clause.
They prefer to miss something over storing what was not said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime

import msgspec

from recollect.domain.memory import MAX_SLOT
from recollect.domain.message import Message
from recollect.extraction.clauses import APOSTROPHES, Statement, statements
from recollect.extraction.drafts import Draft
from recollect.extraction.grounding import Sources, grounded
from recollect.extraction.rule_tables import Language, Rule, languages
from recollect.extraction.values import fits, key_of, told, trimmed
from recollect.ports.extractor import Extracted, ExtractionRequest

#: The subject of what a speaker without a name says about themselves.
USER = "user"
#: A message with more characters than this is a document and not somebody's words about themselves.
LONGEST_MESSAGE = 20_000


class _Speaker(msgspec.Struct, frozen=True):
    """Who speaks, and when."""

    name: str | None
    at: datetime
    #: The words for a time before the statement.
    when: str | None = None

    def subject(self) -> str:
        return USER if self.name is None else self.name.casefold()


class _Clause(msgspec.Struct, frozen=True):
    """A part of a sentence that may be a statement of its own."""

    text: str
    #: Where it begins in the sentence.
    start: int


def extract_by_rules(request: ExtractionRequest) -> Extracted:
    """Return what the rules find in the messages of users."""
    sources = Sources(request)
    said = (message for message in sources.messages if message.role == "user")
    return grounded((draft for message in said for draft in _drafts(message)), sources)


def _drafts(message: Message) -> Iterator[Draft]:
    if len(message.content) > LONGEST_MESSAGE:
        return
    plain = message.content.translate(APOSTROPHES)
    known = [language for language in languages() if language.trigger.search(plain)]
    if any(language.task.search(plain) for language in known):
        return
    name = " ".join((message.name or "").split())[: MAX_SLOT // 2] or None
    speaker = _Speaker(name, message.created_at)
    for statement in statements(message.content):
        for language in known:
            drafts = list(_read(statement, language, speaker, message.content))
            yield from (msgspec.structs.replace(draft, message_id=message.id) for draft in drafts)
            if drafts:
                break


def _read(statement: Statement, language: Language, speaker: _Speaker, content: str) -> Iterator[Draft]:
    """Return what one language finds in a sentence, at most one statement for each clause."""
    if not language.trigger.search(statement.text):
        return
    for clause in _clauses(statement.text, language):
        lead = language.lead.match(clause.text)
        begins = (0, lead.end()) if lead is not None and lead.end() else (0,)
        when = lead.groupdict().get("when") if lead is not None else None
        draft = _first(statement, clause, begins, language, msgspec.structs.replace(speaker, when=when))
        if draft is not None:
            start = statement.start + clause.start
            yield msgspec.structs.replace(draft, quote=content[start : start + len(clause.text)].strip())


def _first(
    statement: Statement, clause: _Clause, begins: tuple[int, ...], language: Language, speaker: _Speaker
) -> Draft | None:
    """Return what the first rule that fits makes of a clause, with or without the words before the statement."""
    for compiled in language.rules:
        matches = (pattern.match(clause.text, begin) for pattern in compiled.patterns for begin in begins)
        match = next(filter(None, matches), None)
        if match is None or language.never.search(statement.text[: clause.start + match.end()]):
            continue
        draft = _draft(compiled.rule, match, language, speaker)
        if draft is not None:
            return draft
    return None


def _clauses(sentence: str, language: Language) -> Iterator[_Clause]:
    start = 0
    for part in language.split.finditer(sentence):
        yield _Clause(sentence[start : part.start()].rstrip(), start)
        start = part.end()
    yield _Clause(sentence[start:], start)


def _draft(rule: Rule, match: re.Match[str], language: Language, speaker: _Speaker) -> Draft | None:
    """Return what the match says, if its value is one."""
    groups = {name: trimmed(text, language) for name, text in match.groupdict().items() if text is not None}
    if not fits(rule.kind, groups, language):
        return None
    table = language.table
    if "number" in groups:
        groups["number"] = table.numbers.get(groups["number"].lower(), groups["number"])
    filled = groups | {
        "who": speaker.name or table.who,
        "of": table.of_name.format(name=speaker.name) if speaker.name else table.of,
        "subject": speaker.subject(),
        "key": key_of(groups.get("value", ""), language),
        "pair": " / ".join(sorted(key_of(groups.get(part, ""), language) for part in ("value", "other"))),
        "clause": match[0].strip(),
    }
    keys = {name: key_of(text, language) if name in groups else text for name, text in filled.items()}
    return _filled(rule, filled, keys, language, speaker)


def _filled(
    rule: Rule, filled: Mapping[str, str], keys: Mapping[str, str], language: Language, speaker: _Speaker
) -> Draft:
    content = rule.says.format_map({name: told(text, language) for name, text in filled.items()})
    when = speaker.when
    if when or language.relative.search(content):
        said_on = language.table.said_on.format(date=speaker.at.date().isoformat())
        end = content[-1] if content.endswith((".", "。")) else ""
        content = f"{content.removesuffix(end)} ({', '.join(filter(None, (when, said_on)))}){end}"
    attribute = rule.attribute and rule.attribute.format_map(keys)[:MAX_SLOT]
    return Draft(
        content=content[:1].upper() + content[1:],
        quote="",
        memory_type=rule.type,
        category=rule.category,
        importance=rule.importance,
        confidence=rule.confidence,
        subject=rule.subject.format_map(keys)[:MAX_SLOT] if attribute else None,
        attribute=attribute,
        value=rule.value.format_map({"value": "", **filled})[:MAX_SLOT] or None if attribute else None,
        negated=rule.negated,
    )
