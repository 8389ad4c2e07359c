"""Make sentences as people write them in a chat, out of the patterns of `chat_words.toml` and the words of WordNet.

Glosses and examples of a dictionary hold few questions and few sentences in the first person.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

#: The number of the file of WordNet that a kind of noun is from.
KINDS = {
    "act": 4, "animal": 5, "artifact": 6, "attribute": 7, "body": 8, "cognition": 9, "communication": 10,
    "event": 11, "food": 13, "group": 14, "location": 15, "person": 18, "phenomenon": 19, "plant": 20,
    "possession": 21, "state": 26, "substance": 27,
}  # fmt: skip
_SLOT = re.compile(r"\{(\w+)\}")


def chat_sentences(words: dict[str, list[str]], count: int, seed: int) -> Iterator[str]:
    """Give sentences; `words` holds the words of each kind, and those of `verb` and `adjective`."""
    chance = random.Random(seed)  # noqa: S311  # the same sentences each time are wanted
    lists = tomllib.loads(Path(__file__).with_name("chat_words.toml").read_text("utf-8"))
    patterns = lists.pop("pattern")
    known = words | lists
    for number in range(count):
        yield _SLOT.sub(lambda slot: chance.choice(known[slot[1]]), patterns[number % len(patterns)])
