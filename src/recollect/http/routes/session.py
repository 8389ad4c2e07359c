"""A browser's session: a credential that it keeps in a cookie which no script can read.

The cookie is the credential itself, so that a key that is revoked ends its sessions at once, on every server.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from recollect.http.errors import PROBLEMS
from recollect.http.gate import SESSION_COOKIE, Gate
from recollect.http.schemas.operations import SessionIn, SessionOut

router = APIRouter(prefix="/api", tags=["session"])

#: How long a browser keeps it; a key or JWT may end sooner.
_SECONDS = 30 * 24 * 3600


async def _gate(request: Request) -> Gate:
    gate: Gate = request.app.state.gate
    return gate


TheGate = Annotated[Gate, Depends(_gate)]


def _problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: PROBLEMS[status] for status in statuses}


@router.get("/session", summary="Tell who calls", responses=_problems(400, 401, 403, 503))
async def get_session(request: Request, gate: TheGate) -> SessionOut:
    """Return whom the server takes the caller for."""
    return SessionOut.of(await gate.identify(request), gate.mode)


@router.post("/session", summary="Keep a credential in a cookie", responses=_problems(400, 401, 403, 413, 422, 503))
async def create_session(body: SessionIn, request: Request, response: Response, gate: TheGate) -> SessionOut:
    """Verify the credential and set the cookie; every later request of this browser is its holder's."""
    known = await gate.holder(body.token)
    response.set_cookie(
        SESSION_COOKIE,
        body.token,
        max_age=_SECONDS,
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return SessionOut.of(known, gate.mode)


@router.delete("/session", status_code=204, summary="Forget the credential", responses=_problems(400, 403))
async def delete_session(request: Request, response: Response) -> None:
    """Remove the cookie; the key itself stays valid."""
    response.delete_cookie(
        SESSION_COOKIE, path="/", secure=request.url.scheme == "https", httponly=True, samesite="strict"
    )
