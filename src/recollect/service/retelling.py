"""Find again what a model was told for a turn, and which memories it was told for the messages of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec

from recollect.domain.checks import MAX_LIMIT
from recollect.domain.context import Context, Recalled, may_be_told
from recollect.domain.context_record import ContextRecord, RecordedItem
from recollect.domain.history_prefix import WRITTEN_HERE
from recollect.domain.memory import Memory
from recollect.domain.message import Message
from recollect.domain.note import NoteHistoryQuery
from recollect.domain.page import MessageQuery
from recollect.domain.retelling import Remains, item_reason, retold
from recollect.domain.scope import Scope
from recollect.domain.secrets import redacted
from recollect.domain.summary import Summary
from recollect.domain.turn import Turn
from recollect.errors import (
    ContextNotFoundError,
    CorruptRecordError,
    MemoryNotFoundError,
    NotFoundError,
)
from recollect.ports.store import Store


async def retell(store: Store, scope: Scope, conversation_id: str, message_id: str, system: str) -> Context:
    """Return what the model was told for the turn of a message; `system` is the system prompt of now."""
    message = await store.get_message(scope, conversation_id, message_id)
    turn = await _turn_of(store, scope, message)
    if turn.context is None:
        raise ContextNotFoundError("this turn was taken before it was kept what a model is told")
    record = turn.context
    reader = _Reader(store, scope, conversation_id)
    before = await reader.before(message, record)
    preferences = await store.get_preferences(scope)
    given = turn.metadata.get("context")
    remains = Remains(
        system=system,
        instructions=preferences.instructions,
        given=msgspec.json.encode(given).decode() if given else "",
        question=await reader.question(record, (*before, message)),
        memories=await reader.memories(record),
        note=await reader.note(record),
        summaries=await reader.summaries(record),
        passages=await reader.passages(record),
        window=before,
    )
    return retold(record, remains)


async def _turn_of(store: Store, scope: Scope, message: Message) -> Turn:
    if message.turn_id is None:
        raise ContextNotFoundError(
            "no model was asked for this message: it was imported, archived by a client or added without a reply"
        )
    found = await store.find_turns(scope, message.conversation_id, (message.turn_id,))
    if not found:
        raise ContextNotFoundError(
            "what the model was told is gone: a message of the turn was erased, or it is damaged"
        )
    return found[0]


async def memories_told(
    store: Store, scope: Scope, conversation_id: str, messages: Sequence[Message]
) -> Mapping[str, tuple[Recalled, ...]]:
    """Return, of each reply that was written here, the memories that the model was told and that may still be told.

    They are as they are now. It takes one read of turns and one of memories.
    """
    replies = [one for one in messages if one.role == "assistant" and one.turn_id and WRITTEN_HERE in one.metadata]
    turn_ids = tuple(dict.fromkeys(one.turn_id for one in replies if one.turn_id is not None))
    if not turn_ids:
        return {}
    turns = {turn.id: turn for turn in await store.find_turns(scope, conversation_id, turn_ids)}
    wanted = tuple(dict.fromkeys(memory_id for turn in turns.values() for memory_id in turn.memory_ids))
    found = await store.find_memories(scope, wanted[:MAX_LIMIT]) if wanted else ()
    known = {memory.id: _without_secrets(memory) for memory in found if may_be_told(memory)}
    contents = {message.id: message.content for message in messages}
    told = {turn.id: _told(turn, known, contents) for turn in turns.values()}
    return {one.id: told[one.turn_id] for one in replies if one.turn_id in told}


def _told(turn: Turn, known: Mapping[str, Memory], contents: Mapping[str, str]) -> tuple[Recalled, ...]:
    """Return the memories of a turn, pinned ones first; a reason quotes the question if that is at hand."""
    record = turn.context
    reasons: dict[str, str] = {}
    if record is not None:
        question = contents.get(record.question_id or "", "")
        for kind in ("pinned", "memories"):
            reasons |= {str(item.ref): item_reason(kind, item, question) for item in record.items(kind)}
    ids = [memory_id for memory_id in turn.memory_ids if memory_id in known]
    return tuple(Recalled(memory=known[memory_id], why=reasons.get(memory_id, "")) for memory_id in ids)


class _Reader:
    """Read what a record names; what is not there any more is left out."""

    def __init__(self, store: Store, scope: Scope, conversation_id: str) -> None:
        self._store = store
        self._scope = scope
        self._conversation_id = conversation_id

    async def before(self, message: Message, record: ContextRecord) -> tuple[Message, ...]:
        """Return the messages before the reply, from the first on that the record names."""
        named = [*record.items("window"), *(item for kind, item in record.left_out if kind == "window")]
        first = min((item.ref for item in named if isinstance(item.ref, int)), default=message.seq)
        # What has no seq in the record was stored with this turn, between the window and the reply.
        limit = max(message.seq - first, sum(isinstance(item.ref, str) for item in named) + 1)
        query = MessageQuery(conversation_id=self._conversation_id, before=message.id, limit=min(limit, MAX_LIMIT))
        return (await self._store.list_messages(self._scope, query)).messages

    async def question(self, record: ContextRecord, known: Sequence[Message]) -> Message | None:
        """Return the message whose words were looked for."""
        wanted = record.question_id
        if wanted is None:
            return None
        held = next((one for one in known if one.id == wanted), None)
        return held or await self._message(self._conversation_id, wanted)

    async def memories(self, record: ContextRecord) -> dict[str, Memory]:
        """Return the memories as they were told, or as they are now if what they were is gone."""
        items = {str(item.ref): item for item in record.items("pinned", "memories")}
        if not items:
            return {}
        found = await self._store.find_memories(self._scope, tuple(items)[:MAX_LIMIT])
        then = [await self._then(memory, items[memory.id]) for memory in found]
        return {memory.id: _without_secrets(memory) for memory in then}

    async def _then(self, memory: Memory, item: RecordedItem) -> Memory:
        if memory.version == item.version:
            return memory
        with suppress(MemoryNotFoundError):
            for version in await self._store.memory_history(self._scope, memory.id):
                if version.memory.version == item.version:
                    return version.memory
        return memory

    async def note(self, record: ContextRecord) -> str | None:
        """Return the text of the note in the version that was told, or in the one just before or after it."""
        for item in record.items("notes"):
            scope = msgspec.structs.replace(self._scope, agent=str(item.ref))
            query = NoteHistoryQuery(limit=1, before_version=item.version + 1)
            found = await self._store.note_history(scope, query)
            return found[0].notes if found else (await self._store.get_note(scope)).notes
        return None

    async def summaries(self, record: ContextRecord) -> dict[str, Summary]:
        """Return the summaries, those that were left out too, in order."""
        told = [str(item.ref) for item in record.items("summaries")]
        left_out = [str(item.ref) for kind, item in record.left_out if kind == "summaries"]
        found: dict[str, Summary] = {}
        for summary_id in (*left_out, *told):
            with suppress(NotFoundError, CorruptRecordError):
                layers = await self._store.expand_summary(self._scope, self._conversation_id, summary_id)
                found[summary_id] = layers[0]
        return found

    async def passages(self, record: ContextRecord) -> dict[tuple[str | None, str], Message]:
        """Return the messages that were recalled, without their secrets."""
        found: dict[tuple[str | None, str], Message] = {}
        for item in record.items("passages"):
            message = await self._message(item.conversation_id or self._conversation_id, str(item.ref))
            if message is not None:
                clean = msgspec.structs.replace(message, content=redacted(message.content).text)
                found[item.conversation_id, message.id] = clean
        return found

    async def _message(self, conversation_id: str, message_id: str) -> Message | None:
        try:
            return await self._store.get_message(self._scope, conversation_id, message_id)
        except (NotFoundError, CorruptRecordError):
            return None


def _without_secrets(memory: Memory) -> Memory:
    return msgspec.structs.replace(memory, content=redacted(memory.content).text)
