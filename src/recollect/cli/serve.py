"""`recollect serve`: one process with the pages, the API and the store."""

from __future__ import annotations

from typing import Annotated

import typer


def serve(
    database: Annotated[str | None, typer.Option(help="sqlite:///FILE or postgresql://…")] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0 takes a free one.")] = None,
) -> None:
    """Serve the pages and the API on this machine."""
    import uvicorn

    from recollect.errors import SettingsError
    from recollect.http.app import create_app
    from recollect.settings import Settings, is_loopback, masked

    given = {"storage.database": database, "server.host": host, "server.port": port}
    settings = Settings.load({name: value for name, value in given.items() if value is not None})
    if settings.auth.mode != "local" or not is_loopback(settings.server.host):
        raise SettingsError("this version serves one local user only; use --host 127.0.0.1 and auth.mode local")
    address = f"http://{settings.server.host}:{settings.server.port}"
    typer.echo(
        f"Recollect\n  chat     {address}\n  API      {address}/docs\n  storage  {masked(settings.storage.database)}"
    )
    uvicorn.run(
        create_app(settings),
        host=settings.server.host,
        port=settings.server.port,
        log_level="warning",
        timeout_graceful_shutdown=5,
    )
