"""Memories of a session, in the documents and under the names of S1 (S1.9)."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote, urlencode

from fastapi import Path, Response

from recollect.domain.memory import Memory, MemoryQuery
from recollect.domain.scope import Scope
from recollect.errors import MemoryNotFoundError
from recollect.http.access import NewId, Service, Whose
from recollect.http.cursors import Cursor, Limit, from_cursor, to_cursor
from recollect.http.headers import tagged
from recollect.http.route import api_router
from recollect.http.schemas.session_memory import SessionMemoryIn, SessionMemoryOut
from recollect.service.recollect import Recollect

router = api_router("session memories")

SessionId = Annotated[str, Path(alias="sessionId", min_length=1, max_length=128)]
MemoryId = Annotated[str, Path(alias="memoryId", min_length=1, max_length=128)]

_NEXT = {"Link": {"description": 'The next page, as `<…>; rel="next"`, if there is one.', "schema": {"type": "string"}}}


@router.get(
    "/sessions/{sessionId}/memories",
    summary="List the memories of a session",
    responses={200: {"headers": _NEXT}},
)
async def list_session_memories(
    session_id: SessionId,
    recollect: Service,
    scope: Whose,
    response: Response,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> list[SessionMemoryOut]:
    """Return the current memories that were learned in the session or added to it, the last added first."""
    await recollect.conversations.get(scope, session_id)
    query = MemoryQuery(conversation_id=session_id, limit=limit, before_id=from_cursor(cursor, str))
    page = await recollect.memories.list(scope, query)
    if page.next is not None:
        rest = urlencode({"limit": limit, "cursor": to_cursor(page.next)})
        response.headers["Link"] = f'<{_path(session_id)}?{rest}>; rel="next"'
    return [SessionMemoryOut.of(memory) for memory in page.items]


@router.post(
    "/sessions/{sessionId}/memories",
    status_code=201,
    summary="Add a memory to a session by hand",
    responses={
        200: {
            "model": SessionMemoryOut,
            "description": "This memory says it already, in this session or in another one of the user.",
        }
    },
)
async def add_session_memory(
    session_id: SessionId, body: SessionMemoryIn, recollect: Service, scope: Whose, new_id: NewId, response: Response
) -> SessionMemoryOut:
    """Store what a person states, without secrets; what the user's memories say already is not stored twice."""
    memory_id = new_id()
    memory = await recollect.memories.add(scope, body.statement(memory_id, session_id))
    response.status_code = 201 if memory.id == memory_id else 200
    within = "/api/memories" if memory.conversation_id is None else _path(memory.conversation_id)
    response.headers["Location"] = f"{within}/{quote(memory.id, safe='')}"
    tagged(response, memory.version)
    return SessionMemoryOut.of(memory)


@router.get("/sessions/{sessionId}/memories/{memoryId}", summary="Read a memory of a session")
async def get_session_memory(
    session_id: SessionId, memory_id: MemoryId, recollect: Service, scope: Whose, response: Response
) -> SessionMemoryOut:
    """Return a memory of the session."""
    memory = await _found(recollect, scope, session_id, memory_id)
    tagged(response, memory.version)
    return SessionMemoryOut.of(memory)


@router.delete("/sessions/{sessionId}/memories/{memoryId}", status_code=204, summary="Delete a memory of a session")
async def delete_session_memory(session_id: SessionId, memory_id: MemoryId, recollect: Service, scope: Whose) -> None:
    """Hide a memory at once and erase it after 30 seconds; until then `/api/memories/{id}/undo` brings it back."""
    await _found(recollect, scope, session_id, memory_id)
    await recollect.memories.delete(scope, memory_id)


async def _found(recollect: Recollect, scope: Scope, session_id: str, memory_id: str) -> Memory:
    """Return a memory of this session; one of another session is not there."""
    await recollect.conversations.get(scope, session_id)
    memory = await recollect.memories.get(scope, memory_id)
    if memory.conversation_id != session_id:
        raise MemoryNotFoundError("there is no memory with this id")
    return memory


def _path(session_id: str) -> str:
    return f"/api/sessions/{quote(session_id, safe='')}/memories"
