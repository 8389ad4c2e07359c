"""Print the page that documents every setting, so that it cannot differ from the code."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from msgspec import Meta

from recollect.settings.fields import FIELDS, Field
from recollect.settings.groups import GROUPS
from recollect.settings.load import Settings

_INTRODUCTION = """\
# Settings

<!-- Written by `make docs` from the code; change the comments in `src/recollect/settings/` instead. -->

Flags win over environment variables, these over `recollect.toml`, and that over the defaults.
The file is read from the working folder, or from where `RECOLLECT_CONFIG` says.
A variable that is blank counts as not set.

A value that cannot be used falls back to its default with one warning, and so does a name that is unknown.
A setting marked \N{LOCK} guards data: when it is wrong, Recollect refuses to start and says what to correct.

```toml
redis_url = "redis://localhost:6379/0"

[storage]
database = "postgresql://recollect:secret@localhost/recollect"

[history]
threshold = 20
keep_verbatim = 8
```
"""
_DOCUMENTED = re.compile(r"^    #: (?P<comment>.*)\n    (?P<name>\w+): ", re.MULTILINE)
# The true default depends on the machine.
_SHOWN_DEFAULTS = {"storage.database": "`sqlite:///` + the user's data folder + `/recollect/recollect.db`"}


def page() -> str:
    """Write the whole page in Markdown."""
    parts = [_INTRODUCTION, _table("", Settings)]
    parts += [_table(group, kind) for group, kind in GROUPS.items()]
    return "\n".join(parts)


def _table(group: str, kind: type) -> str:
    prefix = f"{group}." if group else ""
    lines = [f"## {group or 'Top level'}", "", "| setting | variable | default | allowed | meaning |"]
    lines.append("|---|---|---|---|---|")
    for match in _DOCUMENTED.finditer(inspect.getsource(kind)):
        field = FIELDS.get(prefix + match["name"])
        if field is not None:
            lines.append(_row(field, match["comment"]))
    return "\n".join([*lines, ""])


def _row(field: Field, comment: str) -> str:
    lock = " \N{LOCK}" if field.guards else ""
    default = _SHOWN_DEFAULTS.get(field.name) or ("none" if field.default is None else f"`{_spelt(field.default)}`")
    allowed = ", ".join(_allowed(field.type))
    return f"| `{field.name}`{lock} | `{field.variable}` | {default} | {allowed} | {comment} |"


def _spelt(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def _allowed(kind: Any) -> Iterator[str]:
    """Say in words what a type admits."""
    origin = get_origin(kind)
    if origin is Annotated:
        inner, *metas = get_args(kind)
        yield from _allowed(inner)
        yield from (bounds for meta in metas if isinstance(meta, Meta) and (bounds := _bounds(meta)))
    elif origin is Literal:
        yield " or ".join(f"`{option}`" for option in get_args(kind))
    elif origin in {Union, types.UnionType}:
        for option in get_args(kind):
            yield from _allowed(option)
    elif origin is dict:
        yield "table, or JSON in the variable"
    elif kind is not type(None):
        yield {int: "whole number", float: "number", bool: "`true` or `false`", str: "text"}[kind]


def _bounds(meta: Meta) -> str:
    low = f"from {meta.ge:,.9g}" if meta.ge is not None else f"above {meta.gt:,.9g}" if meta.gt is not None else ""
    high = f"to {meta.le:,.9g}" if meta.le is not None else ""
    return " ".join(part for part in (low, high) if part)
