"""What a scripted model was asked, and waiting for it, in tests that talk to a server process."""

from __future__ import annotations

import time
from collections.abc import Callable

from recollect.ports.chat_model import ModelRequest
from recollect.testing.models import ScriptedModelServer

PATIENCE_SECONDS = 60


def asked(model: ScriptedModelServer) -> list[ModelRequest]:
    """Return all that was asked, in order."""
    return [one.request for one in model.seen if one.request is not None]


def prompt(model: ScriptedModelServer) -> str:
    """Return all that the model was told last."""
    last = asked(model)[-1]
    return "\n".join((last.system, *(message.text for message in last.messages)))


def wait_asked(model: ScriptedModelServer, times: int) -> None:
    """Wait until it was asked so often in all."""
    _wait(lambda: len(model.seen) >= times)


def wait_closed(model: ScriptedModelServer) -> None:
    """Wait until nobody is connected."""
    _wait(lambda: model.connections == 0)


def _wait(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, "the model waited in vain"
        time.sleep(0.01)
