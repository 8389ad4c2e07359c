"""Whose data it is: the first parameter of every store method."""

from __future__ import annotations

import msgspec

from recollect.domain.checks import check_id

DEFAULT_TENANT = "default"
DEFAULT_AGENT = "assistant"
LOCAL_USER = "local"


class Scope(msgspec.Struct, frozen=True):
    """The tenant and user whose data is touched, and the agent that acts for the user.

    Tenant and user bound every read and write.
    The agent is recorded on conversations and memories and selects the note; it hides nothing from its user.
    """

    tenant: str = DEFAULT_TENANT
    user: str = LOCAL_USER
    agent: str = DEFAULT_AGENT

    def __post_init__(self) -> None:
        check_id(self.tenant, "tenant")
        check_id(self.user, "user")
        check_id(self.agent, "agent")
