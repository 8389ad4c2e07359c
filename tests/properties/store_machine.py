"""Drive a store and its executable specification with the same operations, and compare what both do."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, TypeVar

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule
from hypothesis.strategies import DataObject

from recollect.domain.erasure import Erasure
from recollect.domain.idempotency import RequestStart
from recollect.domain.job import Claim, ClaimRequest, JobFailure, NewJob
from recollect.domain.memory import NewMemory, Source
from recollect.domain.message import NewMessage
from recollect.domain.note import NoteChange
from recollect.domain.page import MessageQuery
from recollect.domain.repeating import Repeated, memory, repeating
from recollect.domain.scope import Scope
from recollect.domain.summary import NewSummary
from recollect.domain.turn import Append, ArchiveBatch
from recollect.errors import RecollectError
from recollect.ports.store import Store
from recollect.storage.inmemory import InMemoryStore
from recollect.storage.inmemory.shelves import UserData
from recollect.testing.clock import START
from tests.properties import store_values as values
from tests.properties.store_memory_rules import MemoryRules
from tests.properties.store_reads import everything, retry_requests, some_read
from tests.properties.store_values import USERS, draw_run, mostly, pick

T = TypeVar("T")
Open = Callable[[], Awaitable[Store]]

JUNK: tuple[object, ...] = (
    None,
    True,
    0,
    -1,
    1.5,
    "",
    "\0",
    "\ud800",
    "x" * 129,
    b"c1",
    (),
    [],
    {},
    object(),
    START.replace(tzinfo=None),
)


class StoreMachine(MemoryRules):
    """Every write of the ports, on few ids, by a clock that also runs backwards."""

    def __init__(self, open_store: Open, *, durable: bool, place: str = "") -> None:
        """Begin with an empty store, or, in a database that others used before, with tenants named by the place."""
        super().__init__()
        self.runner = asyncio.Runner()
        self.open_store = open_store
        self.durable = durable
        self.users = [(f"{place}{tenant}", user) for tenant, user in USERS]
        self.model = InMemoryStore()
        self.store = self.run(open_store())
        self.now = START
        self.message_count = 0
        self.claims: list[tuple[Scope, Claim]] = []
        self.appended: list[Append] = []
        self.agree = True

    def run(self, work: Awaitable[T]) -> T:
        return self.runner.get_loop().run_until_complete(work)

    def both(self, method: str, *arguments: object) -> Any:
        """Call the method of both stores, compare what came of it, and return the model's result, if any."""
        expected, result = self.run(outcome(self.model, method, arguments))
        found, _ = self.run(outcome(self.store, method, arguments))
        if found != expected:
            self.agree = False
            raise AssertionError(f"{method}{arguments}\n  must give {expected!r}\n  but gave  {found!r}")
        return result

    def teardown(self) -> None:
        try:
            if self.agree:
                for user in sorted(set(self.users)):
                    everything(self.both, Scope(*user))
                    retry_requests(self.both, Scope(*user))
                self.both("claim_jobs", ClaimRequest(worker="w", now=self.now, lease=timedelta(0), limit=100))
        finally:
            for user in sorted(set(self.users)):
                self.run(self.store.erase_user(Scope(*user), Erasure(receipt_id="end", at=self.now)))
            self.run(self.store.close())
            self.runner.close()

    # What is drawn

    def draw_scope(self, data: DataObject) -> Scope:
        return Scope(*data.draw(st.sampled_from(self.users)), data.draw(values.agents))

    def draw_append(self, data: DataObject) -> Append:
        """Draw messages to add: mostly new ones, now and then some that were given before."""
        new = [f"m{self.message_count + number}" for number in range(1, 5)]
        drawn = data.draw(values.appends(self.now, new, self.known_messages()))
        self.message_count += len(drawn.messages)
        self.appended.append(drawn)
        return drawn

    def known_messages(self) -> list[str]:
        """Return the ids of the newest messages that were ever given, and of one that never was."""
        return ["m0", *(f"m{number}" for number in range(max(1, self.message_count - 12), self.message_count + 1))]

    def draw_conversation(self, data: DataObject, scope: Scope) -> str:
        return mostly(data, list(self.peek(scope).conversations), values.CONVERSATIONS)

    def draw_memory(self, data: DataObject, scope: Scope) -> str:
        return mostly(data, list(self.peek(scope).memories), values.MEMORIES)

    def draw_erasure(self, data: DataObject) -> Erasure:
        at = data.draw(values.times(self.now))
        return Erasure(receipt_id=data.draw(values.words), at=at, memories=not data.draw(values.rarely))

    def peek(self, scope: Scope) -> UserData:
        """Look at what the model holds, to draw what exists."""
        return self.model._reading(scope)

    # Conversations and messages

    @initialize(count=st.integers(1, 9))
    def begin_with_something(self, count: int) -> None:
        self.message_count = count
        said = [
            NewMessage(id=f"m{number}", role="user", content=values.WORDS[number], created_at=START)
            for number in range(1, count + 1)
        ]
        begin = Append(conversation_id="c1", messages=tuple(said), at=START, create=True)
        alice = Scope(*self.users[0])
        self.both("append", alice, begin)
        sources = (Source("c1", "m1"), Source("c1", "m2"))
        learned = [
            NewMemory(
                id=f"k{number}", content=values.STATEMENTS[number], at=START, origin="user", sources=sources[:number]
            )
            for number in (1, 2)
        ]
        self.both("add_memories", alice, (*learned, NewMemory(id="k3", content="by hand", at=START)))
        self.both("enqueue_job", alice, NewJob(id="j1", kind="extract", run_at=START, conversation_id="c1"), START)
        self.both("change_note", alice, NoteChange(operation="append", content="# Tea\ngreen", at=START))

    @rule(data=st.data())
    def say_more(self, data: DataObject) -> None:
        self.append(data)

    @rule(data=st.data())
    def append(self, data: DataObject) -> None:
        self.both("append", self.draw_scope(data), self.draw_append(data))

    @rule(data=st.data(), count=st.integers(1, 2))
    def repeat_something(self, data: DataObject, count: int) -> None:
        scope = self.draw_scope(data)
        held = self.peek(scope)
        known = [Repeated(*place) for place in held.messages] + [memory(memory_id) for memory_id in held.memories]
        named = [mostly(data, known, [Repeated("c1", "m0"), memory("k1")]) for _ in range(count)]
        self.message_count += 1
        said = NewMessage(
            id=f"m{self.message_count}",
            role="assistant",
            content=data.draw(values.texts),
            created_at=self.now,
            metadata=repeating(named),
        )
        place = self.draw_conversation(data, scope)
        again = Append(conversation_id=place, messages=(said,), at=self.now, create=True)
        self.appended.append(again)
        self.both("append", scope, again)

    @rule(data=st.data())
    def record_a_turn(self, data: DataObject) -> None:
        self.both("record_turn", self.draw_scope(data), data.draw(values.turns(self.draw_append(data))))

    @rule(data=st.data(), batch_id=values.words)
    def archive_a_batch(self, data: DataObject, batch_id: str) -> None:
        self.both("archive", self.draw_scope(data), ArchiveBatch(id=batch_id, append=self.draw_append(data)))

    @rule(data=st.data(), start=st.integers(0, 2))
    def archive_again(self, data: DataObject, start: int) -> None:
        if self.appended:
            first, second = data.draw(pick(self.appended)), data.draw(pick(self.appended))
            overlap = (first.messages + second.messages)[start:] or first.messages
            batch = ArchiveBatch(id="again", append=msgspec.structs.replace(first, messages=overlap, vectors=()))
            self.both("archive", self.draw_scope(data), batch)

    @rule(data=st.data(), method=st.sampled_from(("create_conversation", "current_conversation")))
    def start_a_conversation(self, data: DataObject, method: str) -> None:
        self.both(method, self.draw_scope(data), data.draw(values.new_conversations(self.now)))

    @rule(data=st.data())
    def change_a_conversation(self, data: DataObject) -> None:
        scope = self.draw_scope(data)
        changes = data.draw(values.conversation_changes(self.now, self.known_messages()))
        self.both("change_conversation", scope, self.draw_conversation(data, scope), changes)

    @rule(data=st.data(), limit=st.integers(1, 3))
    def mark_inactive(self, data: DataObject, limit: int) -> None:
        self.both("mark_inactive", self.draw_scope(data), data.draw(values.times(self.now)), limit)

    # Summaries

    @rule(data=st.data(), all_branches=values.rarely, runs=st.integers(1, 3))
    def summarise(self, data: DataObject, all_branches: bool, runs: int) -> None:
        scope = self.draw_scope(data)
        conversation_id = self.draw_conversation(data, scope)
        page = self.both(
            "list_messages", scope, MessageQuery(conversation_id=conversation_id, all_branches=all_branches)
        )
        ids = [message.id for message in page.messages] if page else []
        if data.draw(st.booleans()):
            covered = {i for summary in self.peek(scope).summaries.values() for i in summary.message_ids}
            ids = [message_id for message_id in ids if message_id not in covered]
        for _ in range(runs):
            run = draw_run(data, ids) or ("m1",)
            self._put_summary(data, scope, conversation_id, message_ids=run)
            ids = ids[ids.index(run[-1]) + 1 :] if run[-1] in ids else []

    @rule(data=st.data(), count=st.integers(1, 4))
    def fold(self, data: DataObject, count: int) -> None:
        scope = self.draw_scope(data)
        conversation_id = self.draw_conversation(data, scope)
        active = self.both("active_summaries", scope, conversation_id) or ()
        start = data.draw(st.integers(0, 1))
        folds = tuple(summary.id for summary in active[start : start + count])
        self._put_summary(data, scope, conversation_id, folds=folds or ("s1",))

    def _put_summary(self, data: DataObject, scope: Scope, conversation_id: str, **covered: tuple[str, ...]) -> None:
        new = [one for one in values.SUMMARIES if (conversation_id, one) not in self.peek(scope).summaries][:1]
        summary = NewSummary(
            id=data.draw(st.sampled_from([*new * 5, *values.SUMMARIES])),
            message_id="s",
            conversation_id=conversation_id,
            content=data.draw(values.words),
            at=data.draw(values.times(self.now)),
            generator="test",
            delete_originals=data.draw(values.rarely),
            metadata=data.draw(values.json_objects),
            **covered,
        )
        self.both("put_summary", scope, summary)

    # Notes

    @rule(data=st.data())
    def change_a_note(self, data: DataObject) -> None:
        self.both("change_note", self.draw_scope(data), data.draw(values.note_changes(self.now)))

    @rule(data=st.data())
    def undo_a_note(self, data: DataObject) -> None:
        self.both("undo_note", self.draw_scope(data), data.draw(values.times(self.now)))

    @rule(data=st.data())
    def change_preferences(self, data: DataObject) -> None:
        self.both("change_preferences", self.draw_scope(data), data.draw(values.preference_changes(self.now)))

    # Jobs and requests

    @rule(data=st.data())
    def enqueue_a_job(self, data: DataObject) -> None:
        new, at = data.draw(values.jobs(self.now)), data.draw(values.times(self.now))
        self.both("enqueue_job", self.draw_scope(data), new, at)

    @rule(data=st.data(), limit=st.integers(1, 3), kinds=st.sampled_from(((), (), values.KINDS[:1])))
    def claim_jobs(self, data: DataObject, limit: int, kinds: tuple[str, ...]) -> None:
        worker, lease = data.draw(st.sampled_from(("w1", "w2"))), data.draw(values.periods)
        now = data.draw(values.times(self.now))
        taken = self.both("claim_jobs", ClaimRequest(worker=worker, now=now, lease=lease, kinds=kinds, limit=limit))
        self.claims += [(one.scope, one.claim) for one in taken]

    @rule(data=st.data(), method=st.sampled_from(("complete_job", "fail_job", "fail_job", "heartbeat_job")))
    def end_or_keep_a_job(self, data: DataObject, method: str) -> None:
        if self.claims:
            at = data.draw(values.times(self.now))
            retry_at = data.draw(st.none() | values.times(self.now))
            counts = data.draw(st.booleans())
            failure = JobFailure(at=at, error=data.draw(values.words), retry_at=retry_at, counts=counts)
            self.both(method, *data.draw(pick(self.claims)), failure if method == "fail_job" else at)

    @rule(data=st.data())
    def retry_a_job(self, data: DataObject) -> None:
        scope = self.draw_scope(data)
        dead = [job_id for job_id, queued in self.peek(scope).jobs.items() if queued.job.state == "dead"]
        self.both("retry_job", scope, mostly(data, dead, values.JOBS), data.draw(values.times(self.now)))

    @rule(data=st.data(), really=values.rarely)
    def forget_jobs(self, data: DataObject, really: bool) -> None:
        if really:
            self.both("forget_jobs", self.draw_scope(data), data.draw(values.times(self.now)))

    @rule(data=st.data(), step=st.sampled_from(("begin", "begin", "begin", "finish", "finish", "abandon", "forget")))
    def handle_a_request(self, data: DataObject, step: str) -> None:
        scope, at = self.draw_scope(data), data.draw(values.times(self.now))
        if step == "begin":
            start = RequestStart(request=data.draw(values.request_keys), at=at, lease=data.draw(values.periods))
            self.both("begin_request", scope, start)
        elif step == "finish":
            self.both("finish_request", scope, data.draw(values.answers), at)
        elif step == "abandon":
            self.both("abandon_request", scope, data.draw(values.request_keys))
        else:
            self.both("forget_requests", scope, at)

    @rule(data=st.data())
    def enter_usage(self, data: DataObject) -> None:
        self.both("record_usage", self.draw_scope(data), data.draw(values.usage_entries(self.now)))

    # Erasing

    @rule(data=st.data())
    def erase_a_message(self, data: DataObject) -> None:
        scope = self.draw_scope(data)
        unsure = [("c1", message_id) for message_id in self.known_messages()]
        place = mostly(data, list(self.peek(scope).messages), unsure)
        self.both("erase_message", scope, *place, self.draw_erasure(data))

    @rule(
        data=st.data(), what=st.sampled_from((*["memory"] * 4, *["clear"] * 4, "conversation", "conversation", "user"))
    )
    def erase_more(self, data: DataObject, what: str) -> None:
        scope, erasure = self.draw_scope(data), self.draw_erasure(data)
        if what == "memory":
            self.both("erase_memory", scope, self.draw_memory(data, scope), erasure)
        elif what == "clear":
            self.both("clear_conversation", scope, self.draw_conversation(data, scope), erasure)
        elif what == "conversation":
            self.both("erase_conversation", scope, self.draw_conversation(data, scope), erasure)
        else:
            self.both("erase_user", scope, erasure)

    # Everything else

    @rule(data=st.data(), is_junk=values.rarely)
    def read(self, data: DataObject, is_junk: bool) -> None:
        method, query = data.draw(some_read(self.now, self.known_messages()))
        arguments: list[object] = [self.draw_scope(data), *query]
        if is_junk:
            arguments[data.draw(st.integers(0, len(arguments) - 1))] = data.draw(st.sampled_from(JUNK))
        self.both(method, *arguments)

    @rule(data=st.data(), really=values.rarely)
    def read_everything(self, data: DataObject, really: bool) -> None:
        if really:
            everything(self.both, self.draw_scope(data))

    @rule(seconds=st.integers(-7_200, 7_200))
    def move_the_clock(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    @rule()
    def close_and_open_again(self) -> None:
        if self.durable:
            self.run(self.store.close())
            self.store = self.run(self.open_store())


async def outcome(store: Store, method: str, arguments: tuple[object, ...]) -> tuple[bytes | str, Any]:
    """Call the method and return what came of it: the result as JSON or the name of the error, and the result."""
    try:
        result = await getattr(store, method)(*arguments)
    except RecollectError as error:
        return type(error).__name__, None
    shown = msgspec.to_builtins(result, order="deterministic")
    if method == "list_audit":
        for entry in shown:
            del entry["id"]
    return msgspec.json.encode(shown, order="deterministic"), result
