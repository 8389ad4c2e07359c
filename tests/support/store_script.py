"""A short fixed life of a store in which every write can be told to be there, missing or half there.

Each write names the pieces that it adds, all of them or none, and the pieces that it removes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from recollect.domain.erasure import Erasure
from recollect.domain.job import NewJob
from recollect.domain.memory import NewMemory, Source
from recollect.domain.message import NewMessage
from recollect.domain.scope import Scope
from recollect.domain.summary import NewSummary
from recollect.domain.turn import Append, ArchiveBatch, TurnRecord
from recollect.ports.store import Store
from tests.support.store_contents import Contents

SCOPE = Scope("acme", "ada")
AT = datetime(2026, 1, 1, tzinfo=UTC)
CONVERSATION = "talk"


@dataclass(frozen=True, slots=True)
class Write:
    """One write that may be repeated with the same ids."""

    do: Callable[[Store], Awaitable[Any]]
    adds: frozenset[str] = frozenset()
    removes: frozenset[str] = frozenset()


def message(name: str, words: int = 3) -> NewMessage:
    return NewMessage(id=name, role="user", content=f"{name} " + "word " * words, created_at=AT)


def append(*names: str, words: int = 3, jobs: tuple[NewJob, ...] = ()) -> Append:
    messages = tuple(message(name, words) for name in names)
    return Append(conversation_id=CONVERSATION, messages=messages, at=AT, jobs=jobs, create=True)


def turn(name: str, *, words: int = 3) -> Write:
    """Record a turn of two messages with two jobs."""
    jobs = tuple(
        NewJob(id=f"{name}-{kind}", kind=kind, run_at=AT, conversation_id=CONVERSATION) for kind in ("learn", "sum")
    )
    record = TurnRecord(id=name, append=append(f"{name}-1", f"{name}-2", words=words, jobs=jobs))
    pieces = {name, f"{name}-1", f"{name}-2", f"{name}-learn", f"{name}-sum"}
    return Write(lambda store: store.record_turn(SCOPE, record), frozenset(pieces))


def archive(name: str, *ids: str) -> Write:
    """Archive a batch."""
    batch = ArchiveBatch(id=name, append=append(*ids))
    return Write(lambda store: store.archive(SCOPE, batch), frozenset({name, *ids}))


def remember(name: str, source: str) -> Write:
    """Add a memory that is drawn from a message."""
    new = NewMemory(id=name, content=name, at=AT, origin="user", sources=(Source(CONVERSATION, source),))
    return Write(lambda store: store.add_memories(SCOPE, (new,)), frozenset({name}))


def summarise(name: str, *ids: str) -> Write:
    """Replace messages by a summary, and delete them."""
    new = NewSummary(
        id=name,
        message_id=f"{name}-message",
        conversation_id=CONVERSATION,
        content=name,
        at=AT,
        generator="test",
        message_ids=ids,
        delete_originals=True,
    )
    return Write(lambda store: store.put_summary(SCOPE, new), frozenset({name}), frozenset(ids))


def erase(name: str, *derived: str) -> Write:
    """Erase a message with what was drawn from it."""
    erasure = Erasure(receipt_id=f"erase-{name}", at=AT)
    return Write(
        lambda store: store.erase_message(SCOPE, CONVERSATION, name, erasure), removes=frozenset({name, *derived})
    )


#: Writes of one list are started together, so that they may share a commit.
LIFE: tuple[tuple[Write, ...], ...] = (
    (turn("t1"),),
    (archive("b1", "a1", "a2"),),
    (turn("t2", words=2_000), turn("t3"), archive("b2", "a2", "a3"), turn("t4")),
    (remember("y1", "a3"),),
    (erase("a3", "y1"), turn("t5")),
    (summarise("s1", "t1-1", "t1-2"),),
    (turn("t6"),),
)


def pieces_of(contents: Contents) -> set[str]:
    """Return the names of everything that a file holds."""
    found = {message.id for numbered in contents.messages.values() for _, message in numbered}
    for records in (contents.turns, contents.batches, contents.summaries):
        found |= {record.id for values in records.values() for record in values}
    found |= {memory.id for _, memory in contents.memories}
    return found | {row[2] for row in contents.others["jobs"]}


def problems(found: set[str], done: list[Write], failed: list[Write]) -> list[str]:
    """Name what was acknowledged and is not there, and what failed and is there by half."""
    tried = frozenset().union(*(write.removes for write in (*done, *failed)))
    gone = frozenset().union(*(write.removes for write in done))
    lost = [sorted(missing) for write in done if (missing := write.adds - tried - found)]
    wrong = [f"acknowledged and lost: {names}" for names in lost]
    for write in failed:
        sure = write.adds - tried - frozenset().union(*(other.adds for other in done))
        if sure & found and not sure <= found:
            wrong.append(f"half there: {sorted(sure & found)}")
    if back := gone & found:
        wrong.append(f"removed and still there: {sorted(back)}")
    return wrong
