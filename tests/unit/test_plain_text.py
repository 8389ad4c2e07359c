"""Markdown becomes the words that a person reads, and what is no Markdown stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.conversation import AUTO_TITLE, title_from
from recollect.domain.plain_text import plain


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("# Moving to Oslo", "Moving to Oslo"),
        ("###### Moving to Oslo ##", "Moving to Oslo"),
        ("Moving to Oslo\n==============\nin May", "Moving to Oslo in May"),
        ("I **really** like *green* tea", "I really like green tea"),
        ("__Tea__ and _coffee_ and ~~milk~~", "Tea and coffee and milk"),
        ("***all*** of it", "all of it"),
        ("**bold with *more* in it**", "bold with more in it"),
        ("我喜欢**茶**。", "我喜欢茶。"),
        ("read [the guide](https://example.com/a_(b)?q=1) first", "read the guide first"),
        ("![a cat](cat.png) and [this][1]", "a cat and this"),
        ("[**bold** link](https://example.com)", "bold link"),
        ("see <https://example.com/x_y_z>", "see https://example.com/x_y_z"),
        ("what does `a*b*c` do", "what does a*b*c do"),
        ("what does ``a`b`` do", "what does a`b do"),
        ("```python\nprint(1)\n```\nwhy?", "print(1) why?"),
        ("> - [x] buy *milk*\n> - bread", "buy milk bread"),
        ("one\n\n---\n\ntwo\r\nthree", "one two three"),
        (r"a \*star\* and \_line\_", "a *star* and _line_"),
    ],
)
def test_a_title_is_read_without_markdown(written: str, read: str) -> None:
    assert title_from(written) == read


@pytest.mark.parametrize(
    "text",
    [
        "2 * 3 * 4 = 24",
        "2*3*4",
        "2**3**2",
        "my_long_variable_name",
        "__init__.py is empty",
        "#1 in the list",
        "C# and F#",
        "-5 degrees",
        "1. first of all",
        "[not a link] (really)",
        "f(x)[0]",
        "a ` b",
        "5 > 3",
        "~/notes and ~root",
        "*",
        "#",
        "---",
        "```",
        "<b>",
    ],
)
def test_what_is_no_markdown_stays(text: str) -> None:
    assert title_from(text) == text


def test_a_link_whose_address_is_very_long_leaves_its_words() -> None:
    assert title_from(f"[the guide](https://example.com/{'x' * 5_000}) is long") == "the guide"


@given(st.text(alphabet="ab *_`[]()#>~-!\\\n=<é茶", max_size=300))
def test_a_title_is_one_short_line_that_is_there_whenever_there_are_words(text: str) -> None:
    title = title_from(text)
    assert (title is None) == (not text.strip())
    if title is not None:
        assert "\n" not in title
        assert len(title) <= AUTO_TITLE
        assert title == title.strip()


@given(st.text(alphabet="abc é茶.,?", max_size=100))
def test_plain_words_are_left_alone(text: str) -> None:
    assert plain(text) == text
