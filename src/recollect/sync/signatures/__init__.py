"""The blocking signatures of the service; written by `python -m tests.support.blocking_signatures`."""

from recollect.sync.signatures.chat import BlockingChat
from recollect.sync.signatures.chatmodel import BlockingChatModel
from recollect.sync.signatures.conversations import BlockingConversations
from recollect.sync.signatures.lifecycle import BlockingLifecycle
from recollect.sync.signatures.recollect import BlockingRecollect
from recollect.sync.signatures.store import BlockingStore
from recollect.sync.signatures.worker import BlockingWorker

__all__ = [
    "BlockingChat",
    "BlockingChatModel",
    "BlockingConversations",
    "BlockingLifecycle",
    "BlockingRecollect",
    "BlockingStore",
    "BlockingWorker",
]
