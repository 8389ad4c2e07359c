"""Settings: what a client needs to know of the server."""

from __future__ import annotations

from fastapi import Request

from recollect.http.access import Service
from recollect.http.route import api_router
from recollect.http.schemas.settings import SettingsOut

router = api_router("settings")


@router.get("/settings", summary="Tell what a client needs to know of the server")
async def get_settings(request: Request, recollect: Service) -> SettingsOut:
    """Return when to archive, what is accepted, who answers and how that fares; never a key or an address."""
    return SettingsOut.of(request.app.state.settings, recollect.model, request.app.version)
