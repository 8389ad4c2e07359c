"""What is erased is found in no file, row, cache or log, the receipt counts it, and nothing brings it back."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.domain.erasure import Erased
from recollect.domain.memory import MemoryQuery
from recollect.domain.recalling import RecallRequest
from recollect.errors import ConversationNotFoundError, ErasedError
from recollect.service.memories import Correction, Statement
from recollect.storage.maintenance import RestoreOptions
from recollect.storage.verify import unseen
from recollect.testing.models import ScriptedReply
from recollect.testing.samples import ALICE, BOB, erasure, message
from tests.support.canary import HARMLESS, Database, PostgresRows
from tests.support.erasure_scene import Scene, told
from tests.support.learning import found, item
from tests.support.memory_jobs import do_jobs

pytestmark = pytest.mark.spec("R26")


async def assert_spread(scene: Scene, *tables: str) -> None:
    """Make sure that the search finds what is there, before it is to find nothing."""
    await scene.other.store.get_window(ALICE, "c1")
    traces = scene.traces()
    assert "redis" in traces
    if isinstance(scene.database, PostgresRows):
        assert set(tables) <= set(traces)
    else:
        assert "r.db-wal" in traces
    assert await scene.remembers()


EVERYWHERE = ("conversations", "messages", "summaries", "memories", "memory_versions", "notes", "note_versions", "jobs")


@pytest.mark.spec("B5")
async def test_an_erased_conversation_is_in_no_byte_and_nothing_brings_it_back(scene: Scene) -> None:
    await scene.spread.everything()
    await assert_spread(scene, *EVERYWHERE)
    before = scene.database.count()
    receipt = await scene.service.conversations.delete(ALICE, "c1")
    erased = scene.assert_counts(receipt, before)
    assert (erased.conversations, erased.messages, erased.batches, erased.turns) == (1, 17, 1, 4)
    assert (erased.notes, erased.note_versions, erased.requests) == (1, 1, 3)
    assert scene.traces() == []
    assert not await scene.remembers()
    for service in (scene.service, scene.other):
        with pytest.raises(ConversationNotFoundError):
            await service.store.get_window(ALICE, "c1")
        with pytest.raises(ErasedError):
            await service.conversations.archive(ALICE, "c1", scene.spread.transcript(), batch_id="batch")
        with pytest.raises(ErasedError):
            await service.conversations.add_messages(ALICE, "c1", scene.spread.transcript())
    assert "cannot be used now" in await scene.service.notes.call(
        ALICE, {"operation": "append", "content": scene.canary.text}, "c1"
    )
    assert scene.traces() == []


async def test_what_was_learned_of_an_erased_conversation_is_kept_if_a_person_wants_it(scene: Scene) -> None:
    await scene.spread.everything()
    before = scene.database.count()
    receipt = await scene.service.conversations.delete(ALICE, "c1", memories=False)
    erased = scene.assert_counts(receipt, before)
    assert (erased.memories, erased.memory_versions, erased.notes, erased.note_versions) == (0, 0, 0, 0)
    assert await scene.remembers()
    left = {"memories", "memory_versions", "notes", "note_versions"}
    if isinstance(scene.database, PostgresRows):
        assert set(scene.traces()) == left
    page = await scene.service.memories.list(ALICE, MemoryQuery(limit=100, trust=None))
    for one in page.items:
        await scene.service.memories.erase(ALICE, one.id)
    await scene.service.store.erase_user(ALICE, erasure())
    assert scene.traces() == []


async def one_message(scene: Scene) -> str:
    """Say the canary once among harmless messages, have everything made of it, and return the id of the message."""
    spread, canary = scene.spread, scene.canary
    await spread.harmless()
    plain = ScriptedReply(text=("I see.",))
    for number in range(3):
        await spread.say("c1", f"I water plant {number} on Monday.", plain, key=f"before-{number}")
    said = await spread.say("c1", f"My name is {canary.name}, also {canary.text}", plain, key="said")
    await spread.note("c1", f"is called {canary.text}")
    await spread.name()
    await spread.fail_to_learn()
    for number in range(3, 6):
        await spread.say("c1", f"I water plant {number} on Monday.", plain)
    await spread.note("c1", "waters plants")
    await spread.compactor().compact(ALICE, "c1")
    home = {"subject": "user", "attribute": "name"}
    spread.played.server.script(
        found(
            item(f"Is called {canary.name}", f"My name is {canary.name}", **home),
            item(f"Speaks of {canary.text}", canary.text),
            item("Waters plant 5 on Monday", "I water plant 5 on Monday"),
        )
    )
    learned = await scene.service.learner.learn(ALICE, "c1")
    for one in learned.memories:
        await scene.service.memories.change(ALICE, one.id, Correction(importance=0.9))
    await scene.service.ledger.flush()
    return said


@pytest.mark.spec("B5")
async def test_an_erased_message_is_in_no_byte_and_its_neighbours_stay(scene: Scene) -> None:
    said = await one_message(scene)
    await assert_spread(scene, *EVERYWHERE)
    before = scene.database.count()
    receipt = await scene.service.conversations.erase_message(ALICE, "c1", said)
    # What was summarised is summarised again, by a job that is queued after the erasure.
    before["jobs"] = scene.database.count()["jobs"]
    erased = scene.assert_counts(receipt, before)
    assert (erased.messages, erased.turns, erased.memories, erased.memory_versions) == (1, 1, 2, 2)
    assert (erased.vectors, erased.notes, erased.note_versions, erased.requests) == (3, 1, 2, 4)
    assert erased.summaries >= 2
    assert scene.traces() == []
    assert not await scene.remembers()
    window = await scene.other.store.get_window(ALICE, "c1")
    assert window.conversation.title is None
    page = await scene.service.conversations.get_messages(ALICE, "c1")
    assert sum("I water plant" in one.content for one in page.messages) == 6
    assert "Waters plant 5 on Monday" in await scene.recalled(scene.service, "Which plant do I water?")
    assert (await scene.service.notes.read(ALICE)).notes == f"# Kept\n{HARMLESS}\nwaters plants"
    again = message(said, f"My name is {scene.canary.name}, also {scene.canary.text}")
    appended = await scene.other.conversations.add_messages(ALICE, "c1", [again])
    assert (appended.messages, appended.refused) == ((), (said,))
    assert (await scene.other.conversations.archive(ALICE, "c1", [again])).refused == 1
    assert scene.traces() == []


@pytest.mark.spec("B6")
async def test_an_erased_statement_is_learned_from_nobody_and_told_again_only_by_a_person(scene: Scene) -> None:
    spread, canary, service = scene.spread, scene.canary, scene.service
    await spread.harmless()
    home = {"subject": canary.name, "attribute": "name", "category": canary.words["latin"]}
    first = await service.memories.add(ALICE, Statement(content=f"Is called {canary.text}", **home))  # type: ignore[arg-type]
    await service.memories.change(ALICE, first.id, Correction(content=f"Was called {canary.text}"))
    second = await service.memories.add(ALICE, Statement(content=f"Is now {canary.name}", **home))  # type: ignore[arg-type]
    other = await service.memories.add(ALICE, Statement(content=f"Goes by {canary.text}"))
    assert await scene.remembers()
    await service.memories.delete(ALICE, other.id)
    await service.memories.undo(ALICE, other.id)
    before = scene.database.count()
    for memory_id, versions in ((first.id, 2), (second.id, 0)):
        receipt = await service.memories.erase(ALICE, memory_id)
        assert receipt.erased == Erased(memories=1, memory_versions=versions, vectors=1)
    await service.memories.delete(ALICE, other.id)
    spread.played.clock.advance(seconds=33)
    assert await do_jobs(service, "erase_memory", spread.played.clock()) == 1
    after = scene.database.count()
    assert before["memories"] - after["memories"] == 3
    assert scene.traces() == []
    assert not await scene.remembers()
    await say_it_again(scene)
    said = await service.memories.add(ALICE, Statement(content=f"Is called {canary.text}"))
    assert await scene.remembers()
    await service.memories.erase(ALICE, said.id)
    await service.store.erase_conversation(ALICE, "c3", erasure())
    assert scene.traces() == []


async def say_it_again(scene: Scene) -> None:
    """Say in another conversation, in other letters, what was forgotten; nobody learns it."""
    words = [
        f"is CALLED {scene.canary.text}!",
        f"Was called   {scene.canary.text}",
        f"Is now {scene.canary.name.upper()}.",
    ]
    await scene.service.conversations.add_messages(ALICE, "c3", [message("m1", " ".join(words))])
    scene.spread.played.server.script(found(*(item(one) for one in words), item("Speaks again", words[0])))
    learned = await scene.service.learner.learn(ALICE, "c3")
    assert [one.content for one in learned.memories] == ["Speaks again"]


@pytest.mark.spec("B5")
async def test_an_erased_user_is_in_no_byte(scene: Scene) -> None:
    await scene.spread.everything()
    bob = await scene.service.memories.list(BOB, MemoryQuery())
    before = scene.database.count()
    receipt = await scene.service.store.erase_user(ALICE, erasure())
    erased = scene.assert_counts(receipt, before)
    assert (erased.conversations, erased.notes, erased.note_versions, erased.requests) == (2, 1, 2, 3)
    assert erased.usage == before["usage"]
    assert scene.traces() == []
    for service in (scene.service, scene.other):
        assert await service.recall.search(ALICE, RecallRequest(text=f"{scene.canary.name} {HARMLESS}")) == ()
        assert await service.memories.list(BOB, MemoryQuery()) == bob
        with pytest.raises(ErasedError):
            await service.conversations.archive(ALICE, "c1", scene.spread.transcript(), batch_id="batch")
    await say_it_again_after_the_user(scene)


async def say_it_again_after_the_user(scene: Scene) -> None:
    """Learn in a new conversation what was learned before; it stays forgotten."""
    statement = f"Lives in {scene.canary.name}"
    await scene.service.conversations.add_messages(ALICE, "c3", [message("m1", statement)])
    scene.spread.played.server.script(found(item(statement)))
    assert (await scene.service.learner.learn(ALICE, "c3")).memories == ()


@pytest.mark.spec("B6")
@pytest.mark.parametrize("what", ["message", "conversation", "user"])
async def test_an_older_backup_brings_nothing_back(
    what: str, database: Database, redis_url: str, tmp_path: Path, seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    backup, said = tmp_path / "older.backup", ""
    async with told(database, redis_url, seed, caplog) as scene:
        if what == "message":
            said = await one_message(scene)
        else:
            await scene.spread.everything()
        database.maintenance.back_up(backup, force=False, progress=unseen)
        if what == "message":
            await scene.service.conversations.erase_message(ALICE, "c1", said)
        elif what == "conversation":
            await scene.service.conversations.delete(ALICE, "c1")
        else:
            await scene.service.store.erase_user(ALICE, erasure())
    report = database.maintenance.restore(backup, RestoreOptions(), unseen)
    assert report.erased.messages >= 1
    async with told(database, redis_url, seed, caplog) as scene:
        assert scene.traces() == []
        if what == "user":
            assert await scene.service.recall.search(ALICE, RecallRequest(text=scene.canary.text)) == ()
        else:
            assert not await scene.remembers()
        again = [message(said, scene.canary.text)] if what == "message" else scene.spread.transcript()
        if what == "message":
            assert (await scene.service.conversations.archive(ALICE, "c1", again)).refused == 1
        else:
            with pytest.raises(ErasedError):
                await scene.service.conversations.archive(ALICE, "c1", again, batch_id="batch")
        assert scene.traces() == []


async def test_what_a_person_kept_of_an_erased_conversation_outlives_a_restore(
    database: Database, redis_url: str, tmp_path: Path, seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    backup = tmp_path / "older.backup"
    async with told(database, redis_url, seed, caplog) as scene:
        await scene.service.conversations.add_messages(ALICE, "c1", [message("m1", scene.canary.text)])
        await scene.spread.note("c1", "prefers tea")
        database.maintenance.back_up(backup, force=False, progress=unseen)
        await scene.service.conversations.delete(ALICE, "c1", memories=False)
    database.maintenance.restore(backup, RestoreOptions(), unseen)
    async with told(database, redis_url, seed, caplog) as scene:
        assert (await scene.service.notes.read(ALICE)).notes == "prefers tea"
        assert scene.traces() == []
