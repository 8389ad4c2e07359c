"""Windows and backlogs in memory."""

from __future__ import annotations

from itertools import pairwise

from msgspec import UNSET

from recollect.domain.conversation import Conversation
from recollect.domain.cover import Cover, cover_of, path_start, uncovered
from recollect.domain.message import Message
from recollect.domain.scope import Scope
from recollect.domain.window import MAX_WINDOW, Backlog, Unextracted, Window
from recollect.storage.inmemory import conversations, summaries
from recollect.storage.inmemory.reading import active_summaries, in_order, path_to
from recollect.storage.inmemory.shelves import Shelves, UserData

#: The newest messages of a window.
SIZE = 20


def _path(data: UserData, conversation: Conversation) -> list[Message]:
    if conversation.is_branched:
        return path_to(data, conversation.id, conversation.head_id)
    return in_order(data, conversation.id)


def _cover(data: UserData, conversation: Conversation, path: list[Message]) -> Cover:
    if not conversation.is_branched:
        return Cover(holding=tuple(active_summaries(data, conversation.id)))
    own = [summary for summary in data.summaries.values() if summary.conversation_id == conversation.id]
    seqs = {message.seq for message in path}
    oldest = (path[0].seq, path[0].parent_id) if path else None
    start = path_start(oldest, conversation.head_id, active_summaries(data, conversation.id))
    holding = {summary.id for summary in own if summary.last_seq in seqs or summary.last_seq < start}
    # What a summary that holds has folded says nothing of other branches.
    shown = [summary for summary in own if summary.folded_into not in holding]
    return cover_of(seqs, shown, start=start)


class Windows(Shelves):
    """Read what prompts need."""

    async def get_window(self, scope: Scope, conversation_id: str) -> Window:
        data = self._reading(scope)
        conversation = conversations.find(data, conversation_id)
        path = _path(data, conversation)
        cover = _cover(data, conversation, path)
        covered = cover.holding[-1].last_seq if cover.holding else 0
        behind = sum(message.seq > covered for message in path)
        wanted = min(max(SIZE, behind), MAX_WINDOW)
        return Window(conversation=conversation, summaries=cover.holding, messages=tuple(path[-wanted:]))

    async def list_unextracted(self, scope: Scope, conversation_id: str, limit: int, context: int) -> Unextracted:
        data = self._reading(scope)
        conversation = conversations.find(data, conversation_id)
        path = _path(data, conversation)
        start = conversation.extracted_seq
        unread = [message for message in path if message.seq > start]
        before = [message for message in path if message.seq <= start]
        more = len(unread) > limit
        return Unextracted(
            conversation_id=conversation_id,
            from_seq=start,
            to_seq=unread[limit - 1].seq if more else conversation.next_seq - 1,
            messages=tuple(unread[:limit]),
            context=tuple(before[-context:]),
            more=more,
        )

    async def get_backlog(self, scope: Scope, conversation_id: str, limit: int) -> Backlog:
        data = self._reading(scope)
        conversation = conversations.find(data, conversation_id)
        path = _path(data, conversation)
        cover = _cover(data, conversation, path)
        apart = (
            after.id
            for before, after in pairwise(cover.holding)
            if summaries.parent_of(data, after) not in (UNSET, before.last_message_id)
        )
        return Backlog(
            conversation=conversation,
            summaries=cover.holding,
            messages=tuple(uncovered(path, cover.holding)[:limit]),
            elsewhere=cover.elsewhere,
            apart=frozenset(apart),
        )
