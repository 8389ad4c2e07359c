"""Measure the built-in rules on conversations: how much they find, how fast, and whether it is what was asked later.

The data are files of JSON lines, each a collection with `messages` and `questions` that name the messages which
answer them; they stay outside the project, since licences differ: `python -m benchmarks.extraction --data FILE…`.
Every speaker is read as a user of their own, for in these conversations both are people.
`gold` is the share of the messages which answer a question that a memory was drawn from; `other` is the share of all
other messages, which tells how choosy the rules are. Whether a memory is right can only be seen: see `--samples`.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from recollect.domain.candidate import Candidate
from recollect.domain.message import Message
from recollect.domain.secrets import redacted
from recollect.extraction.rules import extract_by_rules
from recollect.ports.extractor import ExtractionRequest

NOW = datetime(2030, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Found:
    """What the rules found in one file."""

    file: str
    conversations: int = 0
    messages: int = 0
    memories: int = 0
    gold: int = 0
    gold_found: int = 0
    other_found: int = 0
    redacted: int = 0
    by_type: Counter[str] = field(default_factory=Counter)
    milliseconds: list[float] = field(default_factory=list)
    samples: list[Candidate] = field(default_factory=list)

    def figures(self) -> dict[str, float]:
        """Return what is compared: memories for each conversation, and shares in percent."""
        return {
            "messages": self.messages,
            "memories_each": self.memories / max(self.conversations, 1),
            "gold": 100 * self.gold_found / max(self.gold, 1),
            "other": 100 * self.other_found / max(self.messages - self.gold, 1),
            "redacted": 100 * self.redacted / max(self.messages, 1),
            "p50_ms": statistics.median(self.milliseconds),
        }


def messages_of(collection: dict[str, Any]) -> list[Message]:
    """Return the messages of a collection, every speaker as a user."""
    return [
        Message(
            collection["id"],
            seq,
            one["id"],
            None,
            None,
            "user",
            one.get("speaker"),
            one["text"] or " ",
            "complete",
            datetime.fromisoformat(one["at"]).replace(tzinfo=UTC) if one.get("at") else NOW,
        )
        for seq, one in enumerate(collection["messages"], 1)
    ]


def measure(path: Path) -> Found:
    """Read every message of a file by itself, as a job after a turn does."""
    found = Found(path.stem)
    collections = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    for collection in track(collections, description=path.stem):
        found.conversations += 1
        gold = {one for question in collection["questions"] for one in question["gold"]}
        for message in messages_of(collection):
            _measure_message(found, message, message.id in gold)
    return found


def _measure_message(found: Found, message: Message, is_gold: bool) -> None:
    start = time.perf_counter()
    extracted = extract_by_rules(ExtractionRequest(messages=(message,), now=NOW))
    found.milliseconds.append(1_000 * (time.perf_counter() - start))
    found.messages += 1
    found.memories += len(extracted.candidates)
    found.gold += is_gold
    found.gold_found += is_gold and bool(extracted.candidates)
    found.other_found += not is_gold and bool(extracted.candidates)
    found.redacted += bool(redacted(message.content).found)
    found.by_type.update(candidate.memory_type for candidate in extracted.candidates)
    found.samples += extracted.candidates


def show(results: Sequence[Found], samples: int, console: Console) -> None:
    """Print a row for each file, and some memories with the words they come from."""
    table = Table("file", "conversations", "messages", "memories", "each", "gold %", "other %", "redacted %", "p50 ms")
    for one in results:
        figures = one.figures()
        shown = [f"{figures['memories_each']:.0f}", *(f"{figures[name]:.2f}" for name in list(figures)[2:])]
        table.add_row(one.file, f"{one.conversations}", f"{one.messages:,}", f"{one.memories:,}", *shown)
    console.print(table)
    for one in results:
        console.print(f"\n{one.file}: {dict(one.by_type.most_common())}", markup=False)
        chance = random.Random(0)
        for candidate in chance.sample(one.samples, min(samples, len(one.samples))):
            console.print(f"  {candidate.content}  ←  {candidate.quote!r}", markup=False, highlight=False)


def main() -> None:
    """Measure the files that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="files of JSON lines")
    parser.add_argument("--samples", type=int, default=20, help="memories to print for each file")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    results = [measure(path) for path in options.data]
    show(results, options.samples, Console())
    if options.json is not None:
        options.json.write_text(json.dumps({one.file: one.figures() for one in results}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
