"""The built-in rules read what users say about themselves, in eight languages, and nothing that was not said."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from recollect.domain.candidate import Candidate
from recollect.extraction.clauses import statements
from recollect.extraction.extractors import RuleExtractor
from recollect.extraction.rule_tables import LANGUAGES, languages
from recollect.extraction.rules import LONGEST_MESSAGE, extract_by_rules
from tests.support.extraction import request, said

Slot = tuple[str, str, str]

LIKES, DISLIKES = "likes", "does not like"

#: What is said, and the slot with its value.
SAID: Mapping[str, Slot] = {
    # English: who the user is
    "My name is Anna Smith.": ("user", "name", "Anna Smith"),
    "Hi, I'm Bob.": ("user", "name", "Bob"),
    "please call me Ishmael": ("user", "name", "Ishmael"),
    "I'm 34 years old.": ("user", "age", "34"),
    "I just turned 35!": ("user", "age", "35"),
    "My birthday is May 3rd.": ("user", "birthday", "May 3rd"),
    "I was born in 1990.": ("user", "birth year", "1990"),
    "I'm Norwegian.": ("user", "nationality", "Norwegian"),
    # Where the user lives
    "I live in Bergen.": ("user", "home", "Bergen"),
    "We live in Oslo with our kids.": ("user", "home", "Oslo"),
    "i live in oslo": ("user", "home", "oslo"),
    "I moved to Oslo last month.": ("user", "home", "Oslo"),
    "Last year, I moved from Bergen to New York City.": ("user", "home", "New York City"),
    "I no longer live in Bergen.": ("user", "home", "Bergen"),
    "I’m from a small town near Bergen.": ("user", "origin", "a small town near Bergen"),
    "I grew up in Spain.": ("user", "origin", "Spain"),
    # What the user does
    "I work as a nurse at the hospital.": ("user", "job", "nurse"),
    "I'm a senior software engineer.": ("user", "job", "senior software engineer"),
    "I'm retired now.": ("user", "job", "retired"),
    "I work for Google as a developer.": ("user", "employer", "Google"),
    "I no longer work at Google.": ("user", "employer", "Google"),
    "I'm studying biology.": ("user", "studies", "biology"),
    "I speak French and German.": ("user", "speaks: french and german", "French and German"),
    # Health and food
    "I'm allergic to peanuts.": ("user", "allergy: peanuts", "yes"),
    "I'm no longer allergic to peanuts.": ("user", "allergy: peanuts", "no"),
    "I'm vegetarian.": ("user", "diet", "vegetarian"),
    "I'm not vegan anymore.": ("user", "diet", "vegan"),
    "I was diagnosed with type 2 diabetes.": ("user", "health: type 2 diabetes", "type 2 diabetes"),
    # What the user likes
    "I love sushi.": ("user", "taste: sushi", LIKES),
    "I'm a big fan of jazz": ("user", "taste: jazz", LIKES),
    "I don't like sushi.": ("user", "taste: sushi", DISLIKES),
    "I no longer like sushi.": ("user", "taste: sushi", DISLIKES),
    "I hate cilantro": ("user", "taste: cilantro", DISLIKES),
    "I don't eat meat any more.": ("user", "taste: meat", DISLIKES),
    "My favourite colour is blue.": ("user", "favourite colour", "blue"),
    "Pizza is my favorite food.": ("user", "favourite food", "Pizza"),
    "I prefer tea over coffee.": ("user", "preference between coffee / tea", "tea"),
    "I prefer coffee to tea.": ("user", "preference between coffee / tea", "coffee"),
    "I prefer short answers.": ("user", "preference: short answers", "short answers"),
    "I play the guitar.": ("user", "hobby: guitar", "guitar"),
    # People and animals
    "My sister Anna lives in Berlin.": ("anna", "home", "Berlin"),
    "My brother moved to Rome.": ("user's brother", "home", "Rome"),
    "My wife's name is Clara.": ("user", "wife", "Clara"),
    "My son is five.": ("user's son", "age", "5"),
    "My dog is called Rex.": ("user", "dog: rex", "Rex"),
    "I have two cats.": ("user", "number of cats", "2"),
    "I'm married.": ("user", "marital status", "married"),
    # Dates, projects, plans
    "The project deadline is March 15th.": ("project", "deadline", "March 15th"),
    "The deadline for the report is next Friday.": ("report", "deadline", "next Friday"),
    "The deadline was moved to April 2.": ("user", "deadline", "April 2"),
    "My exam is on May 12 at 9am.": ("exam", "date", "on May 12 at 9am"),
    "I'm working on a novel about bees.": ("user", "project: novel about bees", "a novel about bees"),
    "I'm planning to run a marathon.": ("user", "plan: run a marathon", "run a marathon"),
    "My goal is to learn Spanish.": ("user", "goal: learn spanish", "to learn Spanish"),
    # German
    "Ich wohne in Berlin.": ("user", "home", "Berlin"),
    "Ich bin letzten Monat nach München gezogen.": ("user", "home", "München"),
    "Ich wohne nicht mehr in Berlin.": ("user", "home", "Berlin"),
    "Ich heiße Anna.": ("user", "name", "Anna"),
    "Ich bin 34 Jahre alt.": ("user", "age", "34"),
    "Ich arbeite als Lehrerin.": ("user", "job", "Lehrerin"),
    "Ich arbeite bei Siemens.": ("user", "employer", "Siemens"),
    "Ich mag Sushi.": ("user", "taste: sushi", LIKES),
    "Ich mag Sushi nicht mehr.": ("user", "taste: sushi", DISLIKES),
    "Ich esse kein Fleisch mehr.": ("user", "taste: fleisch", DISLIKES),
    "Ich habe zwei Kinder.": ("user", "number of kinder", "2"),
    "Die Frist für das Projekt ist der 15. März.": ("projekt", "deadline", "der 15. März"),
    # French
    "J'habite à Lyon.": ("user", "home", "Lyon"),
    "J’ai déménagé à Paris le mois dernier.": ("user", "home", "Paris"),
    "Je n'habite plus à Lyon.": ("user", "home", "Lyon"),
    "Je m'appelle Marie.": ("user", "name", "Marie"),
    "J'ai 34 ans.": ("user", "age", "34"),
    "Je suis infirmière.": ("user", "job", "infirmière"),
    "J'aime le chocolat.": ("user", "taste: chocolat", LIKES),
    "Je n'aime plus le chocolat.": ("user", "taste: chocolat", DISLIKES),
    "Je ne mange plus de viande.": ("user", "taste: viande", DISLIKES),
    # Spanish
    "Vivo en Madrid.": ("user", "home", "Madrid"),
    "Me mudé a Sevilla el mes pasado.": ("user", "home", "Sevilla"),
    "Ya no vivo en Madrid.": ("user", "home", "Madrid"),
    "Me llamo Ana.": ("user", "name", "Ana"),
    "Tengo 34 años.": ("user", "age", "34"),
    "Trabajo como profesora.": ("user", "job", "profesora"),
    "Me gusta el sushi.": ("user", "taste: sushi", LIKES),
    "Ya no me gusta el sushi.": ("user", "taste: sushi", DISLIKES),
    "Ya no como carne.": ("user", "taste: carne", DISLIKES),
    # Italian
    "Vivo a Roma.": ("user", "home", "Roma"),
    "Mi sono trasferita a Milano.": ("user", "home", "Milano"),
    "Non vivo più a Roma.": ("user", "home", "Roma"),
    "Mi chiamo Anna.": ("user", "name", "Anna"),
    "Ho 34 anni.": ("user", "age", "34"),
    "Faccio l'insegnante.": ("user", "job", "insegnante"),
    "Mi piace il sushi.": ("user", "taste: sushi", LIKES),
    "Non mi piace più il sushi.": ("user", "taste: sushi", DISLIKES),
    # Portuguese
    "Moro em Lisboa.": ("user", "home", "Lisboa"),
    "Mudei-me para o Porto.": ("user", "home", "Porto"),
    "Já não moro em Lisboa.": ("user", "home", "Lisboa"),
    "Chamo-me Ana.": ("user", "name", "Ana"),
    "Tenho 34 anos.": ("user", "age", "34"),
    "Sou professora.": ("user", "job", "professora"),
    "Gosto de sushi.": ("user", "taste: sushi", LIKES),
    "Já não gosto de sushi.": ("user", "taste: sushi", DISLIKES),
    # Russian
    "Я живу в Москве.": ("user", "home", "Москве"),
    "Я переехал в Осло.": ("user", "home", "Осло"),
    "Я больше не живу в Москве.": ("user", "home", "Москве"),
    "Меня зовут Анна.": ("user", "name", "Анна"),
    "Мне 34 года.": ("user", "age", "34"),
    "Я работаю учителем.": ("user", "job", "учителем"),
    "Я люблю суши.": ("user", "taste: суши", LIKES),
    "Я больше не люблю суши.": ("user", "taste: суши", DISLIKES),
    # Chinese
    "我住在北京。": ("user", "home", "北京"),
    "我搬到了上海。": ("user", "home", "上海"),
    "我不住在北京了。": ("user", "home", "北京"),
    "我叫李明。": ("user", "name", "李明"),
    "我今年34岁。": ("user", "age", "34"),
    "我是老师。": ("user", "job", "老师"),
    "我在谷歌工作。": ("user", "employer", "谷歌"),
    "我喜欢寿司。": ("user", "taste: 寿司", LIKES),
    "我不再喜欢寿司了。": ("user", "taste: 寿司", DISLIKES),
    "我不吃肉了。": ("user", "taste: 肉", DISLIKES),
}

#: What says that something is not so, or no longer.
NEGATIONS = re.compile(r"\b(?:no longer|not|don't|hate|nicht|kein|ne|Ya no|Non|Já não|не)\b|n'(?:habite|aime) plus|不")

#: The end of a statement in words that the slot alone does not tell.
CONTENT = {
    "I live in Oslo.": "The user lives in Oslo.",
    "I lost my job.": "The user no longer has their job.",
    "We decided to use Postgres.": "The user decided to use Postgres.",
    "Let's go with the blue theme.": "The user decided to go with the blue theme.",
    "I have a dentist appointment on Friday at 3pm.": "The user has a dentist appointment on Friday at 3pm"
    " (said on 2026-01-01).",
    "Last week I joined a gym.": "The user joined a gym (Last week, said on 2026-01-01).",
    "I love cooking for my kids.": "The user likes cooking for their kids.",
    "Please always answer in German.": "The user wants the assistant to always answer in German.",
    "Remember that my locker is number 12.": "The user asks to remember: their locker is number 12.",
    "I live in Bergen, but my favourite city is Rome.": "The user's favourite city is Rome.",
    "Meine Schwester heißt Clara.": "Schwester des Nutzers: Clara.",
    "Nous avons décidé de partir.": "L'utilisateur a décidé de partir.",
    "我们决定去北京。": "用户决定去北京。",
}

NOT_SAID = [
    "Do I live in Oslo?",
    "I live in Oslo, don't I?",
    "If I lived in Oslo, I would ski.",
    "If my name is Bob, what is yours?",
    "Suppose I live in Oslo and I like skiing.",
    "I wish I lived in Oslo.",
    "She said, I live in Oslo.",
    'He wrote: "I live in Oslo and I love it here."',
    "> I live in Oslo.",
    "```\nI live in Oslo.\n```",
    "Use `I live in Oslo.` as the example.",
    "Translate to French: I live in Oslo.",
    "Please proofread this. I live in Oslo. I like cats.",
    "Write a story in the first person. I live in Oslo.",
    "Maybe I live in the wrong place.",
    "I live in fear of spiders.",
    "I live in a bubble.",
    "I love it!",
    "I love that you came.",
    "I like how you think.",
    "I'm a bit tired.",
    "I'm a huge mess.",
    "I'm 5 minutes away.",
    "Call me later.",
    "I'm good, thanks.",
    "I work at home.",
    "I went to bed.",
    "When I was a kid, I lived in Rome and I loved horses.",
    "In my dream I live in Oslo.",
    "Wohne ich in Berlin?",
    "Wenn ich in Oslo wohnen würde, hätte ich Schnee.",
    "Si j'habitais à Lyon, je serais content.",
    "¿Vivo en Madrid?",
    "Si vivo en Madrid, gano más.",
    "Se vivo a Roma, mangio bene.",
    "Если я живу в Москве, то что?",
    "我住在北京吗？",
    "如果我住在北京就好了。",
    "The weather in Oslo is nice.",
    "What is the capital of France?",
]

UPDATES = [
    ("I live in Bergen.", "I moved to Oslo."),
    ("I work at Acme Corp.", "I work for Globex now."),
    ("I'm 34.", "I turned 35 yesterday."),
    ("I like sushi.", "I no longer like sushi."),
    ("I eat vegetarian food. I'm vegetarian.", "I'm no longer vegetarian."),
    ("My favourite colour is blue.", "My favorite colour is green now."),
    ("I prefer tea to coffee.", "I prefer coffee over tea now."),
    ("The project deadline is March 15th.", "The project deadline has been moved to March 16."),
    ("I have two cats.", "I have three cats now."),
    ("Ich wohne in Berlin.", "Ich bin nach Köln umgezogen."),
    ("Ich mag Sushi.", "Ich mag kein Sushi mehr."),
    ("J'habite à Lyon.", "Je viens de déménager à Nantes."),
    ("J'aime le café.", "Je n'aime plus le café."),
    ("Vivo en Madrid.", "Me he mudado a Bilbao."),
    ("Me gusta el café.", "Ya no me gusta el café."),
    ("Abito a Torino.", "Ci siamo trasferiti a Genova."),
    ("Mi piace il caffè.", "Non mi piace più il caffè."),
    ("Moro em Lisboa.", "Me mudei para Braga."),
    ("Gosto de café.", "Não gosto mais de café."),
    ("Я живу в Москве.", "Я переехала в Казань."),
    ("Мне нравится кофе.", "Мне больше не нравится кофе."),
    ("我住在北京。", "我刚搬到上海。"),
    ("我喜欢咖啡。", "我不喜欢咖啡了。"),
]


def candidates(text: str, **more: Any) -> tuple[Candidate, ...]:
    return extract_by_rules(request(said(text, **more))).candidates


@pytest.mark.parametrize(("text", "slot"), SAID.items(), ids=SAID)
def test_a_statement_fills_its_slot(text: str, slot: Slot) -> None:
    subject, attribute, value = slot
    (one,) = candidates(text)
    assert (one.subject, one.value) == (subject, value)
    assert one.attribute == attribute
    assert one.negated == bool(NEGATIONS.search(text))
    assert one.quote in text
    assert (one.origin, one.message_ids) == ("user", ("m1",))


@pytest.mark.parametrize(("text", "content"), CONTENT.items(), ids=CONTENT)
def test_a_memory_is_a_sentence_about_the_user(text: str, content: str) -> None:
    assert content in [one.content for one in candidates(text)]


@pytest.mark.parametrize("text", NOT_SAID)
def test_what_is_asked_supposed_quoted_or_trivial_is_no_memory(text: str) -> None:
    assert candidates(text) == ()


@pytest.mark.parametrize(("before", "after"), UPDATES)
def test_an_update_fills_the_same_slot_with_another_value(before: str, after: str) -> None:
    old, new = candidates(before)[-1], candidates(after)[-1]
    assert (old.subject, old.attribute) == (new.subject, new.attribute)
    assert old.value != new.value or old.negated != new.negated


def test_several_statements_in_one_message_are_several_memories() -> None:
    found = candidates("Hi! My name is Anna and I'm 34. I live in Oslo, and I love skiing. What about you?")
    assert [one.attribute for one in found] == ["name", "age", "home", "taste: skiing"]
    assert [one.quote for one in found] == ["My name is Anna", "I'm 34", "I live in Oslo", "I love skiing"]


def test_a_speaker_with_a_name_is_spoken_of_by_name() -> None:
    (one,) = candidates("I live in Oslo.", name="Caroline")
    assert (one.content, one.subject) == ("Caroline lives in Oslo.", "caroline")


@pytest.mark.parametrize("role", ["assistant", "tool", "system", "summary"])
def test_only_users_are_believed_about_themselves(role: str) -> None:
    assert candidates("I live in Oslo.", role=role) == ()


def test_a_statement_without_a_slot_has_no_value() -> None:
    (one,) = candidates("We decided to use Postgres.")
    assert (one.memory_type, one.subject, one.attribute, one.value) == ("decision", None, None, None)


def test_a_secret_in_a_statement_is_redacted() -> None:
    (one,) = candidates("Remember that the wifi password is Sunny-Day9.")
    assert "Sunny" not in one.content + one.quote
    assert "[redacted: password]" in one.content
    assert "[redacted: password]" in one.quote


def test_what_is_said_twice_is_found_once() -> None:
    found = extract_by_rules(request(said("I live in Oslo."), said("I live in Oslo!", seq=2)))
    assert len(found.candidates) == 1
    assert found.rejected == {"repeated": 1}


def test_the_threshold_of_importance_is_kept() -> None:
    found = extract_by_rules(request(said("I love sushi. I live in Oslo."), threshold=0.6))
    assert [one.attribute for one in found.candidates] == ["home"]
    assert found.rejected == {"below_threshold": 1}


def test_a_document_is_not_somebody_speaking() -> None:
    assert candidates("I live in Oslo. " * (LONGEST_MESSAGE // 10)) == ()


def test_every_language_has_a_table_whose_patterns_compile() -> None:
    assert len(languages()) == len(LANGUAGES) == 8
    for language in languages():
        attributes = {one.rule.attribute for one in language.rules}
        assert {"name", "age", "home", "job", "employer", "taste: {key}", "diet", "deadline"} <= attributes


def test_a_sentence_keeps_its_place_in_the_message() -> None:
    text = 'Hello there. He said "I am a fish and proud of it" today.\n- My name is Dr. Who.'
    found = list(statements(text))
    assert [text[one.start : one.start + len(one.text)].split(maxsplit=1)[0] for one in found] == ["Hello", "He", "My"]
    assert found[-1].text == "My name is Dr. Who."


async def test_the_rules_are_always_available_and_say_that_they_are_rules() -> None:
    extractor = RuleExtractor()
    assert (extractor.name, extractor.is_available()) == ("rules", True)
    long = await extractor.extract(request(said("It is fine. " * 500 + "I live in Oslo.")))
    assert [one.value for one in long.candidates] == ["Oslo"]
    assert long.usage.input_tokens == 0
