"""The part of the machine that learns, plans, embeds and recalls."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule
from hypothesis.strategies import DataObject

from recollect.domain.job import Claim
from recollect.domain.memory import Extraction, MemoryChanges, MemoryEdit, MemoryPlan
from recollect.domain.scope import Scope
from recollect.domain.vector import MemoryVector, MessageVector, VectorBatch
from recollect.storage.inmemory.shelves import UserData
from tests.properties import store_values as values
from tests.properties.store_reads import Followed
from tests.properties.store_values import pick


class MemoryRules(RuleBasedStateMachine):
    """Every write of memories and vectors; the machine says what both stores are and what is drawn."""

    now: datetime
    claims: list[tuple[Scope, Claim]]

    # How the machine calls both stores, and what it draws and knows.
    both: Callable[..., Any]
    draw_scope: Callable[[DataObject], Scope]
    known_messages: Callable[[], list[str]]
    draw_conversation: Callable[[DataObject, Scope], str]
    draw_memory: Callable[[DataObject, Scope], str]
    peek: Callable[[Scope], UserData]

    def __init__(self) -> None:
        super().__init__()
        self.followed = Followed()

    @rule(data=st.data())
    def add_memories(self, data: DataObject) -> None:
        drawn = values.memories(self.now, self.known_messages())
        self.both("add_memories", self.draw_scope(data), tuple(data.draw(st.lists(drawn, min_size=1, max_size=3))))

    @rule(data=st.data())
    def change_a_memory(self, data: DataObject) -> None:
        scope = self.draw_scope(data)
        changes = data.draw(values.memory_changes(self.now, self.known_messages()))
        self.both("change_memory", scope, self.draw_memory(data, scope), changes)

    @rule(data=st.data(), supersede=st.booleans())
    def replace_or_delete_a_memory(self, data: DataObject, supersede: bool) -> None:
        scope, at = self.draw_scope(data), data.draw(values.times(self.now))
        memory_id, other = self.draw_memory(data, scope), self.draw_memory(data, scope)
        if supersede:
            ended = MemoryChanges(at=at, superseded_by=other, valid_to=data.draw(st.none() | st.just(at)))
            self.both("change_memory", scope, memory_id, ended)
        else:
            self.both("change_memory", scope, memory_id, MemoryChanges(at=at, deleted_at=at))

    @rule(data=st.data(), last=st.integers(0, 3))
    def save_an_extraction(self, data: DataObject, last: int) -> None:
        scope, known = self.draw_scope(data), self.known_messages()
        conversation_id = self.draw_conversation(data, scope)
        conversation = self.both("get_conversation", scope, conversation_id)
        first = conversation.extracted_seq if conversation and not data.draw(values.rarely) else 1
        is_claimed = bool(self.claims) and data.draw(values.rarely)
        result = Extraction(
            conversation_id=conversation_id,
            from_seq=first,
            to_seq=first + last,
            at=data.draw(values.times(self.now)),
            new=tuple(data.draw(st.lists(values.memories(self.now, known), max_size=2))),
            edits=self.draw_edits(data, scope) if data.draw(values.rarely) else (),
            claim=data.draw(pick(self.claims))[1] if is_claimed else None,
            memory_revision=self.draw_revision(data, scope),
        )
        self.both("save_extraction", scope, result)

    @rule(data=st.data())
    def save_a_plan(self, data: DataObject) -> None:
        scope = self.draw_scope(data)
        new = st.lists(values.memories(self.now, self.known_messages()), max_size=3)
        plan = MemoryPlan(
            at=self.now,
            new=tuple(data.draw(new)),
            edits=self.draw_edits(data, scope),
            memory_revision=self.draw_revision(data, scope),
        )
        self.both("save_memories", scope, plan)

    def draw_edits(self, data: DataObject, scope: Scope) -> tuple[MemoryEdit, ...]:
        """Draw up to two edits of memories, which often end for the sake of others."""
        edits: list[MemoryEdit] = []
        for _ in range(data.draw(st.integers(0, 2))):
            changes = data.draw(values.memory_changes(self.now, self.known_messages()))
            if data.draw(st.booleans()):
                changes = MemoryChanges(at=self.now, valid_to=self.now, superseded_by=data.draw(values.memory_ids))
            edits.append(MemoryEdit(memory_id=self.draw_memory(data, scope), changes=changes))
        return tuple(edits)

    def draw_revision(self, data: DataObject, scope: Scope) -> int | None:
        now = self.peek(scope).memory_revision
        return data.draw(st.sampled_from((None, None, now, now, max(0, now - 1), now + 1)))

    # Recall

    @rule(data=st.data(), model=values.models, limit=st.integers(1, 5))
    def embed_what_is_left(self, data: DataObject, model: str, limit: int) -> None:
        scope = self.draw_scope(data)
        left = self.both("list_unembedded", scope, model, limit)
        drawn = values.vectors.filter(lambda vector: vector.model == model) if model != "c" else values.vectors
        messages = [MessageVector(message.id, data.draw(drawn)) for message in left.messages]
        memories = [MemoryVector(memory.id, memory.version, data.draw(drawn)) for memory in left.memories]
        if data.draw(values.rarely):
            messages.append(MessageVector(data.draw(pick(self.known_messages())), data.draw(drawn)))
            memories.append(MemoryVector(data.draw(values.memory_ids), 1, data.draw(drawn)))
        place = left.messages[0].conversation_id if left.messages else data.draw(values.conversation_ids)
        batch = VectorBatch(conversation_id=place, messages=tuple(messages), memories=tuple(memories))
        self.both("save_vectors", scope, batch)

    @rule(data=st.data(), model=st.sampled_from(("a", "a", "a", "b")))
    def follow_passages(self, data: DataObject, model: str) -> None:
        """Read what is new, and keep it as recall would; it must be what a reading of everything gives."""
        self.followed.follow(self.both, self.draw_scope(data), model)
