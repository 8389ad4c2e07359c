"""Compare the built-in summariser with the begin of the conversation, by ROUGE against summaries that people wrote.

The data is a file of JSON lines, each with `dialogue`, lines of "speaker: text", and `summary`, as in DialogSum.
It stays outside the project, since licences differ: `python -m benchmarks.summary --data FILE`.
`lead` keeps the first sentences that fit the same length, each message with its speaker: hard to beat in dialogues.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.rouge import Rouge, rouge
from recollect.domain.message import Message
from recollect.history.extractive import summarise_messages
from recollect.history.sentences import sentences

Summarise = Callable[[Sequence[Message], int], str]


@dataclass(frozen=True, slots=True)
class Row:
    """What one system did, in percent, in characters and in milliseconds for a conversation."""

    work: str
    system: str
    rouge_1: float
    rouge_2: float
    rouge_l: float
    characters: float
    p50_ms: float
    p99_ms: float


@dataclass(frozen=True, slots=True)
class Example:
    """A conversation and what a person wrote about it."""

    messages: tuple[Message, ...]
    reference: str


def extractive(messages: Sequence[Message], at_most: int) -> str:
    """Summarise with the built-in summariser."""
    return summarise_messages(messages, at_most=at_most)


def lead(messages: Sequence[Message], at_most: int) -> str:
    """Keep the first sentences that fit, and at least one."""
    text = ""
    for message in messages:
        for order, sentence in enumerate(sentences(message.content)):
            longer = f"{text} {sentence}" if order else f"{text}\n{message.name}: {sentence}"
            if text and len(longer) - 1 > at_most:
                return text[1:]
            text = longer
    return text[1:]


SYSTEMS: dict[str, Summarise] = {"recollect": extractive, "lead": lead}


def read_examples(path: Path) -> list[Example]:
    """Read the conversations of a file."""
    with path.open(encoding="utf-8") as lines:
        return [_example(json.loads(line)) for line in lines if not line.isspace()]


def _example(record: dict[str, str]) -> Example:
    parted = (line.partition(":") for line in record["dialogue"].splitlines() if line.strip())
    said = (_message(number, speaker, text) for number, (speaker, _, text) in enumerate(parted, 1))
    return Example(messages=tuple(said), reference=record["summary"])


def _message(number: int, speaker: str, text: str) -> Message:
    return Message(
        conversation_id="benchmark",
        seq=number,
        id=f"m{number}",
        parent_id=f"m{number - 1}" if number > 1 else None,
        turn_id=None,
        role="user",
        name=speaker.strip(),
        content=text.strip(),
        status="complete",
        created_at=datetime.fromtimestamp(number, UTC),
    )


def measure(work: str, system: str, examples: Sequence[Example], at_most: int) -> Row:
    """Summarise every conversation and compare each summary with its reference."""
    found: list[Rouge] = []
    lengths: list[int] = []
    seconds: list[float] = []
    for example in track(examples, description=f"{work} · {system}", auto_refresh=False):
        started = time.perf_counter()
        text = SYSTEMS[system](example.messages, at_most)
        seconds.append(time.perf_counter() - started)
        lengths.append(len(text))
        found.append(rouge(text, example.reference))
    ordered = sorted(seconds)
    return Row(
        work=work,
        system=system,
        rouge_1=round(100 * statistics.fmean(each.one for each in found), 2),
        rouge_2=round(100 * statistics.fmean(each.two for each in found), 2),
        rouge_l=round(100 * statistics.fmean(each.longest for each in found), 2),
        characters=round(statistics.fmean(lengths), 1),
        p50_ms=round(1e3 * ordered[len(ordered) // 2], 3),
        p99_ms=round(1e3 * ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)], 3),
    )


def show(rows: Sequence[Row]) -> None:
    """Print the table."""
    table = Table("work", "system", title="higher ROUGE F1 and lower ms are better")
    for name in ("R-1", "R-2", "R-L", "length", "p50 ms", "p99 ms"):
        table.add_column(name, justify="right")
    for row in rows:
        figures = (row.rouge_1, row.rouge_2, row.rouge_l, row.characters, row.p50_ms, row.p99_ms)
        table.add_row(row.work, row.system, *map(str, figures))
    Console().print(table)


def main() -> None:
    """Measure both systems at one length."""
    parser = argparse.ArgumentParser(description="Measure the built-in summariser on dialogues with summaries.")
    parser.add_argument("--data", type=Path, required=True, metavar="FILE", help="JSON lines of dialogue and summary")
    parser.add_argument("--at-most", type=int, default=200, metavar="N", help="characters of a summary (200)")
    parser.add_argument("--json", type=Path, metavar="OUT", help="also write the rows to this file")
    given = parser.parse_args()
    examples = read_examples(given.data)
    if not examples:
        parser.error(f"{given.data} holds no conversation")
    work = f"summary/{given.at_most}"
    rows = [measure(work, system, examples, given.at_most) for system in SYSTEMS]
    show(rows)
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
