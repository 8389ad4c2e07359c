"""What was erased stays forgotten: no replay, no late job and no second reading brings it back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from recollect.domain.erasure import Receipt
from recollect.domain.scope import Scope
from recollect.errors import ConversationNotFoundError, ErasedError
from recollect.service.learning import Learned
from recollect.service.recollect import Recollect
from recollect.testing.clock import FakeClock
from recollect.testing.samples import ALICE, claims, message
from tests.support.learning import contents, found, item, learn, mark, memories, remembered
from tests.support.model_service import play

TEA, DOG = "The user likes tea.", "The user likes dogs."
SAID = (message("m1", "I like tea."), message("m2", "I like dogs."))


async def say(service: Recollect, conversation_id: str = "c1", scope: Scope = ALICE) -> None:
    await service.conversations.add_messages(scope, conversation_id, SAID)


@asynccontextmanager
async def late(service: Recollect, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[asyncio.Task[Learned]]:
    """Have a reading under way whose result is saved only when the block ends."""
    extractor = service.learner._extractors.first
    real, has_read, go_on = extractor.extract, asyncio.Event(), asyncio.Event()

    async def held(request: Any) -> Any:
        extracted = await real(request)
        if not has_read.is_set():
            has_read.set()
            await go_on.wait()
        return extracted

    monkeypatch.setattr(extractor, "extract", held)
    reading = asyncio.create_task(service.learner.learn(ALICE, "c1"))
    await has_read.wait()
    yield reading
    go_on.set()
    await asyncio.wait({reading})


async def forgotten(service: Recollect, text: str) -> bool:
    """Tell whether no memory says this: neither current nor past, waiting or archived, nor in a prompt."""
    every = await contents(service, trust=None, archived=None)
    known = [memory.content for memory in await service.recall.known(ALICE)]
    return text not in (*every, *known, *(await remembered(service, text)))


@pytest.mark.spec("B6")
async def test_an_erased_memory_is_not_learned_again_from_the_same_words(
    make: Callable[..., Recollect], clock: FakeClock
) -> None:
    service = make()
    await say(service)
    await service.learner.learn(ALICE, "c1")
    tea, dog = await memories(service)
    assert (tea.content, dog.content) == (TEA, DOG)
    await service.memories.erase(ALICE, tea.id)
    clock.advance(days=1)
    # The same transcript once more, under the same ids, under others, and elsewhere.
    await say(service)
    again = [message("n1", "I like tea."), message("n2", "I like TEA!"), message("n3", "I like coffee.")]
    await service.conversations.add_messages(ALICE, "c1", again)
    await service.conversations.add_messages(ALICE, "c2", [message("o1", "I like tea.")])
    for conversation_id in ("c1", "c2"):
        await service.learner.learn(ALICE, conversation_id)
    assert await forgotten(service, TEA)
    assert await contents(service) == [DOG, "The user likes coffee."]


@pytest.mark.spec("B6")
async def test_what_an_erased_message_said_is_not_learned_from_its_replay(make: Callable[..., Recollect]) -> None:
    service = make()
    await say(service)
    await service.learner.learn(ALICE, "c1")
    await service.conversations.erase_message(ALICE, "c1", "m1")
    assert await contents(service) == [DOG]
    await say(service)
    assert [one.id for one in (await service.conversations.get_messages(ALICE, "c1")).messages] == ["m2"]
    await service.learner.learn(ALICE, "c1")
    assert await forgotten(service, TEA)
    assert await contents(service) == [DOG]


@pytest.mark.spec("B6")
async def test_a_job_for_an_erased_conversation_brings_nothing_back(make: Callable[..., Recollect]) -> None:
    service = make()
    await say(service)
    (held,) = await service.store.claim_jobs(claims(kinds=("extract",)))
    await service.conversations.delete(ALICE, "c1")
    with pytest.raises(ConversationNotFoundError):
        await service.learner.extract_job(ALICE, held.job)
    with pytest.raises(ErasedError):
        await say(service)
    assert await contents(service, trust=None) == []


@pytest.mark.spec("B6")
async def test_a_late_reading_does_not_bring_back_a_memory_that_was_erased_meanwhile(
    make: Callable[..., Recollect], monkeypatch: pytest.MonkeyPatch
) -> None:
    service = make()
    await service.conversations.add_messages(ALICE, "c0", [message("o1", "I like tea.")])
    (tea,) = (await service.learner.learn(ALICE, "c0")).memories
    await say(service)
    async with late(service, monkeypatch) as reading:
        await service.memories.erase(ALICE, tea.id)
    assert [memory.content for memory in reading.result().memories] == [DOG]
    assert await forgotten(service, TEA)
    assert await mark(service) == 2


@pytest.mark.spec("B6")
async def test_a_late_reading_does_not_save_what_a_message_said_that_was_erased_meanwhile(
    make: Callable[..., Recollect], monkeypatch: pytest.MonkeyPatch
) -> None:
    service = make()
    await say(service)
    async with late(service, monkeypatch) as reading:
        await service.conversations.erase_message(ALICE, "c1", "m1")
    # What is left was read again, and is learned.
    assert [memory.content for memory in reading.result().memories] == [DOG]
    assert await forgotten(service, TEA)
    assert await mark(service) == 2


@pytest.mark.spec("B6")
async def test_a_late_reading_of_a_conversation_that_was_erased_or_begun_anew_saves_nothing_of_it(
    make: Callable[..., Recollect], monkeypatch: pytest.MonkeyPatch
) -> None:
    service = make()
    await say(service)
    async with late(service, monkeypatch) as reading:
        await service.conversations.clear_messages(ALICE, "c1")
        anew = [message("n1", "I like coffee."), message("n2", "I like cats.")]
        await service.conversations.add_messages(ALICE, "c1", anew)
    assert sorted(memory.content for memory in reading.result().memories) == [
        "The user likes cats.",
        "The user likes coffee.",
    ]
    await service.conversations.add_messages(ALICE, "c1", [message("n3", "I like the sea.")])
    monkeypatch.undo()
    async with late(service, monkeypatch) as reading:
        await service.conversations.delete(ALICE, "c1")
    assert isinstance(reading.exception(), ConversationNotFoundError)
    assert await contents(service, trust=None, archived=None) == []


@pytest.mark.spec("B6")
async def test_words_of_an_erased_message_that_only_helped_to_understand_are_not_kept(tmp_path: Path) -> None:
    async with play(tmp_path / "r.db", {}) as played:
        service = played.service
        await learn(played, "My cat is called Tom.", item("Has a cat called Tom", "My cat is called Tom"))
        (first,) = (await service.conversations.get_messages(ALICE, "c1")).messages
        await service.conversations.add_messages(ALICE, "c1", [message("m2", "He likes fish.")])
        # The model had read of Tom before his name was erased, and asked again it knows nothing of him.
        played.server.script(
            found(item("Tom likes fish", "He likes fish")), found(item("Somebody likes fish", "He likes fish"))
        )
        real = service.store.save_extraction
        erased: list[Receipt] = []

        async def erased_before(scope: Scope, result: Any) -> Any:
            if not erased:
                erased.append(await service.conversations.erase_message(ALICE, "c1", first.id))
            return await real(scope, result)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(service.store, "save_extraction", erased_before)
            await service.learner.learn(ALICE, "c1")
        assert await contents(service, trust=None) == ["Somebody likes fish"]
