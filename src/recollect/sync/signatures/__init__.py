"""The blocking signatures of the service; written by `python -m tests.support.blocking_signatures`."""

from recollect.sync.signatures.account import BlockingAccount
from recollect.sync.signatures.chat import BlockingChat
from recollect.sync.signatures.chatmodel import BlockingChatModel
from recollect.sync.signatures.contexts import BlockingContexts
from recollect.sync.signatures.conversations import BlockingConversations
from recollect.sync.signatures.embedder import BlockingEmbedder
from recollect.sync.signatures.embedding import BlockingEmbedding
from recollect.sync.signatures.events import BlockingEvents
from recollect.sync.signatures.forgetting import BlockingForgetting
from recollect.sync.signatures.identity import BlockingIdentity
from recollect.sync.signatures.jobs import BlockingJobs
from recollect.sync.signatures.keys import BlockingKeys
from recollect.sync.signatures.learner import BlockingLearner
from recollect.sync.signatures.ledger import BlockingLedger
from recollect.sync.signatures.lifecycle import BlockingLifecycle
from recollect.sync.signatures.memories import BlockingMemories
from recollect.sync.signatures.notes import BlockingNotes
from recollect.sync.signatures.overviews import BlockingOverviews
from recollect.sync.signatures.readinesscheck import BlockingReadinessCheck
from recollect.sync.signatures.recall import BlockingRecall
from recollect.sync.signatures.recollect import BlockingRecollect
from recollect.sync.signatures.store import BlockingStore
from recollect.sync.signatures.stream import BlockingStream
from recollect.sync.signatures.streams import BlockingStreams
from recollect.sync.signatures.userpreferences import BlockingUserPreferences
from recollect.sync.signatures.worker import BlockingWorker

__all__ = [
    "BlockingAccount",
    "BlockingChat",
    "BlockingChatModel",
    "BlockingContexts",
    "BlockingConversations",
    "BlockingEmbedder",
    "BlockingEmbedding",
    "BlockingEvents",
    "BlockingForgetting",
    "BlockingIdentity",
    "BlockingJobs",
    "BlockingKeys",
    "BlockingLearner",
    "BlockingLedger",
    "BlockingLifecycle",
    "BlockingMemories",
    "BlockingNotes",
    "BlockingOverviews",
    "BlockingReadinessCheck",
    "BlockingRecall",
    "BlockingRecollect",
    "BlockingStore",
    "BlockingStream",
    "BlockingStreams",
    "BlockingUserPreferences",
    "BlockingWorker",
]
