"""The package of the `redis` extra, imported in one place, so that its absence says what to install."""

from __future__ import annotations

from recollect.errors import MissingExtraError

try:
    import redis.asyncio as redis
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff
    from redis.exceptions import NoScriptError, RedisError
except ModuleNotFoundError as exc:
    raise MissingExtraError(
        "Redis needs a package that is not installed; install recollect[redis], "
        "for example with: pip install 'recollect[redis]'"
    ) from exc

__all__ = ["NoBackoff", "NoScriptError", "RedisError", "Retry", "redis"]
