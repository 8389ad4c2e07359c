"""Archiving and clearing on the wire."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from recollect.domain.erasure import Erased
from recollect.domain.turn import ArchivedBatch
from recollect.http.schemas.message import Id, MessageIn, SeedMessage

_SESSION = "A session is a conversation."
_BATCH: list[JsonValue] = [
    {"id": "m-1", "text": "I moved to Oslo.", "sender": "user", "timestamp": "2026-05-17T09:30:00Z"}
]


class ArchivedMessageIn(MessageIn):
    """A message that a client kept until now."""

    role: Literal["user", "assistant", "tool"]


class ArchiveIn(BaseModel):
    """The messages that a client kept until now."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"session_id": "c-1", "messages_batch": _BATCH}]})

    session_id: Id = Field(description=f"{_SESSION} It is created if there is none.")
    messages_batch: list[SeedMessage | ArchivedMessageIn] = Field(min_length=1, max_length=5_000)


class ArchivedOut(BaseModel):
    """What became of a batch; the same batch again gets the first answer."""

    session_id: str
    batch_id: str
    archived: int = Field(description="Messages that were stored.")
    duplicates: int = Field(description="Messages that were stored before.")
    refused: int = Field(description="Messages that were erased and stay so.")
    start_timestamp: datetime
    end_timestamp: datetime

    @classmethod
    def of(cls, batch: ArchivedBatch) -> ArchivedOut:
        """Return the wire shape of an archived batch."""
        return cls(
            session_id=batch.conversation_id,
            batch_id=batch.id,
            archived=batch.archived,
            duplicates=batch.duplicates,
            refused=batch.refused,
            start_timestamp=batch.start_at,
            end_timestamp=batch.end_at,
        )


class ArchiveTokenIn(BaseModel):
    """The session that a token is for."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"session_id": "c-1"}]})

    session_id: Id = Field(description=_SESSION)


class ArchiveTokenOut(BaseModel):
    """A token that archives messages of this session, and does nothing else."""

    session_id: str
    archive_token: str
    expires_at: datetime


class ClearIn(BaseModel):
    """The session to empty."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"session_id": "c-1"}]})

    session_id: Id = Field(description=_SESSION)
    memories: Literal["keep", "erase"] = Field("keep", description="What becomes of what was learned here.")


class ClearedOut(BaseModel):
    """How much was erased; the conversation itself stays and starts again."""

    session_id: str
    messages: int
    summaries: int
    jobs: int

    @classmethod
    def of(cls, session_id: str, erased: Erased) -> ClearedOut:
        """Return the wire shape of what was erased."""
        return cls(session_id=session_id, messages=erased.messages, summaries=erased.summaries, jobs=erased.jobs)
