"""Measure which pairs of sentences count as the same statement, against what people said about them.

The data are tab-separated files as of SICK, with a header: `sentence_A`, `sentence_B`, `relatedness_score` and
`entailment_judgment`. A pair is a duplicate if one sentence entails the other and people found them related by 4.5
or more of 5. They stay outside the project, since licences differ: `python -m benchmarks.dedup --data FILE…`.

A contradiction that is merged is a memory that is lost; a duplicate that is not merged is only said twice.
`levenshtein` is the wording alone and `cosine` the meaning alone, both without a look at what differs.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rapidfuzz.distance import Levenshtein
from rich.console import Console
from rich.progress import track
from rich.table import Table

from recollect.domain.likeness import DEFAULT_THRESHOLDS, SENTENCE_THRESHOLDS, Thresholds, same
from recollect.domain.memory import normalised
from recollect.embedding.choose import open_embedder
from recollect.errors import SettingsError
from recollect.ports.embedder import Embedder
from recollect.settings import EmbeddingSettings, Settings

#: Which other thresholds of meaning are shown beside the default.
MEANINGS = (0.7, 0.75, 0.8, 0.85, 0.9)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sentences and what people said about them."""

    one: str
    other: str
    is_duplicate: bool
    is_contradiction: bool


@dataclass(frozen=True, slots=True)
class Row:
    """What one rule did with a file, in percent and in microseconds a pair."""

    data: str
    embedder: str
    rule: str
    is_default: bool
    contradictions_merged: float
    duplicate_precision: float
    duplicate_recall: float
    microseconds: float


Merges = Callable[[Pair, float | None], bool]


def read_pairs(path: Path) -> list[Pair]:
    """Read the pairs of a file."""
    with path.open(encoding="utf-8", newline="") as lines:
        return [_pair(record) for record in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)]


def _pair(record: dict[str, str]) -> Pair:
    judged = record["entailment_judgment"]
    return Pair(
        one=record["sentence_A"],
        other=record["sentence_B"],
        is_duplicate=judged == "ENTAILMENT" and float(record["relatedness_score"]) >= 4.5,
        is_contradiction=judged == "CONTRADICTION",
    )


async def similarities(embedder: Embedder, pairs: Sequence[Pair]) -> list[float]:
    """Return how close the meanings of each pair are."""
    texts = sorted({text for pair in pairs for text in (pair.one, pair.other)})
    places = {text: place for place, text in enumerate(texts)}
    step = 256
    parts = [
        await embedder.embed(texts[start : start + step])
        for start in track(range(0, len(texts), step), description=embedder.model, auto_refresh=False)
    ]
    vectors = [vector for part in parts for vector in part]
    return [float(vectors[places[pair.one]] @ vectors[places[pair.other]]) for pair in pairs]


def rules(thresholds: Thresholds, *, has_meaning: bool) -> dict[str, Merges]:
    """Return the rules to compare; the first is what the product does."""

    def ours(allowed: Thresholds) -> Merges:
        return lambda pair, similarity: same(pair.one, pair.other, similarity, allowed)

    found = {"recollect": ours(thresholds)}
    if not has_meaning:
        found["levenshtein > 0.8"] = _by_letters
        return found
    for meaning in MEANINGS:
        varied = Thresholds(meaning=meaning, substitution=thresholds.substitution, omission=thresholds.omission)
        found[f"recollect, cosine >= {meaning}"] = ours(varied)
    found["recollect, no word differs"] = ours(Thresholds(meaning=thresholds.meaning, substitution=0.0, omission=0.0))
    found["cosine >= 0.85 alone"] = lambda _, similarity: (similarity or 0.0) >= 0.85
    return found


def _by_letters(pair: Pair, _: float | None) -> bool:
    return Levenshtein.normalized_similarity(normalised(pair.one), normalised(pair.other)) > 0.8


def measure(place: tuple[str, str, str], merges: Merges, pairs: Sequence[Pair], close: Sequence[float | None]) -> Row:
    """Ask the rule about each pair."""
    started = time.perf_counter()
    merged = [pair for pair, similarity in zip(pairs, close, strict=True) if merges(pair, similarity)]
    seconds = time.perf_counter() - started
    hits = sum(pair.is_duplicate for pair in merged)
    data, embedder, rule = place
    return Row(
        data=data,
        embedder=embedder,
        rule=rule,
        is_default=rule == "recollect",
        contradictions_merged=_percent(
            sum(pair.is_contradiction for pair in merged), sum(pair.is_contradiction for pair in pairs)
        ),
        duplicate_precision=_percent(hits, len(merged)),
        duplicate_recall=_percent(hits, sum(pair.is_duplicate for pair in pairs)),
        microseconds=round(1e6 * seconds / len(pairs), 1),
    )


def _percent(part: int, whole: int) -> float:
    return round(100 * part / whole, 2) if whole else 0.0


def _no_server(_: Settings) -> Embedder:
    raise SettingsError("this benchmark asks no server")


async def rows_of(data: str, pairs: Sequence[Pair], onnx: Path | None) -> list[Row]:
    """Measure every rule with every embedder on these pairs."""
    rows = [
        measure((data, "none", name), rule, pairs, [None] * len(pairs))
        for name, rule in rules(DEFAULT_THRESHOLDS, has_meaning=False).items()
    ]
    chosen = [(EmbeddingSettings(kind="static"), DEFAULT_THRESHOLDS)]
    if onnx is not None:
        chosen.append((EmbeddingSettings(kind="onnx", path=str(onnx)), SENTENCE_THRESHOLDS))
    for settings, thresholds in chosen:
        embedder = open_embedder(Settings(embedding=settings), _no_server)
        try:
            close = await similarities(embedder, pairs)
        finally:
            await embedder.close()
        for name, rule in rules(thresholds, has_meaning=True).items():
            rows.append(measure((data, settings.kind, name), rule, pairs, close))
    return rows


def show(rows: Sequence[Row]) -> None:
    """Print the table."""
    table = Table("data", "embedder", "rule", title="contradictions merged: lower is better; the others: higher")
    for name in ("contradictions merged %", "duplicate precision %", "duplicate recall %", "µs a pair"):
        table.add_column(name, justify="right")
    for row in rows:
        figures = (row.contradictions_merged, row.duplicate_precision, row.duplicate_recall, row.microseconds)
        style = "bold" if row.is_default else None
        table.add_row(row.data, row.embedder, row.rule, *map(str, figures), style=style)
    Console(width=140).print(table)


def main() -> None:
    """Measure the rules on each file."""
    parser = argparse.ArgumentParser(description="Measure deduplication on sentence pairs with judgments.")
    parser.add_argument("--data", type=Path, nargs="+", required=True, metavar="FILE", help="tab-separated pairs")
    parser.add_argument("--onnx", type=Path, metavar="FOLDER", help="also measure with the ONNX model in this folder")
    parser.add_argument("--json", type=Path, metavar="OUT", help="also write the rows to this file")
    given = parser.parse_args()
    rows: list[Row] = []
    for path in given.data:
        pairs = read_pairs(path)
        if not pairs:
            parser.error(f"{path} holds no pair")
        rows += asyncio.run(rows_of(path.stem, pairs, given.onnx))
    show(rows)
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
