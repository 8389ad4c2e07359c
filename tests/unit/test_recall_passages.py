"""The passages of one user are found by words and by meaning, alone and with what was said around them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from numpy.typing import NDArray

from recollect.domain.message import Message, Role
from recollect.domain.passage import MatchedPassages, Passage
from recollect.domain.terms import asked_terms, terms
from recollect.recall.passages import PassageHit, PassageIndex
from recollect.recall.question import question_of

NOW = datetime(2024, 6, 15, 12, tzinfo=UTC)
DIMENSIONS = 8


def direction(seed: int) -> NDArray[np.float32]:
    vector = np.random.default_rng(seed).standard_normal(DIMENSIONS).astype(np.float32)
    return vector / np.linalg.norm(vector)


def said(
    text: str,
    seq: int = 0,
    conversation: str = "c1",
    name: str | None = None,
    role: Role = "user",
    at: datetime = NOW,
) -> Message:
    return Message(conversation, seq, f"{conversation}-{seq}", None, None, role, name, text, "complete", at)


def passage(message: Message, vector: NDArray[np.float32] | None = None) -> Passage:
    return Passage(message, None if vector is None else vector.astype("<f2").tobytes())


def index_of(*messages: Message) -> PassageIndex:
    index = PassageIndex(DIMENSIONS)
    for message in messages:
        index.put(message.conversation_id, message.seq, [passage(message)])
    return index


def found(index: PassageIndex, text: str, limit: int = 10) -> list[str]:
    return [hit.message.id for hit in index.search(question_of(text, NOW), limit)]


def best(index: PassageIndex, text: str) -> PassageHit:
    return index.search(question_of(text, NOW), 1)[0]


CHAT = (
    said("What shall we cook for dinner tonight?", 0),
    said("I adopted a grey cat from the shelter, her name is Luna", 1),
    said("That sounds lovely, tell me more about all of it please", 2),
    said("My sister works as a nurse in Bergen these days", 3),
    said("The train to Oslo was late again this morning", 4),
)


def test_an_empty_index_finds_nothing() -> None:
    assert PassageIndex(DIMENSIONS).search(question_of("anything", NOW), 5) == []


def test_the_message_with_the_rare_words_comes_first() -> None:
    assert found(index_of(*CHAT), "Who is a nurse?")[0] == "c1-3"


def test_words_are_found_whatever_their_ending() -> None:
    assert found(index_of(*CHAT), "Which cats were adopted?")[0] == "c1-1"


def test_no_more_is_returned_than_asked_for_and_everything_if_less_is_there() -> None:
    index = index_of(*CHAT)
    assert len(found(index, "cat", 2)) == 2
    assert sorted(found(index, "cat", 50)) == [message.id for message in CHAT]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("猫叫什么名字", "我的猫叫小花,今年三岁"),
        ("แมว", "แมวของฉันชื่อส้ม"),
        ("ما اسم قطتي", "قطتي اسمها لونا"),
        ("Wie heißt meine Katze?", "Meine Katze heisst Luna"),
        ("naive cafe", "Das Café war naïve"),
        ("parse_config", "def parse_config(path): ..."),
    ],
)
def test_any_script_is_found(question: str, text: str) -> None:
    index = index_of(*CHAT, said(text, 9))
    assert found(index, question)[0] == "c1-9"


def test_a_reply_is_found_by_the_words_of_what_it_answers() -> None:
    filler = [said(f"Something else entirely number {n} was told here", n) for n in range(4, 12)]
    index = index_of(
        said("Did you ever play the violin?", 0),
        said("For about ten years, until I moved away from home", 1),
        said("Nothing of that sort ever happened to anyone", 0, "c2"),
        *filler,
    )
    assert found(index, "violin", 2) == ["c1-0", "c1-1"] or found(index, "violin", 2) == ["c1-1", "c1-0"]


def test_neighbours_are_those_of_the_same_conversation() -> None:
    index = index_of(said("the violin concert tonight", 0), said("completely different words here", 0, "c2"))
    assert "next to" not in " ".join(index.search(question_of("violin", NOW), 2)[1].why)


def test_meaning_finds_what_no_word_does() -> None:
    index = PassageIndex(DIMENSIONS)
    near, far = direction(1), direction(2)
    index.put("c1", 0, [passage(said("I bought an automobile", 0), near), passage(said("I ate an apple pie", 1), far)])
    hit = index.search(question_of("Any vehicle?", NOW, near), 1)[0]
    assert hit.message.id == "c1-0"
    assert hit.why == ("near in meaning (1.00)",)


def test_a_passage_without_a_vector_is_still_found_by_its_words() -> None:
    index = PassageIndex(DIMENSIONS)
    index.put("c1", 0, [passage(said("I like green tea", 0), direction(1)), passage(said("My bike is a Brompton", 5))])
    assert index.search(question_of("Brompton", NOW, direction(3)), 1)[0].message.id == "c1-5"


def test_who_is_named_in_the_question_is_favoured() -> None:
    index = index_of(
        said("I love hiking in the mountains with friends", 0, name="Ann"),
        said("I love hiking in the mountains with friends", 0, "c2", name="Bob"),
    )
    assert best(index, "Where does Bob go hiking?").message.name == "Bob"
    assert best(index, "Where does Ann go hiking?").message.name == "Ann"
    assert "said by Ann" in best(index, "Where does Ann go hiking?").why


def test_a_role_is_no_name() -> None:
    index = index_of(
        said("The user table has four columns", 0, name="assistant", role="assistant"),
        said("Nothing to see in here at all", 1, name="user"),
    )
    assert not any("said by" in reason for reason in best(index, "user table").why)


def test_what_an_unnamed_assistant_said_comes_after_what_a_person_said() -> None:
    text = "The boiler is serviced in September"
    index = index_of(said(text, 0, role="assistant"), said(text, 0, "c2", role="user"))
    assert found(index, "When is the boiler serviced?") == ["c2-0", "c1-0"]
    named = index_of(said(text, 0, role="assistant", name="Mel"), said(text, 0, "c2", role="user", name="Caro"))
    assert found(named, "When is the boiler serviced?") == ["c1-0", "c2-0"]


def test_the_time_that_a_question_speaks_of_is_favoured() -> None:
    old = NOW - timedelta(days=400)
    index = index_of(said("We went swimming together", 0, at=NOW), said("We went swimming together", 0, "c2", at=old))
    assert best(index, "Where did we go swimming in May 2023?").message.id == "c2-0"
    assert "said on 12 May 2023" in best(index, "Where did we go swimming in May 2023?").why
    assert best(index, "Where did we go swimming this month?").message.id == "c1-0"


def test_equal_passages_come_in_order_of_conversation_and_seq() -> None:
    messages = [said("the very same words", 0, conversation) for conversation in ("b", "c", "a")]
    assert found(index_of(*messages), "same words") == ["a-0", "b-0", "c-0"]


def test_only_what_is_kept_is_returned_and_all_of_it() -> None:
    messages = [said(f"apples and pears number {n}", n) for n in range(100)]
    index = index_of(*messages)
    hits = index.search(question_of("apples", NOW), 5, lambda message: message.seq % 30 == 1)
    assert sorted(hit.message.seq for hit in hits) == [1, 31, 61, 91]


def test_the_reasons_name_the_words_as_they_were_asked() -> None:
    assert best(index_of(*CHAT), "Which nurses are there?").why[0] == "words: nurses"


def test_what_replaces_a_conversation_from_a_seq_on_leaves_the_rest() -> None:
    index = index_of(*CHAT)
    index.put("c1", 3, [passage(said("My brother is a baker in Turku", 3))])
    assert len(index) == 4
    assert found(index, "nurse", 4)[0] != "c1-3"
    assert found(index, "baker")[0] == "c1-3"
    assert found(index, "adopted cat")[0] == "c1-1"


def test_a_dropped_conversation_is_not_found_and_the_others_are() -> None:
    index = index_of(*CHAT, said("I play chess on Sundays", 0, "c2"))
    index.drop("c1")
    index.drop("never-heard-of")
    assert len(index) == 1
    assert found(index, "cat chess") == ["c2-0"]


def test_putting_no_passages_empties_a_conversation() -> None:
    index = index_of(*CHAT)
    index.put("c1", 0, [])
    assert len(index) == 0
    assert found(index, "cat") == []


def test_the_size_grows_with_what_is_held() -> None:
    index = index_of(*CHAT)
    before = index.nbytes
    index.put("c2", 0, [passage(said("word " * 50, n, "c2"), direction(n)) for n in range(200)])
    assert index.nbytes > before + 200 * DIMENSIONS * 4


def test_rows_that_are_gone_are_cleared_away() -> None:
    index = PassageIndex(DIMENSIONS)
    for _ in range(30):
        index.put("c1", 0, [passage(said(f"message {n} of many", n), direction(n)) for n in range(100)])
    size = index.nbytes
    for _ in range(30):
        index.put("c1", 0, [passage(said(f"message {n} of many", n), direction(n)) for n in range(100)])
    assert len(index) == 100
    assert index.nbytes <= 2 * size
    assert best(index, "message 42").message.id == "c1-42"


def chat_of(count: int) -> list[Passage]:
    """Make up a long chat whose messages have a few words each, common ones more often than rare ones."""
    random = np.random.default_rng(7)
    words = np.array([f"w{n}" for n in range(3_000)])
    share = 1 / np.arange(5, 3_005)
    share /= share.sum()
    made = []
    for number in range(count):
        text = " ".join(random.choice(words, size=12, p=share))
        made.append(passage(said(text, number % 40, f"c{number // 40:03}"), direction(number)))
    return made


def candidates(passages: Sequence[Passage], asked: list[str], vector: NDArray[np.float32]) -> MatchedPassages:
    """Do what a store does: the best by terms and by meaning, with their neighbours."""
    held = [set(terms(one.message.content)) for one in passages]
    frequencies = [sum(term in words for words in held) for term in asked]
    weights = {term: np.log(1 + len(passages) / (1 + many)) for term, many in zip(asked, frequencies, strict=True)}
    by_terms = np.array([sum(weights[term] for term in asked if term in words) for words in held])
    vectors = np.stack([np.frombuffer(one.vector or b"", "<f2") for one in passages]).astype(np.float32)
    chosen = {*np.argsort(-by_terms)[:400], *np.argsort(-(vectors @ vector))[:400]}
    near = {int(at) + step for at in chosen for step in (-1, 0, 1) if 0 <= at + step < len(passages)}
    return MatchedPassages(
        passages=tuple(passages[at] for at in sorted(near)), total=len(passages), frequencies=tuple(frequencies)
    )


def test_candidates_of_a_store_are_ranked_nearly_as_the_whole_is() -> None:
    passages = chat_of(4_000)
    whole = PassageIndex(DIMENSIONS)
    for start in range(0, len(passages), 40):
        whole.put(f"c{start // 40:03}", 0, passages[start : start + 40])
    shared = 0
    for number in range(10):
        text = f"w{400 + 31 * number} w{900 + 57 * number} w{20 + number}"
        vector = direction(50_000 + number)
        matched = candidates(passages, asked_terms(text), vector)
        part = PassageIndex.of_candidates(matched, asked_terms(text), DIMENSIONS)
        assert len(part) < len(whole) / 2
        question = question_of(text, NOW, vector)
        first = [hit.message.id for hit in whole.search(question, 10)]
        second = [hit.message.id for hit in part.search(question, 10)]
        shared += len(set(first) & set(second))
    assert shared >= 80


def test_what_was_told_just_after_the_time_asked_for_is_favoured_less_than_what_was_told_in_it() -> None:
    days = {"a": 20, "b": 8, "c": 7, "d": 6}
    index = index_of(
        *(said("We went swimming", 0, key, at=datetime(2023, 5, day, 9, tzinfo=UTC)) for key, day in days.items())
    )
    assert found(index, "Did we go swimming on 7 May 2023?") == ["c-0", "b-0", "a-0", "d-0"]
