"""Drive a store as several clients at once, each of which knows what it alone has written.

A client never writes what belongs to another, so after each answer its own part of the store is known,
whatever the others do; two conversations are shared, so that their orders and counters are contended.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from random import Random
from typing import Any

from recollect.domain.erasure import Erasure
from recollect.domain.idempotency import Answer, RequestKey
from recollect.domain.job import Claim, ClaimRequest, NewJob
from recollect.domain.memory import MemoryChanges, NewMemory, Source
from recollect.domain.message import NewMessage, WrittenRole
from recollect.domain.note import NoteChange
from recollect.domain.scope import Scope
from recollect.domain.summary import NewSummary
from recollect.domain.turn import Append, ArchiveBatch, TurnRecord
from recollect.errors import ConflictError, NotFoundError
from recollect.ports.store import Store
from tests.support.store_contents import Contents, plain

SHARED = ("shared-1", "shared-2")
START = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "islet", "joule", "ключ", "記憶")


class Client:
    """One client: an agent of the user that all clients share."""

    def __init__(self, store: Store, number: int, rng: Random) -> None:
        self.name = f"k{number}"
        self.scope = Scope("acme", "ada", self.name)
        self._store = store
        self._rng = rng
        self._made = 0
        self._own = self._new("c")
        self._messages: dict[str, list[str]] = {self._own: []}
        self._covered = 0
        self._batch: list[NewMessage] = []
        self._memories: list[str] = []
        self._claims: list[Claim] = []
        self._operations: list[Callable[[], Awaitable[Any]]] = [
            *[self._turn] * 6,
            *[self._append, self._archive] * 4,
            *[self._summarise, self._remember, self._revise, self._note, self._claim, self._complete] * 2,
            *[self._erase_message, self._clear, self._erase_conversation, self._forget, self._begin],
        ]

    async def step(self) -> str:
        """Do one write and return its name; one that the store refuses has changed nothing."""
        operation = self._rng.choice(self._operations)
        with suppress(ConflictError, NotFoundError):
            await operation()
        return operation.__name__.strip("_")

    def _new(self, letter: str) -> str:
        self._made += 1
        return f"{self.name}-{letter}{self._made}"

    @property
    def _now(self) -> datetime:
        return START + timedelta(seconds=self._made)

    def _text(self) -> str:
        length = self._rng.choice((1, 4, 12, 40, 300))
        return " ".join(self._rng.choices(WORDS, k=length)) + f" {self._new('w')}"

    def _message(self) -> NewMessage:
        role: WrittenRole = "user" if self._rng.random() < 0.5 else "assistant"
        metadata = {"mood": self._text()} if self._rng.random() < 0.2 else {}
        text = self._text()
        return NewMessage(id=self._new("m"), role=role, content=text, created_at=self._now, metadata=metadata)

    def _request(self, messages: list[NewMessage], jobs: int = 0) -> Append:
        conversation = self._rng.choice((*SHARED, self._own))
        made = tuple(
            NewJob(id=self._new("j"), kind=self.name, run_at=self._now, conversation_id=conversation)
            for _ in range(jobs)
        )
        return Append(conversation_id=conversation, messages=tuple(messages), at=self._now, jobs=made, create=True)

    def _stored(self, request: Append) -> None:
        self._messages.setdefault(request.conversation_id, []).extend(message.id for message in request.messages)

    async def _turn(self) -> None:
        request = self._request([self._message() for _ in range(self._rng.choice((2, 2, 4)))], jobs=2)
        answer = Answer(request=self._key(), status=200, body=self._text().encode())
        record = TurnRecord(id=self._new("t"), append=request, answer=answer, memory_ids=tuple(self._memories[:2]))
        await self._store.record_turn(self.scope, record)
        self._stored(request)

    async def _append(self) -> None:
        request = self._request([self._message() for _ in range(self._rng.randint(1, 3))], jobs=1)
        await self._store.append(self.scope, request)
        self._stored(request)

    async def _archive(self) -> None:
        """Archive a batch that repeats the end of the one before, and now and then all of it."""
        kept = self._batch[self._rng.randint(0, len(self._batch)) :]
        batch = [*kept, *(self._message() for _ in range(self._rng.randint(0 if kept else 1, 4)))]
        request = Append(conversation_id=SHARED[0], messages=tuple(batch), at=self._now, create=True)
        await self._store.archive(self.scope, ArchiveBatch(id=self._new("b"), append=request))
        known = self._messages.setdefault(SHARED[0], [])
        known.extend(message.id for message in batch if message.id not in known)
        self._batch = batch

    async def _summarise(self) -> None:
        open_ids = self._messages[self._own][self._covered :]
        ids = tuple(open_ids[: self._rng.randint(1, 4)])
        if not ids:
            return await self._note()
        new = NewSummary(
            id=self._new("s"),
            message_id=self._new("sm"),
            conversation_id=self._own,
            content=self._text(),
            at=self._now,
            generator="test",
            message_ids=ids,
            delete_originals=self._rng.random() < 0.3,
        )
        await self._store.put_summary(self.scope, new)
        self._covered += len(ids)
        return None

    async def _remember(self) -> None:
        conversation = self._rng.choice(list(self._messages))
        sources = tuple(Source(conversation, message) for message in self._messages[conversation][-2:])
        new = NewMemory(
            id=self._new("y"), content=self._text(), at=self._now, agent=self.name, origin="user", sources=sources
        )
        await self._store.add_memories(self.scope, (new,))
        self._memories.append(new.id)

    async def _revise(self) -> None:
        if not self._memories:
            return await self._remember()
        changes = MemoryChanges(at=self._now, content=self._text())
        await self._store.change_memory(self.scope, self._rng.choice(self._memories), changes)
        return None

    async def _note(self) -> None:
        await self._store.change_note(self.scope, NoteChange(operation="append", at=self._now, content=self._text()))

    async def _claim(self) -> None:
        request = ClaimRequest(worker=self.name, now=self._now, lease=timedelta(minutes=5), kinds=(self.name,), limit=2)
        self._claims += [claimed.claim for claimed in await self._store.claim_jobs(request)]

    async def _complete(self) -> None:
        if not self._claims:
            return await self._claim()
        await self._store.complete_job(self.scope, self._claims.pop(), self._now)
        return None

    async def _begin(self) -> None:
        await self._store.finish_request(self.scope, Answer(request=self._key(), status=201, body=b"made"), self._now)

    def _key(self) -> RequestKey:
        return RequestKey(key=self._new("q"), digest="d")

    def _erasure(self) -> Erasure:
        return Erasure(receipt_id=self._new("r"), at=self._now)

    async def _erase_message(self) -> None:
        conversation = self._rng.choice(list(self._messages))
        ids = self._messages[conversation]
        if conversation == self._own:
            ids = ids[self._covered :]
        if not ids:
            return await self._append()
        victim = self._rng.choice((ids[-1], self._rng.choice(ids)))
        self._messages[conversation].remove(victim)
        await self._store.erase_message(self.scope, conversation, victim, self._erasure())
        return None

    async def _clear(self) -> None:
        self._messages[self._own], self._covered = [], 0
        await self._store.clear_conversation(self.scope, self._own, self._erasure())

    async def _erase_conversation(self) -> None:
        victim = self._own
        del self._messages[victim]
        self._own, self._covered = self._new("c"), 0
        self._messages[self._own] = []
        await self._store.erase_conversation(self.scope, victim, self._erasure())

    async def _forget(self) -> None:
        if not self._memories:
            return await self._remember()
        victim = self._memories.pop(self._rng.randrange(len(self._memories)))
        await self._store.erase_memory(self.scope, victim, self._erasure())
        return None


def part_of(contents: Contents, name: str) -> dict[str, list[Any]]:
    """Return what a file holds of one client, without what other clients may change of it.

    An erased message gives its children a new parent, and every erasure forgets the answers kept for the user and
    what failed jobs tell.
    """
    mine = f"{name}-"
    messages = [
        {**plain(message), "parent_id": None, "number": number}
        for numbered in contents.messages.values()
        for number, message in numbered
        if message.id.startswith(mine)
    ]
    messages.sort(key=itemgetter("number"))
    return {
        "conversations": [plain(stored.value) for key, stored in contents.conversations.items() if mine in key[2]],
        "messages": messages,
        "turns": _own(contents.turns, mine),
        "batches": _own(contents.batches, mine),
        "summaries": _own(contents.summaries, mine),
        "memories": [plain(memory) for _, memory in contents.memories if memory.id.startswith(mine)],
        "memory_versions": [row for row in contents.others["memory_versions"] if row[2].startswith(mine)],
        "notes": [row for row in contents.others["notes"] if row[2] == name],
        "note_versions": [row for row in contents.others["note_versions"] if row[2] == name],
        "jobs": [(*row[:13], *row[14:16]) for row in contents.others["jobs"] if row[2].startswith(mine)],
        "requests": [row[2:7] for row in contents.others["requests"] if row[2].startswith(mine)],
        "audit": [row for row in contents.others["audit"] if row[4] == name],
    }


def _own(found: dict[Any, list[Any]], mine: str) -> list[Any]:
    own = [plain(value) for values in found.values() for value in values if value.id.startswith(mine)]
    # Which conversation comes first depends on what others wrote.
    return sorted(own, key=itemgetter("id"))
