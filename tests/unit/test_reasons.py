"""Why something was told is kept as numbers and said again in the same words, as long as what it quotes is there."""

from __future__ import annotations

import pytest

from recollect.domain.reasons import Spoken, reason, reason_parts
from tests.support.context_parts import a_message

QUESTION = "Which green tea did Zoë buy Last Week in 東京都?"
MESSAGE = a_message("m1", "I bought green tea.", name="Zoë; the first")
SPOKEN = Spoken(question=QUESTION, message=MESSAGE, agent="helper, version 2")

WHYS = [
    "always",
    "pinned",
    "pinned; nobody here said it, so it is told as data",
    "learned lately",
    "what comes closest",
    "words: green, tea",
    "words: zoe; near in meaning (0.45); important (1.00); often used (12)",
    "words: 東京, 京都; next to tea",
    "near in meaning (1.00); of last week",
    "said on 1 January 2026; cut to fit",
    "stands for messages 3 to 12",
    "the notes of helper, version 2, version 3",
    "the notes of helper, version 2, version 3, cut to fit",
    "there is no room for it in the budget; the agent can read it with its tool",
    "it waits for review, or is set aside",
]


@pytest.mark.parametrize("why", WHYS)
def test_a_reason_is_said_again(why: str) -> None:
    parts = reason_parts(why, QUESTION)
    assert reason(parts, SPOKEN) == why
    assert all(isinstance(number, int) for part in parts for number in part)


def test_a_speaker_is_named_by_the_message_and_by_nothing_else() -> None:
    parts = reason_parts("said by Zoë; the first; near in meaning (0.45)", QUESTION)
    assert reason(parts, SPOKEN) == "said by Zoë; the first; near in meaning (0.45)"
    assert reason(parts, Spoken(question=QUESTION)) == "said by whom the question names; near in meaning (0.45)"


def test_without_the_question_its_words_are_not_said() -> None:
    parts = reason_parts("words: green, tea; next to buy; of last week; said on 1 January 2026", QUESTION)
    assert reason(parts, Spoken()) == (
        "words of the question; next to words of the question; of the time that was asked for; "
        "said at the time that was asked for"
    )


@pytest.mark.parametrize("why", ["", "because I say so", "because I say so; and so"])
def test_a_reason_in_other_words_is_not_kept(why: str) -> None:
    assert reason(reason_parts(why, QUESTION), SPOKEN) == "it was found for the question"


def test_another_question_in_its_place_breaks_nothing() -> None:
    parts = reason_parts("words: green, tea", QUESTION)
    assert reason(parts, Spoken(question="Hm?")) == "it was found for the question"
    assert reason(((9_999, 1),), SPOKEN) == "it was found for the question"
