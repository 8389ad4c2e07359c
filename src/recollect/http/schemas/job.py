"""Jobs on the wire, without what only workers need to know."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field

from recollect.domain.job import Job, JobState


class JobOut(BaseModel):
    """Work in the background."""

    id: str
    kind: str = Field(description="What it does: `extract`, `summarise`, `title`, `embed`, …")
    state: JobState
    attempts: int
    max_attempts: int
    conversation_id: str | None
    error: str | None = Field(description="Why the last attempt failed, with what a model answered that was no use.")
    run_at: datetime = Field(description="When it is due.")
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, job: Job) -> JobOut:
        """Return the wire shape of a job."""
        return cls(**{name: getattr(job, name) for name in cls.model_fields})


class JobAccepted(BaseModel):
    """Work that was accepted and is done in the background."""

    job: JobOut


class JobPageOut(BaseModel):
    """A page of jobs, the last queued first."""

    items: list[JobOut]
    next: str | None
