"""Notes are kept by people and by a model's tool: nothing is lost, and other sessions hear of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from recollect.domain.note import OPERATIONS, Note, NoteChange, NoteHistoryQuery
from recollect.domain.scope import Scope
from recollect.errors import (
    InvalidNoteOperationError,
    NoteNotFoundError,
    StaleVersionError,
    StorageUnavailableError,
)
from recollect.ports.events import Event, Events
from recollect.ports.notes import NoteStore
from recollect.service.notes import NOTES_UPDATED, NoteRequest, Notes
from recollect.storage.driver import Driver
from recollect.storage.inmemory import InMemoryStore
from recollect.storage.local_events import LocalEvents
from recollect.storage.postgres import PostgresDriver, PostgresOptions
from recollect.storage.postgres_events import PostgresEvents
from recollect.storage.sqlite import SqliteDriver
from recollect.storage.store import SqlStore
from recollect.testing.clock import START, FakeClock
from recollect.testing.samples import ALICE, BOB
from tests.support.heard_events import Heard

GUIDE = Scope(ALICE.tenant, ALICE.user, "guide")
UPDATED = Event(kind=NOTES_UPDATED, scope=ALICE, entity_id="assistant")


class DeadStore(InMemoryStore):
    """A store that cannot be reached."""

    async def get_note(self, scope: Scope) -> Note:
        raise StorageUnavailableError("away")

    async def change_note(self, scope: Scope, change: NoteChange) -> Note:
        raise StorageUnavailableError("away")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def notes(clock: FakeClock, heard: Heard) -> Notes:
    return Notes(InMemoryStore(), heard, clock=clock)


def ask(operation: Any = "read", content: str | None = None, **more: Any) -> NoteRequest:
    return NoteRequest(operation=operation, content=content, **more)


@pytest.mark.spec("S2.5")
async def test_each_agent_of_a_user_has_one_note_with_its_times(notes: Notes, clock: FakeClock) -> None:
    assert await notes.read(ALICE) == Note(agent="assistant", notes="", version=0, created_at=None, updated_at=None)
    await notes.apply(ALICE, ask("append", "likes tea"))
    later = clock.advance(hours=1)
    changed = await notes.apply(ALICE, ask("append", "likes cake"))
    assert changed == await notes.read(ALICE)
    assert (changed.notes, changed.version) == ("likes tea\nlikes cake", 2)
    assert (changed.created_at, changed.updated_at) == (START, later)
    assert (await notes.read(GUIDE)).version == 0
    assert (await notes.read(BOB)).version == 0


async def test_reading_by_an_operation_writes_nothing_and_checks_the_version(notes: Notes, heard: Heard) -> None:
    written = await notes.apply(ALICE, ask("append", "likes tea"))
    assert await notes.apply(ALICE, ask()) == written
    assert await notes.apply(ALICE, ask(expected_version=1)) == written
    with pytest.raises(StaleVersionError):
        await notes.apply(ALICE, ask(expected_version=7))
    assert len(heard.events) == 1


async def test_a_change_can_be_looked_back_on_and_undone(notes: Notes, clock: FakeClock, heard: Heard) -> None:
    await notes.apply(ALICE, ask("append", "likes tea", conversation_id="c1"))
    clock.advance(hours=1)
    await notes.apply(ALICE, ask("delete_all_notes"))
    clock.advance(hours=1)
    undone = await notes.undo(ALICE)
    assert (undone.notes, undone.version, undone.updated_at) == ("likes tea", 3, clock())
    versions = await notes.history(ALICE)
    assert [(one.version, one.notes, one.conversation_id) for one in versions] == [
        (3, "likes tea", None),
        (2, "", None),
        (1, "likes tea", "c1"),
    ]
    assert [one.version for one in await notes.history(ALICE, NoteHistoryQuery(limit=1, before_version=3))] == [2]
    assert heard.events == [UPDATED] * 3
    with pytest.raises(NoteNotFoundError):
        await notes.undo(BOB)


async def test_only_a_change_is_told_to_other_sessions(notes: Notes, clock: FakeClock, heard: Heard) -> None:
    await notes.apply(ALICE, ask("append", "# Tea\ngreen"))
    clock.advance(seconds=1)
    await notes.apply(ALICE, ask("append", ""))
    await notes.call(ALICE, {"operation": "overwrite", "content": "# Tea\ngreen"})
    for wrong in (ask("delete_section_by_header", section_header="Coffee"), ask("append"), ask("sing")):
        with pytest.raises(InvalidNoteOperationError):
            await notes.apply(ALICE, wrong)
    with pytest.raises(StaleVersionError):
        await notes.apply(ALICE, ask("append", "lost", expected_version=0))
    assert heard.events == [UPDATED]
    await notes.call(GUIDE, {"operation": "append", "content": "of the guide"})
    assert heard.events == [UPDATED, Event(kind=NOTES_UPDATED, scope=GUIDE, entity_id="guide")]


@pytest.fixture(params=["sqlite", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Any]:
    """Open one more server on the same database: its store and its events."""
    local = LocalEvents()
    url = str(tmp_path / "notes.db") if request.param == "sqlite" else request.getfixturevalue("postgres_url")

    async def server() -> tuple[Driver, Events]:
        if request.param == "sqlite":
            return await SqliteDriver.open(url), local
        return await PostgresDriver.open(url, PostgresOptions(pool_max=4)), await PostgresEvents.open(url)

    return server


@pytest.fixture
async def servers(opened: Callable[[], Any]) -> AsyncIterator[list[tuple[NoteStore, Events]]]:
    """Give two servers on one database; on SQLite they share a process and so their events."""
    drivers: list[tuple[Driver, Events]] = [await opened(), await opened()]
    yield [(SqlStore(driver), events) for driver, events in drivers]
    for driver, events in drivers:
        await events.close()
        await driver.close()


@pytest.mark.spec("S2.11")
async def test_a_session_on_another_server_hears_of_a_change_and_reads_it(
    servers: list[tuple[NoteStore, Events]], clock: FakeClock
) -> None:
    (here, publisher), (there, receiver) = servers
    mine, others = receiver.subscribe(ALICE), receiver.subscribe(BOB)
    await Notes(here, publisher, clock=clock).call(ALICE, {"operation": "append", "content": "likes tea"})
    async with asyncio.timeout(20):
        assert await anext(mine) == UPDATED
    assert (await Notes(there, receiver, clock=clock).read(ALICE)).notes == "likes tea"
    await Notes(here, publisher, clock=clock).apply(BOB, ask("append", "likes cake"))
    async with asyncio.timeout(20):
        assert (await anext(others)).scope == BOB


@pytest.mark.spec("R10")
async def test_changes_at_once_on_two_servers_lose_nothing(
    servers: list[tuple[NoteStore, Events]], clock: FakeClock, count: Callable[[int, int], int]
) -> None:
    writers, rounds = 8, count(4, 40)
    both = [Notes(store, events, clock=clock) for store, events in servers]
    sections = "".join(f"# Section {number}\nempty\n" for number in range(writers))
    await both[0].apply(ALICE, ask("overwrite", f"{sections}# Log\n"))

    async def add(number: int) -> None:
        for turn in range(rounds):
            told = await both[turn % 2].call(ALICE, {"operation": "append", "content": f"line {number}.{turn}"})
            assert told.startswith("Saved")

    async def edit(number: int) -> None:
        for turn in range(rounds):
            text = f"text {number}.{turn}"
            edit = ask("replace_section_by_header", text, section_header=f"section {number}")
            await both[(number + turn) % 2].apply(ALICE, edit)

    await asyncio.gather(*map(add, range(writers)), *map(edit, range(writers)))
    written = await both[1].read(ALICE)
    head, _, log = written.notes.partition("# Log\n")
    last = "".join(f"# Section {number}\ntext {number}.{rounds - 1}\n" for number in range(writers))
    assert head == last
    assert sorted(log.split("\n")) == sorted(f"line {n}.{turn}" for n in range(writers) for turn in range(rounds))
    assert written.version == 1 + 2 * writers * rounds
    versions = await both[0].history(ALICE, NoteHistoryQuery(limit=1_000))
    assert [one.version for one in versions] == list(range(written.version, 0, -1))


@pytest.mark.spec("R10")
async def test_writers_that_expect_a_version_never_overwrite_each_other(
    servers: list[tuple[NoteStore, Events]], clock: FakeClock, count: Callable[[int, int], int]
) -> None:
    writers, rounds = 6, count(3, 30)
    both = [Notes(store, events, clock=clock) for store, events in servers]
    await both[0].apply(ALICE, ask("overwrite", "0"))
    all_have_read = asyncio.Barrier(writers)

    async def increase(number: int) -> int:
        refused = 0
        for turn in range(rounds):
            while True:
                before = await both[number % 2].read(ALICE)
                if turn == refused == 0:
                    await all_have_read.wait()
                more = ask("overwrite", str(int(before.notes) + 1), expected_version=before.version)
                try:
                    await both[number % 2].apply(ALICE, more)
                    break
                except StaleVersionError:
                    refused += 1
        return refused

    refused = await asyncio.gather(*map(increase, range(writers)))
    assert sum(refused) >= writers - 1
    written = await both[0].read(ALICE)
    assert (written.notes, written.version) == (str(writers * rounds), writers * rounds + 1)


@pytest.mark.spec("S2.6")
async def test_a_model_reads_and_changes_its_notes_by_the_tool(notes: Notes, clock: FakeClock) -> None:
    steps: list[tuple[dict[str, Any], str]] = [
        ({}, "(no notes yet)"),
        ({"operation": "overwrite", "content": "# Tea\ngreen"}, "Saved: overwrite. The notes are at version 1"),
        ({"operation": "append", "content": "# Coffee\nnone"}, "Saved: append."),
        ({"operation": "prepend", "content": "About Alice", "section_header": None}, "Saved: prepend."),
        ({"operation": "replace_section_by_header", "section_header": "TEA", "content": "black"}, "Saved: replace"),
        ({"operation": "delete_section_by_header", "section_header": "# Coffee"}, "Saved: delete_section"),
        ({"operation": "read"}, "About Alice\n# Tea\nblack\n"),
        ({"operation": "delete_all_notes"}, "Saved: delete_all_notes. The notes are at version 6"),
        ({"operation": "read"}, "(no notes yet)"),
    ]
    for given_input, told in steps:
        clock.advance(seconds=1)
        assert (await notes.call(ALICE, given_input, "c1")).startswith(told)
    assert {one.conversation_id for one in await notes.history(ALICE)} == {"c1"}


async def test_a_call_may_come_as_json(notes: Notes) -> None:
    assert (await notes.call(ALICE, '{"operation": "append", "content": "likes tea"}')).startswith("Saved")
    assert await notes.call(ALICE, b"{}") == "likes tea"
    assert await notes.call(ALICE, "") == "likes tea"


@pytest.mark.parametrize(
    ("wrong", "advice"),
    [
        ({"operation": "sing"}, "operation must be one of read, overwrite, append"),
        ({"operation": 3}, "operation must be one of"),
        ({"operation": "append"}, "append needs content"),
        ({"operation": "append", "content": 3}, "content must be text"),
        ({"operation": "append", "content": "a\0b"}, "must not hold a NUL"),
        ({"operation": "append", "content": "x" * 200_001}, "at most 200000 are kept"),
        ({"operation": "delete_section_by_header"}, "needs section_header"),
        ({"operation": "delete_section_by_header", "section_header": ["Tea"]}, "section_header must be text"),
        ({"operation": "delete_section_by_header", "section_header": "Cake"}, "no section with this header"),
        ({"operation": "replace_section_by_header", "section_header": "Cake", "content": "x"}, "no section with"),
        ("{", "the input is no JSON"),
        (b"\xff", "the input is no JSON"),
        ([], "send an object with operation"),
        (None, "send an object with operation"),
        ("[]", "send an object with operation"),
    ],
)
async def test_a_call_that_cannot_be_done_tells_the_model_what_to_do(
    notes: Notes, heard: Heard, wrong: object, advice: str
) -> None:
    written = await notes.apply(ALICE, ask("append", "# Tea\ngreen\n## Sorts\nmany\n```\n# code\n```"))
    told = await notes.call(ALICE, wrong)
    assert told.startswith("Error: ")
    assert advice in told
    assert "Nothing was changed. The notes have these sections:\n# Tea\n## Sorts\nUse append" in told
    assert await notes.read(ALICE) == written
    assert len(heard.events) == 1


async def test_a_call_on_notes_without_sections_says_so(notes: Notes) -> None:
    told = await notes.call(ALICE, {"operation": "delete_section_by_header", "section_header": "Tea"})
    assert told.endswith("The notes have no sections; use append to add text.")


async def test_only_so_many_headers_are_told(notes: Notes) -> None:
    told = await notes.call(ALICE, {"operation": "append", "content": "\n".join(f"# h{n}" for n in range(80))})
    assert told.endswith("# h49\n… and 30 more")


async def test_a_store_that_is_away_does_not_end_the_chat(clock: FakeClock, heard: Heard) -> None:
    notes = Notes(DeadStore(), heard, clock=clock)
    for operation in OPERATIONS:
        told = await notes.call(ALICE, {"operation": operation, "content": "x", "section_header": "x"})
        assert told.startswith("Error: the notes cannot be used now (storage_unavailable)")
    assert (await notes.call(ALICE, {"operation": "sing"})).endswith("Nothing was changed.")
    assert heard.events == []


SECRET = "sk-proj-" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4zAb3dEf6hIj9kLm2n"


async def test_a_secret_is_never_written(notes: Notes, clock: FakeClock) -> None:
    told = await notes.call(ALICE, {"operation": "append", "content": f"the key is {SECRET}"})
    assert "Secrets were not kept: " in told
    clock.advance(seconds=1)
    await notes.apply(ALICE, ask("overwrite", f"# Keys\nOPENAI_API_KEY={SECRET}"))
    for version in await notes.history(ALICE):
        assert SECRET not in version.notes
        assert "[redacted" in version.notes
