"""Notes on the wire."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from recollect.domain.note import MAX_NOTE, Note, NoteOperation, NoteVersion
from recollect.http.schemas.message import Id


class NoteOut(BaseModel):
    """What an agent notes about the user; version 0 is the note that nobody wrote yet."""

    agent: str
    notes: str
    version: int
    created_at: datetime | None
    updated_at: datetime | None

    @classmethod
    def of(cls, note: Note) -> NoteOut:
        """Return the wire shape of a note."""
        return cls(**{name: getattr(note, name) for name in cls.model_fields})


class NoteOperationIn(BaseModel):
    """An operation on the note of an agent."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"operation": "append", "content": "# Tea\nDrinks it without sugar."},
                {"operation": "replace_section_by_header", "section_header": "Tea", "content": "Drinks coffee now."},
            ]
        }
    )

    operation: NoteOperation = "read"
    content: Annotated[str, Field(max_length=MAX_NOTE)] | None = Field(
        None, description="For overwrite, append, prepend and replace_section_by_header: the text."
    )
    section_header: Annotated[str, Field(max_length=500)] | None = Field(
        None, description="For operations on a section: its header, with or without `#`."
    )
    expected_version: Annotated[int, Field(ge=0, le=2**62)] | None = Field(
        None, description="Change nothing if the note is at another version; `If-Match` says the same."
    )
    agent: Id | None = Field(None, description="Whose note; unset is the default agent's.")


class NoteVersionOut(BaseModel):
    """The note as one change left it."""

    agent: str
    notes: str
    version: int
    operation: str = Field(description="What changed it.")
    conversation_id: str | None = Field(description="The conversation in which the agent wrote it.")
    created_at: datetime

    @classmethod
    def of(cls, version: NoteVersion) -> NoteVersionOut:
        """Return the wire shape of a version."""
        return cls(**{name: getattr(version, name) for name in cls.model_fields})


class NoteHistoryOut(BaseModel):
    """A page of versions, newest first."""

    items: list[NoteVersionOut]
    next: str | None
