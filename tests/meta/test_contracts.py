"""Each promise of a contract page names the tests that hold us to it, and each such test is named by a promise."""

from __future__ import annotations

import re

from recollect.testing import DurabilityConformance, StoreConformance
from tests.meta.source_tree import ROOT

PAGE = (ROOT / "docs" / "contracts" / "store.md").read_text(encoding="utf-8")
TEST = re.compile(r"`(test_\w+)`")


def suite() -> set[str]:
    return {
        name for part in (StoreConformance, DurabilityConformance) for name in dir(part) if name.startswith("test_")
    }


def test_each_test_that_the_page_names_exists() -> None:
    assert sorted(set(TEST.findall(PAGE)) - suite()) == []


def test_each_test_of_the_suite_is_named_on_the_page_once() -> None:
    named = TEST.findall(PAGE)
    assert sorted(suite() - set(named)) == []
    assert sorted({name for name in named if named.count(name) > 1}) == []


def test_each_promise_names_a_test() -> None:
    promises = re.findall(r"^- .*\n(?:  .*\n)*", PAGE, re.MULTILINE)
    assert len(promises) > 50
    assert [promise for promise in promises if not TEST.search(promise)] == []
