"""The tree of commands."""

from __future__ import annotations

import typer

from recollect.cli.db import db
from recollect.cli.doctor import doctor
from recollect.cli.keys import keys
from recollect.cli.serve import serve
from recollect.cli.worker import worker

app = typer.Typer(
    help="The memory of chat applications and agents.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(serve)
app.command()(worker)
app.command()(doctor)
app.add_typer(db, name="db")
app.add_typer(keys, name="keys")
