"""What is logged: one line for each thing that happened, as JSON for machines or as text for a person.

A line never holds what anybody said: of an exception it tells the class and the place, and not the words.
"""

from __future__ import annotations

import logging
import sys
import traceback
from datetime import UTC, datetime
from types import TracebackType
from typing import IO, Any

import msgspec

from recollect.http.request_id import request_id
from recollect.settings import LoggingSettings

ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
#: What a line may say beside its words, given by `extra`.
FIELDS = ("method", "route", "status", "duration_ms")
#: Loggers of others that say too much to be heard at every level.
_QUIET = ("uvicorn", "asyncio", "httpx2", "httpcore", "psycopg", "redis")


class _Lines(logging.Formatter):
    """What both forms share."""

    def formatException(self, ei: ExcInfo) -> str:  # noqa: N802  # the name of the method that it replaces
        """Tell the class and the place of an exception and of its causes, without their words."""
        found: list[str] = []
        error = ei[1]
        while error is not None and len(found) < 10:
            frames = traceback.extract_tb(error.__traceback__)[-12:]
            places = " < ".join(f"{frame.name} ({frame.filename}:{frame.lineno})" for frame in reversed(frames))
            found.append(f"{type(error).__module__}.{type(error).__qualname__} in {places or 'no frame'}")
            error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        return " because of ".join(found)


class JsonLines(_Lines):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC)
            .isoformat(timespec="milliseconds")
            .replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if known := request_id.get():
            line["request_id"] = known
        line |= {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line, enc_hook=str).decode()


class TextLines(_Lines):
    """Words for a person at a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; a message that holds a line break stays one line."""
        at = datetime.fromtimestamp(record.created).astimezone().strftime("%H:%M:%S")
        words = record.getMessage().replace("\n", " ")
        if hasattr(record, "duration_ms"):
            words += f" ({record.duration_ms} ms)"
        if record.exc_info:
            words += f" [{self.formatException(record.exc_info)}]"
        return f"{at} {record.levelname.lower():<8}{words}"


def write_logs(settings: LoggingSettings, stream: IO[str] | None = None) -> None:
    """Write all that is logged in this process to standard error, or to the given stream."""
    stream = stream or sys.stderr
    as_text = settings.format == "text" or (settings.format == "auto" and stream.isatty())
    handler = logging.StreamHandler(stream)
    handler.setFormatter(TextLines() if as_text else JsonLines())
    level = logging.getLevelNamesMapping()[settings.level.upper()]
    logging.basicConfig(handlers=[handler], level=level, force=True)
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))
