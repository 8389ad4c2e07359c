"""Everything of a user at a glance, on the wire."""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal

from pydantic import BaseModel, Field

from recollect.domain.holdings import Count, Holdings
from recollect.ports.chat_model import Circuit, ModelState
from recollect.service.embedding import EmbeddingProgress
from recollect.service.overview import Overview

BreakerState = Literal["closed", "open", "half_open"]

_BREAKERS: dict[Circuit, BreakerState] = {"ready": "closed", "open": "open", "half_open": "half_open"}


class ConversationCountsOut(BaseModel):
    """How many conversations there are."""

    total: int
    archived: int = Field(description="How many of them are archived.")


class MemoryStatesOut(BaseModel):
    """How many memories are in each state; each memory is in one."""

    active: int
    archived: int
    pending: int = Field(description="Those that wait for review.")
    rejected: int
    superseded: int = Field(description="Those that hold no longer.")


class CountOut(BaseModel):
    """How many have one name."""

    name: str
    count: int


class MemoryDayOut(BaseModel):
    """What became of memories in one day."""

    day: date
    learned: int = Field(description="Learned or added by hand, whatever became of them since.")
    superseded: int = Field(description="Hold no longer since that day.")
    forgotten: int = Field(description="Erased for good.")


class MemoryCountsOut(BaseModel):
    """How many memories there are."""

    by_state: MemoryStatesOut
    by_type: list[CountOut] = Field(description="The active ones by type, the most first.")
    by_category: list[CountOut] = Field(description="The active ones by category, the most first; at most 50.")
    by_origin: list[CountOut] = Field(description="The active ones by origin, the most first.")
    by_day: list[MemoryDayOut] = Field(description="Every day in UTC, oldest first; the last one is today.")


class StorageOut(BaseModel):
    """How much room it takes, in bytes."""

    message_bytes: int | None = Field(description="The texts of all messages; null if there are too many to measure.")
    memory_bytes: int = Field(description="The texts of all memories.")
    note_bytes: int = Field(description="The notes of all agents.")
    database_bytes: int | None = Field(description="The whole database; null where it has other users.")


class JobCountsOut(BaseModel):
    """How many jobs are in each state."""

    queued: int
    running: int
    done: int = Field(description="Those that ended lately.")
    dead: int = Field(description="Dead letters: those that failed too often and wait for a retry by hand.")


class EmbeddingOut(BaseModel):
    """How much of what can be recalled has a vector of the current model."""

    model: str
    done: int
    total: int

    @classmethod
    def of(cls, progress: EmbeddingProgress) -> EmbeddingOut:
        """Return the wire shape of progress."""
        return cls(model=progress.model, done=progress.done, total=progress.total)


class BreakerOut(BaseModel):
    """Whether the model is called."""

    state: BreakerState = Field(description="`open` while it is not called because it failed repeatedly.")
    since: datetime | None
    retry_at: datetime | None = Field(description="When it may be called again.")


class AnsweringOut(BaseModel):
    """Who answers."""

    name: str | None = Field(description="The model, or null if the built-in responder answers.")
    is_builtin: bool
    breaker: BreakerOut | None

    @classmethod
    def of(cls, name: str | None, state: ModelState | None) -> AnsweringOut:
        """Return the wire shape of a model, or of the built-in responder."""
        if state is None:
            return cls(name=None, is_builtin=True, breaker=None)
        breaker = BreakerOut(state=_BREAKERS[state.circuit], since=state.since, retry_at=state.retry_at)
        return cls(name=name, is_builtin=False, breaker=breaker)


class OverviewOut(BaseModel):
    """How much is kept of a user, and how the parts that learn and answer fare."""

    conversations: ConversationCountsOut
    messages: int = Field(description="Messages of all conversations and branches.")
    memories: MemoryCountsOut
    storage: StorageOut
    jobs: JobCountsOut
    embedding: EmbeddingOut
    model: AnsweringOut
    extraction: bool = Field(description="Whether memories are learned from what the user says.")

    @classmethod
    def of(cls, found: Overview) -> OverviewOut:
        """Return the wire shape of an overview."""
        held = found.holdings
        return cls(
            conversations=ConversationCountsOut(total=held.conversations, archived=held.archived_conversations),
            messages=held.messages,
            memories=_memories(held),
            storage=StorageOut(
                message_bytes=held.texts.messages,
                memory_bytes=held.texts.memories,
                note_bytes=held.texts.notes,
                database_bytes=held.database_bytes,
            ),
            jobs=JobCountsOut(**held.jobs),
            embedding=EmbeddingOut.of(found.embedding),
            model=AnsweringOut.of(found.model, found.state),
            extraction=found.extracts,
        )


def _memories(held: Holdings) -> MemoryCountsOut:
    days = [{name: getattr(day, name) for name in MemoryDayOut.model_fields} for day in held.days]
    return MemoryCountsOut(
        by_state=MemoryStatesOut(**{str(state): count for state, count in held.memories.items()}),
        by_type=_counts(held.by_type),
        by_category=_counts(held.by_category),
        by_origin=_counts(held.by_origin),
        by_day=[MemoryDayOut(**day) for day in days],
    )


def _counts(counts: tuple[Count, ...]) -> list[CountOut]:
    return [CountOut(name=one.name, count=one.count) for one in counts]
