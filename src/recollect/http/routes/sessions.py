"""Conversations as sessions: their short form, and emptying them (S3.3, S3.7, S0.8)."""

from __future__ import annotations

from recollect.http.access import Service, Whose
from recollect.http.route import api_router
from recollect.http.schemas.archive import ClearedOut, ClearIn
from recollect.http.schemas.context import SessionContextOut
from recollect.http.schemas.message import PathId

router = api_router("chat")


@router.get("/sessions/{session_id}/context", summary="Read a session as short as it is kept")
async def session_context(session_id: PathId, recollect: Service, scope: Whose) -> SessionContextOut:
    """Return the summaries and the newest messages that a prompt is made of."""
    return SessionContextOut.of(await recollect.conversations.get_context(scope, session_id))


@router.post("/chat/clear", summary="Empty a session")
async def clear_session(body: ClearIn, recollect: Service, scope: Whose) -> ClearedOut:
    """Erase the messages, summaries and jobs of a session, which then starts again; they cannot be archived again."""
    receipt = await recollect.conversations.clear_messages(scope, body.session_id, memories=body.memories == "erase")
    return ClearedOut.of(body.session_id, receipt.erased)
