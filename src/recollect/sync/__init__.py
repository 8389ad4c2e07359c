"""The whole service for code that does not await: the same methods, as blocking calls.

    import recollect.sync

    with recollect.sync.open() as memory:
        memory.chat.turn(scope, ChatRequest(text="Hello"))

The asynchronous objects run on one private loop in a daemon thread, so this works in a script, from many threads,
and in a notebook, whose own loop is left alone.
"""

from __future__ import annotations

from typing import cast

from recollect import bootstrap
from recollect.settings import Settings
from recollect.sync.blocking import Blocking, BlockingIterator, BlockingOwner
from recollect.sync.loop import LoopThread
from recollect.sync.signatures import BlockingRecollect, BlockingStore

__all__ = [
    "Blocking",
    "BlockingIterator",
    "BlockingOwner",
    "BlockingRecollect",
    "BlockingStore",
    "LoopThread",
    "open",
]


def open(settings: Settings | None = None) -> BlockingRecollect:  # noqa: A001  # reads as `recollect.sync.open`
    """Open what `recollect.open` opens; close it by `close` or a `with` block, or leave that to interpreter exit."""
    return cast("BlockingRecollect", BlockingOwner.open(bootstrap.open, settings))
