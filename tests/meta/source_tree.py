"""Read the project's own files, for the tests that hold them to the house rules."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "recollect"
CODE_FOLDERS = ("src", "tests", "benchmarks", "tools")

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


def modules(*folders: str) -> list[Path]:
    """List the Python files of some top-level folders."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


@functools.cache
def tree(path: Path) -> ast.Module:
    """Parse a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def functions(path: Path) -> Iterator[FunctionNode]:
    """Find all functions of a file, nested ones too."""
    return (node for node in ast.walk(tree(path)) if isinstance(node, FunctionNode))


def place(path: Path, line: int | None = None) -> str:
    """Name a place in the project as an editor does."""
    name = str(path.relative_to(ROOT))
    return name if line is None else f"{name}:{line}"
