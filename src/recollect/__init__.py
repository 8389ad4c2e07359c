"""Recollect: the memory of chat applications and agents.

`await recollect.open()` gives the whole service; `from recollect import sync` and `sync.open()` give the same as
blocking calls.
"""

from recollect.bootstrap import open  # noqa: A004  # reads as `recollect.open`
from recollect.domain.memory import MemoryQuery
from recollect.domain.message import NewMessage
from recollect.domain.recalling import RecallRequest
from recollect.domain.scope import Scope
from recollect.errors import RecollectError
from recollect.service.chat_request import ChatRequest
from recollect.settings import Settings

__all__ = ["ChatRequest", "MemoryQuery", "NewMessage", "RecallRequest", "RecollectError", "Scope", "Settings", "open"]
