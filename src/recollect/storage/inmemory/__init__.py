"""The store in plain dicts: what every other store must do, written so that it can be read."""

from recollect.storage.inmemory.store import InMemoryStore

__all__ = ["InMemoryStore"]
