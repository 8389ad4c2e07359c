"""The built-in summariser keeps what matters, word for word, within its length, in any language."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.message import Message, ToolCall
from recollect.domain.tokens import estimate_tokens
from recollect.history.extractive import AT_MOST, fold_summaries, summarise_messages
from recollect.history.sentences import LONGEST, sentences, shortened
from recollect.testing.clock import START


def said(*lines: str | tuple[str, str], **more: Any) -> list[Message]:
    """Return messages of alternating roles, or of named speakers."""
    given = [line if isinstance(line, tuple) else (None, line) for line in lines]
    return [message(number, text, name=name, **more) for number, (name, text) in enumerate(given)]


def message(number: int, text: str, **more: Any) -> Message:
    stated = {"role": "assistant" if number % 2 else "user", "name": None, "status": "complete", "turn_id": None} | more
    return Message(
        conversation_id="c1",
        seq=number + 1,
        id=f"m{number + 1}",
        parent_id=f"m{number}" if number else None,
        content=text,
        created_at=START,
        **stated,
    )


TRIP = said(
    ("Ann", "Hi! Are you there?"),
    ("Ben", "Yes. Hello Ann!"),
    ("Ann", "I would like to go to Lisbon in May. My sister lives in Lisbon, and the flights are cheap right now."),
    ("Ben", "Nice. How long do you want to stay in Lisbon?"),
    ("Ann", "Ten days, if I get a holiday from work. Hm."),
    ("Ben", "Then book the flights for 12 May, they cost 140 euros. I can look after your cat, she knows me."),
    ("Ann", "Great, thanks a lot! I will book the flights tonight."),
    ("Ben", "OK."),
)


def test_a_summary_keeps_what_was_talked_about_with_who_said_it() -> None:
    summary = summarise_messages(TRIP, at_most=200)
    assert "Ann: I would like to go to Lisbon in May." in summary
    assert len(summary) <= 200
    assert "OK." not in summary


def test_every_sentence_is_kept_word_for_word_and_in_order() -> None:
    whole = [f"{one.name}: {sentence}" for one in TRIP for sentence in sentences(one.content)]
    summary = summarise_messages(TRIP, at_most=300)
    places = []
    for line in summary.splitlines():
        name, _, text = line.partition(": ")
        places += [whole.index(f"{name}: {sentence}") for sentence in sentences(text)]
    assert places == sorted(places)
    assert len(places) == len(set(places)) > 1


def test_what_is_repeated_is_kept_once() -> None:
    again = said(*["The harbour office opens at nine on Monday morning."] * 20, "Bring the signed contract with you.")
    summary = summarise_messages(again)
    assert summary.count("harbour") == 1
    assert "contract" in summary


def test_a_summary_is_shorter_than_what_it_covers() -> None:
    long = said(*(f"Item {number} of the plan needs a budget and an owner from team {number}." for number in range(90)))
    source = sum(len(one.content) for one in long)
    assert len(summarise_messages(long)) <= AT_MOST < source
    assert len(summarise_messages(long[:20])) < 0.5 * sum(len(one.content) for one in long[:20])


def test_the_length_can_be_given_in_tokens() -> None:
    for limit in (5, 20, 60):
        summary = summarise_messages(TRIP, at_most=limit, measure=estimate_tokens)
        assert 0 < estimate_tokens(summary) <= limit


def test_messages_that_say_nothing_leave_who_was_there() -> None:
    assert summarise_messages(said(" ", "\n\t", "...")) == "user, assistant: …"
    assert summarise_messages([]) == ""
    assert fold_summaries([]) == ""


def test_tool_calls_and_results_are_named_and_shortened() -> None:
    call = ToolCall(id="call1", tool_name="weather", input={"city": "Porto"})
    messages = [
        message(0, "What is the weather in Porto?"),
        message(1, "", tool_calls=(call,)),
        message(2, '{"temperature": 21}' * 5_000, role="tool", tool_call_id="call1"),
        message(3, "It is 21 degrees in Porto."),
    ]
    assert summarise_messages(messages) == "user: What is the weather in Porto?\nassistant: It is 21 degrees in Porto."
    assert summarise_messages(messages[1:2]) == 'assistant: weather {"city":"Porto"}'
    result = summarise_messages(messages[1:3])
    assert 'tool weather: {"temperature": 21}' in result
    assert len(result) < 250


def test_code_and_encoded_data_do_not_fill_a_summary() -> None:
    code = "Use this function:\n```python\ndef add(one, two):\n    return one + two\n```\nIt adds two numbers."
    assert sentences(code) == ["Use this function:", "def add(one, two):…", "It adds two numbers."]
    blob = "The key is " + "QUJD" * 500 + " and nothing else."
    assert len(" ".join(sentences(blob))) < 120


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Lee met J. R. Moss at 3.30 p.m. on Friday. She smiled!", 2),
        ("No. I did not... really. See https://a.example/b?c=1. Then go.", 4),
        ('"Come in!" she said. "Now."', 2),
        ("Take No. 5, e.g. the blue one. Or not?", 2),
        ("- one thing\n- two things\n\n1. first\n2. second", 4),
        ("今天天气很好。我们去公园吧！你觉得呢？", 3),
        ("今日は雨です。出かけません。", 2),
        ("मैं कल दिल्ली जा रहा हूँ। क्या तुम आओगे?", 2),
        ("كيف حالك؟ أنا بخير. سأسافر غدا۔", 3),
        ("Ես լավ եմ։ Դու ինչպե՞ս ես։", 2),
        ("Я живу в г. Киеве. Приезжай, напр. летом!", 2),
        ("** --- **\n| | |\n...", 0),
    ],
)
def test_sentences_end_where_their_script_ends_them(text: str, expected: int) -> None:
    assert len(sentences(text)) == expected, sentences(text)


def test_scripts_without_full_stops_are_cut_at_spaces() -> None:
    clause = "วันนี้อากาศดีมากเราไปเที่ยวทะเลกันเถอะ"
    cut = sentences(" ".join([clause] * 30))
    assert len(cut) > 3
    assert all(len(piece) <= LONGEST and piece.startswith(clause) and piece.endswith(clause) for piece in cut)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("你好！|请问有什么事？|我想预订五月十二日去里斯本的机票。|去里斯本的机票要一百四十欧元。|好的。", "里斯本"),
        ("Привет!|Здравствуй.|Хочу в мае в Лиссабон к сестре.|Билеты в Лиссабон стоят 140 евро.|Ага.", "Лиссабон"),
        ("नमस्ते।|हाँ।|मुझे मई में लिस्बन जाना है।|लिस्बन का टिकट १४० यूरो का है।|ठीक है।", "लिस्बन"),
        ("مرحبا.|أهلا.|أريد السفر إلى لشبونة في مايو.|تذكرة السفر إلى لشبونة بمئة يورو.|حسنا.", "لشبونة"),
        ("안녕!|응.|오월에 리스본 여행을 가고 싶어.|리스본 여행 비행기표는 140유로야.|그래.", "리스본"),
    ],
)
def test_any_language_is_summarised(text: str, kept: str) -> None:
    assert kept in summarise_messages(said(*text.split("|")), at_most=60)


def test_summaries_fold_into_one_of_the_same_length() -> None:
    parts = [
        summarise_messages(TRIP),
        "Topics: the cat and the flights.\nNothing was decided.",
        "Ben: See you in Faro.",
    ]
    folded = fold_summaries(parts * 10, at_most=250)
    assert 0 < len(folded) <= 250
    assert fold_summaries(["Ben: See you in Faro."]) == "Ben: See you in Faro."


anything = st.one_of(st.text(max_size=200), st.text("ab .!?。\n`*#-|\u200d\u0301", max_size=400))


@given(st.lists(anything, max_size=12), st.integers(0, 400))
def test_any_messages_give_a_summary_within_its_length(texts: list[str], limit: int) -> None:
    messages = said(*texts)
    summary = summarise_messages(messages, at_most=limit)
    assert len(summary) <= limit
    assert summary == summarise_messages(messages, at_most=limit)
    assert bool(summary.strip()) == (bool(texts) and limit > 0)
    folded = fold_summaries([summary, summary], at_most=limit)
    assert len(folded) <= limit


@given(anything, st.integers(1, 50))
def test_a_shortened_line_is_never_longer(text: str, limit: int) -> None:
    line = shortened(text, limit)
    assert len(line) <= limit
    assert "\n" not in line


def test_the_summary_does_not_depend_on_the_seed_of_hashes() -> None:
    text = "\n".join(f"{one.name}: {one.content}" for one in TRIP)
    code = "import sys; from recollect.history.extractive import *; print(fold_summaries(sys.argv[1:], at_most=250))"
    runs = [
        subprocess.run(
            [sys.executable, "-c", code, text], env={"PYTHONHASHSEED": seed}, check=True, capture_output=True, text=True
        )
        for seed in ("1", "2")
    ]
    assert runs[0].stdout == runs[1].stdout == fold_summaries([text], at_most=250) + "\n"


def test_huge_messages_take_bounded_time() -> None:
    drawn = random.Random(7)
    lorem = " ".join(drawn.choices(("river", "stone", "garden", "letter", "answer", "window"), k=90))
    huge = said(
        f"{lorem}. " * 1_500, "x" * 1_000_000, "汉字" * 400_000, "`" * 900_000, "\n" * 900_000, ". " * 450_000,
        "**a" * 300_000, "A. " * 300_000, "- " * 400_000,
    )  # fmt: skip
    started = time.perf_counter()
    assert 0 < len(summarise_messages(huge)) <= AT_MOST
    assert 0 < len(summarise_messages(said(*[f"{lorem}."] * 5_000))) <= AT_MOST
    # About a quarter of a second here; the rest is room for a slow and busy machine.
    assert time.perf_counter() - started < 10
