"""Summaries in memory."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from recollect.domain.conversation import revised
from recollect.domain.erasure import original_tombstone
from recollect.domain.forgetting import emptied
from recollect.domain.scope import Scope
from recollect.domain.summary import (
    NewSummary,
    Summary,
    newest_text,
    refuse_if_branched,
    summary_of_messages,
    summary_of_summaries,
)
from recollect.errors import ConflictError, NotFoundError
from recollect.storage.inmemory import conversations
from recollect.storage.inmemory.reading import active_summaries
from recollect.storage.inmemory.shelves import Shelves, UserData


def refresh_text(data: UserData, conversation_id: str) -> None:
    """Let the newest active summary stand for the conversation."""
    text = newest_text(active_summaries(data, conversation_id))
    conversation = data.conversations[conversation_id]
    data.conversations[conversation_id] = revised(conversation, summary=text)


def of_message(data: UserData, conversation_id: str, message_id: str) -> list[Summary]:
    """Return every summary that says something of the message, folded or not, from the lowest level up."""
    own = [summary for summary in data.summaries.values() if summary.conversation_id == conversation_id]
    found: dict[str, Summary] = {}
    for summary in sorted(own, key=lambda summary: summary.level):
        if message_id in summary.message_ids or not found.keys().isdisjoint(summary.folds):
            found[summary.id] = summary
    return list(found.values())


def remove(data: UserData, summary: Summary, *, keep_place: bool) -> None:
    """Remove a summary; what was folded into it is active again.

    One that stands for messages that are stored no more stays in their place, without its words.
    """
    if summary.message_ids and keep_place:
        data.summaries[summary.conversation_id, summary.id] = emptied(summary)
        return
    del data.summaries[summary.conversation_id, summary.id]
    for place in _folded(data, summary):
        data.summaries[place] = msgspec.structs.replace(data.summaries[place], folded_into=None)


def _folded(data: UserData, summary: Summary) -> list[tuple[str, str]]:
    places = [(summary.conversation_id, folded) for folded in summary.folds]
    return [place for place in places if place in data.summaries]


def _of_messages(data: UserData, new: NewSummary) -> Summary:
    places = dict.fromkeys((new.conversation_id, message_id) for message_id in new.message_ids)
    messages = sorted((data.messages[p] for p in places if p in data.messages), key=lambda message: message.seq)
    if not messages:
        raise ConflictError("the messages to summarise are gone; plan the summary again")
    own = [s for s in data.summaries.values() if s.conversation_id == new.conversation_id]
    return summary_of_messages(new, messages, [s for s in own if s.level == 0])


def _of_summaries(data: UserData, new: NewSummary) -> Summary:
    places = dict.fromkeys((new.conversation_id, summary_id) for summary_id in new.folds)
    folded = [data.summaries[place] for place in places if place in data.summaries]
    summary = summary_of_summaries(new, folded, [parent_of(data, one) for one in folded])
    for place in places:
        data.summaries[place] = msgspec.structs.replace(data.summaries[place], folded_into=new.id)
    return summary


def parent_of(data: UserData, summary: Summary) -> str | None | UnsetType:
    """Return the parent of the first message that the summary covers, unset if that message is stored no more."""
    while summary.folds:
        summary = data.summaries[summary.conversation_id, summary.folds[0]]
    first = data.messages.get((summary.conversation_id, summary.message_ids[0]))
    return UNSET if first is None else first.parent_id


def _delete_originals(data: UserData, new: NewSummary) -> None:
    for message_id in new.message_ids:
        del data.messages[new.conversation_id, message_id]
        data.message_vectors.pop((new.conversation_id, message_id), None)
        data.tombstones.add(original_tombstone(data.salt, new.conversation_id, message_id))
    conversation = data.conversations[new.conversation_id]
    left = conversation.message_count - len(new.message_ids)
    data.conversations[new.conversation_id] = msgspec.structs.replace(conversation, message_count=left)
    data.rewritten[new.conversation_id] = conversation.revision + 1


class Summaries(Shelves):
    """Keep summaries."""

    async def put_summary(self, scope: Scope, new: NewSummary) -> Summary:
        with self._writing(scope) as data:
            conversations.find(data, new.conversation_id)
            place = (new.conversation_id, new.id)
            if place in data.summaries:
                return data.summaries[place]
            summary = _of_summaries(data, new) if new.folds else _of_messages(data, new)
            data.summaries[place] = summary
            if new.delete_originals:
                refuse_if_branched(data.conversations[new.conversation_id])
                _delete_originals(data, new)
            refresh_text(data, new.conversation_id)
            return summary

    async def active_summaries(self, scope: Scope, conversation_id: str) -> tuple[Summary, ...]:
        data = self._reading(scope)
        conversations.find(data, conversation_id)
        return tuple(active_summaries(data, conversation_id))

    async def expand_summary(self, scope: Scope, conversation_id: str, summary_id: str) -> tuple[Summary, ...]:
        data = self._reading(scope)
        conversations.find(data, conversation_id)
        if (conversation_id, summary_id) not in data.summaries:
            raise NotFoundError("there is no summary with this id in the conversation")
        layers = [data.summaries[conversation_id, summary_id]]
        for summary in layers:
            layers += [data.summaries[place] for place in _folded(data, summary)]
        return tuple(layers)
