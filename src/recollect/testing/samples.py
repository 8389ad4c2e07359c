"""Valid values with as little said as possible, for tests that care about one part of them."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Protocol

from recollect.domain.context_record import ContextRecord, RecordedBlock, RecordedItem
from recollect.domain.conversation import NewConversation
from recollect.domain.erasure import Erasure
from recollect.domain.idempotency import Answer, RequestKey, RequestStart
from recollect.domain.identity import ApiKey, StoredKey, digest_of
from recollect.domain.job import ClaimRequest, NewJob
from recollect.domain.memory import NewMemory
from recollect.domain.message import NewMessage
from recollect.domain.note import NoteChange, NoteOperation
from recollect.domain.preferences import PreferenceChanges
from recollect.domain.scope import Scope
from recollect.domain.summary import NewSummary
from recollect.domain.turn import Append, ArchiveBatch, TurnRecord, Usage
from recollect.domain.usage import UsageEntry
from recollect.domain.vector import MessageVector, Vector
from recollect.testing.clock import START


class HasId(Protocol):
    """Anything with an id."""

    @property
    def id(self) -> str:
        """Tell the id."""


#: The user whom most tests are about.
ALICE = Scope("acme", "alice")
#: Another user of the same tenant.
BOB = Scope("acme", "bob")
#: A user of the same name in another tenant.
STRANGER = Scope("other", "alice")


def after(seconds: float) -> datetime:
    """Return a time this long after the start of the test."""
    return START + timedelta(seconds=seconds)


def conversation(conversation_id: str = "c1", **more: Any) -> NewConversation:
    """Return a conversation to create."""
    return NewConversation(**_with(more, id=conversation_id, at=START))


def message(message_id: str, content: str | None = None, **more: Any) -> NewMessage:
    """Return a message to store, said by the user unless more is given."""
    text = f"words of {message_id}" if content is None else content
    return NewMessage(**_with(more, id=message_id, role="user", content=text, created_at=START))


def append(conversation_id: str, *messages: str | NewMessage, **more: Any) -> Append:
    """Return messages to add to a conversation, which is created if it is new."""
    given = tuple(message(one) if isinstance(one, str) else one for one in messages)
    return Append(**_with(more, conversation_id=conversation_id, messages=given, at=START, create=True))


def turn(turn_id: str, appended: Append, **more: Any) -> TurnRecord:
    """Return a turn to record."""
    return TurnRecord(id=turn_id, append=appended, **more)


def context_record() -> ContextRecord:
    """Return what is kept of a prompt, with something of every kind of value."""
    told = (
        RecordedBlock(
            kind="system", tokens=9, items=(RecordedItem(ref="system", tokens=9, why=((1,),), check=2**32 - 1),)
        ),
        RecordedBlock(
            kind="passages",
            tokens=70_000,
            items=(RecordedItem(ref="m9", tokens=69_990, why=((110, 2, 300), (10,)), conversation_id="c9", kept=0),),
        ),
        RecordedBlock(kind="window", tokens=12, items=(RecordedItem(ref=2**40, tokens=12, why=()),)),
    )
    memory_id = "01a1e34d-80bc-7503-b3cc-2da3ccdadca7"
    waiting = RecordedItem(ref=memory_id, tokens=4, why=((11,),), version=3)
    return ContextRecord(
        budget=8_000,
        tokens=70_021,
        format="s1",
        question_id="Wer fragt 🍵",
        blocks=told,
        left_out=(("memories", waiting),),
    )


def batch(batch_id: str, conversation_id: str, *messages: str | NewMessage, **more: Any) -> ArchiveBatch:
    """Return a client's batch."""
    return ArchiveBatch(id=batch_id, append=append(conversation_id, *messages, **more))


def summary(summary_id: str, *message_ids: str, **more: Any) -> NewSummary:
    """Return a summary of these messages of conversation c1; give `folds` instead to fold summaries."""
    given = _with(more, id=summary_id, message_id=f"message-{summary_id}", conversation_id="c1", at=START)
    return NewSummary(**_with(given, content=f"text of {summary_id}", generator="test", message_ids=message_ids))


def memory(memory_id: str, content: str | None = None, **more: Any) -> NewMemory:
    """Return a memory to add."""
    text = f"statement of {memory_id}" if content is None else content
    return NewMemory(**_with(more, id=memory_id, content=text, at=START))


def vector(*numbers: float, model: str = "model") -> Vector:
    """Return a vector of these numbers."""
    return Vector(model, struct.pack(f"<{len(numbers)}e", *numbers))


def message_vectors(**vectors: Vector) -> tuple[MessageVector, ...]:
    """Return vectors of messages by their ids."""
    return tuple(MessageVector(message_id, one) for message_id, one in vectors.items())


def note(operation: NoteOperation, content: str | None = None, **more: Any) -> NoteChange:
    """Return an operation on a note."""
    return NoteChange(**_with(more, operation=operation, content=content, at=START))


def preferences(**more: Any) -> PreferenceChanges:
    """Return a change of what a user set."""
    return PreferenceChanges(**_with(more, at=START))


def job(job_id: str, **more: Any) -> NewJob:
    """Return a job that is due at once."""
    return NewJob(**_with(more, id=job_id, kind="extract", run_at=START))


def claims(worker: str = "w1", **more: Any) -> ClaimRequest:
    """Return a worker's request for due jobs."""
    return ClaimRequest(**_with(more, worker=worker, now=START, lease=timedelta(minutes=1), limit=100))


def request(key: str = "key", digest: str = "digest") -> RequestKey:
    """Return the key of a request and the digest of what it asks."""
    return RequestKey(key=key, digest=digest)


def start(key: str = "key", digest: str = "digest", **more: Any) -> RequestStart:
    """Return the begin of a request."""
    return RequestStart(**_with(more, request=request(key, digest), at=START))


def answer(key: str = "key", body: bytes = b"{}", **more: Any) -> Answer:
    """Return the answer to a request."""
    return Answer(**_with(more, request=request(key), status=200, body=body))


def usage(usage_id: str, **more: Any) -> UsageEntry:
    """Return what some work spent: five tokens read and two written."""
    spent = Usage(input_tokens=5, output_tokens=2)
    return UsageEntry(**_with(more, id=usage_id, at=START, kind="extract", model="small", usage=spent))


def api_key(key_id: str, scope: Scope, **more: Any) -> StoredKey:
    """Return a key of this user, or of no user if more says so, whose secret is its id."""
    key = ApiKey(**_with(more, id=key_id, name="laptop", tenant=scope.tenant, user=scope.user, created_at=START))
    return StoredKey(key=key, digest=digest_of(key_id))


def erasure(receipt_id: str = "receipt", **more: Any) -> Erasure:
    """Return a request to erase."""
    return Erasure(**_with(more, receipt_id=receipt_id, at=START))


def ids_of(items: Iterable[HasId]) -> list[str]:
    """Return the ids of the items, in their order."""
    return [item.id for item in items]


def _with(more: dict[str, Any], **given: Any) -> dict[str, Any]:
    """Return what is given unless more says otherwise."""
    return given | more
