"""Find keys, tokens, passwords, cards and account numbers in text, and take them out.

A secret is known by the shape that its maker gave it, by a checksum, or by the words before it.
Hashes, ids, order numbers and phone numbers stay: a memory needs them, and nobody logs in with them.
Any text takes time in proportion to its length: no pattern can begin inside a run that it would read to the end.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from recollect.domain.secret_shapes import PHRASES, SHAPES
from recollect.domain.tokens import COMMON_WORDS

Check = Callable[[re.Match[str]], bool]

#: Lengths that card numbers of an issuer have, by how they begin.
_CARDS = (
    (re.compile(r"4"), (13, 16, 19)),
    (re.compile(r"5[1-5]|2(?:2[2-9]|[3-6]|7[01]|720)"), (16,)),
    (re.compile(r"3[47]"), (15,)),
    (re.compile(r"6(?:011|5|4[4-9]|2)"), (16,)),
    (re.compile(r"3(?:0[0-5]|[689])"), (14,)),
    (re.compile(r"35"), (16,)),
)
_CARD = re.compile(r"(?<![\w.+-])(?:\d{12,18}\d|\d{4}(?:[ -]\d{4}){3}|\d{4}[ -]\d{6}[ -]\d{5})(?![\w-]|\.\d)", re.ASCII)
_NO_CARD = re.compile(
    r"(?:order|invoice|tracking|isbn|imei|ref(?:erence)?|ticket|serial|customer|case)\W{0,3}(?:no|number|id)?\W{0,4}\Z",
    re.IGNORECASE,
)
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])")
_SSN = re.compile(r"(?<![\w-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])", re.ASCII)

#: What people write after "password is" that is none.
_NO_PASSWORD = COMMON_WORDS | {
    *("wrong", "required", "correct", "incorrect", "invalid", "expired", "missing", "string", "none", "null", "str"),
    *("optional", "hidden", "secret", "weak", "encrypted", "hashed", "changed", "reset", "protected"),
    *("nötig", "falsch", "richtig", "requis", "incorrecto", "obligatorio", "sbagliata"),
}
#: A call, an index, a tag or a variable of a program, or what stands where a password was.
_PROGRAM = re.compile(r"[\w.]*[\[({<]|\$\w|%\w|\*+\Z")
_END_OF_VALUE = re.compile(r"[\"'`.,;!)\]]*(?:\s*\Z|\s*\n|[\"'`.,;!)\]]|\s+(?:and|und|et|y|e|и)\b)")


def _by_hint() -> dict[str, tuple[int, ...]]:
    """Return, for each hint, the places of the shapes and then of the phrases that are looked for where it stands."""
    places: dict[str, list[int]] = {}
    for place, hints in enumerate([*(shape.hints for shape in SHAPES), *(phrase.hints for phrase in PHRASES)]):
        for hint in dict.fromkeys(hints):
            places.setdefault(hint, []).append(place)
    return {hint: tuple(of_hint) for hint, of_hint in places.items()}


#: A text without any of these holds no secret that is known by what stands before it.
_BY_HINT = _by_hint()
_HINTS = tuple(_BY_HINT)
#: Two digits, which every number that is a secret has somewhere.
_DIGITS = re.compile(r"[0-9][0-9]")


class Redaction(msgspec.Struct, frozen=True, kw_only=True):
    """A text without its secrets, and the kinds that were found, one for each place."""

    text: str
    found: tuple[str, ...] = ()


def redacted(text: str) -> Redaction:
    """Return the text with each secret replaced by `[redacted: kind]`.

    >>> redacted("My card is 4111 1111 1111 1111.").text
    'My card is [redacted: card].'
    """
    lowered = text.lower()
    found: list[str] = []
    for place in sorted({place for hint in _HINTS if hint in lowered for place in _BY_HINT[hint]}):
        kind, pattern, check = _NAMED[place]
        text = _without(text, kind, pattern, check, found)
    if _DIGITS.search(text):
        text = _without(text, "ssn", _SSN, _any, found)
        text = _without(text, "card", _CARD, _is_card, found)
        text = _without(text, "iban", _IBAN, _is_iban, found)
    return Redaction(text=text, found=tuple(found))


def _without(text: str, kind: str, pattern: re.Pattern[str], check: Check, found: list[str]) -> str:
    group = "secret" if "secret" in pattern.groupindex else 0
    kept: list[str] = []
    told = at = 0
    while match := pattern.search(text, at):
        start, at = match.span(group)
        if check(match):
            found.append(kind)
            kept += [text[told:start], f"[redacted: {kind}]"]
            told = at
        elif start > match.start():
            # What is no secret may be the name of one: "secret: api_key = …".
            at = start
    return "".join((*kept, text[told:]))


def _any(_: re.Match[str]) -> bool:
    return True


def _is_random(match: re.Match[str]) -> bool:
    """Tell whether the text looks drawn by chance: a digit and a letter, and no words with hyphens."""
    body = match[0]
    return any(map(str.isdigit, body)) and any(map(str.isalpha, body))


def _is_password(match: re.Match[str]) -> bool:
    """Tell whether what follows is a password: no plain word, or the last word there."""
    value = match["secret"]
    if value.lower().strip(".,!?") in _NO_PASSWORD or _PROGRAM.match(value):
        return False
    plain = value.isalpha() and value in (value.lower(), value.capitalize())
    if not plain:
        return True
    return match["link"].strip() in (":", "=", ":=", "=>", "：") and bool(
        _END_OF_VALUE.match(match.string, match.end())
    )


def _is_quoted_or_random(match: re.Match[str]) -> bool:
    """Tell whether what follows is a key or a token: drawn by chance, and no number or path alone."""
    value = match["secret"]
    return len(value) >= 8 and _is_random(match) and any(map(str.isdigit, value)) and any(map(str.isalpha, value))


_PHRASE_CHECKS: dict[str, Check] = {"password": _is_password, "token": _is_quoted_or_random, "any": _any}
#: What each shape and then each phrase is called, how it is found, and what else must be true of it.
_NAMED: tuple[tuple[str, re.Pattern[str], Check], ...] = (
    *((shape.kind, shape.pattern, _is_random if shape.random else _any) for shape in SHAPES),
    *((phrase.kind, phrase.pattern, _PHRASE_CHECKS[phrase.check]) for phrase in PHRASES),
)


def _is_card(match: re.Match[str]) -> bool:
    digits = re.sub(r"\D", "", match[0])
    if not any(len(digits) in lengths and begin.match(digits) for begin, lengths in _CARDS):
        return False
    if _NO_CARD.search(match.string, max(match.start() - 30, 0), match.start()):
        return False
    doubled = (int(digit) * (1 + at % 2) for at, digit in enumerate(reversed(digits)))
    return sum(number - 9 if number > 9 else number for number in doubled) % 10 == 0


def _is_iban(match: re.Match[str]) -> bool:
    plain = match[0].replace(" ", "")
    if not 15 <= len(plain) <= 34:
        return False
    return int("".join(str(int(sign, 36)) for sign in plain[4:] + plain[:4])) % 97 == 1
