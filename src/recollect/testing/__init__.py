"""For your own tests: a clock that you move, ids in order, valid values, and the conformance suites of our ports.

Nothing here is needed to run Recollect, and no test framework is needed to import it.
"""

import sys

if "pytest" in sys.modules:
    # A failing assert of the suite then shows the values it compared; it must be said before the import.
    sys.modules["pytest"].register_assert_rewrite(
        "recollect.testing.store", "recollect.testing.windows", "recollect.testing.embedders"
    )

from recollect.testing.clock import START, FakeClock, ids
from recollect.testing.expect import raises
from recollect.testing.store import DurabilityConformance, StoreConformance
from recollect.testing.windows import WindowCacheConformance

__all__ = [
    "START",
    "DurabilityConformance",
    "FakeClock",
    "StoreConformance",
    "WindowCacheConformance",
    "ids",
    "raises",
]
