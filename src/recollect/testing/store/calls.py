"""One valid call of every store method, in a world where each of them has something to do."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

from recollect.domain.audit import AuditQuery
from recollect.domain.conversation import ConversationChanges, ConversationCursor, ConversationQuery, ConversationSearch
from recollect.domain.holdings import HoldingsQuery
from recollect.domain.identity import KeyQuery
from recollect.domain.job import Claim, JobFailure, JobQuery
from recollect.domain.memory import Extraction, MemoryChanges, MemoryEdit, MemoryPlan, MemoryQuery, Source
from recollect.domain.message import ToolCall
from recollect.domain.note import NoteHistoryQuery
from recollect.domain.page import MessageQuery, SearchQuery
from recollect.domain.passage import PassageMatch, PassageQuery, Reading
from recollect.domain.price import Price, Prices
from recollect.domain.repeating import Repeated, repeating
from recollect.domain.scope import Scope
from recollect.domain.turn import Usage
from recollect.domain.usage import UsageQuery
from recollect.domain.vector import MemoryVector, VectorBatch
from recollect.ports.store import Store
from recollect.testing.samples import (
    after,
    answer,
    api_key,
    append,
    batch,
    claims,
    context_record,
    conversation,
    erasure,
    job,
    memory,
    message,
    message_vectors,
    note,
    preferences,
    request,
    start,
    summary,
    turn,
    usage,
    vector,
)

#: Arguments by method and parameter, without the scope.
Calls = dict[str, dict[str, Any]]
#: The days that are counted, and what models cost.
COUNTED = HoldingsQuery(now=after(9), days=3)
PRICES = Prices(currency="EUR", of={"small": Price(input=1.0, output=2.0)})


@cache
def methods() -> dict[str, list[str]]:
    """Return the parameters of every method of the port but `close`, by name."""
    found = inspect.getmembers(Store, inspect.iscoroutinefunction)
    return {name: list(inspect.signature(method).parameters)[1:] for name, method in found if name != "close"}


async def call(store: Store, scope: object, name: str, arguments: dict[str, Any]) -> Any:
    """Call a method by its name, with the scope if it takes one."""
    scoped = {"scope": scope} if "scope" in methods()[name] else {}
    return await getattr(store, name)(**scoped, **arguments)


async def furnish(store: Store, scope: Scope) -> Calls:
    """Give a user something of every kind, and return a valid call of each method on it."""
    said = append("c1", "m1", message("m2", role="assistant"), jobs=(job("queued", kind="later", run_at=after(5)),))
    await store.record_turn(scope, turn("t1", said))
    await store.archive(scope, batch("b1", "c1", "m3", "m4", "m5"))
    for conversation_id in ("to clear", "to erase"):
        again = message("m2", role="assistant", metadata=repeating([Repeated(conversation_id, "m1")]))
        await store.append(scope, append(conversation_id, "m1", again, at=after(-9)))
    for number, covered in enumerate((("m1", "m2"), ("m3",))):
        await store.put_summary(scope, summary(f"s{number}", *covered))
    await store.add_memories(scope, (memory("k1", sources=(Source("c1", "m1"),), vector=vector(1, 0)), memory("k2")))
    await store.save_vectors(
        scope, VectorBatch(conversation_id="c1", messages=message_vectors(m1=vector(1, 0), m2=vector(0, 1)))
    )
    await store.change_memory(scope, "k1", MemoryChanges(at=after(1), importance=0.9))
    for text in ("# Tea\ngreen", "# Coffee\nblack"):
        await store.change_note(scope, note("append", text))
    await store.change_preferences(scope, preferences(memory_enabled=False, instructions="Be brief."))
    await store.begin_request(scope, start("open"))
    await store.finish_request(scope, answer("answered"), after(1))
    await store.record_usage(scope, usage("u1", conversation_id="c1", job_id="done"))
    await store.create_key(api_key(_key_id(scope, 1), scope))
    held = await _held_jobs(store, scope)
    known = _conversation_calls() | _knowledge_calls() | _recall_calls()
    return known | _job_calls(held) | _request_calls() | _usage_calls() | _key_calls(scope) | _erasure_calls()


async def _held_jobs(store: Store, scope: Scope) -> dict[str, Claim]:
    """Queue six jobs of a kind of the user's own, take them, let one die and end another."""
    kind = f"work of {scope.tenant} {scope.user}"
    for name in ("done", "failing", "kept", "dead", "extracting", "old"):
        await store.enqueue_job(scope, job(name, kind=kind), after(0))
    taken = await store.claim_jobs(claims(kinds=(kind,)))
    held = {one.job.id: one.claim for one in taken}
    await store.fail_job(scope, held["dead"], JobFailure(at=after(1), error="broken", retry_at=None))
    await store.complete_job(scope, held["old"], after(-1))
    return held


def _conversation_calls() -> Calls:
    tool = ToolCall(id="call", tool_name="weather", input={"city": "Lviv"}, output=[1])
    reply = message("m6", role="assistant", tool_calls=(tool,), custom_payload={"k": 1}, metadata={"k": 1})
    extract = job("j1", key="extract c1", conversation_id="c1", payload={"k": 1})
    said = append("c1", reply, jobs=(extract,), vectors=message_vectors(m6=vector(1, 0)))
    changes = ConversationChanges(at=after(2), title="New", is_pinned=True, metadata={"k": 1}, head_id="m5")
    listed = ConversationQuery(
        after=ConversationCursor(after(99), "z"), archived=False, pinned=False, agent="assistant"
    )
    searched = ConversationSearch(
        text="words", after=ConversationCursor(after(99), "z"), archived=False, pinned=False, agent="assistant"
    )
    used = Usage(input_tokens=1, output_tokens=2)
    return {
        "create_conversation": {"new": conversation("c2", title="Trip", metadata={"k": 1})},
        "current_conversation": {"new": conversation("c3")},
        "get_conversation": {"conversation_id": "c1"},
        "list_conversations": {"query": listed},
        "search_conversations": {"query": searched},
        "conversations_holding": {"message_id": "m1", "limit": 5},
        "change_conversation": {"conversation_id": "c1", "changes": changes},
        "mark_inactive": {"idle_since": after(-1), "limit": 5},
        "list_idle": {"idle_since": after(-1), "limit": 5},
        "append": {"request": said},
        "record_turn": {
            "record": turn(
                "t2",
                append("c1", "m7"),
                usage=used,
                model="m",
                memory_ids=("k1",),
                context=context_record(),
                answer=answer("turn"),
            )
        },
        "archive": {"batch": batch("b2", "c1", "m8")},
        "get_message": {"conversation_id": "c1", "message_id": "m1"},
        "list_messages": {"query": MessageQuery(conversation_id="c1", before="m3")},
        "list_turns": {"conversation_id": "c1"},
        "find_turns": {"conversation_id": "c1", "turn_ids": ("t1",)},
        "search_messages": {"query": SearchQuery(text="words", conversation_id="c1")},
        "put_summary": {"new": summary("s2", "m4", metadata={"k": 1})},
        "get_window": {"conversation_id": "c1"},
        "list_unextracted": {"conversation_id": "c1", "limit": 5, "context": 2},
        "get_backlog": {"conversation_id": "c1", "limit": 5},
        "active_summaries": {"conversation_id": "c1"},
        "expand_summary": {"conversation_id": "c1", "summary_id": "s0"},
    }


def _knowledge_calls() -> Calls:
    learned = memory("k3", origin="user", quote="words", sources=(Source("c1", "m2"),), valid_from=after(0))
    edit = MemoryEdit(memory_id="k1", changes=MemoryChanges(at=after(3), importance=0.7))
    claim = Claim("extracting", "w1", 1)
    new = (memory("k4", vector=vector(1, 0)),)
    extracted = Extraction(conversation_id="c1", from_seq=0, to_seq=2, at=after(3), new=new, edits=(edit,), claim=claim)
    changes = MemoryChanges(
        at=after(2), content="Other words", more_sources=(Source("c1", "m2"),), vector=vector(0.5, 0.5)
    )
    return {
        "add_memories": {"new": (learned,)},
        "get_memory": {"memory_id": "k1"},
        "find_memories": {"memory_ids": ("k1", "k2")},
        "list_memories": {"query": MemoryQuery(sort="importance", since=after(-9), until=after(9), as_of=after(9))},
        "change_memory": {"memory_id": "k1", "changes": changes},
        "save_memories": {"plan": MemoryPlan(at=after(3), new=(memory("k5"),), edits=(edit,))},
        "save_extraction": {"result": extracted},
        "memory_history": {"memory_id": "k1"},
        "get_note": {},
        "noting_agents": {},
        "change_note": {"change": note("replace_section_by_header", "none", section_header="Tea")},
        "undo_note": {"at": after(5)},
        "note_history": {"query": NoteHistoryQuery(before_version=3)},
        "get_preferences": {},
        "change_preferences": {
            "changes": preferences(memory_enabled=True, instructions="Be kind.", expected_version=1)
        },
    }


def _recall_calls() -> Calls:
    known = {"c1": Reading(revision=1, next_seq=3, message_count=2)}
    match = PassageMatch(terms=("words", "茶"), vector=vector(1, 0))
    vectors = VectorBatch(
        conversation_id="c1",
        messages=message_vectors(m1=vector(0, 1)),
        memories=(MemoryVector("k2", 1, vector(0, 1)),),
    )
    return {
        "read_passages": {"query": PassageQuery(model="model", known=known)},
        "match_passages": {"match": match},
        "read_memories": {"model": "model", "known": 1},
        "list_unembedded": {"model": "model", "limit": 5},
        "save_vectors": {"batch": vectors},
    }


def _job_calls(held: dict[str, Claim]) -> Calls:
    return {
        "enqueue_job": {"new": job("j2", key="title c1", payload={"k": 1}), "at": after(1)},
        "claim_jobs": {"request": claims("w2", kinds=("later",), now=after(6))},
        "complete_job": {"claim": held["done"], "at": after(2)},
        "fail_job": {"claim": held["failing"], "failure": JobFailure(at=after(2), error="down", retry_at=after(9))},
        "heartbeat_job": {"claim": held["kept"], "lease_until": after(99)},
        "get_job": {"job_id": "done"},
        "list_jobs": {"query": JobQuery(state="queued", before_id="dead")},
        "retry_job": {"job_id": "dead", "at": after(3)},
        "forget_jobs": {"before": after(0)},
    }


def _request_calls() -> Calls:
    return {
        "begin_request": {"start": start("new")},
        "finish_request": {"answer": answer("open"), "at": after(3)},
        "abandon_request": {"request": request("new")},
        "forget_requests": {"before": after(-1)},
    }


def _usage_calls() -> Calls:
    wanted = UsageQuery(conversation_id="c1", job_id="done", since=after(-1), until=after(9), prices=PRICES)
    return {
        "record_usage": {"entry": usage("u2", conversation_id="c1", job_id="done", calls=2, estimated=1)},
        "usage_totals": {"query": wanted},
        "count_holdings": {"query": COUNTED},
    }


def _key_id(scope: Scope, number: int) -> str:
    """Return an id that no other user's key has, for these ids are found without a scope."""
    return f"{scope.tenant}-{scope.user}-{number}"


def _key_calls(scope: Scope) -> Calls:
    kept = _key_id(scope, 1)
    new = api_key(_key_id(scope, 2), scope, agent="guide", expires_at=after(99), revoked_at=after(98))
    return {
        "create_key": {"new": new},
        "find_key": {"wanted": kept},
        "list_keys": {"query": KeyQuery(tenant=scope.tenant, after="0")},
        "touch_key": {"key_id": kept, "at": after(1)},
        "revoke_key": {"key_id": kept, "at": after(2)},
        "signing_key": {"purpose": "letters"},
    }


def _erasure_calls() -> Calls:
    return {
        "list_audit": {"query": AuditQuery(entity_id="k1")},
        "list_damaged": {},
        "clear_conversation": {"conversation_id": "to clear", "erasure": erasure("r1")},
        "erase_message": {"conversation_id": "c1", "message_id": "m5", "erasure": erasure("r2")},
        "erase_conversation": {"conversation_id": "to erase", "erasure": erasure("r3")},
        "erase_memory": {"memory_id": "k2", "erasure": erasure("r4")},
        "erase_user": {"erasure": erasure("r5")},
    }
