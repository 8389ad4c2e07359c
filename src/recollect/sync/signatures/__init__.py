"""The blocking signatures of the service; written by `python -m tests.support.blocking_signatures`."""

from recollect.sync.signatures.chat import BlockingChat
from recollect.sync.signatures.recollect import BlockingRecollect
from recollect.sync.signatures.store import BlockingStore

__all__ = ["BlockingChat", "BlockingRecollect", "BlockingStore"]
