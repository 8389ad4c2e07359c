"""Jobs: what is done in the background, and what died and waits for a person."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

from recollect.domain.job import JobQuery, JobState
from recollect.http.access import Service, Whose
from recollect.http.cursors import Cursor, Limit, from_cursor, to_cursor
from recollect.http.route import api_router
from recollect.http.schemas.job import JobAccepted, JobOut, JobPageOut

router = api_router("jobs")

JobId = Annotated[str, Path(min_length=1, max_length=128)]


@router.get("/jobs", summary="List jobs, the last queued first")
async def list_jobs(
    recollect: Service,
    scope: Whose,
    state: Annotated[JobState | None, Query(description="Only those in this state; `dead` ones need a person.")] = None,
    conversation_id: Annotated[str | None, Query(min_length=1, max_length=128)] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> JobPageOut:
    """Return a page of the user's jobs."""
    before = from_cursor(cursor, str)
    page = await recollect.jobs.list(
        scope, JobQuery(limit=limit, state=state, conversation_id=conversation_id, before_id=before)
    )
    return JobPageOut(items=[JobOut.of(job) for job in page.items], next=to_cursor(page.next))


@router.get("/jobs/{job_id}", summary="Look at a job")
async def get_job(job_id: JobId, recollect: Service, scope: Whose) -> JobOut:
    """Return a job."""
    return JobOut.of(await recollect.jobs.get(scope, job_id))


@router.post("/jobs/{job_id}/retry", status_code=202, summary="Queue a dead job again")
async def retry_job(job_id: JobId, recollect: Service, scope: Whose) -> JobAccepted:
    """Queue a dead job again with all its attempts; one that is not dead is 409."""
    return JobAccepted(job=JobOut.of(await recollect.jobs.retry(scope, job_id)))
