"""Measure recall: which messages come back for questions whose evidence people marked.

The data are files of JSON lines, one collection a line: `{"id", "messages": [{"id", "session", "speaker", "role", "at",
"text"}], "questions": [{"id", "text", "category", "gold": [ids]}]}`.
They stay outside the project, since licences differ: `python benchmarks/recall.py --data FILE…`.

Each collection is stored as one user through the public interface, each session as a conversation, with the default
settings; then every question is asked, and the ids of what comes back are compared.
Nothing here or behind it knows which file it reads, and two runs give the same rankings.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

import recollect
from recollect.domain.message import Message, NewMessage
from recollect.domain.recalling import RecallRequest
from recollect.domain.rendering import passage_line
from recollect.domain.scope import Scope
from recollect.domain.tokens import estimate_tokens
from recollect.service.recollect import Recollect
from recollect.settings import JobSettings, Settings, StorageSettings

#: Where the rankings are looked at, and how long they are.
CUTS = (5, 10, 20)
#: The prompts, in tokens, into which the evidence must fit.
BUDGETS = (500, 1_000, 2_000)
#: What is packed into a prompt at most.
MOST_PACKED = 200
#: Messages that are stored in one operation.
BATCH = 500


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back for one question."""

    category: str
    gold: frozenset[str]
    #: The ids of the messages, best first.
    ranking: tuple[str, ...]
    #: The share of the gold that fits into each budget.
    evidence: dict[int, float]
    milliseconds: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one file gave."""

    answers: list[Answer]
    messages: int
    seconds: float


def metrics(answers: Sequence[Answer]) -> dict[str, float]:
    """Return the means over the questions, in percent."""
    sums: dict[str, float] = defaultdict(float)
    for answer in answers:
        for name, value in scores(answer).items():
            sums[name] += value
    return {name: round(100 * value / len(answers), 2) for name, value in sums.items()}


def scores(answer: Answer) -> dict[str, float]:
    """Return the measures of one ranking, each between 0 and 1."""
    hits = [message_id in answer.gold for message_id in answer.ranking]
    found: dict[str, float] = {"R@1": float(any(hits[:1]))}
    for cut in CUTS:
        count = sum(hits[:cut])
        found[f"any@{cut}"] = float(count > 0)
        found[f"frac@{cut}"] = count / len(answer.gold)
        found[f"all@{cut}"] = float(count == len(answer.gold))
    found["MRR"] = next((1 / place for place, hit in enumerate(hits, 1) if hit), 0.0)
    found["NDCG@10"] = _gain(hits[:10]) / _gain([True] * min(len(answer.gold), 10))
    return found


def _gain(hits: Iterable[bool]) -> float:
    return sum(1 / math.log2(place + 1) for place, hit in enumerate(hits, 1) if hit)


def packed(messages: Iterable[Message], budget: int) -> set[str]:
    """Return the ids of the messages that stand in a prompt: the best first, each that still fits."""
    left, chosen = budget, set()
    for message in messages:
        cost = estimate_tokens(passage_line(message)) + 1
        if cost <= left:
            left -= cost
            chosen.add(message.id)
    return chosen


async def store(service: Recollect, scope: Scope, collection: dict[str, Any]) -> int:
    """Store a collection as one user, session by session."""
    sessions: dict[str, list[NewMessage]] = defaultdict(list)
    for message in collection["messages"]:
        sessions[message["session"]].append(
            NewMessage(
                id=message["id"],
                role=message["role"],
                name=message["speaker"],
                content=message["text"],
                created_at=_time(message["at"]),
            )
        )
    for session, messages in sessions.items():
        for start in range(0, len(messages), BATCH):
            await service.conversations.add_messages(scope, session, messages[start : start + BATCH])
    return sum(map(len, sessions.values()))


def _time(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


async def ask(service: Recollect, scope: Scope, question: dict[str, Any], budgets: Sequence[int]) -> Answer:
    """Ask one question, and look which of its gold comes back and fits into each budget."""
    begin = time.perf_counter()
    best = await service.recall.search(scope, _request(question["text"], max(CUTS)))
    milliseconds = 1_000 * (time.perf_counter() - begin)
    more = await service.recall.search(scope, _request(question["text"], MOST_PACKED))
    said = [one.message for one in more if one.message is not None]
    gold = frozenset(question["gold"])
    evidence = {budget: len(gold & packed(said, budget)) / len(gold) for budget in budgets}
    ranking = tuple(one.message.id for one in best if one.message is not None)
    return Answer(question["category"], gold, ranking, evidence, milliseconds)


def _request(text: str, limit: int) -> RecallRequest:
    return RecallRequest(text=text, limit=limit, memories=False)


async def measure(collections: Sequence[dict[str, Any]], budgets: Sequence[int], step: Iterator[None]) -> Outcome:
    """Store every collection in a fresh database, then ask everything."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(
            storage=StorageSettings(database=f"sqlite:///{folder}/recall.db"), jobs=JobSettings(inside=False)
        )
        async with await recollect.open(settings) as service:
            scopes = [Scope(user=f"user-{number}") for number in range(len(collections))]
            begin, messages = time.perf_counter(), 0
            for scope, collection in zip(scopes, collections, strict=True):
                messages += await store(service, scope, collection)
                next(step)
            seconds = time.perf_counter() - begin
            answers: list[Answer] = []
            for scope, collection in zip(scopes, collections, strict=True):
                answers += [await ask(service, scope, question, budgets) for question in collection["questions"]]
                next(step)
    return Outcome(answers, messages, seconds)


def report(outcome: Outcome, budgets: Sequence[int]) -> dict[str, Any]:
    """Return the figures of one file; shares in percent."""
    ordered = sorted(outcome.answers, key=lambda answer: answer.category)
    by_category = {name: list(group) for name, group in groupby(ordered, lambda answer: answer.category)}
    times = sorted(answer.milliseconds for answer in outcome.answers)
    return {
        "all": metrics(outcome.answers),
        "by_category": {name: {"questions": len(group), **metrics(group)} for name, group in by_category.items()},
        "evidence": {
            str(budget): round(100 * statistics.fmean(answer.evidence[budget] for answer in outcome.answers), 2)
            for budget in budgets
        },
        "questions": len(outcome.answers),
        "messages": outcome.messages,
        "ingest_per_second": round(outcome.messages / outcome.seconds),
        "recall_p50_ms": round(statistics.median(times), 3),
        "recall_p95_ms": round(times[math.ceil(0.95 * len(times)) - 1], 3),
    }


def show(console: Console, name: str, figures: dict[str, Any]) -> None:
    """Print the figures of one file."""
    table = Table("category", "questions", title=name)
    for measure_name in figures["all"]:
        table.add_column(measure_name, justify="right")
    rows = {**figures["by_category"], "all": {"questions": figures["questions"], **figures["all"]}}
    for category, row in rows.items():
        values = [f"{row[measure_name]:.1f}" for measure_name in figures["all"]]
        table.add_row(category, str(row["questions"]), *values, style="bold" if category == "all" else None)
    console.print(table)
    evidence = ", ".join(f"{share:.1f} % in {budget} tokens" for budget, share in figures["evidence"].items())
    console.print(f"evidence: {evidence}")
    console.print(
        f"stored {figures['messages']:,} messages at {figures['ingest_per_second']:,} a second; "
        f"recall p50 {figures['recall_p50_ms']} ms, p95 {figures['recall_p95_ms']} ms\n"
    )


@contextmanager
def progress_of(console: Console, name: str, steps: int) -> Iterator[Iterator[None]]:
    """Show a bar that moves on with each step taken."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(name, total=steps)

        def walk() -> Iterator[None]:
            while True:
                bar.advance(task)
                yield

        yield walk()


def read(path: Path) -> list[dict[str, Any]]:
    """Read the collections of a file; a question without gold is left out, since nothing can answer it."""
    collections = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    for collection in collections:
        collection["questions"] = [question for question in collection["questions"] if question["gold"]]
    return collections


def main() -> None:
    """Measure each file and print what came out."""
    parser = argparse.ArgumentParser(description="Measure recall on questions with marked evidence.")
    parser.add_argument("--data", type=Path, nargs="+", required=True, metavar="FILE", help="JSON lines")
    parser.add_argument("--budget", type=int, nargs="*", default=[], help="more budgets, in tokens, for evidence")
    parser.add_argument("--json", type=Path, metavar="OUT", help="also write the figures to this file")
    given = parser.parse_args()
    if any(budget < 1 for budget in given.budget):
        parser.error("a budget is at least 1 token")
    budgets = sorted({*BUDGETS, *given.budget})
    console, figures = Console(width=160), {}
    for path in given.data:
        collections = read(path)
        if not any(collection["questions"] for collection in collections):
            parser.error(f"{path} holds no question with gold")
        with progress_of(console, path.stem, 2 * len(collections)) as step:
            outcome = asyncio.run(measure(collections, budgets, step))
        figures[path.stem] = report(outcome, budgets)
        show(console, path.stem, figures[path.stem])
    if given.json is not None:
        given.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
