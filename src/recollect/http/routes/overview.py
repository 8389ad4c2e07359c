"""Everything of a user at a glance."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from recollect.domain.holdings import MAX_DAYS
from recollect.http.access import Service, Whose
from recollect.http.route import api_router
from recollect.http.schemas.overview import OverviewOut

router = api_router("overview")


@router.get("/overview", summary="See everything at a glance")
async def get_overview(
    recollect: Service,
    scope: Whose,
    days: Annotated[
        int, Query(ge=1, le=MAX_DAYS, description="How many days of memories to tell apart; today is the last.")
    ] = 90,
) -> OverviewOut:
    """Return how much is kept of the user, what became of memories day by day, and how jobs and models fare."""
    return OverviewOut.of(await recollect.overview.look(scope, days=days))
