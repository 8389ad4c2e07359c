"""What is remembered of a user (S4.3, S1.5)."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import Path, Query, Response

from recollect.domain.memory import MemoryQuery
from recollect.domain.recalling import RecallRequest
from recollect.http.access import NewId, Service, Whose
from recollect.http.cursors import Cursor, Limit, from_cursor, to_cursor
from recollect.http.errors import PROBLEMS
from recollect.http.headers import ExpectedVersion, tagged
from recollect.http.route import api_router
from recollect.http.schemas.job import JobAccepted, JobOut
from recollect.http.schemas.memory import (
    ExtractIn,
    Hits,
    MemoriesOut,
    MemoryChangesIn,
    MemoryHistoryOut,
    MemoryIn,
    MemoryListing,
    MemoryOut,
    MemoryPageOut,
    MemorySearchIn,
    ReviewIn,
    ReviewsIn,
)
from recollect.service.browsing import memories_with

router = api_router("memories")

MemoryId = Annotated[str, Path(min_length=1, max_length=128)]


@router.get("/memories", summary="List memories by filter")
async def list_memories(recollect: Service, scope: Whose, asked: Annotated[MemoryListing, Query()]) -> MemoryPageOut:
    """Return a page of memories: the current values, or with `as_of` those that held at that time."""
    before = from_cursor(asked.cursor, str)
    listed = asked.model_dump(include={"as_of", "since", "until", "sort", "limit"})
    query = MemoryQuery(**asked.fields(), **listed, before_id=before)
    if asked.q is None:
        page = await recollect.memories.list(scope, query)
    else:
        page = await memories_with(recollect.store, scope, query, asked.q)
    items = [MemoryOut.of(memory) for memory in page.items]
    return MemoryPageOut(items=items, next=to_cursor(page.next), corrupt=list(page.corrupt))


@router.post(
    "/memories",
    status_code=201,
    summary="Add a memory by hand",
    responses={200: {"model": MemoryOut, "description": "This memory says it already; it may have gained importance."}},
)
async def add_memory(body: MemoryIn, recollect: Service, scope: Whose, new_id: NewId, response: Response) -> MemoryOut:
    """Store what a person states, without secrets; what is stored already is not stored twice."""
    memory_id = new_id()
    memory = await recollect.memories.add(scope, body.statement(memory_id))
    response.status_code = 201 if memory.id == memory_id else 200
    response.headers["Location"] = f"/api/memories/{quote(memory.id, safe='')}"
    tagged(response, memory.version)
    return MemoryOut.of(memory)


@router.post("/memories/search", summary="Ask what is remembered, and what was said")
async def search_memories(body: MemorySearchIn, recollect: Service, scope: Whose) -> Hits:
    """Return what answers the question by words and by meaning, the best first, each with why."""
    filters = body.filters
    request = RecallRequest(
        text=body.query,
        limit=body.limit,
        messages=body.messages,
        as_of=body.as_of,
        **filters.fields(),
        role=filters.role,
        since=filters.since,
        until=filters.until,
    )
    return Hits.of(await recollect.recall.search(scope, request))


@router.post(
    "/memories/extract",
    status_code=202,
    summary="Learn from what is new in a conversation",
    responses={200: {"model": MemoriesOut, "description": "With `wait`: what was learned."}, 502: PROBLEMS[502]},
    response_model=JobAccepted,
)
async def extract_memories(
    body: ExtractIn,
    recollect: Service,
    scope: Whose,
    wait: Annotated[bool, Query(description="Answer when it is done, with the memories.")] = False,
) -> JobAccepted | Response:
    """Have a worker learn now, or learn before answering; each message is learned from once."""
    if not wait:
        return JobAccepted(job=JobOut.of(await recollect.learner.queue(scope, body.conversation_id)))
    learned = await recollect.learner.learn(scope, body.conversation_id)
    found = MemoriesOut(items=[MemoryOut.of(memory) for memory in learned.memories])
    return Response(found.model_dump_json(), media_type="application/json")


@router.post("/memories/review", summary="Decide about several memories that wait for review")
async def review_memories(body: ReviewsIn, recollect: Service, scope: Whose) -> MemoriesOut:
    """Approve or reject memories, all of which must wait; each approved one then meets the stored ones."""
    reviewed = await recollect.memories.review_many(scope, body.ids, body.decision)
    return MemoriesOut(items=[MemoryOut.of(memory) for memory in reviewed])


@router.get("/memories/{memory_id}", summary="Read a memory")
async def get_memory(memory_id: MemoryId, recollect: Service, scope: Whose, response: Response) -> MemoryOut:
    """Return a memory, also one that holds no longer."""
    memory = await recollect.memories.get(scope, memory_id)
    tagged(response, memory.version)
    return MemoryOut.of(memory)


@router.put("/memories/{memory_id}", summary="Change a memory", operation_id="put_memory")
@router.patch("/memories/{memory_id}", summary="Change a memory", operation_id="change_memory")
async def change_memory(
    memory_id: MemoryId,
    body: MemoryChangesIn,
    recollect: Service,
    scope: Whose,
    version: ExpectedVersion,
    response: Response,
) -> MemoryOut:
    """Change what is sent, leave the rest, and keep what the memory was; one that waits for review cannot be pinned."""
    changed = await recollect.memories.change(scope, memory_id, body.correction(version))
    tagged(response, changed.version)
    return MemoryOut.of(changed)


@router.delete("/memories/{memory_id}", status_code=204, summary="Delete a memory")
async def delete_memory(
    memory_id: MemoryId,
    recollect: Service,
    scope: Whose,
    version: ExpectedVersion,
    now: Annotated[bool, Query(description="Erase it at once; that cannot be undone.")] = False,
) -> None:
    """Hide a memory at once and erase it after 30 seconds, in which that can be undone; it is not learned again."""
    if version is not None or not now:
        await recollect.memories.delete(scope, memory_id, version)
    if now:
        await recollect.memories.erase(scope, memory_id)


@router.get("/memories/{memory_id}/history", summary="Read what a memory was before each change")
async def memory_history(
    memory_id: MemoryId, recollect: Service, scope: Whose, limit: Limit = 50, cursor: Cursor = None
) -> MemoryHistoryOut:
    """Return the former versions of a memory, newest first, with all values of its place and its sources."""
    values = await recollect.memories.lineage(scope, memory_id)
    before = from_cursor(cursor, int)
    past = await recollect.memories.history(scope, memory_id)
    rest = [one for one in past if before is None or one.memory.version < before]
    page = tuple(rest[:limit])
    more = page[-1].memory.version if len(rest) > limit else None
    return MemoryHistoryOut.of(page, to_cursor(more), next(one for one in values if one.id == memory_id), values)


@router.post("/memories/{memory_id}/undo", summary="Take back the last change of a memory")
async def undo_memory(memory_id: MemoryId, recollect: Service, scope: Whose, response: Response) -> MemoryOut:
    """Take back an edit, what took its place or, for 30 seconds, its deletion; 409 if it was never changed."""
    memory = await recollect.memories.undo(scope, memory_id)
    tagged(response, memory.version)
    return MemoryOut.of(memory)


@router.post("/memories/{memory_id}/review", summary="Decide about a memory that waits for review")
async def review_memory(
    memory_id: MemoryId, body: ReviewIn, recollect: Service, scope: Whose, response: Response
) -> MemoryOut:
    """Approve a memory, perhaps in other words, or reject it; 409 if it does not wait."""
    memory = await recollect.memories.review(scope, memory_id, body.decision, body.content)
    tagged(response, memory.version)
    return MemoryOut.of(memory)
