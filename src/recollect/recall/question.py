"""The question of a recall, with all that is known of it before anything is searched."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from recollect.recall.times import TimeRange, time_asked

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Question(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What is asked, when, and of which time it speaks."""

    text: str
    now: datetime
    #: Of length one, or None where nothing could embed it.
    vector: NDArray[np.float32] | None = None
    when: TimeRange | None = None


def question_of(text: str, now: datetime, vector: NDArray[np.float32] | None = None) -> Question:
    """Return the question with the time that it speaks of."""
    return Question(text=text, now=now, vector=vector, when=time_asked(text, now))
