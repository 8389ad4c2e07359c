"""Read a store in every way it can be read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from recollect.domain.audit import AuditQuery
from recollect.domain.conversation import ConversationCursor, ConversationQuery, ConversationSearch
from recollect.domain.holdings import HoldingsQuery
from recollect.domain.idempotency import RequestKey, RequestStart
from recollect.domain.job import JOB_STATES, JobQuery
from recollect.domain.memory import MEMORY_TYPES, ORIGINS, TRUSTS, MemoryQuery
from recollect.domain.memory_listing import MEMORY_SORTS
from recollect.domain.note import NoteHistoryQuery
from recollect.domain.page import MessageQuery, SearchQuery
from recollect.domain.passage import IndexedMemories, IndexedMemory, Passage, PassageMatch, PassageQuery, Reading
from recollect.domain.scope import Scope
from recollect.domain.terms import asked_terms
from recollect.domain.usage import UsageQuery
from recollect.testing.clock import START
from tests.properties import store_values as values

#: Calls a method of both stores and returns the result, or None if both raise.
Both = Callable[..., Any]

limits = st.integers(1, 4)


def some_read(now: datetime, message_ids: Sequence[str]) -> SearchStrategy[tuple[str, tuple[object, ...]]]:
    """Draw a method that reads, and its arguments without the scope."""
    return st.one_of(
        read("list_messages", message_queries(message_ids)),
        read("list_messages", message_queries(message_ids)),
        read("list_conversations", conversation_queries(now)),
        read("search_messages", search_queries),
        read("search_conversations", conversation_searches(now)),
        read("conversations_holding", st.sampled_from(message_ids), limits),
        read("list_idle", values.times(now), limits),
        read("list_memories", memory_queries(now)),
        read("list_jobs", job_queries),
        read("get_conversation", values.conversation_ids),
        read("get_message", values.conversation_ids, st.sampled_from(message_ids)),
        read("get_memory", values.memory_ids),
        read("memory_history", values.memory_ids),
        read("match_passages", passage_matches()),
        read("match_passages", passage_matches()),
        read("read_memories", values.models, st.none() | st.integers(0, 9)),
        read("list_unembedded", values.models, limits),
        read("get_job", values.job_ids),
        read("expand_summary", values.conversation_ids, values.summary_ids),
        read("get_window", values.conversation_ids),
        read("get_window", values.conversation_ids),
        read("get_backlog", values.conversation_ids, limits),
        read("list_turns", values.conversation_ids),
        read("find_turns", values.conversation_ids, st.just(("t3", "t1", "t9"))),
        read("find_memories", st.just((*values.MEMORIES[:2], "nothing"))),
        read("usage_totals", usage_queries(now)),
        read("count_holdings", holdings_queries(now)),
        read("get_preferences"),
        read("note_history", st.builds(NoteHistoryQuery, limit=limits, before_version=values.versions)),
    )


def read(method: str, *arguments: SearchStrategy[Any]) -> SearchStrategy[tuple[str, tuple[object, ...]]]:
    return st.tuples(st.just(method), st.tuples(*arguments))


@st.composite
def message_queries(draw: DrawFn, message_ids: Sequence[str]) -> MessageQuery:
    """Draw a page at an end, before a message or after one."""
    side = draw(st.sampled_from((None, "before", "after", "from_start")))
    place: dict[str, Any] = {}
    if side is not None:
        place[side] = True if side == "from_start" else draw(st.sampled_from(message_ids))
    conversation_id, limit = draw(values.conversation_ids), draw(limits)
    return MessageQuery(conversation_id=conversation_id, limit=limit, all_branches=draw(values.rarely), **place)


def conversation_queries(now: datetime) -> SearchStrategy[ConversationQuery]:
    cursors = st.builds(ConversationCursor, values.times(now), values.conversation_ids)
    return st.builds(
        ConversationQuery,
        limit=limits,
        after=st.none() | cursors,
        archived=values.maybe((True, False)),
        active=values.maybe((True, False)),
        pinned=values.maybe((True, False)),
        agent=values.maybe(values.AGENTS),
    )


def conversation_searches(now: datetime) -> SearchStrategy[ConversationSearch]:
    cursors = st.builds(ConversationCursor, values.times(now), values.conversation_ids)
    return st.builds(
        ConversationSearch,
        text=values.texts,
        limit=limits,
        after=st.none() | cursors,
        archived=values.maybe((True, False)),
        pinned=values.maybe((True, False)),
        agent=values.maybe(values.AGENTS),
    )


@st.composite
def passage_matches(draw: DrawFn) -> PassageMatch:
    """Draw a question: words that are indexed, now and then such as never are, and a vector."""
    words = [term for text in draw(st.lists(values.texts, max_size=3)) for term in asked_terms(text)]
    if draw(values.rarely):
        words.append(draw(st.sampled_from(('a"b', "two words", "", "Tea", "…"))))
    return PassageMatch(terms=tuple(words), vector=draw(st.none() | values.vectors), limit=draw(st.integers(1, 6)))


class Followed:
    """What a reader of passages holds who only ever asks for what is new."""

    def __init__(self) -> None:
        self._held: dict[tuple[Scope, str], dict[str, list[Passage]]] = {}
        self._known: dict[tuple[Scope, str], dict[str, Reading]] = {}
        self._memories: dict[tuple[Scope, str], IndexedMemories] = {}

    def follow(self, both: Both, scope: Scope, model: str) -> None:
        """Ask for what is new, and check that what is held then is everything."""
        held, known = self._held.setdefault((scope, model), {}), self._known.setdefault((scope, model), {})
        new = both("read_passages", scope, PassageQuery(model=model, known=dict(known)))
        for conversation_id in new.gone:
            del held[conversation_id], known[conversation_id]
        for one in new.changed:
            older = [passage for passage in held.get(one.conversation_id, []) if passage.message.seq < one.from_seq]
            held[one.conversation_id] = [*older, *one.passages]
            known[one.conversation_id] = one.reading
        whole = both("read_passages", scope, PassageQuery(model=model))
        assert held == {one.conversation_id: list(one.passages) for one in whole.changed}
        self._follow_memories(both, scope, model)

    def _follow_memories(self, both: Both, scope: Scope, model: str) -> None:
        before = self._memories.get((scope, model))
        new: Any = both("read_memories", scope, model, None if before is None else before.revision) or before
        whole = both("read_memories", scope, model, None)
        assert without_counts(new) == without_counts(whole)
        self._memories[scope, model] = new


def without_counts(indexed: IndexedMemories) -> list[IndexedMemory]:
    """Return the memories without how often they were shown, which makes nothing new of them."""
    return [
        IndexedMemory(msgspec.structs.replace(one.memory, access_count=0, last_accessed_at=START), one.vector)
        for one in indexed.items
    ]


search_queries = st.builds(
    SearchQuery, text=values.texts, limit=limits, conversation_id=values.maybe(values.CONVERSATIONS)
)
job_queries = st.builds(
    JobQuery,
    limit=limits,
    state=values.maybe(JOB_STATES),
    conversation_id=values.maybe(values.CONVERSATIONS),
    before_id=values.maybe(values.JOBS),
)


def memory_queries(now: datetime) -> SearchStrategy[MemoryQuery]:
    return st.builds(
        MemoryQuery,
        limit=limits,
        sort=st.sampled_from(MEMORY_SORTS),
        before_id=values.maybe(values.MEMORIES),
        since=st.none() | values.times(now).map(lambda at: min(at, now)),
        until=st.none() | values.times(now).map(lambda at: max(at, now)),
        memory_type=values.maybe(MEMORY_TYPES),
        category=values.maybe(values.WORDS),
        origin=values.maybe(ORIGINS),
        trust=st.sampled_from((None, "active", *TRUSTS)),
        pinned=values.maybe((True, False)),
        archived=st.sampled_from((None, False, True)),
        conversation_id=values.maybe(values.CONVERSATIONS),
        as_of=st.none() | values.times(now),
    )


def holdings_queries(now: datetime) -> SearchStrategy[HoldingsQuery]:
    return st.builds(
        HoldingsQuery, now=values.times(now), days=st.integers(1, 40), categories=limits, measured=st.integers(0, 20)
    )


def usage_queries(now: datetime) -> SearchStrategy[UsageQuery]:
    return st.builds(
        UsageQuery,
        conversation_id=values.maybe(values.CONVERSATIONS),
        job_id=values.maybe(values.JOBS),
        since=st.none() | values.times(now).map(lambda at: min(at, now)),
        until=st.none() | values.times(now).map(lambda at: max(at, now)),
        limit=limits,
    )


def everything(both: Both, scope: Scope) -> None:
    """Read all of a user's data, each list in pages, each single thing by its id."""
    for conversation in _conversations(both, scope):
        _conversation(both, scope, conversation.id)
    for word in values.WORDS:
        both("search_messages", scope, SearchQuery(text=word, limit=100))
        _found(both, scope, word)
    for trust in TRUSTS:
        _memories(both, scope, MemoryQuery(limit=2, trust=trust, archived=None))  # type: ignore[arg-type]
    for memory_id in values.MEMORIES:
        _memory(both, scope, memory_id)
    for model in ("a", "b"):
        both("read_passages", scope, PassageQuery(model=model))
        both("read_memories", scope, model)
        both("list_unembedded", scope, model, 100)
    both("read_passages", scope, PassageQuery(model="a", at_most=3))
    for agent in values.AGENTS:
        its_own = msgspec.structs.replace(scope, agent=agent)
        both("get_note", its_own)
        both("note_history", its_own, NoteHistoryQuery(limit=100))
    for job in both("list_jobs", scope, JobQuery(limit=100)):
        both("get_job", scope, job.id)
    for limit in (1, 100):
        both("list_idle", scope, START + timedelta(days=1), limit)
    both("list_audit", scope, AuditQuery(limit=1_000))
    both("usage_totals", scope, UsageQuery(limit=100))
    both("count_holdings", scope, HoldingsQuery(now=START))
    both("list_damaged", scope)


def _found(both: Both, scope: Scope, text: str) -> None:
    page = both("search_conversations", scope, ConversationSearch(text=text, limit=2))
    while page.next is not None:
        page = both("search_conversations", scope, ConversationSearch(text=text, limit=2, after=page.next))


def _conversations(both: Both, scope: Scope) -> list[Any]:
    found: list[Any] = []
    page = both("list_conversations", scope, ConversationQuery(limit=2))
    while page.next is not None:
        found += page.items
        page = both("list_conversations", scope, ConversationQuery(limit=2, after=page.next))
    found += page.items
    assert len({conversation.id for conversation in found}) == len(found)
    return found


def _conversation(both: Both, scope: Scope, conversation_id: str) -> None:
    conversation = both("get_conversation", scope, conversation_id)
    stored = both("list_messages", scope, MessageQuery(conversation_id=conversation_id, limit=100, all_branches=True))
    assert conversation.message_count == len(stored.messages)
    for all_branches in (False, True):
        query = MessageQuery(conversation_id=conversation_id, limit=100, all_branches=all_branches)
        whole = [message.id for message in both("list_messages", scope, query).messages]
        assert _backwards(both, scope, conversation_id, all_branches) == whole
        for message_id in whole:
            both("list_messages", scope, MessageQuery(conversation_id=conversation_id, limit=2, after=message_id))
            both("get_message", scope, conversation_id, message_id)
    both("list_turns", scope, conversation_id)
    both("get_window", scope, conversation_id)
    both("get_backlog", scope, conversation_id, 50)
    both("list_unextracted", scope, conversation_id, 3, 2)
    _covered_once(both, scope, conversation_id)
    for summary_id in values.SUMMARIES:
        both("expand_summary", scope, conversation_id, summary_id)


def _covered_once(both: Both, scope: Scope, conversation_id: str) -> None:
    """Check that on the head's branch no two active summaries cover one message."""
    page = both("list_messages", scope, MessageQuery(conversation_id=conversation_id, limit=100))
    path = [message.id for message in page.messages]
    covered: list[str] = []
    for summary in both("active_summaries", scope, conversation_id):
        if summary.last_message_id in path:
            layers = both("expand_summary", scope, conversation_id, summary.id)
            covered += [message_id for layer in layers for message_id in layer.message_ids if message_id in path]
    assert len(covered) == len(set(covered))


def _backwards(both: Both, scope: Scope, conversation_id: str, all_branches: bool) -> list[str]:
    """Read from the newest message to the oldest, and return the ids in order."""
    ids: list[str] = []
    before: str | None = None
    more = True
    while more:
        page = both(
            "list_messages",
            scope,
            MessageQuery(conversation_id=conversation_id, limit=2, before=before, all_branches=all_branches),
        )
        ids = [message.id for message in page.messages] + ids
        more, before = page.more, ids[0] if ids else None
    return ids


def _memory(both: Both, scope: Scope, memory_id: str) -> None:
    both("memory_history", scope, memory_id)
    memory = both("get_memory", scope, memory_id)
    if memory is not None:
        for time in {memory.created_at, memory.valid_from, memory.valid_to} - {None}:
            both("list_memories", scope, MemoryQuery(as_of=time))


def retry_requests(both: Both, scope: Scope) -> None:
    """Begin every request again, which tells what is kept of it."""
    for key in values.REQUESTS:
        for digest in ("d1", "d2"):
            both("begin_request", scope, RequestStart(request=RequestKey(key=key, digest=digest), at=START))


def _memories(both: Both, scope: Scope, query: MemoryQuery) -> None:
    page = both("list_memories", scope, query)
    while page.next is not None:
        following = MemoryQuery(limit=query.limit, trust=query.trust, archived=None, before_id=page.next)
        page = both("list_memories", scope, following)
