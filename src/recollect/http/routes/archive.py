"""Archiving what a client kept until now, also at the last moment by a beacon (S2.2, S2.3)."""

from __future__ import annotations

import hashlib
from typing import Annotated

from fastapi import Query, Request

from recollect.bootstrap import system_clock
from recollect.domain.idempotency import RequestKey, id_from
from recollect.domain.identity import Caller, Right
from recollect.errors import PermissionDeniedError, UnauthenticatedError
from recollect.http.access import Service, Whose
from recollect.http.idempotency import request_key
from recollect.http.route import ADMITTED_BY, api_router
from recollect.http.schemas.archive import ArchivedOut, ArchiveIn, ArchiveTokenIn, ArchiveTokenOut
from recollect.service.archive_tokens import ArchiveTokens

router = api_router("chat")

TOKEN = "archive_token"  # noqa: S105  # the name of a parameter
_TEXT = {
    "schema": {
        "type": "string",
        "contentMediaType": "application/json",
        "description": "The same JSON, as a beacon sends it; it needs an `archive_token`.",
    }
}
_HEADER = b"content-type"


async def admit_beacon(request: Request, right: Right) -> Caller:
    """Return the caller: the holder of an archive token in the address, or whoever says so in the usual way.

    A beacon cannot say that it sends JSON. Any page can send plain text to any server, so that needs a token.
    """
    headers = request.scope["headers"]
    is_text = request.headers.get("content-type", "").partition(";")[0].strip().lower() == "text/plain"
    token = request.query_params.get(TOKEN)
    if token is None:
        if is_text:
            raise UnauthenticatedError("a text/plain body needs an archive_token in the address; ask for one first")
        known: Caller = await request.app.state.gate.admit(request, right)
        return known
    given = await _tokens(request).proven(token)
    request.app.state.rates.take(given.scope)
    request.state.archive_session = given.session_id
    if is_text:
        kept = [(name, value) for name, value in headers if name != _HEADER]
        request.scope["headers"] = [*kept, (_HEADER, b"application/json")]
    return Caller(given.scope, frozenset(("write",)))


def _tokens(request: Request) -> ArchiveTokens:
    return ArchiveTokens(request.app.state.recollect.store, clock=system_clock)


@router.post(
    "/chat/session/archive_messages",
    summary="Store messages that the client kept until now",
    openapi_extra={ADMITTED_BY: admit_beacon, "requestBody": {"content": {"text/plain": _TEXT}}},
)
async def archive_messages(
    request: Request,
    body: ArchiveIn,
    recollect: Service,
    scope: Whose,
    archive_token: Annotated[
        str | None, Query(max_length=4_000, description="Takes the place of the header `Authorization`.")
    ] = None,
) -> ArchivedOut:
    """Store a batch in one transaction; overlap and repetition store nothing twice."""
    if archive_token is not None and request.state.archive_session != body.session_id:
        raise PermissionDeniedError("this archive token is for another session; ask for one for this session")
    asked = request_key(request) or RequestKey(key="archive", digest=_digest(await request.body()))
    now, made = system_clock(), iter(range(len(body.messages_batch)))
    new = [message.new(lambda: id_from(asked, f"message {next(made)}"), now) for message in body.messages_batch]
    batch = await recollect.conversations.archive(scope, body.session_id, new, batch_id=id_from(asked, "batch"))
    return ArchivedOut.of(batch)


def _digest(body: bytes) -> str:
    """Return what the same request has again, so that one which is repeated makes the same ids."""
    return hashlib.blake2b(body, digest_size=16).hexdigest()


@router.post("/chat/session/archive_token", summary="Get a token for a beacon")
async def create_archive_token(request: Request, body: ArchiveTokenIn, scope: Whose) -> ArchiveTokenOut:
    """Return a token that archives messages of one session for five minutes, and does nothing else."""
    token, given = await _tokens(request).issue(scope, body.session_id)
    return ArchiveTokenOut(session_id=given.session_id, archive_token=token, expires_at=given.expires_at)
