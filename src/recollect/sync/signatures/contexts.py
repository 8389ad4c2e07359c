"""What `Contexts` looks like to blocking callers; written by `python -m tests.support.blocking_signatures`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from recollect.domain.context import Context, Recalled
from recollect.domain.message import Message
from recollect.domain.scope import Scope
from recollect.domain.window import Window
from recollect.service.context import Telling, Told


class BlockingContexts(Protocol):
    """Make prompts; `recall` is None where memory is switched off."""

    def preview(self, scope: Scope, conversation_id: str, *, query: str = "", budget: int | None = None) -> Context:
        """Return what a model would be given for this question, or for none, in a conversation."""

    def told(self, scope: Scope, conversation_id: str, message_id: str) -> Context:
        """Return what the model was told for the turn of this message, each thing as it was then."""

    def memories_told(
        self, scope: Scope, conversation_id: str, messages: Sequence[Message]
    ) -> Mapping[str, tuple[Recalled, ...]]:
        """Return, by the ids of replies among these messages, the memories that the model was told for them."""

    def tell(self, scope: Scope, window: Window | None, shown: Sequence[Message], telling: Telling) -> Told:
        """Return the prompt for what the user says now, with what the user set obeyed."""
