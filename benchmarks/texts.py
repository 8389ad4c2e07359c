"""Make English chat messages from a seed, so that every system stores the same bytes in every run."""

from __future__ import annotations

import random

SHORTEST, LONGEST = 80, 400

OPENINGS = (
    "Could you help me with",
    "I have been thinking about",
    "Last week we talked about",
    "My manager asked me to prepare",
    "Please remember that I prefer",
    "Before the meeting on Monday I need",
    "Thanks, that was useful, but I still worry about",
    "Let me explain what happened with",
    "The next step would be",
    "Here is a short summary of",
    "It would be great to compare",
    "I do not quite understand",
)
ADJECTIVES = (
    "quarterly", "simple", "small", "reliable", "expensive", "vegetarian", "quiet", "annual", "unexpected", "early",
    "weekly", "second", "different", "careful", "open", "difficult", "portable", "regional", "shared", "temporary",
)  # fmt: skip
NOUNS = (
    "budget", "garden", "apartment", "database", "journey", "recipe", "invoice", "deadline", "neighbour", "laptop",
    "contract", "translation", "birthday", "insurance", "presentation", "holiday", "printer", "bicycle", "interview",
    "kitchen", "project", "doctor", "schedule", "concert", "backup", "library", "airport", "coffee", "battery", "team",
)  # fmt: skip
LINKS = (
    "because of", "together with", "instead of", "after", "without", "in spite of", "as part of", "close to", "next to",
)  # fmt: skip
ENDINGS = (
    "and I would like to finish it before Friday.",
    "so a short list of options is enough for now.",
    "which took about {number} minutes the last time.",
    "but it should not cost more than {number} euros.",
    "and please tell me what you would do first.",
    "since {number} people depend on it.",
    "and my sister in Lisbon has the same question.",
    "although nobody has answered my message yet.",
)


def make_texts(count: int, seed: int = 20) -> list[str]:
    """Return this many messages of 80 to 400 characters."""
    draw = random.Random(seed)
    return [_message(draw) for _ in range(count)]


def make_statements(count: int, seed: int = 21) -> list[str]:
    """Return this many different sentences, as a memory is one."""
    draw = random.Random(seed)
    made: dict[str, None] = {}
    while len(made) < count:
        made[_sentence(draw)] = None
    return list(made)


def make_questions(count: int, seed: int = 22) -> list[str]:
    """Return this many short questions about what the sentences speak of."""
    draw = random.Random(seed)
    return [
        f"What did I say about the {draw.choice(ADJECTIVES)} {draw.choice(NOUNS)} and my {draw.choice(NOUNS)}?"
        for _ in range(count)
    ]


def _message(draw: random.Random) -> str:
    wanted = draw.randint(SHORTEST, LONGEST - 160)
    text = _sentence(draw)
    while len(text) < wanted:
        text = f"{text} {_sentence(draw)}"
    return text[:LONGEST]


def _sentence(draw: random.Random) -> str:
    thing = f"the {draw.choice(ADJECTIVES)} {draw.choice(NOUNS)}"
    other = f"{draw.choice(LINKS)} my {draw.choice(NOUNS)}"
    ending = draw.choice(ENDINGS).format(number=draw.randint(2, 90))
    return f"{draw.choice(OPENINGS)} {thing} {other}, {ending}"
