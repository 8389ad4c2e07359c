"""What a prompt needs of a conversation, how a write changes it, and what is still to be summarised."""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter

import msgspec

from recollect.domain.conversation import Conversation
from recollect.domain.message import Message
from recollect.domain.summary import Summary
from recollect.domain.turn import Appended

#: Messages that a window holds at the very most, however far summaries are behind.
MAX_WINDOW = 500

_seq = attrgetter("seq")


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """The newest messages of the head path and the summaries that stand for the older ones.

    It goes back to the newest summary and over at least as many messages as the store was told, if there are so many,
    but never over more than `MAX_WINDOW`.
    """

    conversation: Conversation
    #: Those that hold on the head path and no other replaces there, oldest first.
    summaries: tuple[Summary, ...] = ()
    #: Oldest first.
    messages: tuple[Message, ...] = ()
    #: Ids of messages that belong here and no longer match their checksum.
    corrupt: tuple[str, ...] = ()

    @property
    def uncovered(self) -> tuple[Message, ...]:
        """Return the messages that no summary stands for: the newest ones."""
        covered = self.summaries[-1].last_seq if self.summaries else 0
        return self.messages[bisect_right(self.messages, covered, key=_seq) :]


class Backlog(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be summarised of a conversation: the uncovered messages of the head path, the oldest of them."""

    conversation: Conversation
    #: As in a window.
    summaries: tuple[Summary, ...]
    #: Oldest first; not all of them if there are more than were asked for.
    messages: tuple[Message, ...]
    #: Ids of messages that a summary of another branch covers; none of them can end a summary here.
    elsewhere: frozenset[str] = frozenset()
    #: Ids of summaries whose first message does not answer the last one of the summary before.
    apart: frozenset[str] = frozenset()


class Unextracted(msgspec.Struct, frozen=True, kw_only=True):
    """What is still to be learned from in a conversation: the messages of the head path, the oldest of them."""

    conversation_id: str
    #: Everything up to the first of these places was learned from; up to the second is in `messages`.
    from_seq: int
    to_seq: int
    #: Oldest first.
    messages: tuple[Message, ...]
    #: The messages just before them, oldest first.
    context: tuple[Message, ...] = ()
    #: Whether there are more than were asked for.
    more: bool = False


def after_append(window: Window | None, appended: Appended, size: int) -> Window | None:
    """Return the window after this append, or None if more than that happened since or it was not known before."""
    after = appended.conversation
    if window is None:
        whole = appended.messages and after.next_seq == len(appended.messages) + 1 and not after.is_branched
        return trimmed(Window(conversation=after, messages=appended.messages), size) if whole else None
    before = window.conversation
    if after.revision == before.revision:
        return window
    if after.revision != before.revision + 1 or not appended.messages:
        return None
    head = before.head_id
    for message in appended.messages:
        if message.parent_id != head:
            return None
        head = message.id
    longer = window.messages + appended.messages
    return trimmed(msgspec.structs.replace(window, conversation=after, messages=longer), size)


def after_summary(window: Window | None, summary: Summary, conversation: Conversation, size: int) -> Window | None:
    """Return the window after this summary was stored, or None if more than that happened since."""
    if window is None:
        return None
    before = window.conversation
    if conversation.revision != before.revision + 1 or conversation.is_branched:
        return None
    if conversation.message_count != before.message_count:
        return None
    folded = set(summary.folds)
    kept = [one for one in window.summaries if one.id not in folded]
    if len(kept) + len(folded) != len(window.summaries):
        return None
    summaries = tuple(sorted((*kept, summary), key=lambda one: one.last_seq))
    return trimmed(msgspec.structs.replace(window, conversation=conversation, summaries=summaries), size)


def after_change(window: Window | None, conversation: Conversation) -> Window | None:
    """Return the window after a person changed the conversation, or None if more happened or another branch is read."""
    if window is None:
        return None
    before = window.conversation
    if conversation.revision > before.revision + 1 or conversation.head_id != before.head_id:
        return None
    return msgspec.structs.replace(window, conversation=conversation)


def until(window: Window, message_id: str) -> Window | None:
    """Return the window as it was when this message was the newest, or None if too little is held to tell."""
    at = next((at for at, message in enumerate(window.messages) if message.id == message_id), None)
    if at is None or any(summary.last_seq > window.messages[at].seq for summary in window.summaries):
        return None
    return msgspec.structs.replace(window, messages=window.messages[: at + 1])


def trimmed(window: Window, size: int) -> Window:
    """Return the window with no more messages than it is to hold."""
    wanted = min(max(size, len(window.uncovered)), MAX_WINDOW)
    return msgspec.structs.replace(window, messages=window.messages[-wanted:])
