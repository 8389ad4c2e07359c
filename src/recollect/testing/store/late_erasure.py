"""Erasing what was noted, and what others still hold in their hands while it is erased."""

from __future__ import annotations

from recollect.domain.conversation import ConversationChanges
from recollect.domain.erasure import Erased
from recollect.domain.job import JobFailure
from recollect.domain.memory import Source
from recollect.domain.note import NoteHistoryQuery
from recollect.domain.scope import Scope
from recollect.errors import ErasedError, StaleVersionError
from recollect.ports.store import Store
from recollect.testing.expect import raises
from recollect.testing.samples import ALICE, after, append, claims, erasure, job, memory, message, note
from recollect.testing.store.memories import change

COACH = Scope(ALICE.tenant, ALICE.user, "coach")


async def texts(store: Store, scope: Scope = ALICE) -> list[str]:
    """Return the texts of a note, newest first."""
    return [version.notes for version in await store.note_history(scope, NoteHistoryQuery())]


class EraseNoteConformance:
    """Check what a store promises about notes when the conversation in which they were written is erased."""

    async def test_the_lines_noted_in_an_erased_conversation_leave_every_version(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1"))
        await store.change_note(ALICE, note("overwrite", "# Tea\ngreen", at=after(1)))
        await store.change_note(ALICE, note("append", "secret", at=after(2), conversation_id="c1"))
        await store.change_note(ALICE, note("append", "black", at=after(3), conversation_id="c2"))
        await store.change_note(COACH, note("append", "runs", at=after(3)))
        receipt = await store.erase_conversation(ALICE, "c1", erasure(at=after(9)))
        assert receipt.erased == Erased(conversations=1, messages=1, notes=1, note_versions=2)
        now = await store.get_note(ALICE)
        assert (now.notes, now.version, now.updated_at) == ("# Tea\ngreen\nblack", 4, after(9))
        assert await texts(store) == ["# Tea\ngreen\nblack", "# Tea\ngreen\nblack", "# Tea\ngreen", "# Tea\ngreen"]
        assert (await store.note_history(ALICE, NoteHistoryQuery(limit=1)))[0].operation == "erase"
        assert await texts(store, COACH) == ["runs"]

    async def test_a_line_that_was_taken_back_and_brought_back_still_goes(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1"))
        await store.change_note(COACH, note("append", "mine\n", at=after(1)))
        await store.change_note(COACH, note("append", "  secret", at=after(2), conversation_id="c1"))
        await store.change_note(COACH, note("overwrite", "mine", at=after(3)))
        await store.change_note(COACH, note("overwrite", "secret\nmine", at=after(4)))
        receipt = await store.erase_conversation(ALICE, "c1", erasure())
        assert (receipt.erased.notes, receipt.erased.note_versions) == (1, 2)
        assert "secret" not in "".join(await texts(store, COACH))
        assert (await store.get_note(COACH)).notes == "mine"

    async def test_an_older_version_is_lessened_when_the_note_says_it_no_more(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1"))
        await store.change_note(ALICE, note("append", "secret", at=after(1), conversation_id="c1"))
        await store.change_note(ALICE, note("overwrite", "tea", at=after(2)))
        receipt = await store.clear_conversation(ALICE, "c1", erasure())
        assert receipt.erased == Erased(messages=1, note_versions=1)
        assert await texts(store) == ["tea", ""]
        assert (await store.get_note(ALICE)).version == 2

    async def test_only_what_was_noted_in_the_turn_of_an_erased_message_goes_with_it(self, store: Store) -> None:
        for number in (1, 2, 3):
            said = message(f"m{number}", created_at=after(10 * number))
            await store.append(ALICE, append("c1", said))
            noted = note("append", f"after {number}", at=after(10 * number + 5), conversation_id="c1")
            await store.change_note(ALICE, noted)
        elsewhere = note("append", "elsewhere", at=after(26), conversation_id="c2")
        await store.change_note(ALICE, elsewhere)
        receipt = await store.erase_message(ALICE, "c1", "m2", erasure())
        assert (receipt.erased.notes, receipt.erased.note_versions) == (1, 3)
        assert (await store.get_note(ALICE)).notes == "after 1\nafter 3\nelsewhere"
        reply = message("m4", role="assistant", created_at=after(31))
        await store.append(ALICE, append("c1", reply))
        assert (await store.erase_message(ALICE, "c1", "m4", erasure())).erased.notes == 1
        assert (await store.get_note(ALICE)).notes == "after 1\nelsewhere"

    async def test_notes_stay_with_the_memories_if_the_erasure_says_so(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "m2"))
        await store.change_note(ALICE, note("append", "kept", conversation_id="c1"))
        await store.erase_message(ALICE, "c1", "m1", erasure("r1", memories=False))
        await store.erase_conversation(ALICE, "c1", erasure("r2", memories=False))
        assert await texts(store) == ["kept"]

    async def test_nothing_more_is_noted_in_an_erased_conversation(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1"))
        await store.erase_conversation(ALICE, "c1", erasure())
        with raises(ErasedError):
            await store.change_note(ALICE, note("append", "late", conversation_id="c1"))
        assert await texts(store) == []
        await store.change_note(ALICE, note("append", "new", conversation_id="c2"))
        assert await texts(store) == ["new"]


class EraseLateConformance:
    """Check that whoever read something before it was erased does not bring it back."""

    async def test_an_attempt_under_way_does_not_tell_what_was_erased(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "m2", jobs=(job("j1", conversation_id="c1"),)))
        learned = memory("k1", origin="user", sources=(Source("c1", "m2"),))
        await store.add_memories(ALICE, (learned, memory("k2")))
        for number, what in enumerate(("message", "memory")):
            (taken,) = await store.claim_jobs(claims(f"w{number}", now=after(number)))
            if what == "message":
                await store.erase_message(ALICE, "c1", "m1", erasure())
            else:
                await store.erase_memory(ALICE, "k1", erasure())
            failure = JobFailure(at=after(number), error="cannot read: words", retry_at=after(number))
            assert (await store.fail_job(ALICE, taken.claim, failure)).error == "erased"
        (taken,) = await store.claim_jobs(claims("w9", now=after(9)))
        assert taken.job.error is None
        failure = JobFailure(at=after(9), error="another reason", retry_at=after(9))
        assert (await store.fail_job(ALICE, taken.claim, failure)).error == "another reason"

    async def test_a_title_for_what_was_there_before_an_erasure_is_refused(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "m2"))
        version = (await store.get_conversation(ALICE, "c1")).version
        await store.erase_message(ALICE, "c1", "m1", erasure())
        late = ConversationChanges(at=after(9), title="About m1", title_source="auto", expected_version=version)
        with raises(StaleVersionError):
            await store.change_conversation(ALICE, "c1", late)
        assert (await store.get_conversation(ALICE, "c1")).title is None

    async def test_what_an_erased_memory_said_before_it_was_changed_stays_forgotten_too(self, store: Store) -> None:
        await store.add_memories(ALICE, (memory("k1", "Likes tea", origin="user"),))
        await change(store, "k1", content="Likes green tea")
        await change(store, "k1", content="Likes black tea")
        await store.erase_memory(ALICE, "k1", erasure())
        again = tuple(
            memory(f"n{n}", f"likes {tea}tea", origin="user") for n, tea in enumerate(("", "green ", "black "))
        )
        assert (await store.add_memories(ALICE, again)).refused == ("n0", "n1", "n2")
