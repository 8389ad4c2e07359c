"""Preferences: what a user sets for themselves, for all of their agents, and gone with them."""

from __future__ import annotations

import asyncio
from datetime import timedelta, timezone

import msgspec

from recollect.domain.preferences import Preferences
from recollect.errors import StaleVersionError
from recollect.ports.store import Store
from recollect.testing.expect import raises
from recollect.testing.samples import ALICE, BOB, STRANGER, after, append, erasure, preferences
from recollect.testing.store.dump import dump

#: Callers at the same moment.
CALLERS = 12


class PreferenceConformance:
    """Check what a store promises about preferences."""

    async def test_a_user_who_set_nothing_has_the_defaults(self, store: Store) -> None:
        assert await store.get_preferences(ALICE) == Preferences()
        assert Preferences() == Preferences(memory_enabled=True, instructions="", version=0, updated_at=None)

    async def test_what_a_change_leaves_unset_stays(self, store: Store) -> None:
        steps = [
            (preferences(instructions="Be brief.\n𝔅 茶 ", at=after(1)), (True, "Be brief.\n𝔅 茶 ")),
            (preferences(memory_enabled=False, at=after(2)), (False, "Be brief.\n𝔅 茶 ")),
            (preferences(memory_enabled=True, instructions="", at=after(3)), (True, "")),
        ]
        for version, (change, expected) in enumerate(steps, 1):
            changed = await store.change_preferences(ALICE, change)
            assert (changed.memory_enabled, changed.instructions) == expected
            assert (changed.version, changed.updated_at) == (version, after(version))
            assert await store.get_preferences(ALICE) == changed

    async def test_preferences_that_stay_as_they_are_make_no_version(self, store: Store) -> None:
        for same in (preferences(), preferences(memory_enabled=True, instructions="")):
            assert await store.change_preferences(ALICE, same) == Preferences()
        assert await store.get_preferences(ALICE) == Preferences()
        kept = await store.change_preferences(ALICE, preferences(instructions="Be brief."))
        again = preferences(memory_enabled=True, instructions="Be brief.", at=after(9))
        assert await store.change_preferences(ALICE, again) == kept

    async def test_a_stale_version_of_preferences_changes_nothing(self, store: Store) -> None:
        await store.change_preferences(ALICE, preferences(memory_enabled=False, expected_version=0))
        before = await dump(store, ALICE)
        for stale in (0, 2):
            with raises(StaleVersionError):
                await store.change_preferences(ALICE, preferences(memory_enabled=True, expected_version=stale))
        assert await dump(store, ALICE) == before
        changed = await store.change_preferences(ALICE, preferences(memory_enabled=True, expected_version=1))
        assert changed.version == 2

    async def test_one_expected_version_of_preferences_is_changed_once(self, store: Store) -> None:
        changes = [preferences(instructions=f"Rule {number}.", expected_version=0) for number in range(CALLERS)]
        ended = await asyncio.gather(*(store.change_preferences(ALICE, one) for one in changes), return_exceptions=True)
        changed = [one for one in ended if isinstance(one, Preferences)]
        assert [type(one) for one in ended].count(StaleVersionError) == CALLERS - 1
        assert [await store.get_preferences(ALICE)] == changed

    async def test_changes_of_preferences_at_once_all_take_effect(self, store: Store) -> None:
        flags = [preferences(memory_enabled=False)] * CALLERS
        texts = [preferences(instructions="Be brief.")] * CALLERS
        await asyncio.gather(
            *(store.change_preferences(ALICE, one) for pair in zip(flags, texts, strict=True) for one in pair)
        )
        kept = await store.get_preferences(ALICE)
        assert (kept.memory_enabled, kept.instructions, kept.version) == (False, "Be brief.", 2)

    async def test_all_agents_of_a_user_share_the_preferences(self, store: Store) -> None:
        guide = msgspec.structs.replace(ALICE, agent="guide")
        kept = await store.change_preferences(guide, preferences(memory_enabled=False))
        assert await store.get_preferences(ALICE) == kept
        for stranger in (BOB, STRANGER):
            assert await store.get_preferences(stranger) == Preferences()

    async def test_the_time_of_preferences_comes_back_in_utc(self, store: Store) -> None:
        there = after(5).astimezone(timezone(timedelta(hours=5)))
        await store.change_preferences(ALICE, preferences(memory_enabled=False, at=there))
        updated = (await store.get_preferences(ALICE)).updated_at
        assert updated is not None
        assert (updated, updated.utcoffset()) == (after(5), timedelta(0))

    async def test_erasing_a_user_erases_and_counts_the_preferences(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1"))
        for scope in (ALICE, BOB, STRANGER):
            await store.change_preferences(scope, preferences(instructions=f"Call me {scope.user}."))
        assert (await store.erase_conversation(ALICE, "c1", erasure("r1"))).erased.preferences == 0
        assert (await store.get_preferences(ALICE)).version == 1
        assert (await store.erase_user(ALICE, erasure("r2"))).erased.preferences == 1
        assert await store.get_preferences(ALICE) == Preferences()
        for stranger in (BOB, STRANGER):
            assert (await store.get_preferences(stranger)).version == 1
        assert (await store.erase_user(ALICE, erasure("r3"))).erased.preferences == 0
