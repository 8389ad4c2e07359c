"""What `UserPreferences` looks like to blocking callers; written by `python -m tests.support.blocking_signatures`."""

from __future__ import annotations

from typing import Protocol

from recollect.domain.preferences import Preferences
from recollect.domain.scope import Scope
from recollect.service.preferences import PreferenceRequest


class BlockingUserPreferences(Protocol):
    """Keep what users set; whoever tells a model something, learns or notes obeys it."""

    def get(self, scope: Scope) -> Preferences:
        """Return what the user set; version 0 and the defaults if nothing was."""

    def change(self, scope: Scope, request: PreferenceRequest) -> Preferences:
        """Change what the request sets and return the preferences; secrets in the instructions are redacted."""
