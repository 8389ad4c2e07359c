"""`recollect db`: look after the database that holds everything."""

from __future__ import annotations

import typer

db = typer.Typer(help="Look after the database.", no_args_is_help=True)


@db.callback()
def _db() -> None:
    """Look after the database."""
