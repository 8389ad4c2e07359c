"""What is erased is in no file any more: every byte that SQLite keeps is searched for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from recollect.domain.erasure import Erasure
from recollect.domain.idempotency import Answer, RequestKey
from recollect.domain.job import ClaimRequest, JobFailure, NewJob
from recollect.domain.memory import MemoryChanges, NewMemory, Source
from recollect.domain.message import NewMessage
from recollect.domain.note import NoteChange
from recollect.domain.page import SearchQuery
from recollect.domain.scope import Scope
from recollect.domain.summary import NewSummary
from recollect.domain.turn import Append, ArchiveBatch, TurnRecord
from recollect.storage.sqlite import SqliteDriver
from recollect.storage.store import SqlStore
from recollect.testing import START

CANARY = "Xylophonquarz"
SCOPE = Scope(user="ada")
OTHER = Scope(user="bob")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlStore]:
    opened = SqlStore(await SqliteDriver.open(tmp_path / "erase.db"))
    yield opened
    await opened.close()


def said(number: int, text: str) -> NewMessage:
    return NewMessage(id=f"m{number}", role="user", content=text, created_at=START, metadata={"mood": text})


def places(folder: Path) -> list[str]:
    """Name every file that holds the canary, whatever its case and encoding."""
    needles = (CANARY.encode(), CANARY.lower().encode(), CANARY.encode("utf-16-le"))
    return [
        file.name for file in folder.iterdir() if any(needle.lower() in file.read_bytes().lower() for needle in needles)
    ]


async def fill(store: SqlStore) -> None:
    """Put the canary wherever words can go: the message `m7`, and all that is drawn from it."""
    texts = [CANARY if number == 7 else f"harmless words {number}" for number in range(1, 101)]
    messages = tuple(said(number, f"{text} is what I said") for number, text in enumerate(texts, 1))
    job = NewJob(id="j1", kind="extract", run_at=START, conversation_id="c1")
    append = Append(conversation_id="c1", messages=messages, at=START, jobs=(job,), create=True)
    answer = Answer(request=RequestKey(key="k", digest="d"), status=200, body=f"you said {CANARY}".encode())
    turn = TurnRecord(id="t1", append=append, metadata={"context": CANARY}, answer=answer)
    await store.record_turn(SCOPE, turn)
    await _summarise(store)
    await _learn(store)
    await _fail_job(store)
    await store.append(OTHER, Append(conversation_id="c1", messages=(said(1, "mine stays"),), at=START, create=True))


async def _summarise(store: SqlStore) -> None:
    for number in range(2):
        ids = tuple(f"m{n}" for n in range(1 + number * 10, 11 + number * 10))
        await store.put_summary(SCOPE, summary(f"s{number}", message_ids=ids))
    await store.put_summary(SCOPE, summary("fold", folds=("s0", "s1")))


def summary(summary_id: str, message_ids: tuple[str, ...] = (), folds: tuple[str, ...] = ()) -> NewSummary:
    return NewSummary(
        id=summary_id,
        message_id=f"message of {summary_id}",
        conversation_id="c1",
        content=f"The user spoke of {CANARY}." if summary_id != "s1" else "The user spoke.",
        at=START,
        generator="test",
        message_ids=message_ids,
        folds=folds,
    )


async def _learn(store: SqlStore) -> None:
    source = Source("c1", "m7")
    learned = NewMemory(id="k1", content=f"Likes {CANARY}", at=START, origin="user", quote=CANARY, sources=(source,))
    shared = NewMemory(
        id="k2", content="Likes music", at=START, origin="user", quote=CANARY, sources=(source, Source("c1", "m9"))
    )
    await store.add_memories(SCOPE, (learned, shared))
    await store.change_memory(SCOPE, "k1", MemoryChanges(at=START, content=f"Loves {CANARY}"))


async def _fail_job(store: SqlStore) -> None:
    (claimed,) = await store.claim_jobs(ClaimRequest(worker="w", now=START, lease=timedelta(minutes=1)))
    failure = JobFailure(at=START, error=f"cannot parse {CANARY}", retry_at=None)
    await store.fail_job(SCOPE, claimed.claim, failure)


async def found(store: SqlStore) -> int:
    return len(await store.search_messages(SCOPE, SearchQuery(text=CANARY)))


async def test_an_erased_message_leaves_no_byte_and_takes_what_was_drawn_from_it(
    store: SqlStore, tmp_path: Path
) -> None:
    await fill(store)
    assert places(tmp_path) != []
    assert await found(store) == 1
    receipt = await store.erase_message(SCOPE, "c1", "m7", Erasure(receipt_id="r", at=START))
    assert places(tmp_path) == []
    assert await found(store) == 0
    assert (receipt.erased.messages, receipt.erased.summaries, receipt.erased.memories) == (1, 2, 1)
    assert [summary.id for summary in await store.active_summaries(SCOPE, "c1")] == ["s1"]
    kept = await store.get_memory(SCOPE, "k2")
    assert (kept.quote, kept.sources) == (None, (Source("c1", "m9"),))


async def test_what_was_erased_cannot_be_written_again(store: SqlStore, tmp_path: Path) -> None:
    await fill(store)
    await store.erase_message(SCOPE, "c1", "m7", Erasure(receipt_id="r", at=START))
    again = Append(conversation_id="c1", messages=(said(7, CANARY),), at=START)
    assert (await store.append(SCOPE, again)).refused == ("m7",)
    assert (await store.archive(SCOPE, ArchiveBatch(id="b", append=again))).refused == 1
    late = NewMemory(id="late", content=f"loves  {CANARY.upper()}!", at=START, origin="user", quote=CANARY)
    assert (await store.add_memories(SCOPE, (late,))).refused == ("late",)
    assert places(tmp_path) == []


@pytest.mark.parametrize("erased", ["conversation", "clear", "user"])
async def test_an_erased_whole_leaves_no_byte(store: SqlStore, tmp_path: Path, erased: str) -> None:
    await fill(store)
    if erased == "user":
        await store.change_note(SCOPE, NoteChange(operation="append", content=CANARY, at=START))
        await store.change_note(SCOPE, NoteChange(operation="overwrite", content="calm", at=START))
    erasure = Erasure(receipt_id="r", at=START)
    if erased == "conversation":
        await store.erase_conversation(SCOPE, "c1", erasure)
    elif erased == "clear":
        await store.clear_conversation(SCOPE, "c1", erasure)
    else:
        await store.erase_user(SCOPE, erasure)
    assert places(tmp_path) == []
    assert await found(store) == 0
    assert len(await store.search_messages(OTHER, SearchQuery(text="mine stays"))) == 1


async def test_an_erased_memory_leaves_no_byte_of_itself(store: SqlStore, tmp_path: Path) -> None:
    memory = NewMemory(id="k", content=f"Likes {CANARY}", at=START)
    await store.add_memories(SCOPE, (memory,))
    await store.change_memory(SCOPE, "k", MemoryChanges(at=START, content=f"Loves {CANARY}"))
    await store.erase_memory(SCOPE, "k", Erasure(receipt_id="r", at=START))
    assert places(tmp_path) == []


async def test_bytes_go_also_while_others_write(store: SqlStore, tmp_path: Path) -> None:
    await fill(store)

    async def write(client: int) -> None:
        for number in range(20):
            message = NewMessage(id=f"{client}-{number}", role="user", content="other words", created_at=START)
            await store.append(
                OTHER, Append(conversation_id=f"busy {client}", messages=(message,), at=START, create=True)
            )

    erase = store.erase_user(SCOPE, Erasure(receipt_id="r", at=START))
    await asyncio.gather(erase, *(write(client) for client in range(8)))
    assert places(tmp_path) == []
