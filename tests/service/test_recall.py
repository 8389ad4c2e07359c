"""Recall: questions that find what was said and what is known, in any script, with filters and reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from recollect.bootstrap import assemble
from recollect.cache.local import LocalWindows
from recollect.domain.context import Recalled
from recollect.domain.memory import MemoryChanges
from recollect.domain.recalling import RecallRequest
from recollect.domain.scope import Scope
from recollect.errors import InvalidInputError, InvalidLimitError
from recollect.service import passages
from recollect.service.memories import Correction, Statement
from recollect.service.passages import Shelf
from recollect.service.recollect import Recollect
from recollect.storage.driver import Row, Transaction
from recollect.storage.postgres import PostgresDriver
from recollect.storage.sqlite import SqliteDriver
from recollect.storage.store import SqlStore
from recollect.testing.clock import START, FakeClock
from recollect.testing.samples import ALICE, BOB, STRANGER, memory, message
from tests.support.services import opened, settings_of


async def ask(service: Recollect, text: str, scope: Scope = ALICE, **more: Any) -> tuple[Recalled, ...]:
    return await service.recall.search(scope, RecallRequest(text=text, **more))


def texts(found: tuple[Recalled, ...]) -> list[str]:
    return [one.memory.content if one.memory is not None else str(one.message and one.message.content) for one in found]


async def add(service: Recollect, content: str, scope: Scope = ALICE, **more: Any) -> str:
    return (await service.memories.add(scope, Statement(content=content, **more))).id


KNOWN = (
    "Owns a small sailing boat",
    "Works as a nurse in a hospital",
    "Has two daughters",
    "Is allergic to peanuts",
    "Plays the violin in an orchestra",
)


@pytest.mark.spec("S1.3")
async def test_memories_that_answer_come_first_and_no_more_than_asked_for(service: Recollect) -> None:
    for one in KNOWN:
        await add(service, one)
    for limit in (1, 2, 5):
        found = await ask(service, "Which instrument, the violin?", messages=False, limit=limit)
        assert len(found) == limit
        assert texts(found)[0] == "Plays the violin in an orchestra"
        assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    for limit in (0, 100_000):
        with pytest.raises(InvalidLimitError):
            await ask(service, "violin", limit=limit)
    with pytest.raises(InvalidInputError):
        await ask(service, "violin", memories=False, messages=False)


@pytest.mark.spec("S4.7")
@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which vessel could we take out to sea?", KNOWN[0]),
        ("Which job in medicine?", KNOWN[1]),
        ("Are there any children?", KNOWN[2]),
        ("Which food must be avoided?", KNOWN[3]),
    ],
)
async def test_a_question_finds_what_shares_no_word_with_it(service: Recollect, question: str, answer: str) -> None:
    assert not set(question.lower().strip("?").split()) & set(answer.lower().split()) - {"a", "in", "to"}
    for number, one in enumerate(KNOWN):
        await add(service, one)
        await service.conversations.add_messages(BOB, f"c{number}", [message("m1", one)])
    (best,) = await ask(service, question, messages=False, limit=1)
    assert texts((best,)) == [answer]
    assert "near in meaning" in best.why or best.why == "what comes closest"
    assert texts(await ask(service, question, BOB, memories=False, limit=1)) == [answer]


SCRIPTS = {
    "zh": ("用户喜欢在周末喝绿茶", "用户有一只猫", "绿茶"),
    "ja": ("ユーザーは緑茶が好きです", "猫を飼っています", "緑茶"),
    "th": ("ผู้ใช้ชอบดื่มชาเขียว", "ผู้ใช้มีแมวหนึ่งตัว", "ชาเขียว"),
    "ar": ("يحب المستخدم الشاي الأخضر", "لدى المستخدم قطة", "الشاي"),
    "fr": ("Préfère le café crème à Orléans", "A un chat gris", "cafe creme"),
    "ru": ("Пользователь любит зелёный чай", "У пользователя есть кошка", "чай"),
    "ko": ("사용자는 녹차를 좋아합니다", "고양이가 있습니다", "녹차"),
    "code": ("Uses C++ and std::vector every day", "Writes Python at night", "std::vector"),
}


@pytest.mark.spec("B11")
@pytest.mark.parametrize("language", SCRIPTS)
async def test_any_script_is_found_and_told_apart(service: Recollect, language: str) -> None:
    wanted, other, question = SCRIPTS[language]
    for content in (other, wanted):
        await add(service, content)
        await service.conversations.add_messages(ALICE, "c1", [message(f"m-{content}"[:100], content)])
    assert texts(await ask(service, question, messages=False))[0] == wanted
    assert texts(await ask(service, question, memories=False))[0] == wanted
    first = await add(service, wanted)
    assert await add(service, f"  {wanted}。 " if language in ("zh", "ja") else f" {wanted.upper()}. ") == first
    assert len(await service.recall.known(ALICE)) == 2


async def test_filters_admit_only_what_is_asked_for(service: Recollect, clock: FakeClock) -> None:
    await service.conversations.add_messages(ALICE, "c1", [message("m1", "green tea at noon")])
    await service.conversations.add_messages(
        ALICE, "c2", [message("m2", "green tea at night", role="assistant", created_at=START + timedelta(days=1))]
    )
    await add(service, "Likes green tea", memory_type="preference", category="drinks", conversation_id="c1")
    clock.advance(days=2)
    pinned = await add(service, "Sells green tea in a shop", is_pinned=True, importance=0.9)
    await service.memories.change(ALICE, await add(service, "Once spilled green tea"), Correction(is_archived=True))
    likes, sells, noon, night = (
        "Likes green tea",
        "Sells green tea in a shop",
        "green tea at noon",
        "green tea at night",
    )
    cases: list[tuple[dict[str, Any], set[str]]] = [
        ({}, {likes, sells, noon, night}),
        ({"memory_type": "preference", "messages": False}, {likes}),
        ({"category": "drinks", "messages": False}, {likes}),
        ({"origin": "user", "messages": False}, set()),
        ({"pinned": True, "messages": False}, {sells}),
        ({"archived": True, "messages": False}, {"Once spilled green tea"}),
        ({"trust": "pending", "messages": False}, set()),
        ({"conversation_id": "c1"}, {likes, noon}),
        ({"role": "assistant", "memories": False}, {night}),
        ({"since": START + timedelta(hours=1)}, {sells, night}),
        ({"until": START + timedelta(hours=1)}, {likes, noon}),
        ({"as_of": START + timedelta(hours=1)}, {likes, noon}),
        ({"without": frozenset(("m1", pinned))}, {likes, night}),
    ]
    for asked, expected in cases:
        assert set(texts(await ask(service, "green tea", **asked))) == expected, asked


async def test_each_hit_says_why(service: Recollect) -> None:
    await add(service, "Sails to Norway every summer", is_pinned=True, importance=0.9)
    await service.conversations.add_messages(
        ALICE, "c1", [message("m1", "We sail to Norway in June", name="Ola"), message("m2", "How lovely")]
    )
    found = await ask(service, "When does Ola sail to Norway?")
    why = {texts((one,))[0]: one.why for one in found}
    assert all(why.values())
    told = why["Sails to Norway every summer"]
    assert "words: " in told
    assert "norway" in told
    assert "pinned" in told
    assert "important (0.90)" in told
    assert "norway" in why["We sail to Norway in June"]
    assert "said by Ola" in why["We sail to Norway in June"]


async def test_secrets_that_were_stored_before_they_were_known_are_not_recalled(service: Recollect) -> None:
    key = "sk-proj-" + "a1B2c3D4" * 6
    await service.store.add_memories(ALICE, (memory("m", f"The tea key is {key}", quote=f"my key: {key}"),))
    await service.conversations.add_messages(ALICE, "c1", [message("m1", f"use the tea key {key} today")])
    found = await ask(service, "tea key")
    assert len(found) == 2
    assert key not in str(found)


async def test_a_memory_that_got_a_secret_since_it_was_last_recalled_is_redacted(service: Recollect) -> None:
    key = "sk-proj-" + "a1B2c3D4" * 6
    memory_id = await add(service, "The tea key is in the drawer")
    for _ in range(2):
        assert texts(await ask(service, "tea key")) == ["The tea key is in the drawer"]
    changes = MemoryChanges(at=START, content=f"The tea key is {key}")
    await service.store.change_memory(ALICE, memory_id, changes)
    for _ in range(2):
        assert texts(await ask(service, "tea key")) == ["The tea key is [redacted: openai key]"]


async def test_nobody_finds_what_is_not_theirs(service: Recollect) -> None:
    await add(service, "Likes green tea")
    await service.conversations.add_messages(ALICE, "c1", [message("m1", "green tea")])
    assert await ask(service, "green tea", BOB) == ()
    assert await ask(service, "green tea", STRANGER) == ()
    agent = Scope(ALICE.tenant, ALICE.user, "another agent")
    assert len(await ask(service, "green tea", agent)) == 2, "agents of a user share what is known"


async def test_more_messages_than_are_held_are_searched_by_candidates(
    service: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(30):
        said = [message(f"m{n}", f"Nothing of note on day {n}"), message(f"w{n}", f"whale number {n}")]
        await service.conversations.add_messages(ALICE, f"c{n}", said)
    held = texts(await ask(service, "whale number 17", memories=False, limit=1))
    few = Shelf(service.store, service.embedding, most_passages=10)
    monkeypatch.setattr(service.recall, "_shelf", few)
    assert texts(await ask(service, "whale number 17", memories=False, limit=1)) == held == ["whale number 17"]
    async with few.of(ALICE) as index:
        assert index is None


async def test_users_who_asked_longest_ago_are_let_go_and_still_answered(service: Recollect) -> None:
    shelf = Shelf(service.store, service.embedding, most_bytes=1)
    users = [Scope("t", f"u{n}") for n in range(4)]
    for user in users:
        await service.conversations.add_messages(user, "c1", [message("m1", f"words of {user.user}")])
    for user in (*users, *users):
        async with shelf.of(user) as index:
            assert index is not None
            assert len(index) == 1
    assert passages.MOST_BYTES > 1
    assert len(shelf._users) == 1  # what is let go shows nowhere else


class Counting:
    """A transaction that counts the rows that queries give."""

    def __init__(self, inner: Transaction, rows: Counter[str]) -> None:
        self._inner = inner
        self._rows = rows

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def all(self, query: str, /, **values: Any) -> list[Row]:
        found = self._inner.all(query, **values)
        self._rows[query] += len(found)
        self._rows["queries"] += 1
        return found

    def one(self, query: str, /, **values: Any) -> Row | None:
        self._rows[query] += 1
        self._rows["queries"] += 1
        return self._inner.one(query, **values)


class CountingDriver:
    """A driver whose reads are counted."""

    def __init__(self, inner: SqliteDriver | PostgresDriver) -> None:
        self._inner = inner
        self.rows: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def read(self, scope: Scope, work: Any, *, quick: bool = False) -> Any:
        return await self._inner.read(scope, lambda tx: work(Counting(tx, self.rows)), quick=quick)


@pytest.fixture(params=["sqlite", "postgres"])
async def counted(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[Recollect, CountingDriver]]:
    """Give a service whose reads are counted."""
    inner: SqliteDriver | PostgresDriver
    if request.param == "sqlite":
        inner = await SqliteDriver.open(str(tmp_path / "counted.db"))
    else:
        inner = await PostgresDriver.open(request.getfixturevalue("postgres_url"))
    driver = CountingDriver(inner)
    clock = FakeClock()
    idle = timedelta(hours=1)
    windows = LocalWindows(mark=inner.mark, clock=clock, max_conversations=100, idle=idle)
    settings = settings_of(f"sqlite:///{tmp_path / 'counted.db'}")
    async with assemble(SqlStore(driver, windows), settings, clock) as service:
        yield service, driver


async def fill(service: Recollect, scope: Scope) -> None:
    await service.store.add_memories(scope, tuple(memory(f"m{n}", f"green tea {n} of {scope.user}") for n in range(5)))
    await service.embedding.embed_job(scope, None)  # type: ignore[arg-type]  # the job tells nothing
    await service.conversations.add_messages(scope, "c1", [message(f"s{n}", f"green tea {n}") for n in range(5)])


async def test_what_a_recall_reads_does_not_grow_with_other_users(
    counted: tuple[Recollect, CountingDriver],
) -> None:
    service, driver = counted
    await fill(service, ALICE)

    async def cost() -> Counter[str]:
        """Return the rows that a recall by a service that holds nothing yet reads, and by one that does."""
        both: Counter[str] = Counter()
        for scope in (ALICE, ALICE):
            driver.rows.clear()
            assert len(await ask(service, "green tea", scope)) == 10
            both += driver.rows
        return both

    await ask(service, "green tea")
    alone = await cost()
    assert 0 < sum(alone.values()) < 50
    for n in range(20):
        await fill(service, Scope("acme", f"other{n}"))
    assert await cost() == alone
    service.recall._knowledge._users.clear()  # as a service that was just started
    service.recall._shelf._users.clear()  # as above
    driver.rows.clear()
    assert len(await ask(service, "green tea")) == 10
    assert driver.rows["memory_vectors"] == 5
    assert driver.rows["passages_after"] == 5
    assert sum(driver.rows.values()) < 60


async def test_a_recall_on_postgres_finds_the_same_as_on_sqlite(tmp_path: Path, postgres_url: str) -> None:
    found = []
    for database in (f"sqlite:///{tmp_path / 'same.db'}", postgres_url):
        async with opened(settings_of(database), clock=FakeClock()) as parts:
            for n, one in enumerate(KNOWN):
                await parts.service.memories.add(ALICE, Statement(content=one, id=f"k{n}"))
            await parts.service.conversations.add_messages(
                ALICE, "c1", [message(f"m{n}", f"{one}, she said") for n, one in enumerate(KNOWN)]
            )
            hits = await ask(parts.service, "Which vessel, and which instrument?")
            found.append([(texts((one,)), round(one.score, 5), one.why) for one in hits])
    assert found[0] == found[1]
    assert len(found[0]) == 10
