"""Gather the sentences that the teacher is asked about: a dictionary, two sets of questions and talk, and patterns.

    python -m tools.static_vectors.corpus SOURCES > corpus.txt

SOURCES is a folder with what README.md names; the same sources give the same lines in the same order.
"""

from __future__ import annotations

import json
import random
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

from tools.static_vectors.chat_sentences import KINDS, chat_sentences

SEED = 7
GLOSSES = 60_000
PATTERNED = 40_000
_FILES = ("noun", "verb", "adj", "adv")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")


def corpus(sources: Path) -> list[str]:
    """Return all sentences, mixed."""
    chance = random.Random(SEED)  # noqa: S311  # the same sentences each time are wanted
    lines = [*_examples(sources), *chance.sample(list(_glosses(sources)), GLOSSES)]
    lines += [*_talk(sources), *_questions(sources), *chat_sentences(_words(sources), PATTERNED, SEED)]
    unique = sorted({" ".join(line.split()) for line in lines})
    chance.shuffle(unique)
    return unique


def frequent_words(sources: Path) -> list[str]:
    """Return the words that WordNet met in texts, the most frequent first."""
    counts: dict[str, int] = {}
    for line in (sources / "wordnet" / "cntlist.rev").read_text("utf-8").splitlines():
        key, _, count = line.split()
        word = key.partition("%")[0].lower()
        counts[word] = counts.get(word, 0) + int(count)
    return sorted((word for word in counts if word.isalpha()), key=lambda word: (-counts[word], word))


def _records(sources: Path, name: str) -> Iterator[tuple[int, list[str], str]]:
    """Give the number of the file, the words and the gloss of each meaning."""
    for line in (sources / "wordnet" / f"data.{name}").read_text("utf-8", errors="replace").splitlines():
        if not line.startswith("  "):
            head, _, gloss = line.partition(" | ")
            fields = head.split()
            words = [re.sub(r"\(\w+\)$", "", fields[4 + 2 * n]).replace("_", " ") for n in range(int(fields[3], 16))]
            yield int(fields[1]), words, gloss


def _examples(sources: Path) -> Iterator[str]:
    for name in _FILES:
        for _, _, gloss in _records(sources, name):
            yield from (example for example in re.findall(r'"([^"]+)"', gloss) if len(example) > 12)


def _glosses(sources: Path) -> Iterator[str]:
    for name in _FILES:
        for _, words, gloss in _records(sources, name):
            meaning = re.sub(r';?\s*"[^"]*"', "", gloss).strip().strip(";").strip()
            yield f"{', '.join(words[:3])}: {meaning}"[:250]


def _words(sources: Path) -> dict[str, list[str]]:
    """Return the words of each kind that the patterns name, those that are frequent."""
    ranks = {word: rank for rank, word in enumerate(frequent_words(sources)[:20_000])}
    found: dict[str, list[str]] = {kind: [] for kind in (*KINDS, "verb", "adjective")}
    kinds = {number: kind for kind, number in KINDS.items()}
    for name in _FILES[:3]:
        for number, words, _ in _records(sources, name):
            kind = kinds.get(number) if name == "noun" else {"verb": "verb", "adj": "adjective"}[name]
            if kind is not None and words[0].lower() in ranks:
                found[kind].append(words[0])
    return {kind: sorted(set(words)) for kind, words in found.items()}


def _talk(sources: Path) -> Iterator[str]:
    with zipfile.ZipFile(next(sources.glob("chatterbot_corpus-*.whl"))) as wheel:
        for name in sorted(wheel.namelist()):
            if "/english/" in name and name.endswith(".yml"):
                for line in wheel.read(name).decode().splitlines():
                    said = re.sub(r"^[\s-]+", "", line).strip().strip("'\"")
                    if 8 < len(said) < 300 and not said.endswith(":"):
                        yield said


def _questions(sources: Path) -> Iterator[str]:
    with zipfile.ZipFile(next(sources.glob("bfcl_eval-*.whl"))) as wheel:
        for name in sorted(wheel.namelist()):
            if re.fullmatch(r"bfcl_eval/data/BFCL_v4_\w+\.json", name):
                records = [line for line in wheel.read(name).decode().splitlines() if line.startswith('{"id"')]
                for record in records:
                    yield from _asked(json.loads(record))


def _asked(record: dict[str, object]) -> Iterator[str]:
    turns = record.get("question", [])
    assert isinstance(turns, list)
    for turn in turns:
        for message in turn if isinstance(turn, list) else [turn]:
            if isinstance(message, dict) and message.get("role") == "user":
                yield from (part for part in _SENTENCE_END.split(message["content"]) if 15 <= len(part) <= 300)


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in corpus(Path(sys.argv[1])))
