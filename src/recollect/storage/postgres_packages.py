"""The packages of the `postgres` extra, imported in one place, so that a missing one says what to install."""

from __future__ import annotations

from recollect.errors import MissingExtraError

try:
    import psycopg
    import psycopg_pool
    from psycopg.types.numeric import Int8Dumper
except ModuleNotFoundError as exc:
    raise MissingExtraError(
        "Postgres needs packages that are not installed; install recollect[postgres], "
        "for example with: pip install 'recollect[postgres]'"
    ) from exc

__all__ = ["Int8Dumper", "psycopg", "psycopg_pool"]
