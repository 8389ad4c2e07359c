"""What models cost, on the wire."""

from __future__ import annotations

from pydantic import BaseModel, Field

from recollect.domain.usage import Share, Spent, UsageTotals


class SpentOut(BaseModel):
    """Tokens that were read and written, and in how many calls."""

    input_tokens: int
    output_tokens: int
    calls: int
    estimated: int = Field(description="Calls that the provider did not count, so that their tokens are our estimate.")

    @classmethod
    def of(cls, spent: Spent) -> SpentOut:
        """Return the wire shape of a sum."""
        return cls(**{name: getattr(spent, name) for name in cls.model_fields})


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
