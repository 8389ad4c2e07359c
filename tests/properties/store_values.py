"""Draw what store methods take: few ids, so that they meet again, and words of many scripts, so that search hits.

Everything drawn is valid by itself; whether it fits the store's state is left to the machine and to chance.
Most parts are drawn from short lists, which is quick and shrinks well.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DataObject, DrawFn, SearchStrategy
from msgspec import UNSET

from recollect.domain.conversation import ConversationChanges, NewConversation
from recollect.domain.idempotency import Answer, RequestKey
from recollect.domain.job import NewJob
from recollect.domain.memory import MEMORY_TYPES, ORIGINS, TRUSTS, MemoryChanges, NewMemory, Source
from recollect.domain.message import STATUSES, NewMessage, ToolCall, WrittenRole
from recollect.domain.note import OPERATIONS, NoteChange
from recollect.domain.passage import REPEATS
from recollect.domain.preferences import PreferenceChanges
from recollect.domain.repeating import Repeated, memory, repeating
from recollect.domain.turn import MODES, Append, TurnRecord, Usage
from recollect.domain.usage import UsageEntry
from recollect.domain.vector import MessageVector, Vector
from recollect.testing.samples import context_record

T = TypeVar("T")

WORDS = (
    *("tea", "Tea!", "coffee", "user_id", "C", "C++", "-5", "5.", "naïve", "naive", "Straße", "x" * 70),
    *("喝茶", "茶", "咖啡很好喝", "お茶", "שלום", "שָׁלוֹם", "مرحبا", "กินข้าว", "हिन्दी", "हिन्द", "한국어", "🍕", "…"),
)
TEXTS = (*WORDS, "tea or coffee", "no Tea.", "我喜欢喝茶 and C++", "user id -5", "naïve 🍕 هل", "お茶が好き", "  5 ")
STATEMENTS = ("Likes tea", "likes tea.", "Likes C", "Likes C++", "喜欢茶", "喜欢茶。", "हिन्दी", "हिन्द", "Likes 🍕")
REQUESTS = ("r1", "r2")
JSON: tuple[Any, ...] = (
    *(None, True, 0, -1, 2**63 - 1, -(2**63), 0.5, -0.0, 1e308, 5e-324, "", "茶", [], {}, [None, 1.0], (1, "a")),
    *({"k": {"": [1, {"x": None}]}}, {"b": 1, "a": 2.0}, [[], {}, ""], {"茶": "🍕"}),
)
OBJECTS: tuple[dict[str, Any], ...] = (
    *({}, {}, {}, {"k": 1}, {"b": [1, (2, 3)], "a": None}),
    *({"": {"x": -0.0}}, {"茶": "🍕", "n": 2**63 - 1}),
)
SHARES = (0, 0.0, 0.25, 1, 1.0)
VERSIONS = (None, None, None, None, 1, 2, 3)
KINDS = ("extract", "summarise")
#: Far enough from each other that no store mistakes which is nearer; some have another length.
VECTORS = tuple(
    Vector(model, struct.pack(f"<{len(numbers)}e", *numbers))
    for model in ("a", "b")
    for numbers in ((1.0, -0.0), (0.8, 0.6), (0.0, 1.0), (-0.6, 0.8), (0.0, 0.0), (1.0,), (6e-8, -1.0))
)
#: Two users of one tenant and one of the same name in another; most happens to the first.
USERS = (*[("acme", "alice")] * 8, ("acme", "bob"), ("other", "alice"))
AGENTS = ("assistant", "coach")
CONVERSATIONS = ("c1", "c2", "c3", "c4")
SUMMARIES = tuple(f"s{number}" for number in range(1, 9))
MEMORIES = tuple(f"k{number}" for number in range(1, 9))
JOBS = tuple(f"j{number}" for number in range(1, 9))
OFFSETS = (0, 0, 0, -1, 1, -90, 90, 7_200)
ZONES = (UTC, UTC, UTC, timezone(timedelta(hours=5, minutes=30)), timezone(timedelta(seconds=-3_661)))
PERIODS = (timedelta(0), timedelta(minutes=1), timedelta(minutes=1), timedelta.max)

agents = st.sampled_from(("assistant", "assistant", "coach"))
conversation_ids = st.sampled_from(("c1", "c1", *CONVERSATIONS))
summary_ids = st.sampled_from(SUMMARIES)
memory_ids = st.sampled_from(MEMORIES)
job_ids = st.sampled_from(JOBS)
words = st.sampled_from(WORDS)
texts = st.sampled_from(TEXTS)
flags = st.booleans()
rarely = st.sampled_from((False, False, False, False, True))
periods = st.sampled_from(PERIODS)
vectors = st.sampled_from(VECTORS)
models = st.sampled_from(("a", "b", "c"))
versions = st.sampled_from(VERSIONS)
json_objects = st.sampled_from(OBJECTS)
json_values = st.sampled_from(JSON)


def some(given: Sequence[str]) -> SearchStrategy[Any]:
    """Draw one of the words of a literal type."""
    return st.sampled_from(given)


def times(now: datetime) -> SearchStrategy[datetime]:
    """Draw a time around now, in some zone."""
    offsets = [timedelta(seconds=seconds) for seconds in OFFSETS]
    return st.sampled_from([(now + offset).astimezone(zone) for offset in offsets for zone in ZONES])


def maybe(given: Sequence[Any], missing: Any = None) -> SearchStrategy[Any]:
    """Draw nothing twice as often as one of the given."""
    return st.sampled_from([missing] * 2 * len(given) + list(given))


def new_conversations(now: datetime) -> SearchStrategy[NewConversation]:
    return st.builds(
        NewConversation,
        id=conversation_ids,
        at=times(now),
        agent=agents,
        title=maybe(WORDS),
        metadata=json_objects,
    )


def conversation_changes(now: datetime, ids: Sequence[str]) -> SearchStrategy[ConversationChanges]:
    return st.builds(
        ConversationChanges,
        at=times(now),
        title=maybe(WORDS, UNSET),
        title_source=st.sampled_from(("auto", "user")),
        is_archived=maybe((True, False), UNSET),
        is_pinned=maybe((True, False), UNSET),
        metadata=maybe(OBJECTS, UNSET),
        head_id=maybe((None, None, None, *ids), UNSET),
        expected_version=versions,
    )


@st.composite
def messages(draw: DrawFn, now: datetime, new: Sequence[str], old: Sequence[str]) -> NewMessage:
    """Draw a message: more often new than known, plain than rich, at the head than on a branch."""
    roles: Sequence[WrittenRole] = ("user", "user", "assistant", "assistant", "system", "tool")
    role = draw(st.sampled_from(roles))
    more: dict[str, Any] = {"content": draw(texts)}
    if role == "tool":
        more["tool_call_id"] = "call1"
    if draw(rarely):
        if role == "assistant":
            more |= {"tool_calls": draw(tool_calls), "content": ""}
        for name in ("suggested_values", "suggested_actions", "custom_payload"):
            more[name] = draw(json_values)
        more |= {"metadata": draw(json_objects), "name": draw(words), "status": draw(st.sampled_from(STATUSES))}
    if role == "assistant" and draw(flags):
        more["metadata"] = draw(repetitions(old))
    if draw(rarely):
        more["parent_id"] = draw(st.sampled_from((None, *old, new[0])))
    message_id = draw(st.sampled_from((*new, *new, *new, *old)))
    return NewMessage(id=message_id, role=role, created_at=draw(times(now)), **more)


def repetitions(ids: Sequence[str]) -> SearchStrategy[dict[str, Any]]:
    """Draw what a reply says that it repeats: messages, memories, or what names nothing."""
    said = st.builds(Repeated, st.sampled_from(CONVERSATIONS[:2]), st.sampled_from(ids))
    known = st.sampled_from(MEMORIES[:4]).map(memory)
    named = st.lists(said | known, max_size=3).map(repeating)
    return named | st.sampled_from([{REPEATS: value} for value in JSON])


tool_calls = st.lists(
    st.builds(ToolCall, id=st.just("call1"), tool_name=words, input=json_values, output=json_values),
    min_size=1,
    max_size=2,
).map(tuple)


def jobs(now: datetime) -> SearchStrategy[NewJob]:
    return st.builds(
        NewJob,
        id=job_ids,
        kind=st.sampled_from(KINDS),
        run_at=times(now),
        conversation_id=maybe(CONVERSATIONS),
        key=st.sampled_from((None, None, "key1", "key2")),
        payload=json_objects,
        max_attempts=st.integers(1, 3),
        max_delay=periods,
    )


@st.composite
def appends(draw: DrawFn, now: datetime, new: Sequence[str], old: Sequence[str]) -> Append:
    """Draw messages to add, some of them with a vector."""
    given = draw(st.lists(messages(now, new, old), min_size=1, max_size=4))
    embedded = [message.id for message in given if draw(flags)]
    return Append(
        conversation_id=draw(conversation_ids),
        messages=tuple(given),
        at=draw(times(now)),
        jobs=tuple(draw(st.lists(jobs(now), max_size=1))),
        create=draw(st.sampled_from((True, True, True, False))),
        vectors=tuple(MessageVector(message_id, draw(vectors)) for message_id in dict.fromkeys(embedded)),
    )


request_keys = st.builds(RequestKey, key=st.sampled_from(REQUESTS), digest=st.sampled_from(("d1", "d1", "d2")))
answers = st.builds(Answer, request=request_keys, status=st.integers(200, 299), body=st.sampled_from((b"", b"{}\xff")))


def turns(append: Append) -> SearchStrategy[TurnRecord]:
    return st.builds(
        TurnRecord,
        id=st.sampled_from(("t1", "t2", "t3")),
        append=st.just(append),
        status=st.sampled_from(STATUSES),
        mode=st.sampled_from(MODES),
        metadata=json_objects,
        usage=st.builds(Usage, input_tokens=st.sampled_from((0, 7, 2**62)), output_tokens=st.integers(0, 9)),
        model=maybe(("small", "茶")),
        memory_ids=st.sampled_from(((), MEMORIES[:3], ("k1", "k1"))),
        context=st.none() | st.just(context_record()),
        answer=st.none() | answers,
    )


def usage_entries(now: datetime) -> SearchStrategy[UsageEntry]:
    return st.builds(
        UsageEntry,
        id=st.sampled_from(("u1", "u2", "u3", "u4", "u5", "u6")),
        at=times(now),
        kind=st.sampled_from(KINDS),
        model=st.sampled_from(("small", "茶")),
        usage=st.builds(Usage, input_tokens=st.sampled_from((0, 7, 2**62)), output_tokens=st.integers(0, 9)),
        conversation_id=maybe(CONVERSATIONS),
        job_id=maybe(JOBS),
        calls=st.integers(1, 3),
        estimated=st.integers(0, 1),
    )


def sources(ids: Sequence[str]) -> SearchStrategy[tuple[Source, ...]]:
    """Draw up to two messages that a memory was drawn from."""
    one = st.builds(Source, conversation_ids, st.sampled_from(ids))
    return st.lists(one, max_size=2).map(tuple)


@st.composite
def memories(draw: DrawFn, now: datetime, ids: Sequence[str]) -> NewMemory:
    """Draw a memory; of two times of validity the earlier begins."""
    valid: list[datetime | None] = [None, None]
    if draw(rarely):
        valid = [None, *sorted((draw(times(now)), draw(times(now))))][draw(st.integers(0, 1)) :][:2]
    return NewMemory(
        id=draw(memory_ids),
        content=draw(st.sampled_from(STATEMENTS)),
        at=draw(times(now)),
        memory_type=draw(some(MEMORY_TYPES)),
        category=draw(maybe(WORDS)),
        agent=draw(agents),
        importance=draw(st.sampled_from(SHARES)),
        is_pinned=draw(rarely),
        origin=draw(some(ORIGINS)),
        trust=draw(some(("active", "active", *TRUSTS))),
        quote=draw(maybe(WORDS)),
        conversation_id=draw(maybe(CONVERSATIONS)),
        sources=draw(sources(ids)),
        valid_from=valid[0],
        valid_to=valid[1],
        vector=draw(st.none() | vectors),
    )


CHANGED: dict[str, Sequence[Any]] = {
    "content": STATEMENTS,
    "memory_type": MEMORY_TYPES,
    "category": (None, *WORDS),
    "importance": SHARES,
    "confidence": SHARES,
    "is_pinned": (True, False),
    "is_archived": (True, False),
    "trust": TRUSTS,
    "superseded_by": (None, *MEMORIES),
    "vector": (None, *VECTORS),
}


@st.composite
def memory_changes(draw: DrawFn, now: datetime, ids: Sequence[str]) -> MemoryChanges:
    """Draw a few changes of a memory."""
    given: dict[str, Any] = {"at": draw(times(now)), "expected_version": draw(versions)}
    for name in draw(st.lists(st.sampled_from((*CHANGED, "valid_to", "deleted_at", "more_sources")), max_size=3)):
        if name == "more_sources":
            given[name] = draw(sources(ids))
        elif name in CHANGED:
            given[name] = draw(st.sampled_from(CHANGED[name]))
        else:
            given[name] = draw(st.none() | times(now))
    return MemoryChanges(**given)


LINES = ("# Tea", "## Coffee", "### tea", "likes it", "```", "", "茶 🍵")
HEADERS = ("# Tea", "## tea", "Coffee", "### Tea ##", "茶")


def note_changes(now: datetime) -> SearchStrategy[NoteChange]:
    return st.builds(
        NoteChange,
        operation=st.sampled_from(OPERATIONS),
        at=times(now),
        content=st.lists(st.sampled_from(LINES), max_size=5).map("\n".join),
        section_header=st.sampled_from(HEADERS),
        expected_version=versions,
        conversation_id=maybe(CONVERSATIONS),
    )


def preference_changes(now: datetime) -> SearchStrategy[PreferenceChanges]:
    return st.builds(
        PreferenceChanges,
        at=times(now),
        memory_enabled=st.sampled_from((UNSET, True, False)),
        instructions=st.sampled_from((UNSET, "", *WORDS)),
        expected_version=versions,
    )


def draw_run(data: DataObject, ids: Sequence[str]) -> tuple[str, ...]:
    """Draw neighbours; now and then not all of them."""
    if not ids:
        return ()
    first = data.draw(st.integers(0, len(ids) - 1))
    run = tuple(ids[first : first + data.draw(st.integers(1, 4))])
    return run[::2] if data.draw(rarely) else run


def mostly(data: DataObject, known: Sequence[T], unsure: Sequence[T]) -> T:
    """Draw something that exists, or now and then something that may not."""
    return data.draw(st.sampled_from(known if known and not data.draw(rarely) else unsure))


def pick(items: Sequence[T]) -> SearchStrategy[T]:
    """Draw one of the items, the last more often than the others."""
    return st.sampled_from([*items, *[items[-1]] * 3])
