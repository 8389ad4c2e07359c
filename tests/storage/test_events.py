"""Events reach the sessions of one user, as hints, within a process and between servers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec
import psycopg
import pytest

from recollect.domain.scope import Scope
from recollect.errors import InvalidInputError, StorageUnavailableError
from recollect.ports.events import OVERFLOW, Event, Events, Subscription
from recollect.storage import postgres_events
from recollect.storage.local_events import LocalEvents
from recollect.storage.postgres_events import CHANNEL, LOST, MAX_PAYLOAD, PostgresEvents, payloads
from recollect.testing.samples import ALICE, BOB, STRANGER

SIZE = 8


@pytest.fixture(params=["local", "postgres"])
async def pair(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Events, Events]]:
    """Give a publisher and where its events arrive: one process, or two servers."""
    if request.param == "local":
        events: Events = LocalEvents(SIZE)
        opened = [events, events]
    else:
        url = request.getfixturevalue("postgres_url")
        opened = [await PostgresEvents.open(url, size=SIZE) for _ in range(2)]
    yield opened[0], opened[1]
    for one in opened:
        await one.close()


def event(entity_id: str, scope: Scope = ALICE, kind: str = "note") -> Event:
    return Event(kind=kind, scope=scope, entity_id=entity_id)


async def next_ids(subscription: Subscription, count: int) -> list[str | None]:
    async with asyncio.timeout(20):
        return [(await anext(subscription)).entity_id for _ in range(count)]


async def test_events_arrive_in_order_and_only_at_their_user(pair: tuple[Events, Events]) -> None:
    publisher, receiver = pair
    mine, others = receiver.subscribe(ALICE), [receiver.subscribe(scope) for scope in (BOB, STRANGER)]
    publisher.publish([event("a"), event("b", BOB)])
    publisher.publish([event("c"), event("d", STRANGER), event("e")])
    assert await next_ids(mine, 3) == ["a", "c", "e"]
    assert [await next_ids(other, 1) for other in others] == [["b"], ["d"]]


async def test_an_event_says_kind_id_and_scope(pair: tuple[Events, Events]) -> None:
    publisher, receiver = pair
    guide = Scope("acme", "alice", "guide")
    subscription = receiver.subscribe(ALICE)
    publisher.publish([Event(kind="note", scope=guide, entity_id='“zitiert” "\\ 東京'), Event(kind="all", scope=guide)])
    async with asyncio.timeout(20):
        assert await anext(subscription) == Event(kind="note", scope=guide, entity_id='“zitiert” "\\ 東京')
        assert await anext(subscription) == Event(kind="all", scope=guide, entity_id=None)


async def test_every_subscriber_of_a_user_gets_each_event_once(pair: tuple[Events, Events]) -> None:
    publisher, receiver = pair
    subscriptions = [receiver.subscribe(ALICE) for _ in range(3)]
    publisher.publish([event("a"), event("b")])
    assert [await next_ids(one, 2) for one in subscriptions] == [["a", "b"]] * 3


async def test_a_slow_subscriber_loses_the_oldest_and_is_told(pair: tuple[Events, Events]) -> None:
    publisher, receiver = pair
    slow, quick = receiver.subscribe(ALICE), receiver.subscribe(BOB)
    publisher.publish([event(str(number)) for number in range(SIZE + 3)] + [event("last", BOB)])
    assert await next_ids(quick, 1) == ["last"]
    async with asyncio.timeout(20):
        assert await anext(slow) == Event(kind=OVERFLOW, scope=ALICE)
    assert await next_ids(slow, SIZE) == [str(number) for number in range(3, SIZE + 3)]
    publisher.publish([event("next")])
    assert await next_ids(slow, 1) == ["next"]


async def test_a_closed_subscription_ends_at_once(pair: tuple[Events, Events]) -> None:
    publisher, receiver = pair
    subscription, other = receiver.subscribe(ALICE), receiver.subscribe(ALICE)
    waiting = asyncio.create_task(next_ids(subscription, 1))
    await asyncio.sleep(0)
    subscription.close()
    with pytest.raises(StopAsyncIteration):
        await waiting
    publisher.publish([event("a")])
    assert await next_ids(other, 1) == ["a"]
    assert [one async for one in subscription] == []
    subscription.close()


async def test_closing_sends_what_was_published_and_ends_every_subscription(pair: tuple[Events, Events]) -> None:
    publisher, receiver = pair
    subscription = receiver.subscribe(ALICE)
    publisher.publish([event("a")])
    await publisher.close()
    assert await next_ids(subscription, 1) == ["a"]
    await receiver.close()
    assert [one async for one in subscription] == []
    publisher.publish([event("late")])


def test_an_event_holds_ids_only() -> None:
    with pytest.raises(InvalidInputError):
        Event(kind="note", scope=ALICE, entity_id="a text\nof two lines")
    with pytest.raises(InvalidInputError):
        Event(kind="", scope=ALICE)


def test_notifications_hold_as_many_events_as_fit() -> None:
    wide = "界" * 128
    events = [event(f"{number}", Scope(wide, wide, wide), wide) for number in range(50)]
    texts = payloads(events)
    assert 1 < len(texts) < 50
    assert max(len(text.encode()) for text in texts) <= MAX_PAYLOAD
    assert [one for text in texts for one in msgspec.json.decode(text, type=list[Event])] == events
    assert payloads([]) == []
    assert len(payloads([event(str(number)) for number in range(100)])) == 2


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(StorageUnavailableError):
        await PostgresEvents.open("postgresql://postgres@127.0.0.1:1/none")


async def end_connections(url: str) -> None:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as admin:
        await admin.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


async def test_a_lost_connection_is_told_and_then_events_flow_again(postgres_url: str) -> None:
    publisher, receiver = [await PostgresEvents.open(postgres_url) for _ in range(2)]
    subscription = receiver.subscribe(ALICE)
    publisher.publish([event("before")])
    assert await next_ids(subscription, 1) == ["before"]
    await end_connections(postgres_url)
    async with asyncio.timeout(20):
        assert await anext(subscription) == Event(kind=OVERFLOW, scope=ALICE)
        # The publisher notices the loss of its own connection only when it sends.
        publisher.publish([event("lost")])
        assert await anext(subscription) == Event(kind=OVERFLOW, scope=ALICE)
    publisher.publish([event("after")])
    assert await next_ids(subscription, 1) == ["after"]
    await publisher.close()
    await receiver.close()


async def test_more_events_than_can_wait_are_told_as_lost(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_events, "MAX_WAITING", 5)
    publisher, receiver = [await PostgresEvents.open(postgres_url) for _ in range(2)]
    subscription = receiver.subscribe(ALICE)
    publisher.publish([event(str(number)) for number in range(9)])
    assert await next_ids(subscription, 6) == [None, "4", "5", "6", "7", "8"]
    await publisher.close()
    await receiver.close()


async def test_a_notification_of_somebody_else_is_ignored(postgres_url: str) -> None:
    receiver = await PostgresEvents.open(postgres_url)
    subscription = receiver.subscribe(ALICE)
    async with await psycopg.AsyncConnection.connect(postgres_url, autocommit=True) as admin:
        for payload in ("", "no json", "{}", '[{"kind": 1}]', '[{"kind": "a", "scope": {"tenant": ""}}]', LOST):
            await admin.execute("SELECT pg_notify(%s, %s)", (CHANNEL, payload))
    async with asyncio.timeout(20):
        assert await anext(subscription) == Event(kind=OVERFLOW, scope=ALICE)
    receiver.publish([event("a")])
    assert await next_ids(subscription, 1) == ["a"]
    await receiver.close()
