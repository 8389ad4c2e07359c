"""Who calls, and what a route may use: the dependencies of every route.

They are coroutines although they wait for nothing: the framework would run plain functions in threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Query, Request

from recollect.bootstrap import new_id
from recollect.domain.idempotency import id_from
from recollect.domain.identity import Caller
from recollect.domain.scope import Scope
from recollect.http.idempotency import request_key
from recollect.service.recollect import Recollect

#: The agent that a request is about; unset is the caller's own.
AgentName = Annotated[str | None, Query(min_length=1, max_length=128, description="The agent; unset is the default.")]


async def service(request: Request) -> Recollect:
    """Return the service that the server was started with."""
    opened: Recollect = request.app.state.recollect
    return opened


async def caller(request: Request) -> Caller:
    """Return who calls; the route found it out before it read anything."""
    known: Caller = request.state.caller
    return known


async def scope(request: Request) -> Scope:
    """Return whose data is touched."""
    return (await caller(request)).scope


def acting(whose: Scope, agent: str | None) -> Scope:
    """Return the scope with this agent acting, if one is named."""
    return whose if agent is None else Scope(whose.tenant, whose.user, agent)


async def id_maker(request: Request) -> Callable[[], str]:
    """Return what makes ids: with an Idempotency-Key the same ones for a retry, so that it stores nothing twice."""
    asked = request_key(request)
    if asked is None:
        return new_id
    made = 0

    def next_id() -> str:
        nonlocal made
        made += 1
        return id_from(asked, str(made))

    return next_id


Service = Annotated[Recollect, Depends(service)]
Whose = Annotated[Scope, Depends(scope)]
Who = Annotated[Caller, Depends(caller)]
NewId = Annotated[Callable[[], str], Depends(id_maker)]
