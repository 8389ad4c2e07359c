"""What tokens cost: prices that somebody set, and what usage comes to at them.

There are no prices here: providers change them, and a wrong one is worse than none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import fsum
from typing import Annotated

import msgspec
from msgspec import Meta

from recollect.domain.checks import check_text, check_type
from recollect.domain.turn import Usage
from recollect.errors import InvalidInputError

#: What a million tokens cost.
Rate = Annotated[float, Meta(ge=0, le=1_000_000)]
#: Tokens that a price is given for.
MILLION = 1_000_000


class Price(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a million tokens of one model cost."""

    input: Rate
    output: Rate


class Prices(msgspec.Struct, frozen=True, kw_only=True):
    """What models cost, in one currency."""

    currency: str
    #: By the name of the model.
    of: Mapping[str, Price]

    def __post_init__(self) -> None:
        check_text(self.currency, "currency", at_least=1, at_most=10)
        if not isinstance(self.of, Mapping):
            raise InvalidInputError("prices must be given by the names of models")
        for name, price in self.of.items():
            check_type(name, str, "model")
            check_type(price, Price, "price")


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What some usage came to."""

    amount: float
    currency: str
    #: Tokens of models without a price, which are not in the amount.
    unpriced_tokens: int = 0


def cost_of(spent: Iterable[tuple[str, Usage]], prices: Prices | None) -> Cost | None:
    """Return what usage of models came to, or None if no price is known for any of it."""
    if prices is None:
        return None
    amounts: list[float] = []
    unpriced = 0
    for model, usage in spent:
        price = prices.of.get(model)
        if price is None:
            unpriced += usage.input_tokens + usage.output_tokens
        else:
            amounts += (usage.input_tokens * price.input, usage.output_tokens * price.output)
    if unpriced and not amounts:
        return None
    return Cost(amount=round(fsum(amounts) / MILLION, 9), currency=prices.currency, unpriced_tokens=unpriced)
