"""Each promise of a contract page names the tests that hold us to it, and each such test is named by a promise."""

from __future__ import annotations

import re

import pytest

from recollect.testing import DurabilityConformance, StoreConformance, WindowCacheConformance
from recollect.testing.embedders import EmbedderConformance
from tests.meta.source_tree import ROOT

TEST = re.compile(r"`(test_\w+)`")
#: The suites that each page tells about, and the least number of its promises.
PAGES: dict[str, tuple[tuple[type, ...], int]] = {
    "store": ((StoreConformance, DurabilityConformance), 50),
    "windows": ((WindowCacheConformance,), 10),
    "embedders": ((EmbedderConformance,), 8),
}

pytestmark = pytest.mark.parametrize("name", PAGES)


def page(name: str) -> str:
    return (ROOT / "docs" / "contracts" / f"{name}.md").read_text(encoding="utf-8")


def suite(name: str) -> set[str]:
    return {test for part in PAGES[name][0] for test in dir(part) if test.startswith("test_")}


def test_each_test_that_the_page_names_exists(name: str) -> None:
    assert sorted(set(TEST.findall(page(name))) - suite(name)) == []


def test_each_test_of_the_suite_is_named_on_the_page_once(name: str) -> None:
    named = TEST.findall(page(name))
    assert sorted(suite(name) - set(named)) == []
    assert sorted({test for test in named if named.count(test) > 1}) == []


def test_each_promise_names_a_test(name: str) -> None:
    promises = re.findall(r"^- .*\n(?:  .*\n)*", page(name), re.MULTILINE)
    assert len(promises) > PAGES[name][1]
    assert [promise for promise in promises if not TEST.search(promise)] == []
