"""The conformance suite of a store: one class per promise, and one that has them all.

Each test takes an empty store, so the suite asks for one fixture only:

    class TestMyStore(StoreConformance):
        @pytest.fixture
        async def store(self) -> AsyncIterator[Store]:
            store = await MyStore.open()
            yield store
            await store.close()

The tests are plain asynchronous methods with plain asserts; any runner that knows fixtures can run them.
"""

from recollect.testing.store.archive import ArchiveConformance
from recollect.testing.store.bad_input import BadInputConformance
from recollect.testing.store.branches import BranchConformance
from recollect.testing.store.closing import ClosingConformance, DurabilityConformance
from recollect.testing.store.conversations import ConversationConformance
from recollect.testing.store.erasure import (
    EraseConversationConformance,
    EraseMemoryConformance,
    EraseMessageConformance,
)
from recollect.testing.store.extraction import ExtractionConformance
from recollect.testing.store.finding import FindingConformance
from recollect.testing.store.holdings import HoldingsConformance
from recollect.testing.store.hostile_text import HostileTextConformance
from recollect.testing.store.jobs import ClaimConformance, QueueConformance
from recollect.testing.store.keys import KeyConformance
from recollect.testing.store.late_erasure import EraseLateConformance, EraseNoteConformance
from recollect.testing.store.memories import MemoryChangeConformance, MemoryConformance, MemoryListConformance
from recollect.testing.store.messages import MessageConformance, PagingConformance, SearchConformance
from recollect.testing.store.notes import NoteConformance
from recollect.testing.store.parallel import (
    ParallelConversationConformance,
    ParallelMemoryConformance,
    ParallelWorkConformance,
)
from recollect.testing.store.plans import PlanConformance
from recollect.testing.store.preferences import PreferenceConformance
from recollect.testing.store.recall import (
    MatchConformance,
    MemoryRevisionConformance,
    PassageConformance,
    VectorConformance,
)
from recollect.testing.store.repeating import EraseRepeatedConformance
from recollect.testing.store.requests import RequestConformance
from recollect.testing.store.scopes import ScopeConformance
from recollect.testing.store.signing import SigningConformance
from recollect.testing.store.summaries import SummaryConformance
from recollect.testing.store.time_jumps import TimeConformance
from recollect.testing.store.turns import TurnConformance
from recollect.testing.store.usage import UsageConformance
from recollect.testing.store.vector_erasure import EraseVectorConformance
from recollect.testing.store.windows import WindowConformance

__all__ = [
    "ArchiveConformance",
    "BadInputConformance",
    "BranchConformance",
    "ClaimConformance",
    "ClosingConformance",
    "ConversationConformance",
    "DurabilityConformance",
    "EraseConversationConformance",
    "EraseLateConformance",
    "EraseMemoryConformance",
    "EraseMessageConformance",
    "EraseNoteConformance",
    "EraseRepeatedConformance",
    "EraseVectorConformance",
    "ExtractionConformance",
    "FindingConformance",
    "HoldingsConformance",
    "HostileTextConformance",
    "KeyConformance",
    "MatchConformance",
    "MemoryChangeConformance",
    "MemoryConformance",
    "MemoryListConformance",
    "MemoryRevisionConformance",
    "MessageConformance",
    "NoteConformance",
    "PagingConformance",
    "ParallelConversationConformance",
    "ParallelMemoryConformance",
    "ParallelWorkConformance",
    "PassageConformance",
    "PlanConformance",
    "PreferenceConformance",
    "QueueConformance",
    "RequestConformance",
    "ScopeConformance",
    "SearchConformance",
    "SigningConformance",
    "StoreConformance",
    "SummaryConformance",
    "TimeConformance",
    "TurnConformance",
    "UsageConformance",
    "VectorConformance",
    "WindowConformance",
]


class StoreConformance(
    ConversationConformance,
    FindingConformance,
    MessageConformance,
    PagingConformance,
    SearchConformance,
    TurnConformance,
    BranchConformance,
    ArchiveConformance,
    SummaryConformance,
    WindowConformance,
    MemoryConformance,
    MemoryListConformance,
    MemoryChangeConformance,
    ExtractionConformance,
    PlanConformance,
    PassageConformance,
    MatchConformance,
    VectorConformance,
    MemoryRevisionConformance,
    NoteConformance,
    PreferenceConformance,
    QueueConformance,
    ClaimConformance,
    RequestConformance,
    UsageConformance,
    HoldingsConformance,
    KeyConformance,
    SigningConformance,
    EraseMessageConformance,
    EraseConversationConformance,
    EraseMemoryConformance,
    EraseVectorConformance,
    EraseNoteConformance,
    EraseLateConformance,
    EraseRepeatedConformance,
    ScopeConformance,
    BadInputConformance,
    HostileTextConformance,
    ParallelMemoryConformance,
    ParallelConversationConformance,
    ParallelWorkConformance,
    TimeConformance,
    ClosingConformance,
):
    """Check everything that the port of a store promises; add `DurabilityConformance` for a store on disk."""
