"""What a model sent becomes text and JSON that every store can keep."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.checks import check_object, check_text
from recollect.errors import ProviderOutputError
from recollect.providers.text import TextJoiner, clean, parsed, tool_input
from recollect.providers.waiting import backoff, retry_after
from recollect.testing.clock import START

any_text = st.text(st.characters())
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
)


@given(text=any_text)
def test_cleaned_text_can_be_kept(text: str) -> None:
    check_text(clean(text), "text")


@given(text=st.text(st.characters(codec="utf-8", exclude_characters="\0")))
def test_valid_text_is_unchanged(text: str) -> None:
    assert clean(text) == text


@given(pieces=st.lists(any_text, max_size=8))
def test_text_in_pieces_is_cleaned_as_a_whole(pieces: list[str]) -> None:
    joiner = TextJoiner()
    shown = [joiner.feed(piece) for piece in pieces]
    assert "".join([*shown, joiner.flush()]) == clean("".join(pieces))


@given(text=st.text(st.characters(codec="utf-8")), unit=st.integers(1, 3))
def test_text_cut_between_the_halves_of_a_pair_is_unchanged(text: str, unit: int) -> None:
    encoded = text.encode("utf-16-le")
    pieces = [encoded[start : start + 2 * unit] for start in range(0, len(encoded), 2 * unit)]
    joiner = TextJoiner()
    shown = [joiner.feed(piece.decode("utf-16-le", "surrogatepass")) for piece in pieces]
    assert "".join([*shown, joiner.flush()]) == text.replace("\0", "\ufffd")


@given(value=st.dictionaries(any_text, json_values, max_size=4))
def test_the_input_of_a_tool_can_be_kept(value: dict[str, Any]) -> None:
    check_object(tool_input(json.dumps(value)), "input")


@pytest.mark.parametrize("text", ["", " \n", "{}"])
def test_no_input_is_an_empty_one(text: str) -> None:
    assert tool_input(text) == {}


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[1]",
        '"text"',
        "null",
        "{'a': 1}",
        '{"a": NaN}',
        '{"a": -Infinity}',
        f'{{"a": {2**64}}}',
        f'{{"a": {"9" * 5000}}}',
        '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"a": ' + "[" * 70 + "]" * 70 + "}",
        '{"a": ' + "[" * 900 + "]" * 900 + "}",
    ],
    ids=lambda text: text[:20],
)
def test_what_is_no_input_is_refused_without_being_quoted(text: str) -> None:
    with pytest.raises(ProviderOutputError) as refused:
        tool_input(text)
    assert text not in str(refused.value)
    assert refused.value.__cause__ is None


@given(text=st.text())
def test_anything_is_json_or_refused(text: str) -> None:
    try:
        parsed(text)
    except ProviderOutputError:
        return


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("0", 0),
        ("7", 7),
        (" 7.5 ", 7.5),
        ("-3", 0),
        ("inf", 86_400),
        ("nan", None),
        ("1e400", 86_400),
        ("9" * 300, None),
        ("soon", None),
        ("", None),
        ("Thu, 01 Jan 2026 12:00:30 GMT", 30),
        ("Thu, 01 Jan 2026 13:00:30 +0100", 30),
        ("Thursday, 01-Jan-26 12:00:30 GMT", 30),
        ("Thu, 01 Jan 2026 11:59:00 GMT", 0),
        ("Fri, 01 Jan 2027 12:00:00 GMT", 86_400),
        ("Thu, 32 Jan 2026 12:00:30 GMT", None),
    ],
)
def test_a_provider_asks_to_wait_in_seconds_or_until_a_date(header: str | None, seconds: float | None) -> None:
    assert retry_after(header, START) == seconds


@given(header=st.text(), at=st.datetimes())
def test_any_header_is_a_time_to_wait_or_nothing(header: str, at: datetime) -> None:
    seconds = retry_after(header, START + (at - datetime(2026, 1, 1)) / 1000)  # noqa: DTZ001  # only the length counts
    assert seconds is None or timedelta(0) <= timedelta(seconds=seconds) <= timedelta(days=1)


@given(attempt=st.integers(0, 1000), chance=st.floats(0, 1, exclude_max=True))
def test_a_pause_grows_to_a_bound_and_is_spread(attempt: int, chance: float) -> None:
    assert 0.25 <= backoff(attempt, chance) <= 8
    assert backoff(attempt, 0) <= backoff(attempt, chance) <= backoff(attempt + 1, chance)
