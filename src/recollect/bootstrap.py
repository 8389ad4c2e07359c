"""Put the parts together; the only file that names concrete backends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial

from recollect.ports.store import Store
from recollect.service.chat import Chat
from recollect.service.recollect import Recollect
from recollect.settings import Settings


async def open(settings: Settings | None = None) -> Recollect:  # noqa: A001  # reads as `recollect.open`
    """Open the store that the settings name and everything on top of it.

    A new database is created; one of another schema version raises `MigrationRequiredError`.
    """
    settings = settings or Settings.load()
    store = await open_store(settings)
    from recollect.providers.offline import OfflineResponder

    chat = Chat(
        store,
        OfflineResponder(),
        clock=partial(datetime.now, UTC),
        new_id=new_id,
        window=settings.window.size,
        recall=settings.memory.context_limit,
    )
    return Recollect(store, chat)


async def open_store(settings: Settings) -> Store:
    """Open the store alone."""
    from recollect.storage.store import SqlStore

    storage = settings.storage
    path = storage.sqlite_path
    if path is not None:
        from recollect.storage.sqlite import SqliteDriver, SqliteOptions

        options = SqliteOptions(busy_ms=round(storage.busy_timeout_seconds * 1000), readers=storage.readers)
        return SqlStore(await SqliteDriver.open(path, options))
    from recollect.storage.postgres import PostgresDriver, PostgresOptions

    return SqlStore(
        await PostgresDriver.open(
            storage.database,
            PostgresOptions(
                pool_min=storage.pool_min,
                pool_max=storage.pool_max,
                pool_timeout=timedelta(seconds=storage.pool_timeout_seconds),
                statement_timeout=timedelta(seconds=storage.statement_timeout_seconds),
            ),
        )
    )


def new_id() -> str:
    """Return a fresh UUIDv7."""
    import uuid_utils

    return str(uuid_utils.uuid7())
