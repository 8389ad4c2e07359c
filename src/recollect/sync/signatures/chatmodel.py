"""What `ChatModel` looks like to blocking callers; written by `python -m tests.support.blocking_signatures`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from recollect.ports.chat_model import ModelEvent, ModelReply, ModelRequest, ModelState


class BlockingChatModel(Protocol):
    """Answer a request with a stream of events."""

    @property
    def name(self) -> str:
        """Tell the name under which replies are recorded."""

    @property
    def state(self) -> ModelState:
        """Tell how the model fares; never waits."""

    def is_available(self) -> bool:
        """Tell whether a call would be tried now; never waits and calls nobody."""

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[Iterator[ModelEvent]]:
        """Give the events of the reply inside an `async with`."""

    def complete(self, request: ModelRequest) -> ModelReply:
        """Return the whole reply; what came before an error is lost."""

    def close(self) -> None:
        """Release the connections; a closed model raises `ProviderUnavailableError`."""
