"""Notes: one per user and agent, changed by seven operations, with every version kept."""

from __future__ import annotations

from recollect.domain.note import NoteHistoryQuery
from recollect.domain.scope import Scope
from recollect.errors import InvalidNoteOperationError, NoteNotFoundError, StaleVersionError
from recollect.ports.store import Store
from recollect.testing.clock import START
from recollect.testing.expect import raises
from recollect.testing.samples import ALICE, after, note
from recollect.testing.store.dump import dump


class NoteConformance:
    """Check what a store promises about notes."""

    async def test_a_note_that_nobody_wrote_is_empty(self, store: Store) -> None:
        unwritten = await store.get_note(ALICE)
        assert (unwritten.agent, unwritten.notes, unwritten.version) == ("assistant", "", 0)
        assert (unwritten.created_at, unwritten.updated_at) == (None, None)

    async def test_each_operation_changes_the_newest_text(self, store: Store) -> None:
        steps = [
            (note("overwrite", "# Tea\ngreen\n"), "# Tea\ngreen\n"),
            (note("append", "# Coffee\nnone"), "# Tea\ngreen\n# Coffee\nnone"),
            (note("prepend", "About Alice"), "About Alice\n# Tea\ngreen\n# Coffee\nnone"),
            (
                note("replace_section_by_header", "black", section_header="tea"),
                "About Alice\n# Tea\nblack\n# Coffee\nnone",
            ),
            (note("delete_section_by_header", section_header="# Coffee"), "About Alice\n# Tea\nblack\n"),
            (note("delete_all_notes"), ""),
        ]
        for version, (change, text) in enumerate(steps, 1):
            changed = await store.change_note(ALICE, change)
            assert (changed.notes, changed.version) == (text, version)
            assert await store.get_note(ALICE) == changed

    async def test_a_note_keeps_when_it_was_first_and_last_written(self, store: Store) -> None:
        await store.change_note(ALICE, note("append", "one", at=after(1)))
        changed = await store.change_note(ALICE, note("append", "two", at=after(2)))
        assert (changed.created_at, changed.updated_at) == (after(1), after(2))

    async def test_an_operation_that_changes_nothing_makes_no_version(self, store: Store) -> None:
        written = await store.change_note(ALICE, note("append", "one"))
        for change in (note("read"), note("append", ""), note("overwrite", "one", at=after(9))):
            assert await store.change_note(ALICE, change) == written
        assert len(await store.note_history(ALICE, NoteHistoryQuery())) == 1

    async def test_each_agent_has_a_note_of_its_own(self, store: Store) -> None:
        guide = Scope(ALICE.tenant, ALICE.user, "guide")
        await store.change_note(ALICE, note("append", "mine"))
        await store.change_note(guide, note("append", "the guide's"))
        assert (await store.get_note(ALICE)).notes == "mine"
        assert (await store.get_note(guide)).notes == "the guide's"
        assert [one.notes for one in await store.note_history(guide, NoteHistoryQuery())] == ["the guide's"]

    async def test_the_agents_that_noted_something_are_listed_by_name(self, store: Store) -> None:
        for agent in ("zoe", "Ada", "guide"):
            await store.change_note(Scope(ALICE.tenant, ALICE.user, agent), note("append", "mine"))
        await store.change_note(Scope(ALICE.tenant, "bob", "his"), note("append", "his"))
        await store.change_note(Scope(ALICE.tenant, ALICE.user, "guide"), note("delete_all_notes"))
        assert await store.noting_agents(ALICE) == ("Ada", "guide", "zoe")

    async def test_a_stale_version_of_a_note_changes_nothing(self, store: Store) -> None:
        await store.change_note(ALICE, note("append", "one"))
        before = await dump(store, ALICE)
        for expected in (0, 2):
            with raises(StaleVersionError):
                await store.change_note(ALICE, note("append", "lost", expected_version=expected))
        assert await dump(store, ALICE) == before
        assert (await store.change_note(ALICE, note("append", "two", expected_version=1))).version == 2

    async def test_an_operation_that_does_not_fit_the_note_changes_nothing(self, store: Store) -> None:
        await store.change_note(ALICE, note("append", "# Tea\ngreen"))
        before = await dump(store, ALICE)
        wrong = [
            note("delete_section_by_header", section_header="Coffee"),
            note("replace_section_by_header", "black", section_header="Coffee"),
            note("append", "x" * 200_000),
        ]
        for change in wrong:
            with raises(InvalidNoteOperationError):
                await store.change_note(ALICE, change)
        assert await dump(store, ALICE) == before

    async def test_undo_brings_back_the_text_before_as_a_new_version(self, store: Store) -> None:
        await store.change_note(ALICE, note("append", "one"))
        await store.change_note(ALICE, note("delete_all_notes"))
        undone = await store.undo_note(ALICE, after(5))
        assert (undone.notes, undone.version, undone.updated_at) == ("one", 3, after(5))
        assert await store.get_note(ALICE) == undone

    async def test_undo_of_the_first_change_leaves_an_empty_note(self, store: Store) -> None:
        await store.change_note(ALICE, note("append", "one"))
        undone = await store.undo_note(ALICE, START)
        assert (undone.notes, undone.version) == ("", 2)

    async def test_there_is_nothing_to_undo_before_the_first_change(self, store: Store) -> None:
        with raises(NoteNotFoundError):
            await store.undo_note(ALICE, START)
        assert (await store.get_note(ALICE)).version == 0

    async def test_every_version_is_kept_newest_first(self, store: Store) -> None:
        await store.change_note(ALICE, note("overwrite", "one", conversation_id="c1", at=after(9)))
        await store.change_note(ALICE, note("append", "two", at=after(1)))
        await store.change_note(ALICE, note("delete_all_notes", at=after(5)))
        history = await store.note_history(ALICE, NoteHistoryQuery())
        assert [(one.version, one.notes, one.operation) for one in history] == [
            (3, "", "delete_all_notes"),
            (2, "one\ntwo", "append"),
            (1, "one", "overwrite"),
        ]
        assert [one.created_at for one in history] == [after(5), after(1), after(9)]
        assert history[-1].conversation_id == "c1"

    async def test_versions_are_listed_in_pages(self, store: Store) -> None:
        for number in range(5):
            await store.change_note(ALICE, note("overwrite", str(number)))
        newest = await store.note_history(ALICE, NoteHistoryQuery(limit=2))
        older = await store.note_history(ALICE, NoteHistoryQuery(limit=2, before_version=newest[-1].version))
        assert [one.version for one in (*newest, *older)] == [5, 4, 3, 2]
