"""The list of all settings by name, and the rules that a value must keep.

A rule between two settings names the one that yields, so that a fallback is never a matter of order.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_origin

import msgspec

from recollect.errors import SettingsError
from recollect.settings.addresses import (
    checked_database,
    checked_host,
    checked_hosts,
    checked_jwks,
    checked_model,
    checked_networks,
    checked_origins,
    checked_redis,
)
from recollect.settings.groups import GROUPS

PREFIX = "RECOLLECT_"
#: The messages of the shortest turn: the user's and the reply.
TURN_MESSAGES = 2
#: Settings that are asked for so often that their variable leaves out the group.
SHORT_VARIABLES = {"storage.database": "RECOLLECT_DATABASE", "redis_url": "RECOLLECT_REDIS"}

_ADDRESSES: dict[str, Callable[[str], str]] = {
    "storage.database": checked_database,
    "redis_url": checked_redis,
    "server.host": checked_host,
    "server.allowed_hosts": checked_hosts,
    "server.cors_origins": checked_origins,
    "server.trusted_proxies": checked_networks,
    "model.url": checked_model,
    "embedding.url": checked_model,
    "auth.jwt_jwks_url": checked_jwks,
}
#: A wrong one of these must not fall back to another provider: it would be told what was meant for the first.
_PRIVATE = {"model.kind", "model.key_variable", "embedding.key_variable"}
#: A wrong one of these must not fall back to another embedder: it would embed everything again.
_LASTING = {f"embedding.{name}" for name in ("kind", "path", "name", "dimensions", "query_prefix", "document_prefix")}


class UnusableError(Exception):
    """A value cannot be used; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One setting: its dotted name, its variable, and what it may be."""

    name: str
    variable: str
    type: Any
    default: Any

    @property
    def guards(self) -> bool:
        """Tell whether a wrong value refuses to start instead of falling back."""
        return self.name in {*_ADDRESSES, *_PRIVATE, *_LASTING} or self.name.startswith("auth.")

    def convert(self, value: object, *, strict: bool = False) -> Any:
        """Return the value in its own type; unless strict, text counts as what it spells."""
        if isinstance(value, os.PathLike):
            value = os.fspath(value)
        try:
            if isinstance(value, str) and get_origin(self.type) is dict:
                # Only a file can spell a table; a variable spells it in JSON.
                value = msgspec.json.decode(value)
            usable = msgspec.convert(value, self.type, strict=strict)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as exc:
            raise UnusableError(f"does not fit: {exc}") from exc
        if usable is None or self.name not in _ADDRESSES:
            return usable
        try:
            return _ADDRESSES[self.name](usable)
        except SettingsError as exc:
            raise UnusableError(str(exc)) from exc


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What one setting must keep to, given another; the first one yields."""

    name: str
    other: str
    holds: Callable[[int, int], bool]
    #: The nearest value to the default that keeps the rule.
    fallback: Callable[[int, int], int]
    problem: str


RULES = (
    Rule(
        name="history.keep_verbatim",
        other="history.threshold",
        holds=lambda kept, threshold: kept < threshold,
        fallback=lambda default, threshold: min(default, threshold - 1),
        problem="must be below history.threshold",
    ),
    Rule(
        name="window.size",
        other="history.threshold",
        holds=lambda size, threshold: size >= threshold + TURN_MESSAGES,
        fallback=lambda default, threshold: max(default, threshold + TURN_MESSAGES),
        problem=f"must leave a turn of {TURN_MESSAGES} messages above history.threshold",
    ),
    Rule(
        name="storage.pool_min",
        other="storage.pool_max",
        holds=lambda least, most: least <= most,
        fallback=min,
        problem="must be at most storage.pool_max",
    ),
)


def _all_fields() -> dict[str, Field]:
    fields = {
        "redis_url": Field(name="redis_url", variable=SHORT_VARIABLES["redis_url"], type=str | None, default=None)
    }
    for group, kind in GROUPS.items():
        defaults = kind()
        for inner in msgspec.structs.fields(kind):
            name = f"{group}.{inner.name}"
            variable = SHORT_VARIABLES.get(name, f"{PREFIX}{group}_{inner.name}".upper())
            default = getattr(defaults, inner.name)
            fields[name] = Field(name=name, variable=variable, type=inner.type, default=default)
    return fields


#: Every setting by its dotted name.
FIELDS = _all_fields()
