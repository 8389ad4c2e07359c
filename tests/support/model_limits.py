"""The models that tests of the wire protocols talk with, and how patient they are."""

from __future__ import annotations

import msgspec

from recollect.providers.choose import Choice
from recollect.providers.transport import Limits
from recollect.settings import Secret
from recollect.testing.models import ScriptedModelServer, WireProtocol

KEY = "sk-never-to-be-seen"
USUAL = Limits(connect=20, first_token=20, idle=20, total=60, max_bytes=300_000, max_event_bytes=100_000, max_retries=0)
HURRIED = msgspec.structs.replace(USUAL, connect=0.25, first_token=0.25, idle=0.25, total=2)


def choice(kind: WireProtocol, server: ScriptedModelServer) -> Choice:
    """Choose the model that the server plays."""
    url = f"{server.url}/v1" if kind == "openai" else server.url
    return Choice(kind=kind, url=url, name="small", key=Secret(KEY))
