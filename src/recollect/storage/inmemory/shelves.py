"""What the in-memory store keeps of each user, and how a write happens as a whole or not at all."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from itertools import count

from recollect.domain.audit import AuditEntry
from recollect.domain.conversation import Conversation
from recollect.domain.erasure import Tombstone
from recollect.domain.idempotency import IdempotencyRecord
from recollect.domain.identity import StoredKey
from recollect.domain.job import Job
from recollect.domain.memory import Memory, MemoryVersion
from recollect.domain.message import Message
from recollect.domain.note import Note, NoteVersion
from recollect.domain.preferences import Preferences
from recollect.domain.repeating import Repeated
from recollect.domain.scope import Scope
from recollect.domain.summary import Summary
from recollect.domain.turn import ArchivedBatch, Turn
from recollect.domain.usage import UsageEntry
from recollect.domain.vector import Vector
from recollect.errors import StorageUnavailableError


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """A job with the agent it was enqueued by and its place among the jobs of all users."""

    agent: str
    number: int
    job: Job


@dataclass(slots=True)
class UserData:
    """Everything of one user; the values are frozen, and each dict is in the order in which its values came."""

    #: Keys the digests of tombstones and batches.
    salt: bytes
    #: Gives numbers that grow over all users.
    next_number: Callable[[], int]
    conversations: dict[str, Conversation] = field(default_factory=dict)
    #: By conversation id and message id.
    messages: dict[tuple[str, str], Message] = field(default_factory=dict)
    #: What replies repeat, by conversation id and message id; also of those that a summary took the place of.
    repeats: dict[tuple[str, str], frozenset[Repeated]] = field(default_factory=dict)
    #: By conversation id and turn id.
    turns: dict[tuple[str, str], Turn] = field(default_factory=dict)
    #: By conversation id and digest.
    batches: dict[tuple[str, str], ArchivedBatch] = field(default_factory=dict)
    #: By conversation id and summary id.
    summaries: dict[tuple[str, str], Summary] = field(default_factory=dict)
    #: By conversation id, the revision that last changed what was stored before it.
    rewritten: dict[str, int] = field(default_factory=dict)
    memories: dict[str, Memory] = field(default_factory=dict)
    #: Grows with every call that changes memories or their vectors.
    memory_revision: int = 0
    #: By conversation id and message id.
    message_vectors: dict[tuple[str, str], Vector] = field(default_factory=dict)
    #: By memory id.
    memory_vectors: dict[str, Vector] = field(default_factory=dict)
    #: By memory id and version.
    memory_versions: dict[tuple[str, int], MemoryVersion] = field(default_factory=dict)
    #: By agent.
    notes: dict[str, Note] = field(default_factory=dict)
    #: By agent and version.
    note_versions: dict[tuple[str, int], NoteVersion] = field(default_factory=dict)
    #: One at the most; none if nothing was ever set.
    preferences: list[Preferences] = field(default_factory=list)
    jobs: dict[str, QueuedJob] = field(default_factory=dict)
    #: By idempotency key.
    requests: dict[str, IdempotencyRecord] = field(default_factory=dict)
    usage: dict[str, UsageEntry] = field(default_factory=dict)
    keys: dict[str, StoredKey] = field(default_factory=dict)
    tombstones: set[Tombstone] = field(default_factory=set)
    audit: list[AuditEntry] = field(default_factory=list)

    def copy(self) -> UserData:
        """Return a copy of the containers; the frozen values in them are shared."""
        copied = UserData(self.salt, self.next_number, memory_revision=self.memory_revision)
        for part in fields(self):
            if part.name not in ("salt", "next_number", "memory_revision"):
                setattr(copied, part.name, getattr(self, part.name).copy())
        return copied


class Shelves:
    """Hold the data of all users."""

    def __init__(self) -> None:
        self._users: dict[tuple[str, str], UserData] = {}
        self._salt = secrets.token_bytes(32)
        self._numbers = count(1)
        self._closed = False

    def _reading(self, scope: Scope) -> UserData:
        """Give the data of the scope's user, to look at only."""
        self._refuse_if_closed()
        return self._users.get((scope.tenant, scope.user)) or UserData(self._salt, self._numbers.__next__)

    @contextmanager
    def _writing(self, scope: Scope) -> Iterator[UserData]:
        """Give a copy of the data, which takes the place of the data only if nothing is raised."""
        changed = self._reading(scope).copy()
        yield changed
        self._users[scope.tenant, scope.user] = changed

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise StorageUnavailableError("the store is closed")

    async def close(self) -> None:
        self._closed = True
