"""`recollect doctor`: look at everything that a server needs, and say what to do about what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from recollect.cli.diagnosis import Finding

_MARKS = {"ok": "ok", "warning": "warning", "problem": "PROBLEM"}
_STYLES = {"ok": "green", "warning": "yellow", "problem": "bold red"}


def doctor(
    database: Annotated[str | None, typer.Option(help="sqlite:///FILE or postgresql://…")] = None,
    redis: Annotated[str | None, typer.Option(help="redis://… that several servers share.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Check the machine, the settings and all that they name; the exit code is 1 if something is wrong."""
    from recollect.cli.diagnosis import findings
    from recollect.settings import Settings

    found = tuple(findings(Settings.load({"storage.database": database, "redis_url": redis})))
    is_sound = all(one.state != "problem" for one in found)
    if as_json:
        import msgspec

        print(msgspec.json.format(msgspec.json.encode({"sound": is_sound, "findings": found}), indent=2).decode())
    else:
        _show(found)
    if not is_sound:
        raise typer.Exit(1)


def _show(found: tuple[Finding, ...]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for heading in ("check", "", "what was found"):
        table.add_column(heading, overflow="fold")
    for one in found:
        told = Text(one.detail)
        if one.fix:
            told.append(f"\n→ {one.fix}", style=_STYLES[one.state])
        table.add_row(one.check, Text(_MARKS[one.state], style=_STYLES[one.state]), told)
    Console().print(table)
    problems = sum(one.state == "problem" for one in found)
    print("All is well." if not problems else f"{problems} problem{'s' if problems > 1 else ''} found.")
