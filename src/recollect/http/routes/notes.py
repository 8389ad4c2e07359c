"""Notes: what an agent keeps about the user (S2.5-S2.7)."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Response

from recollect.domain.note import NoteHistoryQuery
from recollect.domain.note_tool import ToolProtocol, tool_schema
from recollect.errors import InvalidInputError
from recollect.http.access import AgentName, Service, Whose, acting
from recollect.http.cursors import Cursor, Limit, from_cursor, to_cursor
from recollect.http.errors import PROBLEMS
from recollect.http.headers import ExpectedVersion, tagged
from recollect.http.route import api_router
from recollect.http.schemas.note import NoteHistoryOut, NoteOperationIn, NoteOut, NoteVersionOut
from recollect.service.notes import NoteRequest

router = api_router("notes")


@router.get("/notes", summary="Read the notes of an agent")
async def get_notes(recollect: Service, scope: Whose, response: Response, agent: AgentName = None) -> NoteOut:
    """Return the note; version 0 if nobody wrote it yet."""
    note = await recollect.notes.read(acting(scope, agent))
    tagged(response, note.version)
    return NoteOut.of(note)


@router.post("/notes/operations", summary="Change the notes of an agent", responses={412: PROBLEMS[412]})
async def operate_on_notes(
    body: NoteOperationIn, recollect: Service, scope: Whose, version: ExpectedVersion, response: Response
) -> NoteOut:
    """Do one operation on the newest text and return the note; concurrent operations all take effect."""
    if None not in (version, body.expected_version) and version != body.expected_version:
        raise InvalidInputError("If-Match and expected_version name two versions; send one of them")
    request = NoteRequest(
        operation=body.operation,
        content=body.content,
        section_header=body.section_header,
        expected_version=version if body.expected_version is None else body.expected_version,
    )
    note = await recollect.notes.apply(acting(scope, body.agent), request)
    tagged(response, note.version)
    return NoteOut.of(note)


@router.get("/notes/history", summary="List the versions of the notes, newest first")
async def list_note_versions(
    recollect: Service, scope: Whose, agent: AgentName = None, limit: Limit = 50, cursor: Cursor = None
) -> NoteHistoryOut:
    """Return a page of what the note was after each change."""
    query = NoteHistoryQuery(limit=limit + 1, before_version=from_cursor(cursor, int))
    found = await recollect.notes.history(acting(scope, agent), query)
    last = found[limit - 1].version if len(found) > limit else None
    return NoteHistoryOut(items=[NoteVersionOut.of(one) for one in found[:limit]], next=to_cursor(last))


@router.post("/notes/undo", summary="Undo the last change of the notes", responses={412: PROBLEMS[412]})
async def undo_notes(recollect: Service, scope: Whose, response: Response, agent: AgentName = None) -> NoteOut:
    """Bring back the text before the last change, as a new version."""
    note = await recollect.notes.undo(acting(scope, agent))
    tagged(response, note.version)
    return NoteOut.of(note)


@router.get("/notes/tool", summary="Describe the tool by which a model keeps its notes")
async def describe_note_tool(
    protocol: Annotated[ToolProtocol, Query(description="Who is told of it.")] = "openai",
) -> dict[str, Any]:
    """Return the tool as this protocol lists it."""
    return dict(tool_schema(protocol))
