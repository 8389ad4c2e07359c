"""The code stays within the budgets that keep it readable."""

from __future__ import annotations

import ast
import math
import re
from pathlib import Path

from tests.meta.source_tree import CODE_FOLDERS, ROOT, FunctionNode, functions, modules, place, tree

FILE_LINES = 400
FUNCTION_LINES = 60
PARAMETERS = 6
LINES_PER_BROAD_EXCEPT = 1000
FORBIDDEN_MODULES = {"utils", "util", "helpers", "helper", "common", "manager", "base", "misc"}
VERSION_SUFFIX = re.compile(r"_v\d+$")
# Spelt in two parts, so that this file keeps its own rule.
UNFINISHED = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")
TEXT_SUFFIXES = {".py", ".sql", ".md", ".toml", ".ts", ".tsx", ".css", ".html"}


def line_count(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def parameters(function: FunctionNode) -> list[str]:
    given = function.args
    names = [argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return [name for name in names if name not in {"self", "cls"}]


def broad_handlers(path: Path) -> list[ast.ExceptHandler]:
    handlers = [node for node in ast.walk(tree(path)) if isinstance(node, ast.ExceptHandler)]
    return [handler for handler in handlers if is_broad(handler.type)]


def is_broad(caught: ast.expr | None) -> bool:
    if isinstance(caught, ast.Tuple):
        return any(is_broad(part) for part in caught.elts)
    return caught is None or (isinstance(caught, ast.Name) and caught.id in {"Exception", "BaseException"})


def test_no_file_is_longer_than_the_budget() -> None:
    assert not [place(path, line_count(path)) for path in modules(*CODE_FOLDERS) if line_count(path) > FILE_LINES]


def test_no_function_is_longer_than_the_budget() -> None:
    assert not [
        f"{place(path, function.lineno)} {function.name}"
        for path in modules("src")
        for function in functions(path)
        if (function.end_lineno or 0) - function.lineno + 1 > FUNCTION_LINES
    ]


def test_no_function_takes_more_parameters_than_the_budget() -> None:
    assert not [
        f"{place(path, function.lineno)} {function.name}"
        for path in modules("src")
        for function in functions(path)
        if len(parameters(function)) > PARAMETERS
    ]


def test_errors_are_caught_by_name() -> None:
    broad = [place(path, handler.lineno) for path in modules("src") for handler in broad_handlers(path)]
    lines = sum(line_count(path) for path in modules("src"))
    assert len(broad) <= math.ceil(lines / LINES_PER_BROAD_EXCEPT), broad


def test_each_broad_except_gives_its_reason_beside_it() -> None:
    without_reason = []
    for path in modules(*CODE_FOLDERS):
        lines = path.read_text(encoding="utf-8").splitlines()
        for handler in broad_handlers(path):
            comment = lines[handler.lineno - 1].partition("#")[2]
            reason = re.sub(r"noqa:\s*[A-Z0-9, ]+", "", comment)
            if len(re.findall(r"\w+", reason)) < 3:
                without_reason.append(place(path, handler.lineno))
    assert not without_reason


def test_each_file_and_name_says_what_it_holds() -> None:
    found = []
    for path in modules(*CODE_FOLDERS):
        names = {node.name for node in ast.walk(tree(path)) if isinstance(node, (FunctionNode, ast.ClassDef))}
        if path.stem.removeprefix("test_").strip("_") in FORBIDDEN_MODULES or VERSION_SUFFIX.search(path.stem):
            found.append(place(path))
        found += [f"{place(path)} {name}" for name in names if VERSION_SUFFIX.search(name)]
    assert not found


def test_nothing_is_mocked() -> None:
    found = []
    for path in modules(*CODE_FOLDERS):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Import):
                imported = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                imported = [f"{node.module}.{alias.name}" for alias in node.names]
            else:
                continue
            if any(re.match(r"(unittest\.)?mock\b|pytest_mock\b", name) for name in imported):
                found.append(place(path, node.lineno))
    assert not found


def test_nothing_is_left_unfinished() -> None:
    skipped = {"node_modules", "static", "dist"}
    found = []
    for folder in (*CODE_FOLDERS, "docs", "web"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix not in TEXT_SUFFIXES or skipped.intersection(path.parts):
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if UNFINISHED.search(line):
                    found.append(place(path, number))
    assert not found
