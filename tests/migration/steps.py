"""Schema steps beyond the real ones, so that a migration has a middle to be killed in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from recollect.storage import migrations
from recollect.storage.migrations import Migration, load_migrations

MORE = 4


def extended(dialect: str) -> tuple[Migration, ...]:
    """Return the real steps of a dialect and a few more."""
    real = load_migrations(dialect)
    last = real[-1].version
    return (*real, *(_step(last + number) for number in range(1, MORE + 1)))


def _step(version: int) -> Migration:
    rows = ", ".join(f"({number}, 'text {number}')" for number in range(200))
    up = f"CREATE TABLE more_{version} (number INTEGER, text TEXT); INSERT INTO more_{version} VALUES {rows};"
    return Migration(version, f"more_{version}", up, f"DROP TABLE more_{version};")


@contextmanager
def more_steps() -> Iterator[None]:
    """Let this process know of more steps than there are."""
    migrations.load_migrations = extended  # type: ignore[assignment]  # the same function, of more files
    try:
        yield
    finally:
        migrations.load_migrations = load_migrations
