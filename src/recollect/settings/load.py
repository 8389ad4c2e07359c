"""Make one frozen Settings of all that was set.

Flags win over `RECOLLECT_*` variables, these over `recollect.toml`, and that over the defaults.
A value that cannot be used falls back to its default with one warning, because a memory must not stop a chat.
Settings that guard data are the exception: a wrong one refuses to start.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from recollect.errors import SettingsError
from recollect.settings.addresses import is_loopback
from recollect.settings.fields import FIELDS, RULES, UnusableError
from recollect.settings.groups import (
    GROUPS,
    ArchiveSettings,
    AuthSettings,
    ContextSettings,
    EmbeddingSettings,
    Group,
    HistorySettings,
    JobSettings,
    LoggingSettings,
    MemorySettings,
    ModelSettings,
    ServerSettings,
    SessionSettings,
    StorageSettings,
    TelemetrySettings,
    WindowSettings,
)
from recollect.settings.secrets import Secret, keys_in
from recollect.settings.sources import Given, from_environ, from_file, from_flags, shown

logger = logging.getLogger("recollect.settings")


class Settings(Group, frozen=True, kw_only=True):
    """All settings; building one from a value that cannot be used raises SettingsError."""

    #: The Redis that several servers share; unset keeps the cache in the process.
    redis_url: str | None = None
    storage: StorageSettings = msgspec.field(default_factory=StorageSettings)
    server: ServerSettings = msgspec.field(default_factory=ServerSettings)
    auth: AuthSettings = msgspec.field(default_factory=AuthSettings)
    history: HistorySettings = msgspec.field(default_factory=HistorySettings)
    sessions: SessionSettings = msgspec.field(default_factory=SessionSettings)
    memory: MemorySettings = msgspec.field(default_factory=MemorySettings)
    archive: ArchiveSettings = msgspec.field(default_factory=ArchiveSettings)
    window: WindowSettings = msgspec.field(default_factory=WindowSettings)
    context: ContextSettings = msgspec.field(default_factory=ContextSettings)
    model: ModelSettings = msgspec.field(default_factory=ModelSettings)
    embedding: EmbeddingSettings = msgspec.field(default_factory=EmbeddingSettings)
    jobs: JobSettings = msgspec.field(default_factory=JobSettings)
    logging: LoggingSettings = msgspec.field(default_factory=LoggingSettings)
    telemetry: TelemetrySettings = msgspec.field(default_factory=TelemetrySettings)
    #: The keys that the environment holds, by their variables.
    keys: Mapping[str, Secret] = {}
    #: What was wrong and fell back to a default, one sentence each.
    warnings: tuple[str, ...] = ()

    @classmethod
    def load(
        cls,
        flags: Mapping[str, object] = MappingProxyType({}),
        environ: Mapping[str, str] | None = None,
        config: Path | None = None,
    ) -> Settings:
        """Read all sources; flags are named as in the file, such as `history.threshold`.

        Warns once for each value that fell back and for each name that is unknown.
        Raises SettingsError for a wrong setting that guards data and for a configuration file that cannot be read.
        """
        environ = os.environ if environ is None else environ
        given: dict[str, Given] = {}
        warnings: list[str] = []
        for source in (from_file(config, environ), from_environ(environ), from_flags(flags)):
            given |= source.given
            warnings += source.warnings
        values, unusable = _usable(given)
        misfits = _fit(values, given)
        keys = keys_in(environ, values.get("model.key_variable"), values.get("embedding.key_variable"))
        settings = _built(values, keys, tuple(warnings + unusable + misfits))
        for warning in settings.warnings:
            logger.warning("%s", warning)
        return settings

    def __post_init__(self) -> None:
        values = {name: _value_of(self, name) for name in FIELDS}
        for name, value in values.items():
            try:
                FIELDS[name].convert(value, strict=True)
            except UnusableError as exc:
                raise SettingsError(f"{name} {exc}") from exc
        for rule in RULES:
            if not rule.holds(values[rule.name], values[rule.other]):
                raise SettingsError(f"{rule.name} {rule.problem} ({values[rule.other]})")
        _refuse_unsafe(self)


def _usable(given: Mapping[str, Given]) -> tuple[dict[str, Any], list[str]]:
    values: dict[str, Any] = {}
    warnings = []
    for name, (value, place) in given.items():
        field = FIELDS[name]
        try:
            values[name] = field.convert(value)
        except UnusableError as exc:
            if field.guards:
                raise SettingsError(f"{place} {exc}") from exc
            warnings.append(f"{place} = {shown(value)} {exc}; using the default {shown(field.default)}")
    return values, warnings


def _fit(values: dict[str, Any], given: Mapping[str, Given]) -> list[str]:
    """Make the values keep the rules; a default that a rule moves is no reason to warn."""
    warnings = []
    for rule in RULES:
        default = FIELDS[rule.name].default
        value, other = values.get(rule.name, default), values.get(rule.other, FIELDS[rule.other].default)
        if rule.holds(value, other):
            continue
        chosen = rule.name in values
        values[rule.name] = rule.fallback(default, other)
        if chosen:
            place = given[rule.name].place
            warnings.append(f"{place} = {value} {rule.problem} ({other}); using {values[rule.name]}")
    return warnings


def _built(values: Mapping[str, Any], keys: Mapping[str, Secret], warnings: tuple[str, ...]) -> Settings:
    groups: dict[str, Any] = {}
    for group, kind in GROUPS.items():
        prefix = f"{group}."
        inner = {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}
        groups[group] = kind(**inner)
    return Settings(redis_url=values.get("redis_url"), keys=keys, warnings=warnings, **groups)


def _value_of(settings: Settings, name: str) -> Any:
    value: Any = settings
    for part in name.split("."):
        value = getattr(value, part)
    return value


def _refuse_unsafe(settings: Settings) -> None:
    auth = settings.auth
    if auth.mode == "local" and not is_loopback(settings.server.host):
        raise SettingsError(
            f"server.host = {settings.server.host} lets other machines in, but nothing asks who calls; "
            'set auth.mode = "token" (RECOLLECT_AUTH_MODE=token) and create a key with '
            "`recollect keys create NAME --user USER`, or listen on 127.0.0.1"
        )
    _refuse_half_a_verifier(auth)


def _refuse_half_a_verifier(auth: AuthSettings) -> None:
    token = {name: getattr(auth, name) for name in auth.__struct_fields__ if name.startswith("jwt_")}
    if all(value is None for value in token.values()):
        return
    keys = [name for name in ("jwt_key_file", "jwt_jwks_url") if token.pop(name)]
    missing = [f"auth.{name}" for name, value in token.items() if not value]
    if not keys:
        missing.append("auth.jwt_key_file")
    if missing:
        raise SettingsError(f"a JWT can only be verified with all of its settings; set {', '.join(missing)} too")
    if len(keys) > 1:
        raise SettingsError("auth.jwt_key_file and auth.jwt_jwks_url exclude each other; set one of them")
    if auth.jwt_algorithm == "HS256" and auth.jwt_jwks_url:
        raise SettingsError("auth.jwt_jwks_url publishes keys, but HS256 needs a secret; set auth.jwt_key_file instead")
