"""`recollect worker`: a process that does the jobs which servers queue."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from recollect.service.worker import Worker
    from recollect.settings import Settings

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def worker(
    database: Annotated[str | None, typer.Option(help="sqlite:///FILE or postgresql://…")] = None,
    config: Annotated[Path | None, typer.Option(help="The configuration file; else recollect.toml.")] = None,
) -> None:
    """Do jobs in the background until it is told to end; a second signal ends it at once."""
    from recollect.settings import Settings

    flags = {} if database is None else {"storage.database": database}
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)
    logging.getLogger("recollect").setLevel(logging.INFO)
    asyncio.run(_work(Settings.load(flags, config=config)))


async def _work(settings: Settings) -> None:
    from recollect.bootstrap import open_worker
    from recollect.settings import masked

    async with open_worker(settings) as opened:
        kinds = ", ".join(opened.kinds)
        greeting = f"Recollect worker\n  jobs     {kinds}\n  storage  {masked(settings.storage.database)}"
        await work_until_signalled(opened, greeting, typer.echo)


async def work_until_signalled(opened: Worker, greeting: str, say: Callable[[str], None]) -> None:
    """Greet, then work until SIGTERM or SIGINT comes, and end what is under way; another signal ends the process."""
    signalled = asyncio.Event()
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in _SIGNALS}

    def end(*_: object) -> None:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        loop.call_soon_threadsafe(signalled.set)

    for number in _SIGNALS:
        signal.signal(number, end)
    say(greeting)
    opened.start()
    try:
        await signalled.wait()
        say("stopping: jobs under way are ended or given back")
        await opened.stop()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
