"""All that is a user's, on the wire."""

from __future__ import annotations

from datetime import datetime

import msgspec
from pydantic import BaseModel, Field

from recollect.domain.erasure import Receipt
from recollect.service.importing import Imported


class ReceiptOut(BaseModel):
    """The proof of an erasure."""

    receipt_id: str
    at: datetime
    erased: dict[str, int] = Field(
        description="How many records of each kind are gone.", examples=[{"messages": 12, "memories": 3}]
    )

    @classmethod
    def of(cls, receipt: Receipt) -> ReceiptOut:
        """Return the wire shape of a receipt."""
        return cls(receipt_id=receipt.receipt_id, at=receipt.at, erased=msgspec.structs.asdict(receipt.erased))


class RefusalOut(BaseModel):
    """A record that was not stored although it was not there before."""

    line: int
    why: str


class ImportedOut(BaseModel):
    """What an import stored."""

    conversations: int
    messages: int
    summaries: int
    memories: int
    notes: int = Field(description="Versions of notes.")
    preferences: int = Field(description="1 if what the user set for themselves was in it.")
    skipped: int = Field(description="Records that were there before.")
    refused: int = Field(description="Records that were not stored: erased before, or at odds with what is there.")
    refusals: list[RefusalOut] = Field(description="Why, for the first hundred of them.")

    @classmethod
    def of(cls, imported: Imported) -> ImportedOut:
        """Return the wire shape of what was imported."""
        counts = {name: getattr(imported, name) for name in cls.model_fields if name != "refusals"}
        return cls(**counts, refusals=[RefusalOut(line=one.line, why=one.why) for one in imported.refusals])


#: What a file of an export looks like.
EXPORT_EXAMPLE = (
    '{"kind":"export","format":"recollect","version":1,"exported_at":"2026-05-17T09:30:00Z"}\n'
    '{"kind":"conversation","id":"c-1","agent":"assistant","created_at":"2026-05-17T09:00:00Z",'
    '"last_activity_at":"2026-05-17T09:01:00Z"}\n'
    '{"kind":"message","conversation_id":"c-1","id":"m-1","seq":1,"parent_id":null,"role":"user",'
    '"content":"I moved to Oslo.","created_at":"2026-05-17T09:01:00Z"}\n'
    '{"kind":"end","conversations":1,"messages":1}\n'
)
