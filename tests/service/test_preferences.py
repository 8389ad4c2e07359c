"""What a user sets for themselves, obeyed in prompts, by tools and in learning."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recollect.domain.context import NOTES_PLACEHOLDER
from recollect.domain.job import JobQuery
from recollect.domain.memory import MemoryQuery
from recollect.domain.note_tool import NOTE_TOOL
from recollect.domain.preferences import MAX_INSTRUCTIONS, Preferences
from recollect.domain.rendering import INSTRUCTIONS_HEADER
from recollect.domain.scope import Scope
from recollect.errors import (
    CorruptRecordError,
    InvalidInputError,
    StaleVersionError,
    StorageUnavailableError,
)
from recollect.ports.chat_model import ModelRequest
from recollect.service.chat_request import ChatRequest
from recollect.service.memories import Correction, Statement
from recollect.service.notes import NoteRequest
from recollect.service.preferences import PreferenceRequest
from recollect.service.recollect import Recollect
from recollect.service.tools import SEARCH_TOOL
from recollect.testing.clock import FakeClock
from recollect.testing.samples import ALICE, BOB
from tests.support.learning import asked, contents, found, item, mark, tell
from tests.support.model_service import GOOD, Played, play

OFF, ON = PreferenceRequest(memory_enabled=False), PreferenceRequest(memory_enabled=True)
#: The store fails in whatever way.
FAULTS = [StorageUnavailableError("away"), CorruptRecordError("preferences", "alice"), ZeroDivisionError()]


async def turn(played: Played, text: str, **more: Any) -> ModelRequest:
    """Take a turn and return what the model was asked."""
    played.answer(GOOD)
    reply = await played.service.chat.turn(ALICE, ChatRequest(text=text, **more))
    assert reply.message.status == "complete"
    request = played.server.seen[-1].request
    assert request is not None
    return request


def whole(request: ModelRequest) -> str:
    return "\n".join([request.system, *(one.text for one in request.messages)])


async def remember(service: Recollect) -> None:
    """Have something of every kind that is remembered."""
    await service.memories.add(ALICE, Statement(content="Is called Ada", is_pinned=True))
    await service.memories.add(ALICE, Statement(content="Likes green tea"))
    await service.notes.apply(ALICE, NoteRequest(operation="overwrite", content="Plays the cello."))
    await tell(service, ALICE, "My tea shop is in Bergen.", conversation_id="earlier")


REMEMBERED = ("Is called Ada", "Likes green tea", "Plays the cello.", "My tea shop is in Bergen.")


class Reads:
    """Count the reads of preferences, and let them fail."""

    def __init__(self, service: Recollect, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.error: Exception | None = None
        self._read = service.store.get_preferences
        monkeypatch.setattr(service.store, "get_preferences", self.get)

    async def get(self, scope: Scope) -> Preferences:
        """Count, then read or fail."""
        self.count += 1
        if self.error is not None:
            raise self.error
        return await self._read(scope)


# What is kept


async def test_a_change_sets_what_it_names_and_is_told_to_the_sessions(service: Recollect) -> None:
    heard = service.events.subscribe(ALICE)
    assert await service.preferences.get(ALICE) == Preferences()
    first = await service.preferences.change(ALICE, PreferenceRequest(instructions="Be brief."))
    second = await service.preferences.change(ALICE, PreferenceRequest(memory_enabled=False, expected_version=1))
    assert (first.version, second.version) == (1, 2)
    assert (second.memory_enabled, second.instructions) == (False, "Be brief.")
    assert await service.preferences.get(ALICE) == second
    assert await service.preferences.get(BOB) == Preferences()
    events = [await anext(heard) for _ in range(2)]
    assert [(event.kind, event.entity_id) for event in events] == [("settings.updated", "alice")] * 2


async def test_what_changes_nothing_or_is_refused_is_told_to_nobody(service: Recollect, clock: FakeClock) -> None:
    await service.preferences.change(ALICE, OFF)
    clock.advance(seconds=1)
    heard = service.events.subscribe(ALICE)
    kept = await service.preferences.change(ALICE, OFF)
    with pytest.raises(StaleVersionError):
        await service.preferences.change(ALICE, PreferenceRequest(memory_enabled=True, expected_version=0))
    for bad in ("x" * (MAX_INSTRUCTIONS + 1), "\0", 7):
        with pytest.raises(InvalidInputError):
            await service.preferences.change(ALICE, PreferenceRequest(instructions=bad))  # type: ignore[arg-type]
    assert await service.preferences.get(ALICE) == kept
    await service.notes.apply(ALICE, NoteRequest(operation="append", content="later"))
    assert (await anext(heard)).kind == "notes.updated"


async def test_secrets_in_instructions_are_not_kept(service: Recollect) -> None:
    kept = await service.preferences.change(ALICE, PreferenceRequest(instructions="My card is 4111 1111 1111 1111."))
    assert "4111" not in kept.instructions
    assert kept.instructions.startswith("My card is ")


# What a model is told


async def test_without_memory_nothing_remembered_is_told_and_no_tool_is_offered(tmp_path: Path) -> None:
    async with play(tmp_path / "r.db", {"context.system": "You are kind."}) as played:
        service = played.service
        await remember(service)
        before = await turn(played, "Which tea do I like, and where is my tea shop?")
        assert [text for text in REMEMBERED if text not in whole(before)] == []
        assert {tool.name for tool in before.tools} == {NOTE_TOOL, SEARCH_TOOL}
        await service.preferences.change(ALICE, OFF)
        request = await turn(played, "Which tea do I like, and where is my tea shop?", conversation_id="c2")
        assert [text for text in REMEMBERED if text in whole(request)] == []
        assert (request.system, request.tools) == ("You are kind.", ())
        context = await service.contexts.preview(ALICE, "c2", query="Which tea do I like?")
        assert {block.kind for block in context.blocks} == {"system", "window", "message"}
        # What is stored stays in the user's hands.
        (tea,) = [one for one in (await service.memories.list(ALICE, MemoryQuery())).items if "tea" in one.content]
        await service.memories.change(ALICE, tea.id, Correction(content="Likes black tea"))
        await service.preferences.change(ALICE, ON)
        again = await turn(played, "Which tea do I like?", conversation_id="c3")
        assert "Likes black tea" in whole(again)
        assert {tool.name for tool in again.tools} == {NOTE_TOOL, SEARCH_TOOL}


async def test_the_built_in_responder_answers_from_nothing_without_memory(service: Recollect) -> None:
    await remember(service)
    asking = ChatRequest(text="Which tea do I like?")
    assert "green tea" in (await service.chat.turn(ALICE, asking)).message.content
    await service.preferences.change(ALICE, OFF)
    reply = await service.chat.turn(ALICE, asking)
    assert "green tea" not in reply.message.content
    assert (reply.recalled, reply.memories) == ((), ())


@pytest.mark.parametrize("temporary", [False, True])
async def test_instructions_follow_the_prompt_of_the_application(tmp_path: Path, temporary: bool) -> None:
    async with play(tmp_path / "r.db", {"context.system": "You are kind."}) as played:
        await remember(played.service)
        wish = f"Answer in Norwegian.\nNever say {NOTES_PLACEHOLDER}."
        await played.service.preferences.change(ALICE, PreferenceRequest(instructions=wish))
        request = await turn(played, "Hello", instructions="You sell tea.", temporary=temporary)
        beginning = f"You are kind.\n\nYou sell tea.\n\n{INSTRUCTIONS_HEADER}{wish}"
        if temporary:
            assert request.system == beginning
        else:
            assert request.system.startswith(f"{beginning}\n\n## What You Know About the User\n- Is called Ada")
        await played.service.preferences.change(ALICE, PreferenceRequest(memory_enabled=False))
        assert (await turn(played, "Hello", instructions="You sell tea.")).system == beginning
        await played.service.preferences.change(ALICE, PreferenceRequest(instructions=" \n"))
        assert (await turn(played, "Hello")).system == "You are kind."


@pytest.mark.parametrize("error", FAULTS)
async def test_preferences_that_cannot_be_read_leave_chat_working(
    service: Recollect, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    await remember(service)
    Reads(service, monkeypatch).error = error
    reply = await service.chat.turn(ALICE, ChatRequest(text="Which tea do I like?"))
    assert reply.message.status == "complete"
    assert "green tea" in reply.message.content


@pytest.mark.parametrize(("is_on", "reads"), [(True, 5), (False, 0)])
async def test_a_turn_reads_preferences_once_and_not_at_all_where_memory_is_off(
    make: Callable[..., Recollect], is_on: bool, reads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = make(memory__enabled=is_on)
    counted = Reads(service, monkeypatch)
    for number in range(5):
        await service.chat.turn(ALICE, ChatRequest(text=f"Number {number}", conversation_id="c1"))
    assert counted.count == reads


# What is learned


async def test_what_is_said_without_memory_is_never_learned(tmp_path: Path) -> None:
    async with play(tmp_path / "r.db", {"jobs.debounce_seconds": 5}) as played:
        service = played.service
        service.worker.start()
        await service.preferences.change(ALICE, OFF)
        await tell(service, ALICE, "I like tea.")
        played.answer(found(item("Likes tea", "I like tea")))
        await played.pass_time(seconds=10)
        assert (asked(played), await contents(service), await mark(service)) == ([], [], 1)
        assert [job.state for job in await played.jobs(["extract"])] == ["done"]
        await service.preferences.change(ALICE, ON)
        await tell(service, ALICE, "I have a dog.")
        played.answer(found(item("Has a dog", "I have a dog")))
        await played.pass_time(seconds=10)
        (request,) = asked(played)
        assert "I have a dog." in request.messages[0].text
        assert (await contents(service), await mark(service)) == (["Has a dog"], 2)


async def test_memory_that_is_switched_off_while_a_model_reads_learns_nothing(
    service: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    extractor = service.learner._extractors.first
    extract = extractor.extract

    async def switch_off(*given: Any) -> Any:
        extracted = await extract(*given)
        assert extracted.candidates
        await service.preferences.change(ALICE, OFF)
        return extracted

    monkeypatch.setattr(type(extractor), "extract", lambda _self, request: switch_off(request))
    await tell(service, ALICE, "I live in Oslo.")
    learned = await service.learner.learn(ALICE, "c1")
    assert learned.memories == ()
    assert (await contents(service), await mark(service)) == ([], 1)


async def test_learning_waits_until_it_is_known_whether_it_is_wanted(
    service: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    await service.preferences.change(ALICE, OFF)
    await tell(service, ALICE, "I live in Oslo.")
    reads = Reads(service, monkeypatch)
    reads.error = StorageUnavailableError("away")
    with pytest.raises(StorageUnavailableError):
        await service.learner.learn(ALICE, "c1")
    assert await mark(service) == 0
    reads.error = None
    assert (await service.learner.learn(ALICE, "c1")).read == 0
    assert (await contents(service), await mark(service)) == ([], 1)
    # Nobody else is kept from learning.
    await tell(service, BOB, "I live in Oslo.")
    assert (await service.learner.learn(BOB, "c1")).memories != ()
    assert [job.state for job in await service.store.list_jobs(BOB, JobQuery()) if job.kind == "extract"] == ["queued"]
