"""What models cost, on the wire."""

from __future__ import annotations

from pydantic import BaseModel, Field

from recollect.domain.usage import Share, Spent, UsageTotals


class CostOut(BaseModel):
    """What tokens cost at the prices of the settings."""

    amount: float
    currency: str
    unpriced_tokens: int = Field(description="Tokens of models without a price, which are not in the amount.")


class SpentOut(BaseModel):
    """Tokens that were read and written, and in how many calls."""

    input_tokens: int
    output_tokens: int
    calls: int
    estimated: int = Field(description="Calls that the provider did not count, so that their tokens are our estimate.")
    cost: CostOut | None = Field(description="What they cost; null if the settings have no price for any of them.")

    @classmethod
    def of(cls, spent: Spent) -> SpentOut:
        """Return the wire shape of a sum."""
        counts = {name: getattr(spent, name) for name in cls.model_fields if name != "cost"}
        cost = spent.cost
        told = None if cost is None else CostOut(**{name: getattr(cost, name) for name in CostOut.model_fields})
        return cls(**counts, cost=told)


class ShareOut(BaseModel):
    """The part of the spending that has one name."""

    name: str
    spent: SpentOut


class UsageTotalsOut(BaseModel):
    """What a user's models cost; each list names what cost most first."""

    total: SpentOut
    by_kind: list[ShareOut] = Field(description="By kind of work: `chat`, `summarise`, `extract`, `title`, `embed`.")
    by_model: list[ShareOut]
    by_conversation: list[ShareOut] = Field(description="The conversations that cost most.")
    by_job: list[ShareOut] = Field(description="The jobs that cost most, with all their attempts.")
    corrupt: list[str] = Field(description="Ids of entries that are damaged and not counted.")

    @classmethod
    def of(cls, totals: UsageTotals) -> UsageTotalsOut:
        """Return the wire shape of totals."""
        return cls(
            total=SpentOut.of(totals.total),
            by_kind=_shares(totals.by_kind),
            by_model=_shares(totals.by_model),
            by_conversation=_shares(totals.by_conversation),
            by_job=_shares(totals.by_job),
            corrupt=list(totals.corrupt),
        )


def _shares(shares: tuple[Share, ...]) -> list[ShareOut]:
    return [ShareOut(name=share.name, spent=SpentOut.of(share.spent)) for share in shares]
