"""The ledger: what was spent is counted once, for its user alone, and outlives what it was spent on."""

from __future__ import annotations

import asyncio

import msgspec

from recollect.domain.price import Cost, Price, Prices
from recollect.domain.turn import Usage
from recollect.domain.usage import UNNAMED_MODEL, Share, Spent, UsageQuery, UsageTotals
from recollect.ports.store import Store
from recollect.testing.samples import ALICE, BOB, STRANGER, after, append, erasure, turn, usage

CALLERS = 50
SPENT = Usage(input_tokens=7, output_tokens=3)


def spent(read: int, written: int, calls: int = 1, estimated: int = 0) -> Spent:
    """Return what some entries add up to."""
    return Spent(input_tokens=read, output_tokens=written, calls=calls, estimated=estimated)


def names(shares: tuple[Share, ...]) -> dict[str, int]:
    """Return the tokens of each share by its name."""
    return {share.name: share.spent.tokens for share in shares}


class UsageConformance:
    """Check what a store promises about what models cost."""

    async def test_nothing_was_spent_before_the_first_entry(self, store: Store) -> None:
        assert await store.usage_totals(ALICE, UsageQuery()) == UsageTotals()

    async def test_entries_add_up_by_kind_model_conversation_and_job(self, store: Store) -> None:
        await store.record_usage(ALICE, usage("u1", conversation_id="c1", job_id="j1"))
        await store.record_usage(ALICE, usage("u2", conversation_id="c1", job_id="j1", calls=3, estimated=1))
        await store.record_usage(ALICE, usage("u3", kind="embed", model="vectors", usage=Usage(input_tokens=100)))
        totals = await store.usage_totals(ALICE, UsageQuery())
        assert totals.total == spent(110, 4, 5, 1)
        assert totals.by_kind == (Share("embed", spent(100, 0)), Share("extract", spent(10, 4, 4, 1)))
        assert totals.by_model == (Share("vectors", spent(100, 0)), Share("small", spent(10, 4, 4, 1)))
        assert totals.by_conversation == (Share("c1", spent(10, 4, 4, 1)),)
        assert totals.by_job == (Share("j1", spent(10, 4, 4, 1)),)
        assert totals.corrupt == ()

    async def test_usage_of_one_id_counts_once(self, store: Store) -> None:
        for entry in (usage("u1"), usage("u1"), usage("u1", kind="title", usage=SPENT)):
            await store.record_usage(ALICE, entry)
        assert (await store.usage_totals(ALICE, UsageQuery())).by_kind == (Share("extract", spent(5, 2)),)

    async def test_usage_is_added_up_by_conversation_job_and_period(self, store: Store) -> None:
        for number in range(4):
            place = {"conversation_id": f"c{number % 2}", "job_id": f"j{number}"}
            entry = usage(f"u{number}", at=after(number), usage=Usage(input_tokens=10**number), **place)
            await store.record_usage(ALICE, entry)

        async def read(**wanted: object) -> int:
            return (await store.usage_totals(ALICE, UsageQuery(**wanted))).total.input_tokens  # type: ignore[arg-type]

        assert await read(conversation_id="c1") == 1_010
        assert await read(job_id="j2") == 100
        assert await read(conversation_id="c1", job_id="j2") == 0
        assert await read(since=after(1), until=after(3)) == 110
        assert await read(since=after(1), until=after(1)) == 0
        assert await read(conversation_id="c0", since=after(1)) == 100
        assert await read(conversation_id="nothing") == 0

    async def test_what_cost_most_is_named_first(self, store: Store) -> None:
        for number, tokens in enumerate((3, 9, 9, 1)):
            place = {"conversation_id": f"c{number}", "job_id": f"j{number}"}
            await store.record_usage(ALICE, usage(f"u{number}", usage=Usage(output_tokens=tokens), **place))
        totals = await store.usage_totals(ALICE, UsageQuery(limit=3))
        assert list(names(totals.by_conversation)) == ["c1", "c2", "c0"]
        assert list(names(totals.by_job)) == ["j1", "j2", "j0"]
        assert totals.total == spent(0, 22, 4)

    async def test_a_turn_enters_its_usage(self, store: Store) -> None:
        await store.record_turn(ALICE, turn("t1", append("c1", "m1"), usage=SPENT, model="large"))
        await store.record_turn(ALICE, turn("t1", append("c1", "m1"), usage=SPENT, model="large"))
        await store.record_turn(ALICE, turn("t1", append("c2", "m1"), usage=SPENT))
        await store.record_turn(ALICE, turn("t2", append("c2", "m2"), model="large"))
        totals = await store.usage_totals(ALICE, UsageQuery())
        assert totals.by_kind == (Share("chat", spent(14, 6, 2)),)
        assert names(totals.by_model) == {"large": 10, UNNAMED_MODEL: 10}
        assert names(totals.by_conversation) == {"c1": 10, "c2": 10}

    async def test_a_turn_that_is_not_stored_enters_nothing(self, store: Store) -> None:
        await store.record_turn(ALICE, turn("t1", append("c1", "m1")))
        await store.erase_message(ALICE, "c1", "m1", erasure())
        await store.record_turn(ALICE, turn("t2", append("c1", "m1"), usage=SPENT))
        assert await store.usage_totals(ALICE, UsageQuery()) == UsageTotals()

    async def test_usage_comes_to_what_it_costs_at_the_given_prices(self, store: Store) -> None:
        million = Usage(input_tokens=1_000_000, output_tokens=500_000)
        await store.record_usage(ALICE, usage("u1", model="large", usage=million, conversation_id="c1"))
        await store.record_usage(ALICE, usage("u2", model="small", conversation_id="c1", job_id="j1"))
        await store.record_usage(ALICE, usage("u3", model="small", kind="title", conversation_id="c2"))
        prices = Prices(currency="EUR", of={"large": Price(input=0.1, output=0.4)})
        totals = await store.usage_totals(ALICE, UsageQuery(prices=prices))
        assert totals.total.cost == Cost(amount=0.3, currency="EUR", unpriced_tokens=14)
        assert {one.name: one.spent.cost for one in totals.by_model} == {
            "large": Cost(amount=0.3, currency="EUR"),
            "small": None,
        }
        assert totals.by_conversation[0].spent.cost == Cost(amount=0.3, currency="EUR", unpriced_tokens=7)
        assert [one.spent.cost for one in (*totals.by_job, *totals.by_conversation[1:])] == [None, None]
        free = Prices(currency="EUR", of={"small": Price(input=0, output=0), **prices.of})
        totals = await store.usage_totals(ALICE, UsageQuery(prices=free, conversation_id="c2"))
        assert totals.total.cost == Cost(amount=0.0, currency="EUR")
        assert (await store.usage_totals(ALICE, UsageQuery())).total.cost is None

    async def test_nothing_of_another_user_is_counted(self, store: Store) -> None:
        guide = msgspec.structs.replace(ALICE, agent="guide")
        for scope in (ALICE, guide, BOB, STRANGER):
            entry = usage(f"of {scope.agent}", conversation_id="c1", job_id="j1")
            await store.record_usage(scope, entry)
        for scope, entries in ((ALICE, 2), (BOB, 1), (STRANGER, 1)):
            for query in (UsageQuery(), UsageQuery(conversation_id="c1"), UsageQuery(job_id="j1")):
                assert (await store.usage_totals(scope, query)).total == spent(5 * entries, 2 * entries, entries)

    async def test_entries_at_once_all_count(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1"))
        entries = [
            usage(f"u{number % CALLERS}", usage=Usage(input_tokens=number % CALLERS), conversation_id="c1")
            for number in range(2 * CALLERS)
        ]
        await asyncio.gather(*(store.record_usage(ALICE, entry) for entry in entries))
        assert (await store.usage_totals(ALICE, UsageQuery())).total == spent(sum(range(CALLERS)), 0, CALLERS)

    async def test_an_erased_conversation_leaves_only_its_counts(self, store: Store) -> None:
        await store.record_turn(ALICE, turn("t1", append("c1", "m1"), usage=SPENT, model="large"))
        await store.record_usage(ALICE, usage("u1", conversation_id="c1", job_id="j1"))
        await store.record_usage(ALICE, usage("u2", conversation_id="c2", job_id="j2"))
        before = await store.usage_totals(ALICE, UsageQuery())
        receipt = await store.erase_conversation(ALICE, "c1", erasure())
        after_it = await store.usage_totals(ALICE, UsageQuery())
        assert receipt.erased.usage == 0
        assert (after_it.total, after_it.by_kind, after_it.by_model) == (before.total, before.by_kind, before.by_model)
        assert (names(after_it.by_conversation), names(after_it.by_job)) == ({"c2": 7}, {"j2": 7})
        assert await store.usage_totals(ALICE, UsageQuery(conversation_id="c1")) == UsageTotals()

    async def test_what_an_erased_conversation_cost_later_does_not_name_it(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1"))
        await store.erase_conversation(ALICE, "c1", erasure())
        await store.record_usage(ALICE, usage("late", conversation_id="c1", job_id="j1"))
        totals = await store.usage_totals(ALICE, UsageQuery())
        assert (totals.total, totals.by_conversation, totals.by_job) == (spent(5, 2), (), ())

    async def test_an_entry_beside_an_erasure_counts_and_names_nothing(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1"))
        writes = [store.record_usage(ALICE, usage(f"u{number}", conversation_id="c1")) for number in range(20)]
        await asyncio.gather(*writes[:10], store.erase_conversation(ALICE, "c1", erasure()), *writes[10:])
        totals = await store.usage_totals(ALICE, UsageQuery())
        assert (totals.total, totals.by_conversation) == (spent(100, 40, 20), ())

    async def test_clearing_a_conversation_keeps_what_it_cost(self, store: Store) -> None:
        await store.record_turn(ALICE, turn("t1", append("c1", "m1"), usage=SPENT))
        before = await store.usage_totals(ALICE, UsageQuery())
        await store.clear_conversation(ALICE, "c1", erasure())
        assert await store.usage_totals(ALICE, UsageQuery()) == before

    async def test_erasing_a_user_erases_and_counts_the_usage(self, store: Store) -> None:
        await store.record_turn(ALICE, turn("t1", append("c1", "m1"), usage=SPENT))
        await store.record_usage(ALICE, usage("u1"))
        await store.record_usage(BOB, usage("u1"))
        receipt = await store.erase_user(ALICE, erasure())
        assert receipt.erased.usage == 2
        assert await store.usage_totals(ALICE, UsageQuery()) == UsageTotals()
        assert (await store.usage_totals(BOB, UsageQuery())).total == spent(5, 2)
