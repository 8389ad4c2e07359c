"""Look through memories for words, for a person who types them; recall answers questions instead.

Parts of words are found too, in any script, and the order stays that of the list: the last added first.
"""

from __future__ import annotations

import msgspec

from recollect.domain.memory import Memory, MemoryPage, MemoryQuery, normalised
from recollect.domain.scope import Scope
from recollect.ports.memories import MemoryStore

#: Memories that are read at once.
READ = 200


async def memories_with(store: MemoryStore, scope: Scope, query: MemoryQuery, text: str) -> MemoryPage:
    """List the memories of a query whose content and category together hold every word of the text.

    Memories are read until the page is full, so rare words take as long as the user has memories.
    """
    words = normalised(text).split()
    if not words:
        return await store.list_memories(scope, query)
    found: list[Memory] = []
    corrupt: list[str] = []
    rest = msgspec.structs.replace(query, limit=READ)
    while True:
        page = await store.list_memories(scope, rest)
        found += [memory for memory in page.items if _holds(memory, words)]
        corrupt += page.corrupt
        if page.next is None or len(found) > query.limit:
            break
        rest = msgspec.structs.replace(rest, before_id=page.next)
    items = tuple(found[: query.limit])
    more = items[-1].id if len(found) > query.limit else None
    return MemoryPage(items=items, next=more, corrupt=tuple(corrupt))


def _holds(memory: Memory, words: list[str]) -> bool:
    text = f"{normalised(memory.content)} {normalised(memory.category or '')}"
    return all(word in text for word in words)
