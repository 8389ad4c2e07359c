"""Every promise is proven by a test that names it, or is listed as unproven."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.meta.source_tree import functions, modules, place, tree

HERE = Path(__file__).parent
EXPECTED = {"S0": 9, "S1": 12, "S2": 16, "S3": 8, "S4": 7}


def lines(name: str) -> list[str]:
    text = (HERE / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def spec_ids() -> list[str]:
    return [line.partition(" ")[0] for line in lines("spec_ids.txt")]


def marks(path: Path) -> Iterator[ast.Call]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("mark.spec"):
            yield node


def named_ids() -> dict[str, str]:
    """Map each id that a test names to a place that names it; read from the source, so a part run sees all."""
    return {
        ast.literal_eval(argument): place(path, call.lineno)
        for path in modules("tests")
        for call in marks(path)
        for argument in call.args
    }


def test_the_list_holds_every_id_once() -> None:
    expected = [f"{design}.{number}" for design, last in EXPECTED.items() for number in range(1, last + 1)]
    for letter, last in {"P": 24, "B": 13, "R": 31}.items():
        expected += [f"{letter}{number}" for number in range(1, last + 1)]
    assert spec_ids() == expected


def test_each_id_is_proven_by_a_test_or_listed_as_unproven() -> None:
    assert sorted(set(spec_ids()) - set(named_ids()) - set(lines("unproven.txt"))) == []


def test_no_id_is_both_proven_and_listed_as_unproven() -> None:
    both = set(named_ids()).intersection(lines("unproven.txt"))
    assert sorted(both) == [], "a test names these now: remove them from tests/meta/unproven.txt"


def test_only_ids_of_the_list_are_named() -> None:
    known = set(spec_ids())
    assert {name: where for name, where in named_ids().items() if name not in known} == {}
    assert sorted(set(lines("unproven.txt")) - known) == []


def test_each_proven_property_has_a_test_of_its_name() -> None:
    names = " ".join(function.name for path in modules("tests") for function in functions(path))
    tested = {f"P{int(number)}" for number in re.findall(r"\btest_p(\d\d)_", names)}
    assert sorted({name for name in named_ids() if name.startswith("P")} - tested) == []
