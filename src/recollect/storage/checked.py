"""Check the arguments of every store method in one place: they must be what the port declares.

Which types a method takes is written once, on the ports; a store only names its work.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import cache, wraps
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from msgspec import StructMeta

from recollect.domain.checks import check_count, check_id, check_ids, check_items, check_limit, check_time, check_type
from recollect.ports.store import Store

MAX_ITEMS = 1_000

Check = Callable[[object], object]
S = TypeVar("S")


@cache
def port_methods() -> dict[str, dict[str, type]]:
    """Return the methods of the port by name, each with its parameters and their types."""
    methods: dict[str, dict[str, type]] = {}
    for name in dir(Store):
        if not name.startswith("_"):
            parameters = get_type_hints(getattr(Store, name))
            del parameters["return"]
            methods[name] = parameters
    return methods


def checked(store: type[S]) -> type[S]:
    """Make every method of the port refuse arguments that are not what the port declares."""
    for name, parameters in port_methods().items():
        setattr(store, name, _guarded(getattr(store, name), parameters))
    return store


def _guarded(method: Callable[..., Any], parameters: dict[str, type]) -> Callable[..., Any]:
    checks = {name: _check(name, kind) for name, kind in parameters.items()}
    # An argument of exactly the declared value type needs no call, which matters on the way of every message.
    in_order = [(kind if type(kind) is StructMeta else None, checks[name]) for name, kind in parameters.items()]

    @wraps(method)
    async def guarded(self: object, *given: Any, **named: Any) -> Any:
        for (kind, check), value in zip(in_order, given, strict=False):
            if type(value) is not kind:
                check(value)
        for name, value in named.items():
            if name in checks:
                checks[name](value)
        return await method(self, *given, **named)

    return guarded


def _check(parameter: str, kind: type) -> Check:
    what = parameter.replace("_", " ")
    if kind is str:
        return lambda value: check_id(value, what)
    if kind is datetime:
        return lambda value: check_time(value, parameter)
    if kind is int:
        return check_limit
    if kind == int | None:
        return lambda value: None if value is None else check_count(value, what)
    if get_origin(kind) is tuple:
        item = get_args(kind)[0]
        if item is str:
            return lambda value: check_ids(value, what, at_least=1, at_most=MAX_ITEMS)
        return lambda value: check_items(value, item, what, at_least=1, at_most=MAX_ITEMS)
    return lambda value: check_type(value, kind, what)
