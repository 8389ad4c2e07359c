"""However the model misbehaves while it reads, chat goes on, nothing is lost, and each failure can be seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.domain.job import JobQuery
from recollect.service.chat_request import ChatRequest
from recollect.testing.models import Fault, ScriptedReply
from recollect.testing.models.conformance import ENDLESS, SLOW, UNAVAILABLE
from recollect.testing.models.script import JSON_FAULTS
from recollect.testing.samples import ALICE, message
from tests.service.test_model_faults import CALLS, TEXT, on_every_protocol
from tests.support.learning import (
    Counts,
    asked,
    attempted,
    contents,
    counted_learner,
    drained,
    found,
    item,
    learn,
    mark,
    memories,
    tell,
)
from tests.support.model_service import GOOD, Played, play

TEA = item("Likes tea", "I like tea")
#: Words of each answer that cannot be used but has some.
WORDS = {
    **{fault: text[:20] for fault, text in JSON_FAULTS.items()},
    **dict.fromkeys(CALLS, "Hello, world"),
    Fault.INVALID_UTF8: "caf",
    Fault.SURROGATES: "a",
}


@pytest.mark.spec("R12")
@pytest.mark.parametrize("fault", Fault)
async def test_what_could_not_be_read_waits_visibly_and_is_learned_later(fault: Fault, tmp_path: Path) -> None:
    await on_every_protocol(fault, tmp_path, check_failing, {})


async def check_failing(played: Played, fault: Fault) -> None:
    service = played.service
    await tell(service, ALICE, "I like tea.")
    service.worker.start()
    job = await attempted(played)
    assert (job.state, bool(job.error), job.run_at > played.clock()) == ("queued", True, True)
    assert (await mark(service), await contents(service, trust=None)) == (0, [])
    # What is away comes back; what is wrong may stay so, and is not tried for ever.
    if fault not in ENDLESS:
        assert job.attempts == (0 if fault in UNAVAILABLE + SLOW else 1)
    if fault in TEXT:
        assert WORDS[fault] in (job.error or "").partition("\n\n")[2]
        assert len(asked(played)) == 2
    assert service.worker.state.failed >= 1

    # Chat does not know of it.
    played.answer(GOOD)
    reply = await service.chat.turn(ALICE, ChatRequest(text="What do I like?", conversation_id="c1"))
    if fault not in {*UNAVAILABLE, *SLOW, *ENDLESS}:
        assert reply.message.status == "complete"
    played.answer(found(TEA))
    assert {one.state for one in await drained(played)} == {"done"}
    (tea,) = await memories(service)
    assert (tea.content, tea.quote, await mark(service)) == ("Likes tea", "I like tea", 3)


@pytest.mark.spec("R12")
async def test_an_answer_that_cannot_be_read_is_shown_to_the_model_once(tmp_path: Path) -> None:
    async with play(tmp_path / "r.db", {}) as played:
        await tell(played.service, ALICE, "I like tea.")
        played.server.script(ScriptedReply(fault=Fault.PROSE), found(TEA))
        learned = await played.service.learner.learn(ALICE, "c1")
        assert [memory.content for memory in learned.memories] == ["Likes tea"]
        first, second = asked(played)
        assert [one.role for one in second.messages] == ["user", "assistant", "user"]
        assert second.messages[0] == first.messages[0]
        assert second.messages[1].text == JSON_FAULTS[Fault.PROSE]
        assert "cannot be read" in second.messages[2].text
        assert learned.usage.input_tokens == 14


@pytest.mark.spec("R12")
@pytest.mark.parametrize(
    "answer",
    [
        'Sure!\n```json\n{"memories": [%s]}\n```\nAnything else?',
        '<think>{"memories": []}</think> {"memories": [%s,]}',
        "[%s]",
        '{"memories": [%s, {"type": "fact", "content": "Lives in Ber',
        '{"memories": [%s, 7, "likes tea", {"content": ""}, {"type": "song", "content": "x", "quote": "I like tea"}]}',
        '{"memories": [%s, {"content": "\\ud83d", "quote": "\\u0000"}]}',
    ],
)
async def test_what_is_whole_in_an_odd_answer_is_kept(answer: str, tmp_path: Path) -> None:
    async with play(tmp_path / "r.db", {}) as played:
        counts = Counts()
        await tell(played.service, ALICE, "I like tea.")
        whole = '{"type": "fact", "content": "Likes tea", "importance": 0.6, "quote": "I like tea"}'
        played.server.script(ScriptedReply(text=(answer.replace("%s", whole),)))
        await counted_learner(played.service, counts).learn(ALICE, "c1")
        assert (await contents(played.service), await mark(played.service)) == (["Likes tea"], 1)
        rejected = {reason: n for (name, reason), n in counts.counted.items() if name == "memory.rejected.count"}
        if "Ber" in answer:
            assert rejected == {"cut_off": 1}
        if "song" in answer:
            assert rejected == {"not_an_object": 2, "blank": 1, "bad_type": 1}
        assert len(asked(played)) == 1


@pytest.mark.spec("R12")
async def test_a_reply_cut_by_the_output_limit_is_counted_and_what_it_holds_is_kept(tmp_path: Path) -> None:
    async with play(tmp_path / "r.db", {}) as played:
        await tell(played.service, ALICE, "I like tea.")
        text = found(TEA).text
        played.server.script(ScriptedReply(text=text, reason="length"))
        learned = await played.service.learner.learn(ALICE, "c1")
        assert ([memory.content for memory in learned.memories], learned.rejected) == (["Likes tea"], 1)


@pytest.mark.spec("R12")
async def test_a_slow_answer_is_an_answer(tmp_path: Path) -> None:
    async with play(tmp_path / "r.db", {}) as played:
        await tell(played.service, ALICE, "I like tea.")
        played.server.script(ScriptedReply(text=found(TEA).text, delay=0.2, ragged=True))
        assert len((await played.service.learner.learn(ALICE, "c1")).memories) == 1


@pytest.mark.spec("R12")
@pytest.mark.parametrize("fault", [Fault.PROSE, Fault.REFUSAL, Fault.UNAUTHORISED, Fault.GARBAGE])
async def test_what_can_never_be_read_ends_as_a_dead_job_and_the_next_message_tries_it_anew(
    fault: Fault, tmp_path: Path
) -> None:
    async with play(tmp_path / "r.db", {}) as played:
        service = played.service
        await tell(service, ALICE, "I like tea.")
        played.answer(ScriptedReply(fault=fault))
        service.worker.start()
        (dead,) = await drained(played)
        assert (dead.state, dead.attempts, bool(dead.error), await mark(service)) == ("dead", 8, True, 0)
        if fault is Fault.PROSE:
            assert dead.error is not None
            assert dead.error.endswith(f"\n\n{JSON_FAULTS[Fault.PROSE]}")
            assert dead.error.startswith("provider_output: ")
        played.answer(found(TEA, item("Has a dog", "I have a dog")))
        await tell(service, ALICE, "I have a dog.")
        await drained(played)
        assert (await contents(service), await mark(service)) == (["Likes tea", "Has a dog"], 2)
        assert dead in await service.store.list_jobs(ALICE, JobQuery(state="dead"))


@pytest.mark.spec("R12")
async def test_an_answer_as_long_as_a_model_can_write_leaves_an_error_that_every_store_holds(tmp_path: Path) -> None:
    async with play(tmp_path / "r.db", {}) as played:
        await tell(played.service, ALICE, "I like tea.")
        played.answer(ScriptedReply(text=("words without end \ud83d\0 ".encode(errors="replace").decode() * 5_000,)))
        played.service.worker.start()
        job = await attempted(played)
        assert job.error is not None
        raw = job.error.partition("\n\n")[2]
        assert raw.startswith("words without end")
        assert len(raw) == 4_000


@pytest.mark.spec("R12")
async def test_a_model_that_was_away_for_an_hour_reads_every_message_once_when_it_is_back(tmp_path: Path) -> None:
    async with play(tmp_path / "r.db", {"memory.extractor": "model"}) as played:
        service = played.service
        service.worker.start()
        items = [item(f"Met friend {number}", f"I met friend {number} today") for number in range(60)]
        async with played.server.down():
            for number in range(60):
                said = message(f"m{number}", f"I met friend {number} today.", created_at=played.clock())
                await service.conversations.add_messages(ALICE, f"c{number % 3}", [said])
                await played.pass_time(minutes=1)
            waiting = await played.jobs(["extract"])
            assert [(job.state, job.attempts) for job in waiting] == [("queued", 0)] * 3
            assert all(job.error for job in waiting)
        assert await contents(service) == []
        played.answer(found(*items))
        assert [job.state for job in await drained(played)] == ["done"] * 3
        assert sorted(await contents(service)) == sorted(one["content"] for one in items)
        told = [line for request in asked(played) for line in request.messages[0].text.splitlines()]
        shown = [line.partition("I met friend ")[2] for line in told if line.startswith("[m")]
        assert sorted(shown) == sorted(f"{number} today." for number in range(60))


async def test_an_item_that_is_wrong_takes_no_other_with_it(tmp_path: Path) -> None:
    async with play(tmp_path / "r.db", {}) as played:
        wrong = item("x" * 2_000, "I like tea")
        learned = await learn(played, "I like tea.", wrong, TEA, {"content": "No quote"}, {"quote": "I like tea"})
        assert ([memory.content for memory in learned.memories], learned.rejected) == (["Likes tea"], 3)
