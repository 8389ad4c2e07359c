"""Closing: what was accepted is finished, and a closed store says so."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from recollect.domain.page import MessageQuery
from recollect.errors import StorageUnavailableError
from recollect.ports.store import Store
from recollect.testing.expect import outcome
from recollect.testing.samples import ALICE, BOB, append, ids_of
from recollect.testing.store.calls import call, furnish
from recollect.testing.store.dump import dump
from recollect.testing.store.scopes import content

#: Close a store and open what it kept.
Reopen = Callable[[Store], Awaitable[Store]]


class ClosingConformance:
    """Check what a store promises about its end."""

    async def test_a_closed_store_says_that_it_is_not_available(self, store: Store) -> None:
        calls = await furnish(store, ALICE)
        await store.close()
        answered: list[str] = []
        for name, arguments in calls.items():
            ended = await outcome(call(store, ALICE, name, arguments))
            if not isinstance(ended, StorageUnavailableError):
                answered.append(f"{name}: {ended!r}")
        assert not answered, "\n".join(answered)

    async def test_closing_twice_does_nothing_more(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1"))
        await store.close()
        await store.close()

    async def test_closing_finishes_what_was_accepted(self, store: Store) -> None:
        calls = [asyncio.ensure_future(store.append(ALICE, append("c1", f"m{number}"))) for number in range(20)]
        await asyncio.sleep(0)
        await store.close()
        ended = await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), 30)
        refused = [one for one in ended if isinstance(one, BaseException)]
        assert all(isinstance(one, StorageUnavailableError) for one in refused)


class DurabilityConformance:
    """Check what a store on disk promises: give a `reopen` fixture, which closes a store and opens its data again."""

    async def test_everything_survives_a_close(self, store: Store, reopen: Reopen) -> None:
        calls = await furnish(store, ALICE)
        await furnish(store, BOB)
        before = [await dump(store, scope) for scope in (ALICE, BOB)]
        again = await reopen(store)
        assert [await dump(again, scope) for scope in (ALICE, BOB)] == before
        found = await again.search_messages(ALICE, calls["search_messages"]["query"])
        assert content(found)

    async def test_what_was_erased_stays_erased_after_a_close(self, store: Store, reopen: Reopen) -> None:
        calls = await furnish(store, ALICE)
        for name in ("erase_message", "erase_conversation", "erase_memory"):
            await call(store, ALICE, name, calls[name])
        again = await reopen(store)
        appended = await again.append(ALICE, append("c1", "m5", "m6"))
        assert (ids_of(appended.messages), appended.refused) == (["m6"], ("m5",))

    async def test_what_was_acknowledged_before_a_close_is_there_after_it(self, store: Store, reopen: Reopen) -> None:
        calls = [asyncio.ensure_future(store.append(ALICE, append("c1", f"m{number}"))) for number in range(20)]
        await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        again = await reopen(store)
        ended = await asyncio.gather(*calls, return_exceptions=True)
        kept = {one.messages[0].id for one in ended if not isinstance(one, BaseException)}
        page = await again.list_messages(ALICE, MessageQuery(conversation_id="c1", limit=100))
        assert kept <= set(ids_of(page.messages))
