"""Settings: what a client needs to know of the server, and what the user sets for themselves."""

from __future__ import annotations

from fastapi import Request, Response

from recollect.domain.preferences import Preferences
from recollect.http.access import Service, Whose
from recollect.http.errors import PROBLEMS
from recollect.http.headers import ExpectedVersion, tagged
from recollect.http.route import api_router
from recollect.http.schemas.settings import PreferencesIn, SettingsOut

router = api_router("settings")


@router.get("/settings", summary="Tell what a client needs to know of the server")
async def get_settings(request: Request, recollect: Service, scope: Whose, response: Response) -> SettingsOut:
    """Return when to archive, what is accepted, who answers and how that fares, and what the user set.

    The ETag is the version of what the user set; never is a key or an address told.
    """
    return _told(request, response, await recollect.preferences.get(scope))


@router.patch("/settings", summary="Change what the user set for themselves", responses={412: PROBLEMS[412]})
async def change_settings(
    body: PreferencesIn,
    request: Request,
    recollect: Service,
    scope: Whose,
    version: ExpectedVersion,
    response: Response,
) -> SettingsOut:
    """Change what is sent of `user` and leave the rest; the server's own settings cannot be changed here.

    While `memory_enabled` is false nothing is recalled, learned or noted for the user, what is said then is not
    learned later either, and memories and notes that are stored can still be read, changed and deleted.
    """
    return _told(request, response, await recollect.preferences.change(scope, body.request(version)))


def _told(request: Request, response: Response, preferences: Preferences) -> SettingsOut:
    tagged(response, preferences.version)
    app = request.app
    return SettingsOut.of(app.state.settings, app.state.recollect.model, app.version, preferences)
