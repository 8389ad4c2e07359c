"""Preferences: what a user sets for themselves, whoever answers and whatever the server's settings are."""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import UNSET, UnsetType

from recollect.domain.checks import as_utc, check_count, check_flag, check_text, check_time
from recollect.errors import StaleVersionError

MAX_INSTRUCTIONS = 4_000


class Preferences(msgspec.Struct, frozen=True, kw_only=True):
    """What a user set; version 0 is what holds for one who never set anything."""

    #: Whether anything is recalled, learned or noted; what is stored already stays either way.
    memory_enabled: bool = True
    #: What the user wants every reply to follow.
    instructions: str = ""
    version: int = 0
    updated_at: datetime | None = None


class PreferenceChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What to change of a user's preferences; what is unset stays."""

    at: datetime
    memory_enabled: bool | UnsetType = UNSET
    instructions: str | UnsetType = UNSET
    expected_version: int | None = None

    def __post_init__(self) -> None:
        check_time(self.at, "at")
        if self.memory_enabled is not UNSET:
            check_flag(self.memory_enabled, "memory_enabled")
        if self.instructions is not UNSET:
            check_text(self.instructions, "instructions", at_most=MAX_INSTRUCTIONS)
        if self.expected_version is not None:
            check_count(self.expected_version, "expected_version")


def changed_preferences(before: Preferences, changes: PreferenceChanges) -> Preferences:
    """Return the preferences after the changes, or the same if nothing changes."""
    if changes.expected_version is not None and changes.expected_version != before.version:
        raise StaleVersionError(f"the preferences are at version {before.version}, not {changes.expected_version}")
    remembers = before.memory_enabled if changes.memory_enabled is UNSET else changes.memory_enabled
    told = before.instructions if changes.instructions is UNSET else changes.instructions
    if (remembers, told) == (before.memory_enabled, before.instructions):
        return before
    return Preferences(
        memory_enabled=remembers, instructions=told, version=before.version + 1, updated_at=as_utc(changes.at)
    )
