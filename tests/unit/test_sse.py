"""Events are found in any stream of bytes, however it is cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import ProviderOutputError
from recollect.providers.sse import EventParser, ServerEvent


def events_of(*chunks: bytes, at_most: int = 10_000) -> list[ServerEvent]:
    parser = EventParser(at_most)
    found = [event for chunk in chunks for event in parser.feed(chunk)]
    return found + parser.finish()


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\n", [("", "a")]),
        (b"data:a\r\n\r\ndata: b\r\rdata: c\n\n", [("", "a"), ("", "b"), ("", "c")]),
        (b"event: ping\ndata: {}\n\n", [("ping", "{}")]),
        (b"data: a\ndata: b\n\n", [("", "a\nb")]),
        (b"data:  two spaces\n\n", [("", " two spaces")]),
        (b": comment\n\nid: 7\nretry: 5\ndata: a\n\n", [("", "a")]),
        (b"event: nothing\n\ndata\n\n", [("", "")]),
        (b"\xef\xbb\xbfdata: a\n\n", [("", "a")]),
        (b"data: no empty line at the end", [("", "no empty line at the end")]),
        (b"data: a\xffb\n\n", [("", "a\ufffdb")]),
        (b"<html>\n\nnothing of it\n", []),
        (b"", []),
    ],
)
def test_the_rules_of_the_format_are_kept(stream: bytes, events: list[tuple[str, str]]) -> None:
    assert events_of(stream) == [ServerEvent(*event) for event in events]


lines = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=20)


@given(
    said=st.lists(st.lists(lines, min_size=1, max_size=3), max_size=5),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    cuts=st.lists(st.integers(0, 500), max_size=20),
)
def test_events_come_unchanged_however_they_are_cut(said: list[list[str]], end: str, cuts: list[int]) -> None:
    stream = "".join(
        f": comment{end}" + "".join(f"data: {line}{end}" for line in event) + end for event in said
    ).encode()
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    chunks = [stream[start:stop] for start, stop in pairwise(places)]
    assert [event.data for event in events_of(*chunks)] == ["\n".join(event) for event in said]


@given(chunks=st.lists(st.binary(max_size=50)))
def test_any_bytes_are_events_or_nothing(chunks: list[bytes]) -> None:
    for event in events_of(*chunks):
        event.data.encode()


@pytest.mark.parametrize("stream", [b"x" * 101, b"data: " + b"x" * 95, b"data: aaaa\n" * 11, b"event: x\n" * 15])
def test_an_event_has_a_longest(stream: bytes) -> None:
    with pytest.raises(ProviderOutputError, match="longer than 100 bytes"):
        events_of(*(stream[start : start + 9] for start in range(0, len(stream), 9)), at_most=100)


def test_comments_do_not_add_up() -> None:
    assert events_of(*[b": keep-alive\n\n"] * 1000, b": x\n" * 1000, b"data: a\n\n", at_most=100) == [("", "a")]


def test_a_long_line_in_many_pieces_takes_time_in_its_length() -> None:
    piece = b"x" * 10
    assert len(events_of(b"data: ", *[piece] * 50_000, b"\n\n", at_most=10**6)[0].data) == 500_000
