"""Read what was set, from the command line, the environment and the configuration file.

Each source returns what it names and one warning for each name that it should not have.
Values are neither checked nor converted here.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from recollect.errors import SettingsError
from recollect.settings.fields import FIELDS, PREFIX
from recollect.settings.groups import GROUPS

CONFIG_VARIABLE = "RECOLLECT_CONFIG"
CONFIG_FILE = Path("recollect.toml")

_VARIABLES = {field.variable: name for name, field in FIELDS.items()}


class Given(NamedTuple):
    """A value and where it was found."""

    value: object
    place: str


class Source(NamedTuple):
    """The settings that one source names, and its warnings."""

    given: dict[str, Given]
    warnings: list[str]


def from_flags(flags: Mapping[str, object]) -> Source:
    """Read flags; one that is None was not given."""
    found = Source({}, [])
    for name, value in flags.items():
        if value is not None:
            _sort(found, name, Given(value, f"the flag {shown(name)}"))
    return found


def from_environ(environ: Mapping[str, str]) -> Source:
    """Read variables; one that is blank was not given."""
    found = Source({}, [])
    for variable, value in environ.items():
        if not variable.startswith(PREFIX) or variable == CONFIG_VARIABLE or not value.strip():
            continue
        if variable in _VARIABLES:
            found.given[_VARIABLES[variable]] = Given(value.strip(), variable)
        else:
            hint = _nearest(variable, [*_VARIABLES, CONFIG_VARIABLE], PREFIX)
            found.warnings.append(f"{shown(variable)} is no setting and was ignored{hint}")
    return found


def from_file(config: Path | None, environ: Mapping[str, str]) -> Source:
    """Read the configuration file that is named, or the one in the working folder if there is one."""
    path = config or _path_in(environ)
    if path is None:
        if not CONFIG_FILE.exists():
            return Source({}, [])
        path = CONFIG_FILE
    found = Source({}, [])
    for name, value in _parsed(path).items():
        place = f"{shown(name)} in {path.name}"
        if name not in GROUPS:
            _sort(found, name, Given(value, place), known=[*GROUPS, "redis_url"])
        elif not isinstance(value, dict):
            found.warnings.append(f"{place} is not a table and was ignored")
        else:
            for key, inner in value.items():
                _sort(found, f"{name}.{key}", Given(inner, f"{shown(f'{name}.{key}')} in {path.name}"))
    return found


def shown(value: object) -> str:
    """Print a value that may be anything at all in one short line."""
    try:
        text = value if isinstance(value, str) and value.isidentifier() else ascii(value)
    except ValueError:
        # Python refuses to spell out an integer of thousands of digits, which TOML can hold in hexadecimal.
        text = "a number too long to print"
    return text if len(text) <= 60 else f"{text[:57]}..."


def _sort(found: Source, name: str, given: Given, known: Iterable[str] = FIELDS) -> None:
    if name in FIELDS:
        found.given[name] = given
    else:
        found.warnings.append(f"{given.place} is no setting and was ignored{_nearest(name, known)}")


def _nearest(name: str, known: Iterable[str], prefix: str = "") -> str:
    # Comparing takes time in the square of the length, and no setting has a long name.
    distinct = [other.removeprefix(prefix) for other in known]
    nearest = difflib.get_close_matches(name.removeprefix(prefix)[:100], distinct, n=1)
    return f"; did you mean {prefix}{nearest[0]}?" if nearest else ""


def _path_in(environ: Mapping[str, str]) -> Path | None:
    value = environ.get(CONFIG_VARIABLE, "").strip()
    return Path(value) if value else None


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as exc:
        raise SettingsError(f"{path} cannot be read ({exc.strerror}); correct {CONFIG_VARIABLE} or the file") from exc
    except (ValueError, RecursionError) as exc:
        raise SettingsError(f"{path} is not valid TOML ({exc}); correct the file") from exc
