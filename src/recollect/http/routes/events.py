"""Events: what tells a user's sessions that something changed (S2.11)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import ExitStack
from typing import Any

from fastapi import Request

from recollect.http.access import Service, Whose
from recollect.http.route import api_router
from recollect.http.schemas.event import EVENTS_EXAMPLE
from recollect.http.sse import EventStream, sse
from recollect.ports.events import Subscription

router = api_router("events")

_ANSWER: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A stream of server-sent events, with a comment every 15 seconds, until either side ends it.",
        "content": {"text/event-stream": {"example": EVENTS_EXAMPLE}},
    }
}


@router.get("/events", summary="Hear of changes", response_class=EventStream, responses=_ANSWER)
async def listen(request: Request, recollect: Service, scope: Whose) -> EventStream:
    """Send an event `{"id": …}` for whatever of the user changes from now on, on any server.

    The kinds are `notes.updated` (the id is the agent), `memory.created|updated|deleted`,
    `conversation.created|updated|deleted`, `job.updated` and `settings.updated` (the id is the user);
    an id of null stands for more than is worth naming.
    Events are hints: after `overflow`, and after each new connection, read again whatever you show.
    """
    held = ExitStack()
    held.enter_context(request.app.state.rates.streaming(scope))
    subscription = recollect.events.subscribe(scope)
    held.callback(subscription.close)
    return EventStream(_told(subscription), stopping=request.app.state.stopping, held=held)


async def _told(subscription: Subscription) -> AsyncGenerator[bytes, None]:
    async for event in subscription:
        yield sse(event.kind, {"id": event.entity_id})
