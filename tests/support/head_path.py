"""What a conversation must tell, kept by a test of its own, and a check that it does."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from recollect.domain.message import Message
from recollect.domain.tool_pairs import joined
from recollect.testing.samples import ids_of
from tests.support.service_rig import C, Rig


class Place(msgspec.Struct):
    """Where a message stands."""

    seq: int
    parent: str | None


class HeadPath:
    """Every message that was stored and not erased, with its parent, and which of them is read last."""

    def __init__(self) -> None:
        self.messages: dict[str, Place] = {}
        self.head: str | None = None
        #: Those that a summary replaced for good.
        self.deleted: set[str] = set()
        #: Whether there is a conversation.
        self.known = False

    def added(self, messages: Iterable[Message]) -> None:
        """Follow messages that were stored."""
        self.known = True
        for message in messages:
            self.messages[message.id] = Place(message.seq, message.parent_id)
            self.head = message.id

    def continued(self, message_ids: Iterable[str], first_seq: int) -> None:
        """Follow messages that were stored one after the other at the head."""
        self.known = True
        for seq, message_id in enumerate(message_ids, first_seq):
            self.messages[message_id] = Place(seq, self.head)
            self.head = message_id

    def erased(self, message_id: str) -> None:
        """Follow an erasure: what answered the message answers its parent now."""
        gone = self.messages.pop(message_id)
        for one in self.messages.values():
            if one.parent == message_id:
                one.parent = gone.parent
        if self.head == message_id:
            self.head = gone.parent

    def cleared(self) -> None:
        """Follow a clearing."""
        self.messages, self.head, self.deleted = {}, None, set()

    @property
    def path(self) -> list[str]:
        """Return the ids from the first message to the head."""
        found: list[str] = []
        at = self.head
        while at is not None:
            found.append(at)
            at = self.messages[at].parent
        return found[::-1]

    async def check(self, rig: Rig) -> None:
        """Prove that each message of the path is told once: word for word or by one summary."""
        window = await rig.store.get_window(rig.scope, C)
        backlog = await rig.store.get_backlog(rig.scope, C, 1000)
        assert window.conversation.head_id == self.head
        assert window.summaries == backlog.summaries
        path = self.path
        covered = await rig.covered(window.summaries)
        told = [one for one in covered if one in set(path)] + ids_of(backlog.messages)
        assert sorted(told, key=path.index) == path
        assert ids_of(backlog.messages) == [one for one in path if one not in set(covered)]
        last = window.summaries[-1].last_seq if window.summaries else 0
        assert ids_of(window.uncovered) == [one for one in ids_of(backlog.messages) if self.messages[one].seq > last]
        self.deleted |= {one for one in covered if one in self.messages} - {
            one.id for one in await rig.all_messages(all_branches=True)
        }
        context = await rig.conversations.get_context(rig.scope, C)
        assert context.recent == joined(window.uncovered)
        shown = ids_of(await rig.all_messages())
        assert shown == [one for one in path if one not in self.deleted]
