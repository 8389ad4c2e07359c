"""A quote is found however it was typeset, its words come from the source, and other words are never found."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from recollect.domain.candidate import Candidate
from recollect.extraction.drafts import Draft
from recollect.extraction.grounding import Sources, find_quote
from tests.support.extraction import request, said

words = st.lists(st.from_regex(r"[a-zäéñø]{4,9}", fullmatch=True), min_size=3, max_size=12)
#: What a stored message can hold.
anything = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=60)
spaces = st.sampled_from([" ", "  ", "\n", "\u00a0", "\t "])


@given(words, st.data())
def test_a_quote_is_found_in_any_spacing_and_case(said_words: list[str], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(said_words) - 2))
    last = data.draw(st.integers(first + 1, len(said_words) - 1))
    source = "“" + data.draw(spaces).join(said_words) + "” — so it’s said…"
    quote = " ".join(said_words[first : last + 1]).upper()
    assume("SS" not in quote)
    found = find_quote(source, quote)
    assert found is not None
    assert found in source
    assert found.split() == said_words[first : last + 1]


@given(words, st.from_regex(r"[a-z]{4,9}", fullmatch=True), st.data())
def test_a_quote_with_a_word_that_is_not_there_is_not_found(
    said_words: list[str], other: str, data: st.DataObject
) -> None:
    assume(other not in said_words)
    at = data.draw(st.integers(0, len(said_words) - 1))
    changed = [*said_words[:at], other, *said_words[at + 1 :]]
    draft = Draft(content="anything", quote=" ".join(changed))
    assert Sources(request(said(" ".join(said_words)))).candidate(draft) == "not_in_source"


@given(anything, st.text(max_size=20))
def test_what_is_kept_as_the_quote_always_stands_in_the_source(source: str, quote: str) -> None:
    result = Sources(request(said(source))).candidate(Draft(content="anything", quote=quote or " "))
    if isinstance(result, Candidate):
        assert result.quote in source
        assert result.message_ids == ("m1",)
    else:
        assert result in ("no_quote", "not_in_source")


@given(anything)
def test_the_whole_of_a_message_grounds_itself(text: str) -> None:
    result = Sources(request(said(text))).candidate(Draft(content="anything", quote=text))
    assert isinstance(result, Candidate) or result == "no_quote" or "[redacted" in text
