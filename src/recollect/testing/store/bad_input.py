"""Input that no store may accept: every argument of every method, and every part of it, in turn.

The table in `calls.py` names a valid call of each method; a method of the port without a row fails the first test.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any

import msgspec

from recollect.domain.note import Note
from recollect.domain.scope import Scope
from recollect.errors import ConflictError, InvalidInputError, NotFoundError
from recollect.ports.store import Store
from recollect.testing.expect import outcome
from recollect.testing.samples import ALICE
from recollect.testing.store.calls import call, furnish, methods
from recollect.testing.store.dump import dump
from recollect.testing.store.scopes import ANY_SCOPE

#: Replace one part of a value.
Put = Callable[[object], object]

_LOOP: list[object] = []
_LOOP.append(_LOOP)
_DEEP: list[object] = []
for _ in range(200):
    _DEEP = [_DEEP]

#: Nothing that any parameter, or any field of one, takes.
JUNK: tuple[object, ...] = (
    object(),
    object,
    complex(1, 2),
    {1, 2},
    float("nan"),
    float("inf"),
    10**40,
    -(10**40),
    "a\0b",
    "half \ud800 of a pair",
    "x" * 2_000_001,
    (object(),),
    ("\0",),
    ("x",) * 300_000,
    {"k": object()},
    {"k": "\udfff"},
    {"\0": 1},
    {1: 2},
    {"k": _LOOP},
    {"k": _DEEP},
    datetime(2026, 1, 1),  # noqa: DTZ001  # a time without a zone is the junk
    date(2026, 1, 1),
    Note(agent="a", notes="", version=0, created_at=None, updated_at=None),
)

#: What is junk in the place of a whole argument, beside the rest.
WRONG_ARGUMENTS: tuple[object, ...] = (None, True, 0, -1, 1.5, b"bytes", "", "\n", "x" * 129, (), [], {}, (None,))

#: The one argument that may be left out, and what of the above it takes.
OPTIONAL = {("read_memories", "known"): (None, 0)}

#: What some parameters take and others do not; no answer but a typed error or a result will do.
DOUBTFUL: tuple[object, ...] = (
    None,
    True,
    0,
    1,
    -1,
    2**62,
    0.5,
    "",
    " ",
    "nothing",
    "'; DROP TABLE messages; --",
    b"bytes",
    (),
    [],
    {},
    {"": [1e308, -(2**63), 2**63 - 1, "", None, {"k": False}]},
    ("nothing",),
    datetime.min.replace(tzinfo=UTC),
    datetime.max.replace(tzinfo=UTC),
    timedelta(0),
    timedelta(days=-1),
    timedelta.max,
    timedelta.min,
)


def places(value: object) -> Iterator[tuple[str, Put]]:
    """Give every part of a value, with a function that returns the value with another part there."""
    parts: list[tuple[str, object, Put]] = []
    if isinstance(value, msgspec.Struct):
        parts = [(name, getattr(value, name), partial(_with_field, value, name)) for name in value.__struct_fields__]
    elif isinstance(value, tuple) and value:
        parts = [("first", value[0], lambda part: (part, *value[1:]))]
    for name, part, put in parts:
        yield name, put
        for inner, put_inner in places(part):
            yield f"{name}.{inner}", partial(_inside, put, put_inner)


def _with_field(value: msgspec.Struct, name: str, part: object) -> object:
    return msgspec.structs.replace(value, **{name: part})


def _inside(put: Put, put_inner: Put, part: object) -> object:
    return put(put_inner(part))


def spoiled(arguments: dict[str, Any], parts: tuple[object, ...]) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Give the arguments with each part of each replaced by each of these, still to be made."""
    for parameter, value in arguments.items():
        for place, put in places(value):
            for part in parts:
                yield f"{parameter}.{place}={shown(part)}", partial(_replaced, arguments, parameter, put, part)


def _replaced(arguments: dict[str, Any], parameter: str, put: Put, part: object) -> dict[str, Any]:
    return arguments | {parameter: put(part)}


def shown(value: object) -> str:
    """Describe junk in a few characters."""
    text = ascii(value if not isinstance(value, str | tuple) else value[:40])
    return text if len(text) < 40 else f"{text[:40]}…"


async def make_and_call(store: Store, scope: Scope, name: str, made: Callable[[], dict[str, Any]]) -> object:
    """Make the arguments, which may be refused by itself, and call the method."""
    return await call(store, scope, name, made())


async def verdict(attempt: Awaitable[object]) -> str:
    """Tell in a word what came of a call."""
    ended = await outcome(attempt)
    for expected in (InvalidInputError, NotFoundError, ConflictError):
        if isinstance(ended, expected):
            return expected.__name__
    return f"raised {ended!r}"[:200] if isinstance(ended, BaseException) else "accepted"


class BadInputConformance:
    """Check that wrong input gets a typed error from every method and changes nothing."""

    async def test_the_table_has_a_valid_call_of_every_method(self, store: Store) -> None:
        calls = await furnish(store, ALICE)
        named = {name: ["scope", *arguments] for name, arguments in calls.items()}
        for name in ANY_SCOPE:
            named[name].remove("scope")
        assert named == methods()
        failed: list[str] = []
        for name, arguments in calls.items():
            result = await verdict(call(store, ALICE, name, arguments))
            if result != "accepted":
                failed.append(f"{name}: {result}")
        assert not failed, "\n".join(failed)

    async def test_a_wrong_argument_is_refused_and_changes_nothing(self, store: Store) -> None:
        calls = await furnish(store, ALICE)
        before = await dump(store, ALICE)
        accepted: list[str] = []
        for name, arguments in calls.items():
            for parameter in methods()[name]:
                taken = OPTIONAL.get((name, parameter), ())
                for junk in (one for one in (*JUNK, *WRONG_ARGUMENTS) if not any(one is value for value in taken)):
                    scope, given = (junk, arguments) if parameter == "scope" else (ALICE, arguments | {parameter: junk})
                    result = await verdict(call(store, scope, name, given))
                    if result != "InvalidInputError":
                        accepted.append(f"{name}({parameter}={shown(junk)}): {result}")
            if await dump(store, ALICE) != before:
                accepted.append(f"{name} changed something")
        assert not accepted, "\n".join(accepted)

    async def test_an_id_of_nothing_is_reported_as_missing(self, store: Store) -> None:
        calls = await furnish(store, ALICE)
        before = await dump(store, ALICE)
        found: list[str] = []
        for name, arguments in calls.items():
            for parameter in arguments:
                # Who asks where a message stands is told of no place.
                if parameter.endswith("_id") and name != "conversations_holding":
                    given = arguments | {parameter: "nothing"}
                    result = await verdict(call(store, ALICE, name, given))
                    if result != "NotFoundError":
                        found.append(f"{name}({parameter}): {result}")
        assert not found, "\n".join(found)
        assert await dump(store, ALICE) == before

    async def test_a_wrong_part_of_an_argument_is_refused_and_changes_nothing(self, store: Store) -> None:
        calls = await furnish(store, ALICE)
        before = await dump(store, ALICE)
        accepted: list[str] = []
        for name, arguments in calls.items():
            for place, made in spoiled(arguments, JUNK):
                result = await verdict(make_and_call(store, ALICE, name, made))
                if result != "InvalidInputError":
                    accepted.append(f"{name}({place}): {result}")
            if await dump(store, ALICE) != before:
                accepted.append(f"{name} changed something")
        assert not accepted, "\n".join(accepted)

    async def test_whatever_is_accepted_can_be_read_again(self, store: Store) -> None:
        broken: list[str] = []
        for number, name in enumerate(methods()):
            scope = Scope("acme", f"user-{number}")
            arguments = (await furnish(store, scope))[name]
            for place, made in spoiled(arguments, DOUBTFUL):
                result = await verdict(make_and_call(store, scope, name, made))
                if result.startswith("raised"):
                    broken.append(f"{name}({place}): {result}")
            left = await outcome(dump(store, scope))
            if isinstance(left, BaseException):
                broken.append(f"{name} left something that cannot be read: {left!r}")
        assert not broken, "\n".join(broken)
