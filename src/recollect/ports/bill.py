"""What models spend while a piece of work is done.

Whoever begins the work puts a bill into the context of its task; whoever calls a model, however deep below, adds to
the innermost one. So no function in between has to hand a bill on.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

import msgspec

from recollect.domain.checks import MAX_ID
from recollect.domain.turn import Usage
from recollect.domain.usage import UNNAMED_MODEL

_log = logging.getLogger(__name__)
#: The most that one entry can hold.
_MOST = 2**62


class Charge(msgspec.Struct, frozen=True):
    """What was spent on one model, in how many calls, how many of them by our estimate."""

    usage: Usage
    calls: int = 1
    estimated: int = 0

    def plus(self, other: Charge) -> Charge:
        """Return both added up."""
        read = self.usage.input_tokens + other.usage.input_tokens
        written = self.usage.output_tokens + other.usage.output_tokens
        usage = Usage(input_tokens=min(read, _MOST), output_tokens=min(written, _MOST))
        return Charge(usage, self.calls + other.calls, self.estimated + other.estimated)


class Bill:
    """What one piece of work spent so far, by model."""

    def __init__(self) -> None:
        self._charges: dict[str, Charge] = {}

    def add(self, model: str, charge: Charge) -> None:
        """Add what a call cost."""
        if charge.usage.input_tokens or charge.usage.output_tokens:
            name = model_name(model)
            known = self._charges.get(name)
            self._charges[name] = charge if known is None else known.plus(charge)

    def spent(self, model: str) -> Usage | None:
        """Return what was spent on a model and is not settled, or None if that is nothing."""
        charge = self._charges.get(model_name(model))
        return None if charge is None else charge.usage

    def settle(self, model: str) -> None:
        """Say that what was spent on a model is entered in the ledger already."""
        self._charges.pop(model_name(model), None)

    def take(self) -> Mapping[str, Charge]:
        """Return everything that is not settled, and settle it."""
        taken, self._charges = self._charges, {}
        return taken


_CURRENT: ContextVar[Bill | None] = ContextVar("recollect_bill", default=None)


def current_bill() -> Bill | None:
    """Return the bill of the work that is being done, or None if nobody pays."""
    return _CURRENT.get()


@contextmanager
def paying(bill: Bill) -> Iterator[Bill]:
    """Let everything in the block be added to this bill."""
    token = _CURRENT.set(bill)
    try:
        yield bill
    finally:
        _CURRENT.reset(token)


def charge(bill: Bill | None, model: str, charged: Charge) -> None:
    """Add what a call cost to the bill, or say that nobody pays for it."""
    if bill is not None:
        bill.add(model, charged)
    elif charged.usage.input_tokens or charged.usage.output_tokens:
        usage = charged.usage
        _log.warning(
            "a call of %s is on no bill: %d tokens read, %d written", model, usage.input_tokens, usage.output_tokens
        )


def model_name(model: str) -> str:
    """Return the name under which a model stands in the ledger."""
    name = model[:MAX_ID]
    return name if name and name.isprintable() else UNNAMED_MODEL
