"""Read messages as people and programs want them: tool calls with their results, summaries with what they cover."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import msgspec

from recollect.domain.message import Message
from recollect.domain.page import MessagePage, MessageQuery
from recollect.domain.scope import Scope
from recollect.domain.summary import covered_ids
from recollect.domain.tool_pairs import joined, unanswered
from recollect.errors import CorruptRecordError, MessageNotFoundError
from recollect.ports.conversations import ConversationStore

#: So many messages may stand between a tool call at the end of a page and its results on the next one.
BETWEEN = 10
#: More results are not looked for on the next page.
MOST_RESULTS = 100

_log = logging.getLogger(__name__)
_NOTHING = MessagePage(messages=(), summaries=(), more=False)


async def read_page(store: ConversationStore, scope: Scope, query: MessageQuery) -> MessagePage:
    """Return the page with the result of each tool call as its output, also if that stands on the next page."""
    page = await store.list_messages(scope, query)
    has_next = page.more if query.is_forwards else query.before is not None
    return await _answered(store, scope, query.conversation_id, page) if has_next else _joined(page)


async def read_summary(store: ConversationStore, scope: Scope, summary_id: str, query: MessageQuery) -> MessagePage:
    """Return the messages that a summary stands for, oldest first, with the summaries that it folds among them.

    Originals that were deleted when a summary was written are not there any more.
    """
    layers = await store.expand_summary(scope, query.conversation_id, summary_id)
    groups = covered_ids(layers)
    covered = [message_id for group in groups for message_id in group]
    if query.after is not None and query.after not in covered:
        raise MessageNotFoundError("after names no message that the summary covers")
    start = 0 if query.after is None else covered.index(query.after) + 1
    page, end = _NOTHING, start
    while end < len(covered) and not page.messages and not page.corrupt:
        page = await _chain(store, scope, query.conversation_id, covered[end : end + query.limit], groups)
        end += query.limit
    page = await _answered(store, scope, query.conversation_id, page)
    shown = set(covered[start:end])
    folded = sorted((one for one in layers[1:] if one.last_message_id in shown), key=lambda one: one.level)
    return msgspec.structs.replace(page, summaries=tuple(folded), more=end < len(covered))


async def _chain(
    store: ConversationStore, scope: Scope, conversation_id: str, wanted: list[str], groups: Sequence[Sequence[str]]
) -> MessagePage:
    """Return those of these messages that are stored; each answers the one before it.

    The messages of a group are all stored, or none of them is.
    """
    while wanted:
        last = wanted[-1]
        query = MessageQuery(conversation_id=conversation_id, before=last, limit=max(1, len(wanted) - 1))
        try:
            page = await store.list_messages(scope, query)
            newest, corrupt = await _one(store, scope, conversation_id, last)
        except MessageNotFoundError:
            gone = {message_id for group in groups if last in group for message_id in group}
            wanted = [message_id for message_id in wanted if message_id not in gone]
            continue
        known = set(wanted) - {last}
        return MessagePage(
            messages=(*(one for one in page.messages if one.id in known), *newest),
            summaries=(),
            more=False,
            corrupt=(*(one for one in page.corrupt if one in known), *corrupt),
        )
    return _NOTHING


async def _one(
    store: ConversationStore, scope: Scope, conversation_id: str, message_id: str
) -> tuple[tuple[Message, ...], tuple[str, ...]]:
    """Return the message, or its id if it is damaged."""
    try:
        return (await store.get_message(scope, conversation_id, message_id),), ()
    except CorruptRecordError:
        return (), (message_id,)


async def _answered(store: ConversationStore, scope: Scope, conversation_id: str, page: MessagePage) -> MessagePage:
    """Return the page with the results of its tool calls, those right after it included."""
    open_calls = unanswered(page.messages)
    if not open_calls:
        return _joined(page)
    limit = min(len(open_calls), MOST_RESULTS) + BETWEEN
    query = MessageQuery(conversation_id=conversation_id, after=page.messages[-1].id, limit=limit)
    try:
        return _joined(page, (await store.list_messages(scope, query)).messages)
    except MessageNotFoundError:
        _log.info("a message of %s was erased while it was read", conversation_id)
        return _joined(page)


def _joined(page: MessagePage, following: tuple[Message, ...] = ()) -> MessagePage:
    return msgspec.structs.replace(page, messages=joined(page.messages, following))
