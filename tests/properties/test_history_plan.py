"""Plans keep any conversation short: simulated by carrying them out with the rules that stores follow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.cover import Cover, cover_of, path_start, uncovered
from recollect.domain.message import Message, ToolCall
from recollect.domain.summary import NewSummary, Summary, summary_of_messages, summary_of_summaries
from recollect.history.plan import Fold, PlanSettings, Summarise, next_step
from recollect.testing.clock import START

#: How many calls each assistant message of a turn makes; a negative number makes calls that get no result.
Turn = list[int]

turns = st.lists(st.integers(-2, 4), max_size=3)
conversations = st.lists(turns, min_size=1, max_size=30)


@st.composite
def plan_settings(draw: st.DrawFn) -> PlanSettings:
    threshold = draw(st.integers(2, 30))
    return PlanSettings(
        threshold=threshold,
        keep_verbatim=draw(st.integers(1, threshold - 1)),
        batch=draw(st.integers(1, 60)),
        most_summaries=draw(st.integers(2, 12)),
        fold=draw(st.integers(2, 6)),
    )


class Conversation:
    """A conversation in memory that is kept short by plans, and that refuses what a store refuses."""

    def __init__(self, limits: PlanSettings) -> None:
        self.limits = limits
        self.messages: dict[str, Message] = {}
        self.summaries: dict[str, Summary] = {}
        self.first: dict[str, Message] = {}
        self.head: str | None = None

    def add(self, role: Any, calls: Sequence[ToolCall] = (), answers: str | None = None) -> str:
        seq = len(self.messages) + 1
        message = Message(
            conversation_id="c1",
            seq=seq,
            id=f"m{seq}",
            parent_id=self.head,
            turn_id=None,
            role=role,
            name=None,
            content=f"words of m{seq}",
            status="complete",
            created_at=START,
            tool_calls=tuple(calls),
            tool_call_id=answers,
        )
        self.messages[message.id] = message
        self.head = message.id
        return message.id

    def add_turn(self, turn: Turn) -> None:
        self.add("user")
        for count in turn:
            calls = [ToolCall(id=f"call{number}", tool_name="search") for number in range(abs(count))]
            self.add("assistant", calls)
            for call in reversed(calls[: max(count, 0)]):
                self.add("tool", answers=call.id)
        self.add("assistant")

    def path(self) -> list[Message]:
        found = []
        at = self.head
        while at is not None:
            found.append(self.messages[at])
            at = found[-1].parent_id
        return found[::-1]

    def cover(self) -> Cover:
        path = self.path()
        return cover_of(
            {message.seq for message in path},
            self.summaries.values(),
            start=path_start((path[0].seq, path[0].parent_id) if path else None, None, ()),
        )

    def verbatim(self) -> list[Message]:
        return uncovered(self.path(), self.cover().holding)

    def shorten(self) -> int:
        """Carry out plans until there is none; return how many there were."""
        for steps in range(2 * len(self.messages) + 1):
            cover = self.cover()
            step = next_step(self.verbatim(), cover.holding, self.limits, elsewhere=cover.elsewhere)
            if step is None:
                return steps
            self.carry_out(step)
        raise AssertionError("the plans do not come to an end")

    def carry_out(self, step: Summarise | Fold) -> Summary:
        number = len(self.first) + 1
        given: dict[str, Any] = {"id": f"s{number}", "message_id": f"ms{number}", "conversation_id": "c1", "at": START}
        if isinstance(step, Summarise):
            ids = tuple(message.id for message in step.messages)
            new = NewSummary(**given, content="text", generator="test", message_ids=ids)
            first, last = step.messages[0].seq, step.messages[-1].seq
            near = [s for s in self.summaries.values() if s.level == 0 and s.last_seq >= first and s.first_seq <= last]
            self.summaries[new.id] = summary_of_messages(new, step.messages, near)
            self.first[new.id] = step.messages[0]
        else:
            folds = tuple(summary.id for summary in step.summaries)
            new = NewSummary(**given, content="text", generator="test", folds=folds)
            parents = [self.first[summary.id].parent_id for summary in step.summaries]
            self.summaries[new.id] = summary_of_summaries(new, step.summaries, parents)
            self.first[new.id] = self.first[step.summaries[0].id]
            for summary in step.summaries:
                self.summaries[summary.id] = msgspec.structs.replace(summary, folded_into=new.id)
        return self.summaries[new.id]

    def covered_by(self, summary: Summary) -> list[str]:
        if summary.folds:
            return [one for fold in summary.folds for one in self.covered_by(self.summaries[fold])]
        return list(summary.message_ids)


def check_every_message_is_told_once(conversation: Conversation) -> None:
    told = [message.id for message in conversation.verbatim()]
    for summary in conversation.cover().holding:
        told += conversation.covered_by(summary)
    assert sorted(told) == sorted(message.id for message in conversation.path())


def pairs(messages: Iterable[Message]) -> list[tuple[str, str]]:
    """List each tool call with each of its results."""
    made: dict[str, str] = {}
    found = []
    for message in messages:
        for call in message.tool_calls:
            made[call.id] = message.id
        if message.tool_call_id in made:
            found.append((made[message.tool_call_id], message.id))
    return found


def check_no_pair_is_split(conversation: Conversation) -> None:
    for summary in conversation.summaries.values():
        own = set(summary.message_ids)
        for call, result in pairs(conversation.path()):
            assert (call in own) == (result in own)


@given(conversations, plan_settings())
def test_every_message_is_verbatim_or_under_one_summary(said: list[Turn], limits: PlanSettings) -> None:
    conversation = Conversation(limits)
    for turn in said:
        conversation.add_turn(turn)
        conversation.shorten()
        check_every_message_is_told_once(conversation)
        check_no_pair_is_split(conversation)


@given(conversations, plan_settings())
def test_summaries_stay_few_and_the_newest_messages_stay(said: list[Turn], limits: PlanSettings) -> None:
    conversation = Conversation(limits)
    for turn in said:
        conversation.add_turn(turn)
        conversation.shorten()
        assert len(conversation.cover().holding) <= limits.most_summaries
        count = min(limits.keep_verbatim, len(conversation.messages))
        assert conversation.verbatim()[-count:] == conversation.path()[-count:]


@given(st.integers(1, 150), plan_settings())
def test_on_the_way_at_most_one_summary_is_too_many(count: int, limits: PlanSettings) -> None:
    conversation = Conversation(limits)
    for _ in range(count):
        conversation.add("user")
    while (step := next_step(conversation.verbatim(), conversation.cover().holding, limits)) is not None:
        conversation.carry_out(step)
        assert len(conversation.cover().holding) <= limits.most_summaries + 1


@given(st.integers(1, 150), plan_settings())
def test_without_tools_exactly_the_newest_stay_after_a_summary(count: int, limits: PlanSettings) -> None:
    conversation = Conversation(limits)
    for _ in range(count):
        conversation.add("user")
    if count <= limits.threshold:
        assert conversation.shorten() == 0
    else:
        assert conversation.shorten() > 0
        assert len(conversation.verbatim()) == limits.keep_verbatim


@given(st.integers(1, 120), plan_settings())
def test_message_by_message_nothing_happens_before_the_threshold(count: int, limits: PlanSettings) -> None:
    conversation = Conversation(limits)
    for _ in range(count):
        conversation.add("user")
        before = len(conversation.verbatim())
        made = conversation.shorten()
        assert (made > 0) == (before > limits.threshold)
        assert len(conversation.verbatim()) == (limits.keep_verbatim if made else before)


@given(conversations, plan_settings())
def test_a_call_is_not_summarised_while_its_result_may_come(said: list[Turn], limits: PlanSettings) -> None:
    conversation = Conversation(limits)
    for turn in said:
        conversation.add("user")
        waiting = []
        for order, count in enumerate(turn[: limits.threshold]):
            calls = [ToolCall(id=f"call{order}-{number}", tool_name="search") for number in range(count)]
            conversation.add("assistant", calls)
            conversation.shorten()
            waiting += calls
        for call in waiting:
            conversation.add("tool", answers=call.id)
            conversation.shorten()
        check_no_pair_is_split(conversation)
        check_every_message_is_told_once(conversation)


@given(conversations, plan_settings())
def test_verbatim_messages_are_bounded_whatever_tools_do(said: list[Turn], limits: PlanSettings) -> None:
    conversation = Conversation(limits)
    for turn in said:
        conversation.add_turn(turn)
        conversation.shorten()
        # A turn of at most three replies with at most four results each stays whole.
        assert len(conversation.verbatim()) <= 2 * limits.threshold + 17


edits = st.lists(st.tuples(turns, st.integers(0, 200)), min_size=1, max_size=25)


@given(edits, plan_settings())
def test_branches_never_tell_a_message_twice(said: list[tuple[Turn, int]], limits: PlanSettings) -> None:
    conversation = Conversation(limits)
    heads: list[str] = []
    for turn, back in said:
        if back and conversation.messages:
            # Small numbers edit what is near, large ones what is far, and some return to an older branch.
            place = max(1, len(conversation.messages) - back)
            conversation.head = heads[back % len(heads)] if back % 3 == 0 else f"m{place}"
        conversation.add_turn(turn)
        assert conversation.head is not None
        heads.append(conversation.head)
        conversation.shorten()
        check_every_message_is_told_once(conversation)
    for head in heads:
        conversation.head = head
        check_every_message_is_told_once(conversation)
        conversation.shorten()
        check_every_message_is_told_once(conversation)


@given(st.integers(1, 60), st.integers(1, 60), plan_settings())
def test_a_branch_becomes_short_again_once_it_is_long_enough(shared: int, own: int, limits: PlanSettings) -> None:
    conversation = Conversation(limits)
    for _ in range(shared + own):
        conversation.add("user")
        conversation.shorten()
    conversation.head = f"m{shared}"
    for _ in range(limits.threshold + 1):
        conversation.add("assistant")
        conversation.shorten()
    check_every_message_is_told_once(conversation)
    assert len(conversation.verbatim()) <= limits.threshold


@given(st.lists(st.integers(1, 40), max_size=6), st.integers(12, 60), plan_settings())
def test_around_damaged_messages_the_others_are_summarised(
    damaged: list[int], count: int, limits: PlanSettings
) -> None:
    conversation = Conversation(limits)
    for _ in range(count):
        conversation.add("user")
    intact = [message for message in conversation.path() if message.seq not in damaged]
    for _ in range(3 * count):
        cover = conversation.cover()
        step = next_step(uncovered(intact, cover.holding), cover.holding, limits, apart=apart(cover, damaged))
        if step is None:
            break
        conversation.carry_out(step)
    else:
        raise AssertionError("the plans do not come to an end")
    assert len(uncovered(intact, conversation.cover().holding)) <= limits.threshold


def apart(cover: Cover, damaged: list[int]) -> list[str]:
    starts = {seq + 1 for seq in damaged}
    return [summary.id for summary in cover.holding if summary.first_seq in starts]


def test_a_hundred_thousand_messages_leave_few_summaries_that_were_retold_seldom() -> None:
    limits = PlanSettings()
    conversation = Conversation(limits)
    waiting: list[Message] = []
    holding: list[Summary] = []
    for _ in range(20_000):
        waiting += [conversation.messages[conversation.add("user")] for _ in range(5)]
        while (step := next_step(waiting, holding, limits)) is not None:
            new = conversation.carry_out(step)
            # Only its own range can meet it here, and looking at all of them takes long.
            conversation.summaries.clear()
            if isinstance(step, Summarise):
                waiting = waiting[len(step.messages) :]
                holding.append(new)
            else:
                at = holding.index(step.summaries[0])
                holding[at : at + len(step.summaries)] = [new]
        assert len(holding) <= limits.most_summaries
    assert sum(summary.message_count for summary in holding) + len(waiting) == 100_000
    assert max(summary.level for summary in holding) <= 12
