"""Windows in a Redis: what is there, for how long, and for whom."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from redis import Redis

from recollect.cache.redis_link import RedisLimits
from recollect.errors import ConversationNotFoundError
from recollect.testing import raises
from recollect.testing.samples import ALICE, BOB
from recollect.testing.windows import Database
from tests.cache.conftest import OpenServer

PATIENT = RedisLimits(timeout=timedelta(seconds=30))
HOUR_MS = 3_600_000


class Contents:
    """What a Redis holds."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def names(self) -> list[bytes]:
        return list(self.client.scan_iter())

    def with_field(self, field: str) -> bytes:
        """Return the one hash that has this field."""
        (found,) = [key for key in self.client.scan_iter(_type="hash") if self.client.hexists(key, field)]
        name: bytes = found
        return name

    def text(self) -> str:
        """Return every key and value."""
        hashes = [(key, self.client.hgetall(key)) for key in self.client.scan_iter(_type="hash")]
        return repr((hashes, [(key, self.client.zrange(key, 0, -1)) for key in self.client.scan_iter(_type="zset")]))

    def expiries(self) -> list[int]:
        """Return how long each key lives."""
        return [self.client.pttl(key) for key in self.names()]


@pytest.fixture
def contents(redis_url: str) -> Iterator[Contents]:
    with Redis.from_url(redis_url) as client:
        yield Contents(client)


async def test_each_key_goes_when_nobody_uses_it(open_server: OpenServer, redis_url: str, contents: Contents) -> None:
    server = await open_server(redis_url, PATIENT, idle=timedelta(hours=1))
    for name in ("c1", "c2"):
        await server.write(ALICE, name, "unsettled")
        await server.get(ALICE, name)
        await server.write(ALICE, name)
    await server.write(ALICE, "c3", "failed")
    await server.write_to_all(BOB)
    left = contents.expiries()
    assert len(left) >= 4
    assert all(0 < ms <= HOUR_MS for ms in left)


async def test_using_a_window_keeps_it(open_server: OpenServer, redis_url: str, contents: Contents) -> None:
    server = await open_server(redis_url, PATIENT, idle=timedelta(hours=1))
    await server.write(ALICE, "c1")
    for key in contents.names():
        contents.client.pexpire(key, 60_000)
    await server.get(ALICE, "c1")
    assert all(ms > 60_000 for ms in contents.expiries())


async def test_asking_for_what_does_not_exist_leaves_nothing_for_long(
    open_server: OpenServer, redis_url: str, contents: Contents
) -> None:
    server = await open_server(redis_url, PATIENT)
    for number in range(20):
        with raises(ConversationNotFoundError):
            await server.get(ALICE, f"c{number}")
    assert len([ms for ms in contents.expiries() if ms > PATIENT.lease.total_seconds() * 1000]) == 1


async def test_keys_tell_nothing_and_a_users_keys_share_a_slot(
    open_server: OpenServer, redis_url: str, contents: Contents
) -> None:
    server = await open_server(redis_url, PATIENT)
    await server.write(ALICE, "c1")
    await server.write(ALICE, "c2")
    await server.write(BOB, "c1")
    keys = contents.names()
    assert len(keys) == 7
    assert not [key for key in keys if b"alice" in key or b"acme" in key]
    assert len({key[key.index(b"{") : key.index(b"}")] for key in keys}) == 2


async def test_a_value_that_is_no_window_counts_as_missing_and_is_replaced(
    open_server: OpenServer, redis_url: str, contents: Contents, database: Database
) -> None:
    server = await open_server(redis_url, PATIENT)
    await server.write(ALICE, "c1")
    key = contents.with_field("w")
    for rubbish in (b"rubbish", b"\xc1"):
        contents.client.hset(key, "w", rubbish)
        loads = len(database.loads)
        for _ in range(4):
            await server.get(ALICE, "c1")
        assert len(database.loads) == loads + 2
        assert contents.client.hget(key, "w") != rubbish


async def test_a_value_of_another_user_is_never_given_out(
    open_server: OpenServer, redis_url: str, contents: Contents
) -> None:
    server = await open_server(redis_url, PATIENT)
    await server.write(ALICE, "c1")
    key = contents.with_field("w")
    value = contents.client.hget(key, "w")
    contents.client.hdel(key, "w")
    await server.write(BOB, "c1")
    contents.client.hset(contents.with_field("w"), "w", value)
    await server.get(BOB, "c1")


async def test_a_window_is_compared_with_the_database_when_it_is_old(
    open_server: OpenServer, redis_url: str, contents: Contents, database: Database
) -> None:
    server = await open_server(redis_url, PATIENT)
    await server.write(ALICE, "c1")
    key = contents.with_field("w")
    contents.client.hincrby(key, "t", -61_000)
    for _ in range(3):
        await server.get(ALICE, "c1")
    assert database.loads == [1]
    contents.client.hincrby(key, "t", -61_000)
    database.revisions[ALICE.tenant, ALICE.user, "c1"] = 2
    for _ in range(3):
        assert (await server.get(ALICE, "c1")).conversation.revision == 2
    assert database.loads == [1, 1]


async def test_a_window_from_the_future_is_not_believed(
    open_server: OpenServer, redis_url: str, contents: Contents, database: Database
) -> None:
    server = await open_server(redis_url, PATIENT)
    await server.write(ALICE, "c1")
    key = contents.with_field("w")
    contents.client.hincrby(key, "t", HOUR_MS)
    await server.get(ALICE, "c1")
    assert database.loads == [1]


async def test_erasing_leaves_no_byte_of_what_the_user_said(
    open_server: OpenServer, redis_url: str, contents: Contents
) -> None:
    server = await open_server(redis_url, PATIENT)
    for name in ("c1", "c2", "c3"):
        await server.write(ALICE, name)
        await server.write(BOB, name)
    assert "acme alice c1 1" in contents.text()
    await server.write_to_all(ALICE)
    assert "alice" not in contents.text()
    assert "acme bob c1 1" in contents.text()


async def test_a_server_that_died_keeps_its_conversation_out_only_until_its_fence_is_over(
    open_server: OpenServer, redis_url: str, contents: Contents, database: Database
) -> None:
    server = await open_server(redis_url, PATIENT)
    dead = await open_server(redis_url, PATIENT)
    await server.write(ALICE, "c1")
    async with dead.cache.changing(ALICE, "c1"):
        dead.connection.commit(ALICE, "c1")
        for _ in range(2):
            await server.get(ALICE, "c1")
        assert database.loads == [None, None]
        key = contents.with_field("s")
        (fence,) = [field for field in contents.client.hkeys(key) if field.startswith(b"f:")]
        contents.client.hincrby(key, fence, -30_000)
        for _ in range(3):
            assert (await server.get(ALICE, "c1")).conversation.revision == 2
        assert database.loads == [None, None, None]


def test_without_the_package_the_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['redis'] = None\n"
        "from recollect.errors import MissingExtraError\n"
        "try:\n    import recollect.cache.redis\n"
        "except MissingExtraError as exc:\n    print(exc)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "recollect[redis]" in done.stdout
    assert done.stderr == ""
