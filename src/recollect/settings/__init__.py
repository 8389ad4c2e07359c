"""Every setting, in one frozen value; the only reader of the environment.

It opens no database and must not know what the settings are used for.
"""

from recollect.settings.addresses import is_loopback, masked
from recollect.settings.groups import (
    ArchiveSettings,
    AuthSettings,
    ContextSettings,
    EmbeddingSettings,
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
from recollect.settings.load import Settings
from recollect.settings.secrets import Secret

__all__ = [
    "ArchiveSettings",
    "AuthSettings",
    "ContextSettings",
    "EmbeddingSettings",
    "HistorySettings",
    "JobSettings",
    "LoggingSettings",
    "MemorySettings",
    "ModelSettings",
    "Secret",
    "ServerSettings",
    "SessionSettings",
    "Settings",
    "StorageSettings",
    "TelemetrySettings",
    "WindowSettings",
    "is_loopback",
    "masked",
]
