"""The executable specification of a store.

It follows the same pure rules as the SQL store and shares nothing else with it: filtering, sorting and paging are
plain Python over the dicts of one user, written to be read and not to be fast.
"""

from __future__ import annotations

from recollect.storage.checked import checked
from recollect.storage.inmemory.audit import Audit
from recollect.storage.inmemory.conversations import Conversations
from recollect.storage.inmemory.detached import detached
from recollect.storage.inmemory.erasure import Erasing
from recollect.storage.inmemory.finding import Finding
from recollect.storage.inmemory.holdings import HoldingsShelf
from recollect.storage.inmemory.jobs import Jobs
from recollect.storage.inmemory.keys import KeyShelf
from recollect.storage.inmemory.memories import Memories
from recollect.storage.inmemory.notes import Notes
from recollect.storage.inmemory.preferences import PreferenceShelf
from recollect.storage.inmemory.reading import Reading
from recollect.storage.inmemory.recall import Recall
from recollect.storage.inmemory.requests import Requests
from recollect.storage.inmemory.signing import SigningShelf
from recollect.storage.inmemory.summaries import Summaries
from recollect.storage.inmemory.usage import UsageShelf
from recollect.storage.inmemory.windows import Windows


@checked
@detached
class InMemoryStore(
    Conversations,
    Finding,
    Reading,
    Summaries,
    Windows,
    Memories,
    Recall,
    Notes,
    PreferenceShelf,
    Jobs,
    Requests,
    UsageShelf,
    HoldingsShelf,
    KeyShelf,
    SigningShelf,
    Erasing,
    Audit,
):
    """Keep everything in this process, for as long as it runs."""
