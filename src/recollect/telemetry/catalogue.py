"""What each meter counts, told once for every backend: its words, its unit and the labels it may have."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from recollect.ports.meter import CounterName, GaugeName, TimerName

Label = Literal["reason", "kind", "outcome"]

#: What a label may look like; anything else, and a value too many, is counted under `other`.
_LABEL = re.compile(r"[a-z]+([_.-][a-z]+)*|[1-5][0-9][0-9]", re.ASCII)
MAX_LENGTH = 40
MAX_VALUES = 200
OTHER = "other"
#: Bounds of durations in seconds, from a recall to a job that waits for a slow model.
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)


class About(msgspec.Struct, frozen=True):
    """What a meter says of itself."""

    help: str
    labels: tuple[Label, ...] = ()


COUNTERS: dict[CounterName, About] = {
    "memory.extraction.count": About("Attempts to extract memories."),
    "memory.extraction.success": About("Extractions that succeeded."),
    "memory.extraction.errors": About("Extractions that failed."),
    "memory.saved.count": About("Memories that were saved."),
    "memory.retrieved.count": About("Memories that were given for a question."),
    "memory.rejected.count": About("Proposed memories that were rejected.", ("reason",)),
    "recollect.job.attempts": About("Attempts of jobs.", ("kind", "outcome")),
    "recollect.model.calls": About("Calls of the language model.", ("outcome",)),
    "recollect.model.input_tokens": About("Tokens that the language model read."),
    "recollect.model.output_tokens": About("Tokens that the language model wrote."),
    "recollect.http.requests": About("Requests over HTTP.", ("kind", "outcome")),
}
TIMERS: dict[TimerName, About] = {
    "recollect.recall.duration": About("How long recalling took."),
    "recollect.model.duration": About("How long calls of the language model took."),
    "recollect.job.duration": About("How long attempts of jobs took.", ("kind",)),
    "recollect.http.duration": About("How long requests over HTTP took.", ("kind",)),
}
GAUGES: dict[GaugeName, About] = {
    "recollect.model.circuit": About("The circuit of the language model: 0 ready, 1 half open, 2 open."),
    "recollect.job.running": About("Jobs under way in this process."),
    "recollect.usage.unwritten": About("Entries of the ledger that the store has not taken yet."),
}


class Labels:
    """Keep labels few and free of what anybody said."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, Label], set[str]] = {}

    def of(self, name: str, about: About, given: dict[Label, str | None]) -> dict[str, str]:
        """Return a value for each label of the meter, whatever was given."""
        return {label: self._value(name, label, given.get(label)) for label in about.labels}

    def _value(self, name: str, label: Label, value: str | None) -> str:
        if value is None or len(value) > MAX_LENGTH or not _LABEL.fullmatch(value):
            return OTHER
        seen = self._seen.setdefault((name, label), set())
        if value not in seen and len(seen) >= MAX_VALUES:
            return OTHER
        seen.add(value)
        return value
