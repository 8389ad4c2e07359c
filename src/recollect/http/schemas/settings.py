"""What a client needs to know of the server's settings, and what the user set, on the wire; nothing that is secret."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StrictBool, field_validator
from pydantic.json_schema import SkipJsonSchema

from recollect.domain.checks import MAX_BATCH, MAX_CONTENT, MAX_ID
from recollect.domain.conversation import MAX_TITLE
from recollect.domain.memory import MAX_MEMORY
from recollect.domain.note import MAX_NOTE
from recollect.domain.preferences import MAX_INSTRUCTIONS, Preferences
from recollect.ports.chat_model import ChatModel, Circuit
from recollect.service.preferences import PreferenceRequest
from recollect.settings import Settings

Shape = TypeVar("Shape", bound=BaseModel)
#: No store keeps text with a NUL.
Instructions = Annotated[str, Field(max_length=MAX_INSTRUCTIONS, json_schema_extra={"pattern": r"^[^\u0000]*$"})]
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


class MemoryRulesOut(BaseModel):
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
    instruction_characters: int
    batch_messages: int
    page_items: int
    streams: int = Field(description="Streams at the same time; 0 is no limit.")


class FeaturesOut(BaseModel):
    """What this server can do."""

    memory: bool
    model: bool
    deletes_originals: bool = Field(description="Whether messages go once a summary covers them.")
    jobs_inside: bool = Field(description="Whether this process does jobs.")


class PreferencesOut(BaseModel):
    """What the user set for themselves; version 0 is nothing yet."""

    memory_enabled: bool = Field(description="Whether anything is recalled, learned or noted for the user.")
    instructions: str = Field(description="What the user wants every reply to follow.")
    version: int

    @classmethod
    def of(cls, preferences: Preferences) -> PreferencesOut:
        """Return the wire shape of preferences."""
        return cls(**{name: getattr(preferences, name) for name in cls.model_fields})


class PreferencesIn(BaseModel):
    """What the user wants to be otherwise; what is left out stays."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"memory_enabled": False}, {"instructions": "Answer briefly, in Norwegian."}]}
    )

    memory_enabled: StrictBool | SkipJsonSchema[None] = None
    instructions: Instructions | SkipJsonSchema[None] = Field(
        None, description="Told to the model in every turn where the server has memory; secrets are redacted."
    )

    @field_validator("memory_enabled", "instructions", mode="before")
    @classmethod
    def _is_something(cls, value: object) -> object:
        if value is None:
            raise ValueError("leave it out to keep it as it is")
        return value

    def request(self, version: int | None) -> PreferenceRequest:
        """Return what was sent, to be changed if the preferences are at this version."""
        sent: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set}
        return PreferenceRequest(**sent, expected_version=version)


class SettingsOut(BaseModel):
    """What a client needs to know of the server."""

    version: str
    auth: Literal["local", "token"] = Field(
        description="`local`: one user of this machine; `token`: who calls says so."
    )
    write_policy: Literal["turn", "ahead", "client"]
    archive: ArchiveOut
    history: HistoryOut
    memory: MemoryRulesOut
    model: ModelOut
    features: FeaturesOut
    limits: LimitsOut
    user: PreferencesOut

    @classmethod
    def of(cls, settings: Settings, model: ChatModel | None, version: str, preferences: Preferences) -> SettingsOut:
        """Return what a client may know of the settings and of the model, and what the user set."""
        state = None if model is None else model.state
        return cls(
            version=version,
            auth=settings.auth.mode,
            write_policy=settings.storage.write_policy,
            archive=_picked(ArchiveOut, settings.archive),
            history=_picked(HistoryOut, settings.history),
            memory=_picked(MemoryRulesOut, settings.memory),
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
            user=PreferencesOut.of(preferences),
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
        instruction_characters=MAX_INSTRUCTIONS,
        batch_messages=MAX_BATCH,
        page_items=MAX_PAGE,
        streams=settings.server.max_streams,
    )
