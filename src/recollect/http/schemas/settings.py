"""What a client needs to know of the server's settings, on the wire; nothing that is secret."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeVar

from pydantic import BaseModel, Field

from recollect.domain.checks import MAX_BATCH, MAX_CONTENT, MAX_ID
from recollect.domain.conversation import MAX_TITLE
from recollect.domain.memory import MAX_MEMORY
from recollect.domain.note import MAX_NOTE
from recollect.ports.chat_model import ChatModel, Circuit
from recollect.settings import Settings

Shape = TypeVar("Shape", bound=BaseModel)
#: Items of a page at the very most.
MAX_PAGE = 200


class ArchiveOut(BaseModel):
    """When a client archives what it buffers, and how long conversations are kept."""

    every_messages: int
    every_minutes: float
    retention_days: int | None


class HistoryOut(BaseModel):
    """How conversations are kept short."""

    strategy: str
    threshold: int
    keep_verbatim: int


class MemoryOut(BaseModel):
    """Whether memories are learned and recalled."""

    enabled: bool
    context_limit: int


class ModelOut(BaseModel):
    """Who answers."""

    name: str | None = Field(description="The model, or null if the built-in responder answers.")
    circuit: Circuit | None = Field(description="Whether it is called now: `ready`, `open` or half open.")
    retry_at: datetime | None = Field(description="When it may be called again.")


class LimitsOut(BaseModel):
    """How much is accepted."""

    body_bytes: int
    id_characters: int
    title_characters: int
    message_characters: int
    memory_characters: int
    note_characters: int
    batch_messages: int
    page_items: int
    streams: int = Field(description="Streams at the same time; 0 is no limit.")


class FeaturesOut(BaseModel):
    """What this server can do."""

    memory: bool
    model: bool
    deletes_originals: bool = Field(description="Whether messages go once a summary covers them.")
    jobs_inside: bool = Field(description="Whether this process does jobs.")


class SettingsOut(BaseModel):
    """What a client needs to know of the server."""

    version: str
    auth: Literal["local", "token"] = Field(
        description="`local`: one user of this machine; `token`: who calls says so."
    )
    write_policy: Literal["turn", "ahead", "client"]
    archive: ArchiveOut
    history: HistoryOut
    memory: MemoryOut
    model: ModelOut
    features: FeaturesOut
    limits: LimitsOut

    @classmethod
    def of(cls, settings: Settings, model: ChatModel | None, version: str) -> SettingsOut:
        """Return what a client may know of the settings and of the model."""
        state = None if model is None else model.state
        return cls(
            version=version,
            auth=settings.auth.mode,
            write_policy=settings.storage.write_policy,
            archive=_picked(ArchiveOut, settings.archive),
            history=_picked(HistoryOut, settings.history),
            memory=_picked(MemoryOut, settings.memory),
            model=ModelOut(
                name=None if model is None else model.name,
                circuit=None if state is None else state.circuit,
                retry_at=None if state is None else state.retry_at,
            ),
            features=FeaturesOut(
                memory=settings.memory.enabled,
                model=model is not None,
                deletes_originals=settings.history.delete_originals,
                jobs_inside=settings.jobs.inside,
            ),
            limits=_limits(settings),
        )


def _picked(kind: type[Shape], group: object) -> Shape:
    """Return the fields of a group of settings that the shape names."""
    return kind(**{name: getattr(group, name) for name in kind.model_fields})


def _limits(settings: Settings) -> LimitsOut:
    return LimitsOut(
        body_bytes=settings.server.max_body_bytes,
        id_characters=MAX_ID,
        title_characters=MAX_TITLE,
        message_characters=MAX_CONTENT,
        memory_characters=MAX_MEMORY,
        note_characters=MAX_NOTE,
        batch_messages=MAX_BATCH,
        page_items=MAX_PAGE,
        streams=settings.server.max_streams,
    )
