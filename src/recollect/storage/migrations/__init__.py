"""Change the schema step by step, up and down; each step and its record are one transaction."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec

from recollect.errors import MigrationRequiredError

Direction = Literal["up", "down"]


class Migration(msgspec.Struct, frozen=True, order=True):
    """One step of the schema."""

    version: int
    name: str
    up: str
    down: str


class SchemaStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Where a database is and where this program wants it."""

    current: int
    latest: int
    pending: tuple[str, ...]

    @property
    def is_ready(self) -> bool:
        """Tell whether this program can use the database."""
        return self.current == self.latest


@cache
def load_migrations(dialect: str) -> tuple[Migration, ...]:
    """Return the steps of a dialect, first to last."""
    folder = files(__package__).joinpath(dialect)
    found: list[Migration] = []
    for file in folder.iterdir():
        if file.name.endswith(".up.sql"):
            stem = file.name.removesuffix(".up.sql")
            version, _, name = stem.partition("_")
            down = folder.joinpath(f"{stem}.down.sql").read_text("utf-8")
            found.append(Migration(int(version), name, file.read_text("utf-8"), down))
    return tuple(sorted(found))


def status_of(dialect: str, current: int) -> SchemaStatus:
    """Compare a database's version with what this program needs."""
    steps = load_migrations(dialect)
    pending = tuple(f"{step.version:04} {step.name}" for step in steps if step.version > current)
    return SchemaStatus(current=current, latest=steps[-1].version, pending=pending)


def require_ready(status: SchemaStatus) -> None:
    """Raise unless this program can use the database."""
    if status.current > status.latest:
        raise MigrationRequiredError(
            f"the database has schema {status.current}, newer than this program's {status.latest}; "
            "install a newer recollect"
        )
    if status.current < status.latest:
        raise MigrationRequiredError(
            f"the database has schema {status.current} and this program needs {status.latest}; "
            "make a backup, then run `recollect db migrate`"
        )


def plan(dialect: str, current: int, target: int | None) -> list[tuple[Migration, Direction]]:
    """Return the steps that lead from one version to another; None means the latest."""
    steps = load_migrations(dialect)
    goal = steps[-1].version if target is None else target
    if goal != 0 and goal not in {step.version for step in steps}:
        known = ", ".join(str(step.version) for step in steps)
        raise MigrationRequiredError(f"there is no schema version {goal}; known are 0, {known}")
    up: list[tuple[Migration, Direction]] = [(s, "up") for s in steps if current < s.version <= goal]
    down: list[tuple[Migration, Direction]] = [(s, "down") for s in reversed(steps) if goal < s.version <= current]
    return up + down
