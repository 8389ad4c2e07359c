"""Decide what is summarised next: which messages, or which summaries into one.

Pure arithmetic on places, so the rule is tested without a model, a clock or a database.
Nothing here knows how a summary is written or stored; the caller carries out one step, reads again and asks again,
until there is none.

Along the head path every message is verbatim or under exactly one summary that holds there.
A summary holds on every branch that has its newest message, so it must not end on a message that a summary of another
branch covers: it ends past the point where they part, and no branch counts both.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from recollect.domain.message import Message
from recollect.domain.summary import MAX_COVERED, MAX_FOLDED, Summary


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSettings:
    """How short a conversation is kept."""

    #: Summarise once more than this many messages are not yet covered.
    threshold: int = 10
    #: The newest messages that are never summarised; what completes a tool call stays with them.
    keep_verbatim: int = 6
    #: Messages that one summary covers, so that a long import becomes several; tool calls and branches may need more.
    batch: int = 50
    #: Fold once more than this many summaries hold.
    most_summaries: int = 12
    #: Summaries that one fold takes.
    fold: int = 4


@dataclass(frozen=True, slots=True)
class Summarise:
    """Replace these messages by a summary."""

    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Fold:
    """Replace these summaries by one."""

    summaries: tuple[Summary, ...]


def next_step(
    messages: Sequence[Message],
    holding: Sequence[Summary],
    settings: PlanSettings,
    *,
    elsewhere: Collection[str] = (),
    apart: Collection[str] = (),
    up_to: int | None = None,
) -> Summarise | Fold | None:
    """Return what to do next, or None if the conversation is short enough.

    `messages` are those of the head path that no summary covers, oldest first, `holding` and `elsewhere` as in `Cover`.
    `apart` are ids of summaries that do not continue the one before: something damaged lies between them.
    With `up_to` a summary of messages ends at this seq or before.
    """
    # Folding comes first, so that however much is imported only so many summaries hold at any time.
    folded = _summaries(messages, holding, settings, apart)
    if folded:
        return Fold(tuple(folded))
    behind = sum(message.seq < holding[-1].first_seq for message in messages) if holding else 0
    late = () if up_to is None else (message.id for message in messages if message.seq > up_to)
    chosen = _messages(messages, settings, {*elsewhere, *late}, behind)
    return Summarise(tuple(chosen)) if chosen else None


def _messages(
    messages: Sequence[Message], settings: PlanSettings, no_ends: Collection[str], behind: int
) -> Sequence[Message]:
    """Choose the oldest messages that can become one summary, none unless there are too many.

    Those `behind` a summary lost their own, and no window shows them: they are summarised however few they are.
    """
    if not behind and len(messages) <= settings.threshold:
        return ()
    closed = _closed(messages, settings, behind)
    newest = len(messages) - settings.keep_verbatim if len(messages) > settings.threshold else behind
    for start, end in _chains(messages):
        ends = [at for at in range(start + 1, min(end, newest, start + MAX_COVERED) + 1) if closed[at]]
        at = _end([at for at in ends if messages[at - 1].id not in no_ends], start, newest, settings)
        if at is not None:
            return messages[start:at]
    return ()


def _end(ends: Sequence[int], start: int, newest: int, settings: PlanSettings) -> int | None:
    """Choose where a summary ends: the last place within a batch, else the first one past it.

    A remainder too small to be summarised by itself belongs to the batch, so that only the newest stay.
    """
    most = start + settings.batch
    if newest - most <= settings.threshold - settings.keep_verbatim:
        most = newest
    within = [at for at in ends if at <= most]
    return within[-1] if within else next(iter(ends), None)


def _chains(messages: Sequence[Message]) -> Iterator[tuple[int, int]]:
    """Part the messages where one does not answer the one before: a summary or a damaged message lies between."""
    start = 0
    for at in range(1, len(messages) + 1):
        if at == len(messages) or messages[at].parent_id != messages[at - 1].id:
            yield start, at
            start = at


def _closed(messages: Sequence[Message], settings: PlanSettings, behind: int) -> list[bool]:
    """Tell for each place between messages whether no tool call waits there for its result.

    A call without a result is waited for until the user speaks again, many messages have followed or a summary has.
    """
    turns = [0] * (len(messages) + 2)
    for first, last in _calls(messages, settings.threshold, behind):
        turns[first + 1] += 1
        turns[last + 1] -= 1
    return [waiting == 0 for waiting in accumulate(turns)]


def _calls(messages: Sequence[Message], patience: int, behind: int) -> Iterator[tuple[int, int]]:
    """List where each tool call stands with each of its results, or with the end while one is waited for."""
    made: dict[str, int] = {}
    waiting: dict[str, tuple[int, int]] = {}
    spoken = 0
    for at, message in enumerate(messages):
        if message.role == "tool":
            call_id = message.tool_call_id or ""
            waiting.pop(call_id, None)
            if call_id in made:
                yield made[call_id], at
            continue
        spoken += 1
        if message.role == "user":
            waiting.clear()
        for call in message.tool_calls:
            made[call.id] = at
            if call.output is None:
                waiting[call.id] = at, spoken
    for at, spoken_before in waiting.values():
        if at >= behind and spoken - spoken_before < patience:
            yield at, len(messages)


def _summaries(
    messages: Sequence[Message], holding: Sequence[Summary], settings: PlanSettings, apart: Collection[str]
) -> Sequence[Summary]:
    """Choose the neighbours that are most alike in size, none unless there are too many.

    So what is old is told ever shorter, and is retold about as often as the logarithm of the length.
    """
    if sum(summary.folded_into is None for summary in holding) <= settings.most_summaries:
        return ()
    size = min(max(settings.fold, 2), MAX_FOLDED)
    windows = [
        run[at : at + size]
        for run in _neighbours(messages, holding, apart)
        for at in range(max(len(run) - size, 0) + 1)
        if len(run) > 1
    ]
    return min(windows, key=_imbalance, default=())


def _imbalance(window: Sequence[Summary]) -> tuple[float, int]:
    """Measure which part of the window its largest summary is, then how large the window is."""
    sizes = [summary.message_count for summary in window]
    return max(sizes) / sum(sizes), sum(sizes)


def _neighbours(
    messages: Sequence[Message], holding: Sequence[Summary], apart: Collection[str]
) -> Iterator[list[Summary]]:
    """Part the summaries where a message is verbatim between two, or where one is folded on another branch."""
    places = [message.seq for message in messages]
    run: list[Summary] = []
    for summary in holding:
        if run and (summary.id in apart or _between(places, run[-1].last_seq, summary.first_seq)):
            yield run
            run = []
        if summary.folded_into is None:
            run.append(summary)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _between(places: Sequence[int], after: int, before: int) -> bool:
    """Tell whether a place lies between two others; places are in order."""
    at = bisect_left(places, after + 1)
    return at < len(places) and places[at] < before
