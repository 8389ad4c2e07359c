"""`recollect keys`: make, list and revoke the API keys by which callers are known.

The text of a key goes to standard output alone, so that it can be piped to where it is kept; words about it go to
standard error.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, TypeVar, cast

import typer

from recollect.cli.options import taking

if TYPE_CHECKING:
    from recollect.domain.identity import ApiKey, Right
    from recollect.service.keys import Keys
    from recollect.settings import Settings

T = TypeVar("T")

keys = typer.Typer(help="Make, list and revoke API keys.", no_args_is_help=True)

Database = Annotated[str | None, typer.Option(help="sqlite:///FILE or postgresql://…; else what the settings name.")]
Tenant = Annotated[str, typer.Option(help="The tenant that the key belongs to.")]

_LIFETIME = re.compile(r"(\d{1,6})(m|h|d|w)")
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
#: As many keys as one page holds.
PAGE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is said of a key that is to be made."""

    name: Annotated[str, typer.Argument(help="What people call the key, such as the program that will use it.")]
    user: Annotated[str | None, typer.Option(help="The user whose key it is.")] = None
    service: Annotated[bool, typer.Option("--service", help="A key of no user: it acts for any of the tenant.")] = False
    tenant: Tenant = "default"
    agent: Annotated[str | None, typer.Option(help="The agent that acts; else the usual one.")] = None
    rights: Annotated[str, typer.Option(help="Some of read,write,admin.")] = "read,write"
    expires: Annotated[str | None, typer.Option(help="How long it is valid, such as 12h or 90d; else for ever.")] = None
    database: Database = None


@keys.command()
@taking(Wanted)
def create(wanted: Wanted) -> None:
    """Make a key and print it, this once."""
    from recollect.domain.identity import NewKey

    if wanted.service == (wanted.user is not None):
        raise typer.BadParameter("give --user USER for a key of one user, or --service for one that acts for any")
    new = NewKey(
        name=wanted.name,
        tenant=wanted.tenant,
        user=wanted.user,
        agent=wanted.agent,
        rights=_rights(wanted.rights),
        lifetime=_lifetime(wanted.expires),
    )
    issued = _on_keys(wanted.database, lambda opened: opened.create(new))
    typer.echo(f"API key {issued.key.id}: {_told(issued.key)}. It is shown this once; keep it safe.", err=True)
    typer.echo(issued.text)


@keys.command(name="list")
def list_keys(
    tenant: Tenant = "default",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list.")] = False,
    database: Database = None,
) -> None:
    """List the keys of a tenant, oldest first, those that are refused included."""

    async def everything(opened: Keys) -> list[ApiKey]:
        return [key async for key in _all(opened, tenant)]

    found = _on_keys(database, everything)
    if as_json:
        _print_json(found)
    elif found:
        _print_table(found)
    else:
        typer.echo(f"There are no API keys of tenant {tenant}; `recollect keys create` makes one.", err=True)


@keys.command()
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The id of the key, as `recollect keys list` shows it.")],
    database: Database = None,
) -> None:
    """Refuse a key from the next call on, for good."""
    key = _on_keys(database, lambda opened: opened.revoke(key_id))
    typer.echo(f"API key {key.id} ({_told(key)}) is refused since {_time(key.revoked_at)}.", err=True)


async def _all(opened: Keys, tenant: str) -> AsyncIterator[ApiKey]:
    from recollect.domain.identity import KeyQuery

    page = await opened.list(KeyQuery(tenant=tenant, limit=PAGE))
    while page:
        for key in page:
            yield key
        page = await opened.list(KeyQuery(tenant=tenant, after=page[-1].id, limit=PAGE))


def _on_keys(database: str | None, work: Callable[[Keys], Awaitable[T]]) -> T:
    """Do the work on the keys of the database that is named."""
    from recollect.settings import Settings

    settings = Settings.load({} if database is None else {"storage.database": database})

    async def run() -> T:
        async with open_keys(settings) as opened:
            return await work(opened)

    return asyncio.run(run())


@asynccontextmanager
async def open_keys(settings: Settings) -> AsyncIterator[Keys]:
    """Open the keys of the database that the settings name."""
    from recollect.bootstrap import new_id, open_store, system_clock
    from recollect.service.keys import Keys

    store = await open_store(settings)
    opened = Keys(store, clock=system_clock, new_id=new_id)
    try:
        yield opened
    finally:
        await opened.flush()
        await store.close()


def _rights(listed: str) -> frozenset[Right]:
    from recollect.domain.identity import RIGHTS

    found = frozenset(part.strip() for part in listed.split(",") if part.strip())
    if not found or not found <= set(RIGHTS):
        raise typer.BadParameter(f"rights are some of {','.join(RIGHTS)}, with commas between")
    return cast("frozenset[Right]", found)


def _lifetime(given: str | None) -> timedelta | None:
    if given is None:
        return None
    found = _LIFETIME.fullmatch(given)
    if found is None or int(found[1]) == 0:
        raise typer.BadParameter("a lifetime is a number with m, h, d or w, such as 12h or 90d")
    return int(found[1]) * _UNITS[found[2]]


def _told(key: ApiKey) -> str:
    whose = "for any user" if key.user is None else f"of user {key.user}"
    until = "for ever" if key.expires_at is None else f"until {_time(key.expires_at)}"
    return f"{key.name}, {whose}, tenant {key.tenant}, may {_listed(key)}, {until}"


def _listed(key: ApiKey) -> str:
    from recollect.domain.identity import RIGHTS

    return ", ".join(right for right in RIGHTS if right in key.rights)


def _state(key: ApiKey) -> str:
    from recollect.bootstrap import system_clock

    if key.revoked_at is not None:
        return "revoked"
    return "valid" if key.is_valid(system_clock()) else "expired"


def _state_since(key: ApiKey) -> str:
    at = key.revoked_at or key.expires_at
    if at is None:
        return "valid"
    return f"{_state(key)} {'until ' if _state(key) == 'valid' else ''}{at:%Y-%m-%d}"


def _time(at: datetime | None) -> str:
    return "" if at is None else f"{at:%Y-%m-%d %H:%M} UTC"


def _print_table(found: list[ApiKey]) -> None:
    import sys

    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("id", "name", "user", "rights", "state", "last used"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "id")
    for key in found:
        user = "any (service)" if key.user is None else escape(key.user)
        cells = (key.id, escape(key.name), user, _listed(key), _state_since(key), _time(key.last_used_at) or "never")
        table.add_row(*cells)
    # A file has no width to keep to.
    Console(width=None if sys.stdout.isatty() else 1_000, soft_wrap=False).print(table)


def _print_json(found: list[ApiKey]) -> None:
    import msgspec

    listed = [msgspec.to_builtins(key) | {"rights": sorted(key.rights), "state": _state(key)} for key in found]
    print(msgspec.json.format(msgspec.json.encode(listed), indent=2).decode())
