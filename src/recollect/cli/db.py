"""`recollect db`: look after the database that holds everything.

Each command says in its exit code what it found: 0 all is well, 1 a problem, 2 a wrong command line or setting.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from recollect.storage.maintenance import DatabaseStatus, Maintenance
    from recollect.storage.verify import Damage, Progress

db = typer.Typer(help="Look after the database.", no_args_is_help=True)

Database = Annotated[str | None, typer.Option(help="sqlite:///FILE or postgresql://…; else what the settings name.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

#: What to do about each kind of damage.
FIXES = {
    "file": "The file is damaged: stop the server, then `recollect db restore` the newest backup.",
    "row": "Damaged records are left out of answers: restore a backup that has them whole, or erase them.",
    "counter": "A conversation and its messages disagree: restore a backup, and please report this.",
    "reference": "Records point to others that are gone: restore a backup, and please report this.",
    "index": "The search index is out of step: stop the server, then run `recollect db check --repair`.",
}


@db.command()
def status(database: Database = None, as_json: AsJson = False) -> None:
    """Show the schema version, pending steps, size and counts."""
    with _maintenance(database) as maintained:
        found = maintained.status()
    if as_json:
        _print_json(found)
    else:
        _print_status(found)
    if found.schema is None or not found.schema.is_ready:
        raise typer.Exit(1)


def _print_status(found: DatabaseStatus) -> None:
    print(f"database   {found.database}")
    for leftover in found.leftovers:
        print(f"left over  {leftover}")
    if found.schema is None:
        print("schema     there is no database yet; `recollect serve` or `recollect db migrate` creates it")
        return
    newer = found.schema.current > found.schema.latest
    note = f"newer than this program's {found.schema.latest}; install a newer recollect" if newer else "up to date"
    if found.schema.pending:
        note = f"pending: {', '.join(found.schema.pending)}; make a backup, then run `recollect db migrate`"
    print(f"schema     {found.schema.current} ({note})")
    print(f"size       {found.size / 2**20:,.1f} MiB")
    print(f"journal    {found.journal_mode}")
    for name, count in found.counts.items():
        print(f"{name:<14}{count:>12,}")


@db.command()
def migrate(
    database: Database = None,
    to: Annotated[int | None, typer.Option(min=0, help="Schema version to go to; the latest if not given.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before a step back, which can drop data.")] = False,
) -> None:
    """Change the schema, step by step; each step is done whole or not at all."""
    with _maintenance(database) as maintained:
        steps = maintained.plan(to)
        if not steps:
            print("The schema is up to date." if to is None else f"The schema is at version {to} already.")
            return
        back = [f"{step.version:04} {step.name}" for step, direction in steps if direction == "down"]
        if back and not yes:
            _confirm(f"Going back takes {', '.join(back)} away, with all data that these steps brought. Go on?")
        for (_, direction), step in zip(steps, maintained.migrate(to), strict=False):
            print(f"{direction:<5}{step.version:04} {step.name}")


def _confirm(question: str) -> None:
    import sys

    if not sys.stdin.isatty():
        _refuse("a step back can drop data; make a backup, then pass --yes")
    typer.confirm(question, abort=True)


@db.command()
def backup(
    file: Annotated[Path, typer.Argument(help="The file to write.")],
    database: Database = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a verified backup while the server goes on working."""
    with _maintenance(database) as maintained, _progress() as progress:
        report = maintained.back_up(file, force=force, progress=progress)
    if as_json:
        _print_json(report)
    else:
        rows = sum(table.rows for table in report.manifest.tables.values())
        print(
            f"{report.file}: {report.size / 2**20:,.1f} MiB, {rows:,} rows, schema {report.manifest.schema}, verified"
        )
    _conclude(report.damage, as_json=as_json)


@db.command()
def restore(
    file: Annotated[Path, typer.Argument(help="The backup to restore.")],
    database: Database = None,
    keep_old: Annotated[bool, typer.Option("--keep-old", help="Leave the old database beside the new one.")] = False,
    lose_erasures: Annotated[
        bool, typer.Option("--lose-erasures", help="Go on if erasures cannot be carried over.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Put a backup in the place of the database; what was erased since stays erased. Stop the server first."""
    from recollect.storage.maintenance import RestoreOptions

    options = RestoreOptions(keep_old=keep_old, lose_erasures=lose_erasures)
    with _maintenance(database) as maintained, _progress() as progress:
        report = maintained.restore(file, options, progress)
    if as_json:
        _print_json(report)
    else:
        print(f"restored {file}, made at {report.manifest.made_at:%Y-%m-%d %H:%M:%S} UTC")
        for step in report.migrated:
            print(f"up   {step}")
        gone = {name: count for name, count in _builtins(report.erased).items() if count}
        print(f"erased again: {', '.join(f'{count} {name}' for name, count in gone.items()) or 'nothing'}")
        if report.old is not None:
            print(f"the old database is {report.old}")
    _conclude(report.damage, as_json=as_json)


@db.command()
def check(
    database: Database = None,
    repair: Annotated[bool, typer.Option("--repair", help="Rebuild the search index first.")] = False,
    as_json: AsJson = False,
) -> None:
    """Read everything and tell what is damaged and what to do about it."""
    with _maintenance(database) as maintained, _progress() as progress:
        damage = tuple(maintained.check(repair=repair, progress=progress))
    if as_json:
        _print_json({"sound": not damage, "damage": damage})
    elif not damage:
        print("The database is sound.")
    _conclude(damage, as_json=as_json)


def _conclude(damage: tuple[Damage, ...], *, as_json: bool) -> None:
    """Print what is damaged and what to do, and end the command with a problem if there is any."""
    if not damage:
        return
    if not as_json:
        for one in damage:
            print(f"{one.kind:<11}{one.table} {one.record}: {one.problem}")
        print(f"{len(damage)} problems found.")
        for kind in dict.fromkeys(one.kind for one in damage):
            print(FIXES[kind])
    raise typer.Exit(1)


@contextmanager
def _maintenance(database: str | None) -> Iterator[Maintenance]:
    """Give what looks after the database that is named; an error of the system becomes one line."""
    from recollect.errors import StorageError
    from recollect.settings import Settings

    storage = Settings.load({"storage.database": database}).storage
    path = storage.sqlite_path
    try:
        if path is not None:
            from recollect.storage.sqlite_maintenance import SqliteMaintenance

            yield SqliteMaintenance(path)
        else:
            from recollect.storage.postgres_maintenance import PostgresMaintenance

            yield PostgresMaintenance(storage.database)
    except OSError as exc:
        raise StorageError(f"{exc.filename or 'the file system'}: {exc.strerror or exc}") from exc


@contextmanager
def _progress() -> Iterator[Progress]:
    """Show bars on a terminal, and a line for each finished part elsewhere; both on standard error."""
    import sys

    if not sys.stderr.isatty():
        told: set[str] = set()

        def tell(what: str, done: int, total: int) -> None:
            if done == total and what not in told:
                told.add(what)
                typer.echo(f"{what}: done", err=True)

        yield tell
        return
    from rich.console import Console
    from rich.progress import Progress as Bars

    with Bars(console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what)
            # Nothing to do is done.
            bars.update(tasks[what], completed=done if total else 1, total=total or 1)

        yield show


def _builtins(value: object) -> Any:
    import msgspec

    return msgspec.to_builtins(value)


def _print_json(value: object) -> None:
    import msgspec

    print(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def _refuse(message: str) -> None:
    typer.echo(f"recollect: {message}", err=True)
    raise typer.Exit(2)
