"""Give conversations away whole: every branch, a page at a time, so that no conversation is too long.

What is erased meanwhile is left out, and what is damaged is named.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import msgspec

from recollect.domain.exported import (
    DamagedRecord,
    Record,
    conversation_record,
    message_record,
    summary_record,
)
from recollect.domain.exported_markdown import MarkdownPage
from recollect.domain.page import MessagePage, MessageQuery
from recollect.domain.scope import Scope
from recollect.errors import ConversationNotFoundError, CorruptRecordError, MessageNotFoundError, NotFoundError
from recollect.ports.conversations import ConversationStore

#: Messages that are read at a time.
AT_ONCE = 100
#: Bytes that are sent at a time.
CHUNK = 65_536


async def export_conversation(store: ConversationStore, scope: Scope, conversation_id: str) -> AsyncIterator[Record]:
    """Give the conversation, then its messages in order of seq, then its summaries, folded ones before their fold.

    Raise `ConversationNotFoundError` before the first record if there is no such conversation.
    """
    yield conversation_record(await store.get_conversation(scope, conversation_id))
    damaged: set[str] = set()
    async for page in _pages(store, scope, conversation_id):
        for message in page.messages:
            yield message_record(message)
        for one in page.corrupt:
            # A damaged message at the end of a page is found again by the next one.
            if one not in damaged:
                yield DamagedRecord(conversation_id=conversation_id, what="message", id=one)
        damaged.update(page.corrupt)
    async for record in _summaries(store, scope, conversation_id):
        yield record


async def _pages(store: ConversationStore, scope: Scope, conversation_id: str) -> AsyncIterator[MessagePage]:
    """Give the messages of all branches, oldest first."""
    known: list[str] = []
    while True:
        page = await _page(store, scope, conversation_id, known)
        if page is None:
            return
        yield page
        known = _ids(page)
        if not page.more:
            return


async def _page(
    store: ConversationStore, scope: Scope, conversation_id: str, known: Sequence[str]
) -> MessagePage | None:
    """Return the page after the last of these messages that is still there, or None if all of them are gone."""
    places: list[str | None] = [None] if not known else list(reversed(known))
    for place in places:
        query = MessageQuery(
            conversation_id=conversation_id,
            limit=AT_ONCE,
            after=place,
            from_start=place is None,
            all_branches=True,
        )
        try:
            return await store.list_messages(scope, query)
        except MessageNotFoundError:
            continue
        except ConversationNotFoundError:
            return None
    return None


def _ids(page: MessagePage) -> list[str]:
    """Return the ids of a page in whose reading order the last sound one, if there is one, stands last."""
    return [*page.corrupt, *(message.id for message in page.messages)]


async def _summaries(store: ConversationStore, scope: Scope, conversation_id: str) -> AsyncIterator[Record]:
    try:
        active = await store.active_summaries(scope, conversation_id)
    except ConversationNotFoundError:
        return
    for summary in active:
        try:
            layers = await store.expand_summary(scope, conversation_id, summary.id)
        except NotFoundError:
            continue
        except CorruptRecordError as exc:
            yield DamagedRecord(conversation_id=conversation_id, what="summary", id=exc.record_id)
            continue
        for layer in reversed(layers):
            yield summary_record(layer)


async def begun(records: AsyncIterator[Record]) -> AsyncIterator[Record]:
    """Return the same records once the first is there, so that what is missing is known before anything is sent."""
    first = await anext(records)

    async def all_of_them() -> AsyncIterator[Record]:
        yield first
        async for record in records:
            yield record

    return all_of_them()


async def as_json_lines(records: AsyncIterator[Record]) -> AsyncIterator[bytes]:
    """Give each record as a line of JSON."""
    async for record in records:
        yield msgspec.json.encode(record) + b"\n"


async def as_json(records: AsyncIterator[Record]) -> AsyncIterator[bytes]:
    """Give the records as one JSON list."""
    before = b"[\n"
    async for record in records:
        yield before + msgspec.json.encode(record)
        before = b",\n"
    yield b"\n]\n"


async def as_markdown(records: AsyncIterator[Record]) -> AsyncIterator[bytes]:
    """Give the records as a page for people."""
    page = MarkdownPage()
    async for record in records:
        yield page.text(record).encode()


async def in_chunks(parts: AsyncIterator[bytes], size: int = CHUNK) -> AsyncIterator[bytes]:
    """Give the same bytes in pieces of about this size, so that not every line is sent alone."""
    held = bytearray()
    async for part in parts:
        held += part
        if len(held) >= size:
            yield bytes(held)
            held.clear()
    if held:
        yield bytes(held)
