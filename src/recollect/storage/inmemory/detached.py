"""Keep callers and store apart: neither sees what the other does to a JSON value after the call."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import wraps
from typing import Any, TypeVar

import msgspec

from recollect.storage.checked import port_methods

S = TypeVar("S")


def detached(store: type[S]) -> type[S]:
    """Make every method of the port work on a copy of its arguments and return a copy of its result."""
    for name in port_methods():
        setattr(store, name, _apart(getattr(store, name)))
    return store


def _apart(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    async def apart(self: object, *given: Any, **named: Any) -> Any:
        return _from_json(await method(self, *deepcopy(given), **deepcopy(named)))

    return apart


def _from_json(result: Any) -> Any:
    """Return the result as it comes back from a database, where JSON has lists and no tuples."""
    if isinstance(result, tuple):
        return tuple(_from_json(item) for item in result)
    if isinstance(result, msgspec.Struct):
        return msgspec.json.decode(msgspec.json.encode(result), type=type(result))
    return result
