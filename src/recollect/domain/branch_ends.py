"""Where branches end: which message to make the head, to read a whole branch from one of its messages on.

Messages of one branch mostly stand one after the other, so a conversation is known by its few runs: stretches in which
each message answers the one before it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

import msgspec


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """Messages that stand one after the other and each of which answers the one before."""

    first_seq: int
    last_seq: int
    last_id: str
    #: The place of what its first message answers, if that is there.
    parent_seq: int | None


def newest_ends(runs: Sequence[Run], seqs: Iterable[int]) -> dict[int, str]:
    """Return the newest end of the branches through each of these places, given all runs from the first of them on.

    A message has a greater seq than the one it answers, so every run that starts in another comes after it.
    """
    starts = [run.first_seq for run in runs]
    #: For each run, where others start in it, each with the newest end of those.
    started: list[list[tuple[int, tuple[int, str]]]] = [[] for _ in runs]
    for number in range(len(runs) - 1, -1, -1):
        run = runs[number]
        home = -1 if run.parent_seq is None else bisect_right(starts, run.parent_seq) - 1
        if home >= 0 and run.parent_seq is not None:
            started[home].append((run.parent_seq, _newest(run, started[number], run.first_seq)))
    ends: dict[int, str] = {}
    for seq in seqs:
        home = bisect_right(starts, seq) - 1
        ends[seq] = _newest(runs[home], started[home], seq)[1]
    return ends


def _newest(run: Run, started: Sequence[tuple[int, tuple[int, str]]], seq: int) -> tuple[int, str]:
    """Return the newest end of what follows a place of a run."""
    return max([(run.last_seq, run.last_id), *(end for at, end in started if at >= seq)])
