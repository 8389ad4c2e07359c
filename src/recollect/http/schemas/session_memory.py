"""Memories of a session on the wire: the one part of the API whose names are camelCase, as they always were."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from recollect.domain.memory import Memory, MemoryType
from recollect.http.schemas.memory import Content, Share
from recollect.service.memories import Statement


class SessionMemoryIn(BaseModel):
    """A memory that a person adds to a session."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"content": "User prefers detailed explanations", "type": "preference", "importance": 0.7}]
        }
    )

    content: Content
    type: MemoryType
    importance: Share = 0.5

    def statement(self, memory_id: str, session_id: str) -> Statement:
        """Return what is stated, under this id."""
        return Statement(
            id=memory_id,
            content=self.content,
            memory_type=self.type,
            importance=self.importance,
            conversation_id=session_id,
        )


class SessionMemoryOut(BaseModel):
    """A memory of a session."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        json_schema_extra={
            "examples": [
                {
                    "id": "01997f0e-6d1c-7cc3-98c4-dc0c0c07398f",
                    "sessionId": "budget",
                    "memoryContent": "The project deadline is March 15th",
                    "memoryType": "fact",
                    "importance": 0.9,
                    "createdAt": "2026-02-11T10:00:00Z",
                    "lastAccessedAt": "2026-02-11T12:30:00Z",
                }
            ]
        },
    )

    id: str
    session_id: str | None = Field(description="Where it was learned or added; null if that was in no session.")
    memory_content: str
    memory_type: MemoryType
    importance: float
    created_at: datetime
    last_accessed_at: datetime

    @classmethod
    def of(cls, memory: Memory) -> SessionMemoryOut:
        """Return the wire shape of a memory of a session."""
        return cls(
            id=memory.id,
            session_id=memory.conversation_id,
            memory_content=memory.content,
            memory_type=memory.memory_type,
            importance=memory.importance,
            created_at=memory.created_at,
            last_accessed_at=memory.last_accessed_at,
        )
