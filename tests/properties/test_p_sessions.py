"""Sessions end, rest and are forgotten by the cache alone: P8 to P14."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st

from recollect.domain.conversation import Conversation
from recollect.domain.page import SearchQuery
from recollect.errors import ConversationNotFoundError
from recollect.service.chat_request import ChatRequest
from tests.support.drawn_messages import Said, Speaker, histories, talks
from tests.support.service_rig import C, Options, Place, Rig

# The threads of the connection pool draw random pauses of their own while Hypothesis draws.
pytestmark = pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")

OTHER = "other"
pieces = st.lists(talks(most=14), min_size=1, max_size=2)


async def fill(rig: Rig, talked: list[Any], prefix: str = "m", *, branch: bool = False) -> None:
    """Talk, by adding and by turns, and on a branch if told."""
    speaker = Speaker(prefix)
    for talk in talked:
        await rig.add(speaker.messages(talk))
    reply = await rig.chat.turn(rig.scope, ChatRequest(text="xylophone?", conversation_id=C))
    if branch:
        await rig.conversations.edit(rig.scope, C, reply.user_message.id, "xylophone!")


def countable(conversation: Conversation) -> dict[str, Any]:
    """Return what counts in a conversation; its id, its age and how often it changed do not."""
    gone = ("id", "created_at", "updated_at", "last_activity_at", "version", "revision")
    return {name: value for name, value in msgspec.structs.asdict(conversation).items() if name not in gone}


@pytest.mark.spec("P8", "S3.2")
def test_p08_clearing_removes_messages_summaries_jobs_and_counters(place: Place) -> None:
    async def example(drawn: tuple[Any, bool, list[Any], bool, int]) -> None:
        history, deletes, talked, branch, rest = drawn
        history = msgspec.structs.replace(history, delete_originals=deletes)
        rig = place.rig(Options(history=history))
        await rig.add(Speaker("o").messages([Said("user", "elsewhere")]), OTHER)
        # What is deleted already cannot be edited.
        await fill(rig, talked, branch=branch and not deletes)
        messages = await rig.all_messages(all_branches=True)
        more = Speaker("late").messages([Said("user", "zither")] * rest)
        if more:
            await rig.conversations.add_messages(rig.scope, C, more)
        stored = (await rig.conversations.get(rig.scope, C)).message_count
        receipt = await rig.conversations.clear_messages(rig.scope, C)
        assert receipt.erased.messages == stored
        page = await rig.conversations.get_messages(rig.scope, C)
        assert (page.messages, page.summaries, page.more) == ((), (), False)
        context = await rig.conversations.get_context(rig.scope, C)
        assert (context.summaries, context.recent, context.total) == ((), (), 0)
        assert await rig.store.active_summaries(rig.scope, C) == ()
        assert await rig.store.list_turns(rig.scope, C) == ()
        assert await rig.jobs() == ()
        for word in ("xylophone", "zither"):
            assert await rig.store.search_messages(rig.scope, SearchQuery(text=word)) == ()
        with pytest.raises(ConversationNotFoundError):
            await rig.conversations.clear_messages(rig.scope, C)
        refused = await rig.conversations.add_messages(rig.scope, C, (again(messages[-1].id),))
        assert (refused.messages, refused.refused) == ((), (messages[-1].id,))
        assert len(await rig.all_messages(OTHER)) == 1

    place.check(example, st.tuples(histories(), st.booleans(), pieces, st.booleans(), st.integers(0, 12)))


def again(message_id: str) -> Any:
    (message,) = Speaker().messages([Said("user", "it comes back")])
    return msgspec.structs.replace(message, id=message_id)


@pytest.mark.spec("P9")
def test_p09_a_cleared_session_counts_from_the_start(place: Place) -> None:
    async def example(drawn: tuple[Any, list[Any], bool]) -> None:
        history, talked, branch = drawn
        rig = place.rig(Options(history=history))
        fresh = await rig.conversations.create(rig.scope, conversation_id=OTHER)
        await fill(rig, talked, branch=branch)
        await rig.conversations.clear_messages(rig.scope, C)
        cleared = await rig.conversations.get(rig.scope, C)
        assert countable(cleared) == countable(fresh)
        assert (cleared.message_count, cleared.next_seq, cleared.head_id, cleared.summary) == (0, 1, None, None)
        (first,) = await rig.add(Speaker("n").messages([Said("user", "again")]))
        assert (first.seq, first.parent_id) == (1, None)

    place.check(example, st.tuples(histories(), pieces, st.booleans()))


@pytest.mark.spec("P10")
def test_p10_a_cleared_session_behaves_like_a_new_one(place: Place) -> None:
    async def example(drawn: tuple[Any, list[Any], list[Any], bool]) -> None:
        history, before, after, branch = drawn
        cleared, fresh = place.rig(Options(history=history)), place.rig(Options(history=history))
        await fill(cleared, before, branch=branch)
        await cleared.conversations.clear_messages(cleared.scope, C)
        for rig in (cleared, fresh):
            await fill(rig, after, "n", branch=branch)
            await rig.drain()
        assert await seen(cleared) == await seen(fresh)

    place.check(example, st.tuples(histories(), pieces, pieces, st.booleans()))


async def seen(rig: Rig) -> list[Any]:
    """Return all that can be seen of a session but for ids that chance made."""
    context = await rig.conversations.get_context(rig.scope, C)
    summaries = [(one.content, one.level, one.first_seq, one.last_seq, one.message_count) for one in context.summaries]
    stored = [(one.seq, one.role, one.content, one.tool_calls) for one in await rig.all_messages(all_branches=True)]
    jobs = sorted((one.kind, one.state) for one in await rig.jobs())
    conversation = countable(await rig.conversations.get(rig.scope, C))
    recent = [one.seq for one in context.recent]
    return [summaries, stored, jobs, recent, context.total, {**conversation, "head_id": None}]


Step = tuple[str, str, float]
#: Hours by which the clock moves, also backwards.
hours = st.sampled_from((0.0, 0.5, 1.0, 2.0, 3.0, 30.0, -1.0, -40.0)) | st.floats(-5, 5)
NAMES = ("a", "b", "c")
steps = st.lists(
    st.tuples(st.sampled_from(("add", "add", "turn", "read", "cleanup")), st.sampled_from(NAMES), hours),
    min_size=1,
    max_size=8,
)


class Sessions:
    """Do steps, and keep what each session's last activity must be."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.activity: dict[str, datetime] = {}
        self.active: set[str] = set()
        self.count: dict[str, int] = {}
        self._speaker = Speaker()

    async def do(self, step: Step) -> tuple[str, ...] | None:
        """Do a step; return what a cleanup marked."""
        kind, name, by = step
        rig = self.rig
        rig.clock.advance(hours=by)
        if kind == "cleanup":
            return await rig.lifecycle.cleanup_inactive(rig.scope)
        if kind == "read":
            if name in self.activity:
                await rig.conversations.get_context(rig.scope, name)
                await rig.conversations.get_messages(rig.scope, name)
            return None
        if kind == "add":
            (message,) = self._speaker.messages([Said("user", "hello")])
            await rig.conversations.add_messages(rig.scope, name, (message,))
        else:
            await rig.chat.turn(rig.scope, ChatRequest(text="hello", conversation_id=name))
        self.count[name] = self.count.get(name, 0) + (1 if kind == "add" else 2)
        self.activity[name] = max(self.activity.get(name, rig.clock()), rig.clock())
        self.active.add(name)
        return None

    def idle(self) -> set[str]:
        """Return the sessions that a cleanup must mark now."""
        since = self.rig.clock() - self.rig.options.timeout
        return {name for name in self.active if self.activity[name] <= since}

    async def check(self) -> None:
        """Prove that activity and marks are as they must be, and that everything is stored."""
        for name, at in self.activity.items():
            conversation = await self.rig.conversations.get(self.rig.scope, name)
            assert (conversation.last_activity_at, conversation.is_active) == (at, name in self.active)
            assert conversation.message_count == self.count[name]


two_hours = Options(timeout=timedelta(hours=2))


@pytest.mark.spec("P11")
def test_p11_a_session_without_activity_is_marked_inactive_until_it_is_used_again(place: Place) -> None:
    async def example(drawn: list[Step]) -> None:
        sessions = Sessions(place.rig(two_hours))
        for step in drawn:
            marked = await sessions.do(step)
            if marked is not None:
                assert {*marked} == sessions.idle()
                sessions.active -= {*marked}
        await sessions.check()
        # The job that was stored with the messages does the same by itself, once they are idle.
        if sessions.active:
            latest = max(sessions.activity.values())
            sessions.rig.clock.advance(seconds=(latest - sessions.rig.clock()).total_seconds())
            for _ in range(6):
                sessions.rig.clock.advance(hours=1)
                await sessions.rig.drain()
            sessions.active.clear()
            await sessions.check()

    place.check(example, steps)


@pytest.mark.spec("P12", "S3.2")
def test_p12_cleanup_takes_old_sessions_out_of_the_cache_and_deletes_nothing(place: Place) -> None:
    async def example(drawn: tuple[list[Step], list[str]]) -> None:
        before, used = drawn
        rig = place.rig(two_hours)
        sessions = Sessions(rig)
        for step in before:
            if step[0] != "cleanup":
                await sessions.do(step)
        rig.clock.advance(hours=2.5)
        for name in used:
            await sessions.do(("add", name, 0))
        stored = {name: await rig.all_messages(name) for name in sessions.activity}
        idle = sessions.idle()
        marked = await rig.lifecycle.cleanup_inactive(rig.scope)
        assert {*marked} == idle
        for name in idle:
            await rig.conversations.get(rig.scope, name)
            assert not await is_held(rig, name)
        sessions.active -= idle
        await sessions.check()
        assert {name: await rig.all_messages(name) for name in stored} == stored
        assert await rig.lifecycle.cleanup_inactive(rig.scope) == ()
        for name in idle:
            await sessions.do(("add", name, 0))
            assert len((await rig.conversations.get_context(rig.scope, name)).recent) == len(stored[name]) + 1
        await sessions.check()

    place.check(example, st.tuples(steps, st.lists(st.sampled_from((*NAMES, "d")), max_size=2)))


async def is_held(rig: Rig, conversation_id: str) -> bool:
    """Tell whether the cache held the window that is read now; it does afterwards."""
    await rig.store.get_window(rig.scope, conversation_id)
    return rig.cache.was_held


@pytest.mark.spec("P13")
def test_p13_every_activity_moves_the_time_of_the_last_one(place: Place) -> None:
    async def example(drawn: list[Step]) -> None:
        rig = place.rig(two_hours)
        sessions = Sessions(rig)
        for step in drawn:
            marked = await sessions.do(step)
            sessions.active -= {*(marked or ())}
            await sessions.check()
        if sessions.activity:
            newest = max(sessions.activity.values())
            rig.clock.advance(hours=1)
            await rig.conversations.archive(rig.scope, C, Speaker("late").messages([Said("user", "kept till now")]))
            assert (await rig.conversations.get(rig.scope, C)).last_activity_at == rig.clock()
            listed = (await rig.conversations.list(rig.scope)).items
            assert [one.last_activity_at for one in listed] == sorted(
                [*sessions.activity.values(), rig.clock()], reverse=True
            )
            assert listed[0].last_activity_at == max(newest, rig.clock())

    place.check(example, steps)


@pytest.mark.spec("P14")
def test_p14_past_the_limit_the_sessions_used_longest_ago_leave_the_cache_and_nothing_else(place: Place) -> None:
    async def example(drawn: tuple[int, list[str], list[str]]) -> None:
        limit, created, used = drawn
        rig = place.rig(Options(max_cached=limit))
        speaker = Speaker()
        order: list[str] = []
        stored: dict[str, int] = {}
        for name in created:
            await rig.add(speaker.messages([Said("user", f"for {name}")]), name)
            stored[name] = stored.get(name, 0) + 1
            order = [*(one for one in order if one != name), name]
            assert len(rig.cache) <= limit
        for name in (one for one in used if one in stored):
            assert await is_held(rig, name) == (name in order[-limit:])
            order = [*(one for one in order if one != name), name]
            assert len(rig.cache) <= limit
        assert len(rig.cache) == min(limit, len(stored))
        for name, count in stored.items():
            context = await rig.conversations.get_context(rig.scope, name)
            assert (len(context.recent), {one.content for one in context.recent}) == (count, {f"for {name}"})
        assert {one.id for one in (await rig.conversations.list(rig.scope)).items} == {*stored}
        assert all(one.is_active for one in (await rig.conversations.list(rig.scope)).items)

    names = st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=9)
    place.check(example, st.tuples(st.integers(1, 4), names, names))
