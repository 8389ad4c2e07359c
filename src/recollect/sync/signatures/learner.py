"""What `Learner` looks like to blocking callers; written by `python -m tests.support.blocking_signatures`."""

from __future__ import annotations

from typing import Protocol

from recollect.domain.job import Claim, Job
from recollect.domain.scope import Scope
from recollect.domain.turn import Mode
from recollect.service.learning import Learned


class BlockingLearner(Protocol):
    """Extract memories, each range of a conversation once."""

    def queue(self, scope: Scope, conversation_id: str, mode: Mode = "chat") -> Job:
        """Have a worker learn from what is new in a conversation, now; return the job."""

    def extract_job(self, scope: Scope, job: Job) -> None:
        """Learn from what is new in a conversation."""

    def learn(self, scope: Scope, conversation_id: str, *, mode: Mode = "chat", claim: Claim | None = None) -> Learned:
        """Extract what is new in a conversation and save it; return what was learned."""
