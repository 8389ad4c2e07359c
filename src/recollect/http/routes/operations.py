"""How the server fares: for those who run it, and for what restarts it."""

from __future__ import annotations

import ipaddress

from fastapi import APIRouter, Request, Response

from recollect.http.access import Service
from recollect.http.errors import PROBLEMS
from recollect.http.gate import Gate
from recollect.http.origin import OWN_NAMES, host_name
from recollect.http.schemas.operations import Health, Ready
from recollect.telemetry.prometheus import CONTENT_TYPE

router = APIRouter(tags=["operations"])

#: What a proxy adds; a request that has one comes from somewhere else.
_FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip")


@router.get("/healthz", summary="Tell whether the process runs", responses={400: PROBLEMS[400]})
async def healthz() -> Health:
    """Answer as long as the process runs."""
    return Health(status="ok")


@router.get(
    "/readyz",
    summary="Tell whether the server can do its work",
    responses={400: PROBLEMS[400], 503: {"model": Ready, "description": "The store is away."}},
)
async def readyz(recollect: Service, response: Response) -> Ready:
    """Look at each part; 503 while the store is away."""
    found = await recollect.readiness.look()
    if not found.is_ready:
        response.status_code = 503
        response.headers["Retry-After"] = "1"
    return Ready.of(found)


@router.get(
    "/metrics",
    summary="Tell all counts, as Prometheus reads them",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "The counts of this process."},
        **{status: PROBLEMS[status] for status in (400, 401, 403, 429)},
    },
)
async def metrics(request: Request, recollect: Service) -> Response:
    """Return the counts; where callers are asked who they are, to a key with the right `admin` or to this machine."""
    gate: Gate = request.app.state.gate
    if gate.mode == "token" and not _is_this_machine(request):
        await gate.admit(request, "admin")
    return Response(recollect.metrics(), headers={"Content-Type": CONTENT_TYPE})


def _is_this_machine(request: Request) -> bool:
    """Tell whether the request was made here, and not passed on by a proxy that is here."""
    if request.client is None or any(name in request.headers for name in _FORWARDED):
        return False
    if host_name(request.headers.get("host", "")) not in OWN_NAMES:
        return False
    try:
        return ipaddress.ip_address(request.client.host).is_loopback
    except ValueError:
        return False
