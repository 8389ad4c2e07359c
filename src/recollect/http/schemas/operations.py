"""How the server fares and who one is, on the wire."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from recollect.domain.identity import RIGHTS, Caller, Right
from recollect.service.readiness import Readiness

#: A cookie holds about 4,000 characters; API keys have about 80, and a JWT is often shorter than this.
MAX_TOKEN = 3_500


class Health(BaseModel):
    """That the process runs."""

    status: Literal["ok"]


class Ready(BaseModel):
    """Whether the server can do its work, and how each part fares."""

    status: Literal["ok", "unavailable"]
    store: Literal["ok", "away"]
    cache: Literal["ok", "away"] = Field(description="Without it, everything still works.")
    model: Literal["ok", "away", "none"] = Field(description="`away` while calls of it failed lately.")
    jobs: Literal["ok", "behind", "elsewhere"] = Field(description="`elsewhere`: `recollect worker` does them.")

    @classmethod
    def of(cls, found: Readiness) -> Ready:
        """Return it for the wire."""
        return cls(
            status="ok" if found.is_ready else "unavailable",
            store=found.store,
            cache=found.cache,
            model=found.model,
            jobs=found.jobs,
        )


class SessionIn(BaseModel):
    """A credential that a browser is to keep."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"token": "rk_0198c1d2-7b6e-7c1a-9d53-2f6f0f7f3a51_" + "x" * 43}]},
    )

    token: str = Field(
        min_length=1, max_length=MAX_TOKEN, pattern=r"^[A-Za-z0-9._~+/=-]+$", description="An API key or a JWT."
    )


class SessionOut(BaseModel):
    """Who calls."""

    tenant: str
    user: str
    agent: str
    rights: list[Right]
    auth: Literal["local", "token"] = Field(description="Whether the server asks who calls.")

    @classmethod
    def of(cls, caller: Caller, auth: Literal["local", "token"]) -> SessionOut:
        """Return it for the wire."""
        scope = caller.scope
        rights = [right for right in RIGHTS if right in caller.rights]
        return cls(tenant=scope.tenant, user=scope.user, agent=scope.agent, rights=rights, auth=auth)
