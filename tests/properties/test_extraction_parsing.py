"""Whatever a model writes, its whole items come out of it, and nothing else happens."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect.domain.candidate import Candidate
from recollect.errors import ProviderOutputError
from recollect.extraction.drafts import Draft, draft_of
from recollect.extraction.grounding import Sources
from recollect.extraction.parsing import Parsed, parse_items
from tests.support.extraction import request, said

texts = st.text(max_size=30)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
items = st.fixed_dictionaries(
    {"content": st.text(min_size=1, max_size=30), "quote": texts}, optional={"importance": values, "subject": values}
)


def parsed(text: str) -> Parsed | None:
    """Parse, where only our own error may be raised."""
    try:
        return parse_items(text)
    except ProviderOutputError:
        return None


@given(st.text(max_size=300))
@example("[" * 20_000)
@example("[" * 10_000 + "]" * 10_000)
@example('{"a":' * 10_000)
@example('[{"content": ' + "9" * 5_000 + "}]")
@example('[{"content": NaN, "quote": -Infinity}]')
@example('"' * 20_000)
@example("{\\" * 10_000)
@example("]}" * 10_000)
@example('[{"content": "a", "quote": "\ud800\0"}]')
def test_no_text_raises_anything_but_our_error(text: str) -> None:
    found = parsed(text)
    for item in found.items if found else ():
        assert isinstance(draft_of(item), Draft | str)


@given(st.lists(st.sampled_from(list("[]{}\",:\\ \n'tx1")), max_size=80).map("".join))
def test_no_heap_of_brackets_raises_anything_but_our_error(text: str) -> None:
    parsed(text)
    parsed(f'Sure! {text} [{{"content": "a", "quote": "b"}}]')


@given(st.lists(items, max_size=4), st.booleans(), st.data())
def test_a_reply_cut_anywhere_keeps_its_whole_items(
    given_items: list[dict[str, Any]], wrapped: bool, data: st.DataObject
) -> None:
    written = [json.dumps(item) for item in given_items]
    begin = '{"memories": [' if wrapped else "["
    reply = begin + ", ".join(written) + ("]}" if wrapped else "]")
    check_cut(reply, begin, written, data.draw(st.integers(0, len(reply))))
    assert parse_items(reply).items == tuple(json.loads(one) for one in written) or "NaN" in reply


@pytest.mark.parametrize("begin", ["[", '{"memories": ['])
def test_at_every_place_where_a_reply_can_be_cut_its_whole_items_are_kept(begin: str) -> None:
    first = {"content": 'says "[{" and \\', "quote": "a, b}", "importance": 1e3, "sources": [[], {"at": [1]}]}
    written = [json.dumps(first), json.dumps({"content": "é 你", "quote": "x", "valid_from": None})]
    reply = begin + ", ".join(written) + ("]}" if begin != "[" else "]")
    for cut in range(len(reply) + 1):
        check_cut(reply, begin, written, cut)


def check_cut(reply: str, begin: str, written: list[str], cut: int) -> None:
    """See that the items that end before the cut come back, and that the cut is told."""
    ends = [len(begin) + sum(map(len, written[:many])) + 2 * (many - 1) for many in range(1, len(written) + 1)]
    whole = sum(end <= cut for end in ends)
    found = parsed(reply[:cut])
    assert json.dumps(found.items if found else []) == json.dumps([json.loads(one) for one in written[:whole]])
    assert found is None or found.cut == (cut < len(reply))


@given(st.lists(items, min_size=1, max_size=4))
def test_fences_prose_other_keys_and_trailing_commas_change_nothing(given_items: list[dict[str, Any]]) -> None:
    written = json.dumps(given_items)
    trailing = f"[{', '.join(json.dumps(item)[:-1] + ',}' for item in given_items)},]"
    expected = json.dumps(list(parse_items(written).items))
    for reply in (
        f"```json\n{written}\n```",
        f'Here are [some] of "them":\n\n{written}\n\nAnything else?',
        json.dumps({"facts": given_items, "count": 2}),
        json.dumps({"result": {"memories": given_items}}),
        f"<think>maybe [1] or {{2}}</think>{written}",
        trailing,
    ):
        assert json.dumps(list(parse_items(reply).items)) == expected


@given(values)
def test_an_item_of_any_shape_is_a_draft_or_a_reason(value: Any) -> None:
    for item in (value, {"content": value, "quote": value, "type": value}, {"content": "a", "quote": "b", "x": value}):
        result = draft_of(item)
        assert isinstance(result, Draft | str)
    fields = dict.fromkeys(("importance", "confidence", "subject", "attribute", "valid_from", "valid_to"), value)
    draft = draft_of({"content": "tea", "quote": "tea time", **fields})
    assert isinstance(draft, Draft)
    assert 0 <= draft.importance <= 1
    assert (draft.subject is None) == (draft.attribute is None)
    candidate = Sources(request(said("It is tea time now."))).candidate(draft)
    assert isinstance(candidate, Candidate)
