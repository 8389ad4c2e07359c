"""The conformance suite of a window cache, over a database that stops wherever a test wants it to.

The suite asks for one fixture, a rig whose caches are empty:

    class TestMyCache(WindowCacheConformance):
        @pytest.fixture
        async def rig(self) -> AsyncIterator[WindowRig]:
            caches = []

            async def open_cache(connection: Connection) -> WindowCache:
                caches.append(MyCache(...))
                return caches[-1]

            yield WindowRig(open_cache=open_cache)
            for cache in caches:
                await cache.close()
"""

from recollect.testing.windows.conformance import WindowCacheConformance
from recollect.testing.windows.orders import interleave
from recollect.testing.windows.rig import CacheServer, Connection, Database, Stepped, WindowRig, turns, until, window_at

__all__ = [
    "CacheServer",
    "Connection",
    "Database",
    "Stepped",
    "WindowCacheConformance",
    "WindowRig",
    "interleave",
    "turns",
    "until",
    "window_at",
]
