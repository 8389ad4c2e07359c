"""Which summaries hold on a path through a conversation, and which messages none of them covers.

A summary holds on every branch that has its newest message.
A fold made on one branch hides nothing on another, where the summaries that it folded may still hold.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence

import msgspec

from recollect.domain.message import Message
from recollect.domain.summary import Summary


class Cover(msgspec.Struct, frozen=True, kw_only=True):
    """What the summaries of a conversation mean for the head path."""

    #: The widest summaries that hold, in order; one that another branch folded cannot be folded here.
    holding: tuple[Summary, ...]
    #: Ids of messages that a summary of another branch covers; none of them can end a summary here.
    elsewhere: frozenset[str] = frozenset()


def cover_of(path: Collection[int], summaries: Iterable[Summary], *, start: int = 0) -> Cover:
    """Tell which summaries hold on a path, given by the seqs of its messages, whole but for deleted originals.

    `summaries` are the active ones of every branch and, of those that do not hold, all that were folded into them.
    Where originals were deleted the path starts late, at `start`, and what came before is known from summaries only.
    Without branches every active summary holds, and there is no need to ask.
    """
    known = {summary.id: summary for summary in summaries}
    holds = {summary.id for summary in known.values() if holds_on(path, summary, start)}
    widest = (known[one] for one in holds if known[one].folded_into not in holds)
    others = (known[one].message_ids for one in known.keys() - holds)
    return Cover(
        holding=tuple(sorted(widest, key=lambda summary: (summary.last_seq, summary.id))),
        elsewhere=frozenset(message_id for message_ids in others for message_id in message_ids),
    )


def holds_on(path: Collection[int], summary: Summary, start: int) -> bool:
    """Tell whether a summary holds on a path."""
    return summary.last_seq in path or summary.last_seq < start


def path_start(oldest: tuple[int, str | None] | None, head_id: str | None, summaries: Iterable[Summary]) -> int:
    """Return where a path starts: late if its oldest message, or the head itself, follows one that is gone, else at 0.

    `oldest` are the seq and the parent of the oldest message of the path, or None if none of it is stored.
    """
    if oldest is not None:
        return oldest[0] if oldest[1] is not None else 0
    return next((summary.last_seq + 1 for summary in summaries if summary.last_message_id == head_id), 0)


def uncovered(messages: Iterable[Message], holding: Sequence[Summary]) -> list[Message]:
    """Return the messages of a path that no summary covers; `holding` are in order."""
    ends = [summary.last_seq for summary in holding]

    def covered(message: Message) -> bool:
        next_one = bisect_left(ends, message.seq)
        return next_one < len(holding) and holding[next_one].first_seq <= message.seq

    return [message for message in messages if not covered(message)]
