"""Scopes: nothing of another user is read or changed, and what is another's looks like what is not there."""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.domain.audit import AuditQuery
from recollect.domain.conversation import ConversationQuery
from recollect.domain.erasure import Erased
from recollect.domain.holdings import Holdings, days_of, states
from recollect.domain.job import JOB_STATES, JobQuery
from recollect.domain.memory import MemoryQuery
from recollect.domain.note import Note
from recollect.domain.page import MessageQuery, SearchQuery
from recollect.domain.passage import Unembedded
from recollect.domain.preferences import Preferences
from recollect.domain.price import Cost
from recollect.domain.scope import Scope
from recollect.domain.usage import Spent, UsageTotals
from recollect.errors import InvalidCursorError, MessageNotFoundError, NotFoundError, RecollectError
from recollect.ports.store import Store
from recollect.testing.expect import raises
from recollect.testing.samples import ALICE, BOB, STRANGER, append, conversation, ids_of, memory, note, turn
from recollect.testing.store.calls import COUNTED, call, furnish
from recollect.testing.store.dump import dump
from recollect.testing.store.memories import listed

NOBODY = Scope("nowhere", "nobody")

#: What the other methods answer to a user who has nothing.
NOTHING: dict[str, object] = {
    "list_conversations": (),
    "search_conversations": (),
    "conversations_holding": (),
    "mark_inactive": (),
    "list_idle": (),
    "search_messages": (),
    "find_memories": (),
    "list_memories": (),
    "read_passages": (),
    "match_passages": (),
    "read_memories": (),
    "list_unembedded": Unembedded(),
    "save_vectors": 0,
    "get_note": Note(agent="assistant", notes="", version=0, created_at=None, updated_at=None),
    "noting_agents": (),
    "note_history": (),
    "get_preferences": Preferences(),
    "begin_request": None,
    "finish_request": None,
    "abandon_request": None,
    "forget_jobs": 0,
    "forget_requests": 0,
    "usage_totals": UsageTotals(total=Spent(cost=Cost(amount=0.0, currency="EUR"))),
    "count_holdings": Holdings(
        memories=states({}), days=days_of(COUNTED, {}, {}, {}), jobs=dict.fromkeys(JOB_STATES, 0)
    ),
    "list_audit": (),
    "list_damaged": (),
    "erase_user": Erased(),
}
#: Methods that make something new, which is then the caller's own.
CREATING = {
    "create_conversation",
    "current_conversation",
    "append",
    "record_turn",
    "archive",
    "add_memories",
    "save_memories",
    "change_note",
    "change_preferences",
    "enqueue_job",
    "record_usage",
    "signing_key",
}
#: The methods without a scope: claiming tells the scope of a job, and a key that of its caller.
ANY_SCOPE = {"claim_jobs", "create_key", "find_key", "list_keys", "touch_key", "revoke_key"}


async def refused(store: Store, scope: Scope, name: str, arguments: dict[str, Any]) -> tuple[type, str] | None:
    """Return how the call was refused, or None if it was not."""
    try:
        await call(store, scope, name, arguments)
    except RecollectError as exc:
        return type(exc), str(exc)
    return None


def content(result: Any) -> object:
    """Return the part of an answer that would show another's data."""
    for part in ("items", "erased", "changed", "passages"):
        result = getattr(result, part, result)
    return result


class ScopeConformance:
    """Check that tenant and user bound every method."""

    async def test_what_belongs_to_another_looks_like_what_is_not_there(self, store: Store) -> None:
        calls = await furnish(store, ALICE)
        for name, arguments in calls.items():
            if name not in CREATING | ANY_SCOPE | set(NOTHING):
                refusal = await refused(store, NOBODY, name, arguments)
                assert refusal is not None, name
                assert issubclass(refusal[0], (NotFoundError, InvalidCursorError)), name
                for stranger in (BOB, STRANGER):
                    assert await refused(store, stranger, name, arguments) == refusal, name

    async def test_nothing_of_another_is_listed(self, store: Store) -> None:
        calls = await furnish(store, ALICE)
        for stranger in (BOB, STRANGER):
            for name, expected in NOTHING.items():
                if name != "erase_user":
                    assert content(await call(store, stranger, name, calls[name])) == expected, name
        assert await listed(store, BOB, trust=None, archived=None) == []

    async def test_no_call_of_another_changes_anything(self, store: Store) -> None:
        calls = await furnish(store, ALICE)
        before = await dump(store, ALICE)
        for stranger in (BOB, STRANGER):
            for name, arguments in calls.items():
                if name not in ANY_SCOPE:
                    await refused(store, stranger, name, arguments)
                    assert await dump(store, ALICE) == before, name

    async def test_one_id_in_two_scopes_is_two_things(self, store: Store) -> None:
        for scope in (ALICE, BOB, STRANGER):
            name = f"{scope.tenant} {scope.user}"
            await store.create_conversation(scope, conversation("c1", title=name))
            await store.append(scope, append("c1", "m1"))
            await store.add_memories(scope, (memory("k1", name),))
            await store.change_note(scope, note("append", name))
        for scope in (ALICE, BOB, STRANGER):
            name = f"{scope.tenant} {scope.user}"
            assert (await store.get_conversation(scope, "c1")).title == name
            assert (await store.get_memory(scope, "k1")).content == name
            assert (await store.get_note(scope)).notes == name
            assert len(await store.search_messages(scope, SearchQuery(text="words"))) == 1

    async def test_a_page_position_of_another_is_not_known(self, store: Store) -> None:
        await furnish(store, ALICE)
        await store.append(BOB, append("c1", "mine"))
        (entry,) = await store.list_audit(ALICE, AuditQuery(limit=1))
        with raises(InvalidCursorError):
            await store.list_memories(BOB, MemoryQuery(before_id="k1"))
        with raises(InvalidCursorError):
            await store.list_jobs(BOB, JobQuery(before_id="done"))
        with raises(InvalidCursorError):
            await store.list_audit(BOB, AuditQuery(before_id=entry.id))
        with raises(MessageNotFoundError):
            await store.list_messages(BOB, MessageQuery(conversation_id="c1", before="m2"))

    async def test_a_memory_of_another_is_not_counted_as_shown(self, store: Store) -> None:
        await store.add_memories(ALICE, (memory("k1"),))
        await store.record_turn(BOB, turn("t1", append("c1", "m1"), memory_ids=("k1",)))
        assert (await store.get_memory(ALICE, "k1")).access_count == 0

    async def test_an_agent_hides_nothing_from_its_user(self, store: Store) -> None:
        guide = msgspec.structs.replace(ALICE, agent="guide")
        await store.append(guide, append("c1", "m1"))
        await store.add_memories(guide, (memory("k1", agent="guide"),))
        assert ids_of((await store.list_conversations(ALICE, ConversationQuery())).items) == ["c1"]
        assert (await store.get_memory(ALICE, "k1")).agent == "guide"
        assert len(await store.search_messages(ALICE, SearchQuery(text="words"))) == 1
