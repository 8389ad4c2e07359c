"""Read the named queries: those both dialects share, and those one of them has of its own.

A file holds blocks that start with `-- name: NAME` or `-- snippet: NAME`; a query may name a snippet in braces.
Parameters are written `:name` everywhere.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Literal

from recollect.errors import StorageError

Dialect = Literal["sqlite", "postgres"]

_BLOCK = re.compile(r"^-- (name|snippet): (\w+)\n", re.MULTILINE)
_SNIPPET = re.compile(r"\{(\w+)\}")
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")


@cache
def load_positional() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return every SQLite query with question marks and the names of its parameters in order.

    Binding by position takes half the time of binding by name.
    """
    return {
        name: (_PARAMETER.sub("?", sql), tuple(_PARAMETER.findall(sql))) for name, sql in load_queries("sqlite").items()
    }


@cache
def load_queries(dialect: Dialect) -> dict[str, str]:
    """Return every query of the dialect by name, ready for its driver."""
    queries: dict[str, str] = {}
    snippets: dict[str, str] = {}
    for folder in ("common", dialect):
        for file in sorted(files(__package__).joinpath("sql", folder).iterdir(), key=lambda f: f.name):
            _read(file.read_text("utf-8"), f"{folder}/{file.name}", queries, snippets)
    ready = {name: _filled(sql, snippets) for name, sql in queries.items()}
    if dialect == "postgres":
        return {name: _PARAMETER.sub(r"%(\1)s", sql.replace("%", "%%")) for name, sql in ready.items()}
    return ready


def _filled(sql: str, snippets: dict[str, str]) -> str:
    """Put the snippets in, which may name others themselves."""
    while _SNIPPET.search(sql):
        sql = _SNIPPET.sub(lambda m: snippets[m[1]], sql)
    return sql


def _read(text: str, where: str, queries: dict[str, str], snippets: dict[str, str]) -> None:
    parts = _BLOCK.split(text)
    for kind, name, body in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        target = queries if kind == "name" else snippets
        if name in target:
            raise StorageError(f"{kind} {name} is defined twice, again in {where}")
        lines = [line for line in body.splitlines() if not line.lstrip().startswith("--")]
        target[name] = "\n".join(lines).strip().rstrip(";")
