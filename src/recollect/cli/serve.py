"""`recollect serve`: one process with the pages, the API and the store.

Several processes on one Postgres and one Redis behave as one server: each is started by itself.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from recollect.settings import Settings


def serve(
    database: Annotated[str | None, typer.Option(help="sqlite:///FILE or postgresql://…")] = None,
    redis: Annotated[str | None, typer.Option(help="redis://… that several servers share.")] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0 takes a free one.")] = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Serve the pages and the API."""
    from recollect.http.app import create_app
    from recollect.http.logs import write_logs
    from recollect.http.server import bound, ending_soon, run
    from recollect.settings import Settings

    given = {"storage.database": database, "redis_url": redis, "server.host": host, "server.port": port}
    settings = ending_soon(Settings.load(given))
    write_logs(settings.logging)
    listening = bound(settings.server.host, settings.server.port)
    address = address_of(settings.server.host, listening.getsockname()[1])

    def started() -> None:
        _show(banner(settings, address))
        if open_browser:
            import webbrowser

            webbrowser.open(address)

    run(create_app(settings), settings, listening, started)


def address_of(host: str, port: int) -> str:
    """Return what to type into a browser on this machine."""
    reachable = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  # compared with, not listened on
    return f"http://[{reachable}]:{port}" if ":" in reachable else f"http://{reachable}:{port}"


def banner(settings: Settings, address: str) -> dict[str, str]:
    """Return what a person wants to know of a server that has just started."""
    from recollect.settings import masked

    lines = {
        "UI": address,
        "API": f"{address}/api",
        "docs": f"{address}/docs",
        "storage": masked(settings.storage.database),
    }
    if settings.redis_url is not None:
        lines["cache"] = masked(settings.redis_url)
    lines["model"] = _model(settings)
    lines["embedder"] = _embedder(settings)
    lines["auth"] = _auth(settings)
    lines["jobs"] = "inside this process" if settings.jobs.inside else "elsewhere: run `recollect worker`"
    return lines


def _model(settings: Settings) -> str:
    from recollect.errors import SettingsError
    from recollect.providers.choose import choose, host_of

    try:
        chosen = choose(settings)
    except SettingsError as exc:
        return f"built-in responder, no model ({exc})"
    return "built-in responder, no model" if chosen is None else f"{chosen.name} at {host_of(chosen.url)}"


def _embedder(settings: Settings) -> str:
    chosen = settings.embedding
    match chosen.kind:
        case "static":
            return "built-in static vectors"
        case "onnx":
            return f"ONNX model in {chosen.path}"
        case "http":
            return f"{chosen.name or 'a model'} at {chosen.url or 'OpenAI'}"


def _auth(settings: Settings) -> str:
    if settings.auth.mode == "local":
        return "none: one local user, on this machine only"
    believed = "API keys" if settings.auth.jwt_algorithm is None else "API keys and JWTs"
    return f"{believed}; create a key with `recollect keys create NAME --user USER`"


def _show(lines: dict[str, str]) -> None:
    """Print the banner, plain where no person looks."""
    if not sys.stdout.isatty():
        text = "\n".join(f"  {name:<9}{value}" for name, value in lines.items())
        print(f"Recollect\n{text}", flush=True)
        return
    from rich.console import Console
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    for name, value in lines.items():
        is_link = value.startswith("http")
        table.add_row(Text(name, style="dim"), Text(value, style=f"bold link {value}" if is_link else ""))
    Console().print(Panel(table, title="Recollect", title_align="left", expand=False, subtitle="Ctrl+C ends it"))
