"""Usage: what models cost the user."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from recollect.domain.usage import UsageQuery
from recollect.http.access import Service, Whose
from recollect.http.route import api_router
from recollect.http.schemas.message import Moment
from recollect.http.schemas.usage import UsageTotalsOut

router = api_router("usage")


@router.get("/usage", summary="Add up what models cost")
async def get_usage(
    recollect: Service,
    scope: Whose,
    since: Annotated[Moment | None, Query(description="From this time on, it included.")] = None,
    until: Annotated[Moment | None, Query(description="Before this time.")] = None,
    conversation_id: Annotated[str | None, Query(min_length=1, max_length=128)] = None,
) -> UsageTotalsOut:
    """Return tokens and calls in all, and by kind of work, model, conversation and job."""
    query = UsageQuery(since=since, until=until, conversation_id=conversation_id)
    return UsageTotalsOut.of(await recollect.ledger.totals(scope, query))
