"""What people say changes: only the current value is recalled, and nothing else is touched."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from recollect.domain.scope import Scope
from recollect.service.recollect import Recollect
from recollect.testing.clock import FakeClock
from recollect.testing.samples import ALICE
from tests.support.learning import contents, item, learn, memories, remembered, tell
from tests.support.model_service import play
from tests.unit.update_suite import DISTRACTORS, HISTORIES, History, Statement


def as_found(statement: Statement) -> dict[str, object]:
    """Return a statement as a model writes it."""
    return item(statement.content, subject=statement.subject, attribute=statement.attribute)


async def check_current(service: Recollect, scope: Scope, current: list[str], stale: list[str]) -> None:
    """Check that what is current is known, and that no question brings back what is not."""
    assert sorted(await contents(service, scope)) == sorted(current)
    for question in (*current, *stale):
        given = await remembered(service, question, scope)
        assert [text for text in stale if any(text == one or f" {text}" in one for one in given)] == []
        if question in current:
            assert question in given


@pytest.mark.spec("B4")
@pytest.mark.parametrize("language", sorted(DISTRACTORS))
async def test_a_model_s_updates_leave_one_current_value_and_touch_nothing_else(language: str, tmp_path: Path) -> None:
    mine = [history for history in HISTORIES if history.language == language]
    assert mine
    async with play(tmp_path / "r.db", {}) as played:
        for number, history in enumerate(mine):
            scope = Scope("acme", f"user-{number}")
            beside = DISTRACTORS[language]
            for statement in (*beside, *history.said):
                await learn(played, statement.content, as_found(statement), scope=scope)
            current = [*history.current, *(one.content for one in beside)]
            await check_current(played.service, scope, current, list(history.stale))
            await check_past(played.service, scope, history)


async def check_past(service: Recollect, scope: Scope, history: History) -> None:
    """Check that what is stale held from when it was said until something took its place."""
    every = {memory.content: memory for memory in await service.recall.known(scope)}
    for text in history.stale:
        old = every[text]
        assert old.valid_from is not None
        assert old.valid_to is not None
        assert old.superseded_by in {memory.id for memory in every.values()}
        assert text in await contents(service, scope, as_of=old.valid_from)
        assert text not in await contents(service, scope, as_of=old.valid_to)


class Said(NamedTuple):
    """What a user says about themselves, and how it is known in the end."""

    language: str
    said: tuple[str, ...]
    current: tuple[str, ...]


#: Told beside each history, and untouched by all of them.
BESIDE = {
    "en": ("My sister lives in Bergen.", "I like pizza."),
    "de": ("Mein Bruder wohnt in Hamburg.", "Ich mag Pizza."),
    "fr": ("Mon frère habite à Lyon.", "J'aime la pizza."),
    "es": ("Me gusta la pizza.",),
    "it": ("Mi piace la pizza.",),
    "pt": ("Gosto de pizza.",),
    "ru": ("Я люблю пиццу.",),
    "zh": ("我喜欢吃披萨。",),
}
SAID = (
    Said("en", ("I live in Bergen.", "I moved to Oslo."), ("The user lives in Oslo.",)),
    Said("en", ("I live in Bergen.", "I moved to Oslo.", "I no longer live in Bergen."), ("The user lives in Oslo.",)),
    Said("en", ("I'm 33 years old.", "I'm 34 now."), ("The user is 34 years old.",)),
    Said("en", ("I like sushi.", "I no longer like sushi."), ("The user does not like sushi any more.",)),
    Said("en", ("I work at Acme.", "I now work at Globex."), ("The user works at Globex.",)),
    Said("en", ("I'm a vegetarian.", "I'm not a vegetarian anymore."), ("The user is not vegetarian.",)),
    Said(
        "en",
        ("The deadline of Apollo is March 15.", "The deadline for Apollo is March 16."),
        ("The deadline for Apollo is March 16.",),
    ),
    Said("en", ("I am married.", "I'm divorced."), ("The user is divorced.",)),
    Said("en", ("I have two kids.", "I have three kids."), ("The user has 3 kids.",)),
    Said("de", ("Ich wohne in Hamburg.", "Ich bin nach Köln gezogen."), ("Der Nutzer wohnt in Köln.",)),
    Said("de", ("Ich bin 40 Jahre alt.", "Ich bin 41 Jahre alt."), ("Der Nutzer ist 41 Jahre alt.",)),
    Said("de", ("Ich mag Kaffee.", "Ich mag keinen Kaffee mehr."), ("Der Nutzer mag Kaffee nicht.",)),
    Said("fr", ("J'habite à Lyon.", "J'ai déménagé à Nantes."), ("L'utilisateur habite à Nantes.",)),
    Said("fr", ("J'ai 40 ans.", "J'ai 41 ans."), ("L'utilisateur a 41 ans.",)),
    Said("fr", ("J'aime le café.", "Je n'aime plus le café."), ("L'utilisateur n'aime pas le café.",)),
    Said("es", ("Vivo en Sevilla.", "Me mudé a Bilbao."), ("El usuario vive en Bilbao.",)),
    Said("es", ("Tengo 29 años.", "Tengo 30 años."), ("El usuario tiene 30 años.",)),
    Said("es", ("Me gusta el té.", "Ya no me gusta el té."), ("El usuario: no le gusta el té.",)),
    Said("it", ("Vivo a Torino.", "Mi sono trasferito a Roma."), ("L'utente vive a Roma.",)),
    Said("it", ("Ho 30 anni.", "Ho 31 anni."), ("L'utente ha 31 anni.",)),
    Said("it", ("Mi piace il caffè.", "Non mi piace più il caffè."), ("L'utente: non gli piace il caffè.",)),
    Said("pt", ("Moro no Porto.", "Mudei-me para Lisboa."), ("O utilizador mora em Lisboa.",)),
    Said("pt", ("Tenho 30 anos.", "Tenho 31 anos."), ("O utilizador tem 31 anos.",)),
    Said("pt", ("Gosto de futebol.", "Não gosto de futebol."), ("O utilizador não gosta de futebol.",)),
    Said("ru", ("Я живу в Казани.", "Я переехал в Москву."), ("Переезд пользователя в Москву.",)),
    Said("ru", ("Мне 25 лет.", "Мне 26 лет."), ("Возраст пользователя: 26.",)),
    Said("ru", ("Я люблю кофе.", "Я больше не люблю кофе."), ("Пользователь не любит кофе.",)),
    Said("zh", ("我住在北京。", "我搬到了深圳。"), ("用户住在深圳。",)),
    Said("zh", ("我今年30岁。", "我今年31岁。"), ("用户31岁。",)),
    Said("zh", ("我喜欢喝茶。", "我不再喜欢喝茶。"), ("用户不喜欢喝茶。",)),
)


@pytest.mark.spec("B4")
@pytest.mark.parametrize("language", sorted(BESIDE))
async def test_updates_that_the_rules_read_leave_one_current_value_and_touch_nothing_else(
    language: str, make: Callable[..., Recollect], clock: FakeClock
) -> None:
    service = make()
    for number, history in enumerate(one for one in SAID if one.language == language):
        scope = Scope("acme", f"user-{number}")
        for text in BESIDE[language]:
            await tell(service, scope, text)
        await service.learner.learn(scope, "c1")
        beside = await contents(service, scope)
        assert len(beside) == len(BESIDE[language])
        learned: list[str] = []
        for text in history.said:
            clock.advance(minutes=1)
            await tell(service, scope, text)
            learned += [memory.content for memory in (await service.learner.learn(scope, "c1")).memories]
        stale = [text for text in learned if text not in history.current and "no longer" not in text]
        assert len(stale) == 1
        past = [text for text in learned if "no longer" in text]
        await check_current(service, scope, [*beside, *history.current, *past], stale)


async def test_a_denial_of_what_is_no_longer_so_ends_no_other_value(make: Callable[..., Recollect]) -> None:
    service = make()
    for text in ("I moved to Oslo.", "I no longer live in Bergen."):
        await tell(service, ALICE, text)
        await service.learner.learn(ALICE, "c1")
    lives, denied = await memories(service)
    assert (lives.content, lives.valid_to) == ("The user lives in Oslo.", None)
    assert (denied.content, denied.subject, denied.attribute) == ("The user no longer lives in Bergen.", None, None)
    await tell(service, ALICE, "I no longer live in Oslo.")
    await service.learner.learn(ALICE, "c1")
    assert (await contents(service))[-1] == "The user no longer lives in Oslo."
    assert "The user lives in Oslo." not in await contents(service)


async def test_rules_and_a_model_fill_the_same_slots(tmp_path: Path) -> None:
    """What one of them learned is superseded by what the other learns."""
    async with play(tmp_path / "r.db", {"memory.extractor": "rules"}) as rules:
        said = ("I live in Bergen.", "I like sushi.", "I work at Acme.", "I am a nurse.", "I am 33 years old.")
        for text in said:
            await learn(rules, text)
        assert len(await contents(rules.service)) == len(said)
        assert rules.server.seen == []
        slots = [(memory.subject, memory.attribute) for memory in await memories(rules.service)]
    async with play(tmp_path / "r.db", {}) as modelled:
        modelled.clock.advance(hours=1)
        named = ("residence", "dislikes: sushi", "employer", "job title", "age")
        updates = [item(f"Update {number}", subject="user", attribute=name) for number, name in enumerate(named)]
        await learn(modelled, ". ".join(one["content"] for one in updates), *updates)
        assert sorted(await contents(modelled.service)) == sorted(one["content"] for one in updates), slots
