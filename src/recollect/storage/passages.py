"""Reading in SQL what recall looks through: what is new of a user's conversations, or candidates among very many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from recollect.domain.passage import (
    ConversationPassages,
    IndexedMemories,
    IndexedMemory,
    MatchedPassages,
    Passage,
    PassageMatch,
    PassageQuery,
    Passages,
    is_recalled,
    reading_of,
    term_weight,
)
from recollect.domain.scope import Scope
from recollect.domain.terms import terms
from recollect.errors import CorruptRecordError
from recollect.storage import rows
from recollect.storage.damage import sound
from recollect.storage.driver import Row, Transaction
from recollect.storage.knowledge_rows import memory_from
from recollect.storage.rows import StoredConversation, scoped
from recollect.storage.vectors import Unpacking, Unsound

#: How many conversations, or candidates, are looked up together.
TOGETHER = 500


class PassageReader:
    """Turn rows into passages."""

    def __init__(self, tx: Transaction, scope: Scope, model: str) -> None:
        self.tx = tx
        self.scope = scope
        self._vectors = Unpacking(tx, scope, "message", model)
        self._corrupt: list[str] = []
        self._unreadable: list[str] = []

    def unsound(self) -> Unsound:
        """Return what was found damaged so far."""
        return Unsound(tuple(self._unreadable), tuple(self._corrupt), (), tuple(self._vectors.damaged))

    def passages(self, conversation_id: str, found: Sequence[Row]) -> list[Passage]:
        """Return the passages of rows that are not damaged."""
        read: list[Passage] = []
        for number, model, packed, expected, *row in found:
            try:
                message = rows.message_from(self.scope, conversation_id, tuple(row))
            except CorruptRecordError as exc:
                self._corrupt.append(exc.record_id)
                continue
            if is_recalled(message):
                read.append(Passage(message, self._vectors.read(number, model, packed, expected)))
        return read

    def conversations(self, numbers: Sequence[int]) -> list[StoredConversation]:
        """Return the conversations with these numbers that are not damaged."""
        found: list[StoredConversation] = []
        for at in range(0, len(numbers), TOGETHER):
            ids = self.tx.ids(numbers[at : at + TOGETHER])
            read = self.tx.all("numbered_conversation_rows", **scoped(self.scope), ids=ids)
            whole, corrupt = sound(partial(rows.conversation_from, self.scope), read)
            found += whole
            self._unreadable += corrupt
        return found

    def rows_from(self, numbers: Sequence[int], first: int) -> dict[int, list[Row]]:
        """Return the rows of these conversations from a place on, by conversation."""
        found: dict[int, list[Row]] = {}
        for at in range(0, len(numbers), TOGETHER):
            ids = self.tx.ids(numbers[at : at + TOGETHER])
            for row in self.tx.all("passages_after", **scoped(self.scope), ids=ids, first=first):
                found.setdefault(row[0], []).append(row[1:])
        return found

    def path(self, stored: StoredConversation, first: int = 0) -> set[int]:
        """Return the places from this one on that lead to the head of a branched conversation."""
        here = {**scoped(self.scope), "conversation": stored.number}
        return {row[0] for row in self.tx.all("path_seqs", **here, id=stored.value.head_id, after=first - 1)}


def read(tx: Transaction, scope: Scope, query: PassageQuery) -> tuple[Passages, Unsound]:
    """Return what changed in the user's conversations since they were read."""
    revisions = tx.all("conversation_revisions", **scoped(scope))
    total = sum(count for *_, count in revisions if isinstance(count, int))
    if total > query.at_most:
        return Passages(total=total, too_many=True), Unsound()
    stale = []
    for number, conversation_id, revision, _ in revisions:
        known = query.known.get(conversation_id)
        if known is None or known.revision != revision:
            stale.append(number)
    reader = PassageReader(tx, scope, query.model)
    changed = sorted(_changed(reader, query, stale), key=lambda one: one.conversation_id)
    unsound = reader.unsound()
    present = {conversation_id for _, conversation_id, *_ in revisions}.difference(unsound.conversations)
    gone = tuple(sorted(query.known.keys() - present))
    return Passages(changed=tuple(changed), gone=gone, total=total), unsound


def _changed(reader: PassageReader, query: PassageQuery, stale: Sequence[int]) -> Iterator[ConversationPassages]:
    whole: list[StoredConversation] = []
    for stored in reader.conversations(stale):
        known = query.known.get(stored.value.id)
        if known is not None and stored.rewritten <= known.revision < stored.value.revision:
            found = reader.rows_from([stored.number], known.next_seq)
            yield _passages(reader, stored, known.next_seq, found.get(stored.number, []))
        else:
            whole.append(stored)
    found = reader.rows_from([stored.number for stored in whole], 0)
    for stored in whole:
        yield _passages(reader, stored, 0, found.get(stored.number, []))


def _passages(reader: PassageReader, stored: StoredConversation, first: int, found: list[Row]) -> ConversationPassages:
    if stored.value.is_branched:
        path = reader.path(stored, first)
        found = [row for row in found if row[4] in path]
    return ConversationPassages(
        conversation_id=stored.value.id,
        reading=reading_of(stored.value),
        from_seq=first,
        passages=tuple(reader.passages(stored.value.id, found)),
    )


def memory_revision(tx: Transaction, scope: Scope) -> int:
    """Return what grows with every change of the user's memories."""
    row = tx.one("memory_revision", **scoped(scope))
    return 0 if row is None else int(row[0])


def memories(tx: Transaction, scope: Scope, model: str, known: int | None) -> tuple[IndexedMemories | None, Unsound]:
    """Return all memories of the user, or None if they still are at this revision."""
    revision = memory_revision(tx, scope)
    if revision == known:
        return None, Unsound()
    vectors = Unpacking(tx, scope, "memory", model)
    items: list[IndexedMemory] = []
    corrupt: list[str] = []
    for number, of_model, packed, expected, *values in tx.all("memory_vectors", **scoped(scope)):
        try:
            memory = memory_from(scope, tuple(values))
        except CorruptRecordError as exc:
            corrupt.append(exc.record_id)
            continue
        items.append(IndexedMemory(memory, vectors.read(number, of_model, packed, expected)))
    unsound = Unsound(memories=tuple(corrupt), vectors=tuple(vectors.damaged))
    return IndexedMemories(revision=revision, items=tuple(items)), unsound


def match(tx: Transaction, scope: Scope, wanted: PassageMatch) -> tuple[MatchedPassages, Unsound]:
    """Return the messages that hold most of the terms and those nearest in meaning, each with its neighbours."""
    ((total,),) = tx.all("count_messages", **scoped(scope))
    # A term that no text is cut into occurs nowhere.
    asked = [term for term in dict.fromkeys(wanted.terms) if term in terms(term)]
    step = min(wanted.limit, TOGETHER)
    counted, ranked = tx.best(scope, asked, partial(_weights, int(total)), step)
    reader = PassageReader(tx, scope, "" if wanted.vector is None else wanted.vector.model)
    candidates = _Candidates(reader)
    candidates.take(ranked, wanted.limit)
    if wanted.vector is not None:
        candidates.take(tx.nearest(scope, wanted.vector, step), wanted.limit)
    frequencies = dict(zip(asked, counted, strict=True))
    matched = MatchedPassages(
        passages=tuple(candidates.passages()),
        total=int(total),
        frequencies=tuple(frequencies.get(term, 0) for term in wanted.terms),
    )
    return matched, reader.unsound()


def _weights(total: int, frequencies: list[int]) -> list[int]:
    return [term_weight(total, frequency) for frequency in frequencies]


class _Candidates:
    """Messages that are worth a closer look, with those beside them on the way to their head."""

    def __init__(self, reader: PassageReader) -> None:
        self._reader = reader
        self._numbers: set[int] = set()
        #: The places of a branched conversation that recall can find, in order; None for any other conversation.
        self._paths: dict[int, tuple[list[int], dict[int, int]] | None] = {}

    def take(self, pages: Iterator[list[int]], limit: int) -> None:
        """Take so many of the messages, the first ones that recall can find."""
        taken = 0
        for numbers in pages:
            places = self._places(numbers)
            for number in numbers:
                if number in places and taken < limit:
                    self._numbers.update(places[number])
                    taken += 1
            if taken >= limit:
                return

    def _places(self, numbers: list[int]) -> dict[int, list[int]]:
        """Return the messages among these that recall can find, each with itself and its neighbours."""
        tx, scope = self._reader.tx, self._reader.scope
        found = tx.all("candidate_places", **scoped(scope), ids=tx.ids(numbers))
        self._learn_paths({row[1] for row in found})
        places: dict[int, list[int]] = {}
        for number, conversation, _, before, after in found:
            if conversation not in self._paths:
                continue  # its record was damaged
            path = self._paths[conversation]
            if path is None:
                places[number] = [one for one in (number, before, after) if one is not None]
            elif number in path[1]:
                place = path[1][number]
                places[number] = path[0][max(0, place - 1) : place + 2]
        return places

    def _learn_paths(self, conversations: set[int]) -> None:
        new = sorted(conversations - self._paths.keys())
        tx, scope = self._reader.tx, self._reader.scope
        for stored in self._reader.conversations(new):
            self._paths[stored.number] = None
            if stored.value.is_branched:
                path = self._reader.path(stored)
                here = tx.all("recalled_places", **scoped(scope), conversation=stored.number)
                on_path = [number for seq, number in here if seq in path]
                self._paths[stored.number] = on_path, {number: place for place, number in enumerate(on_path)}

    def passages(self) -> list[Passage]:
        """Return them all, in order of conversation id and seq."""
        reader, read = self._reader, []
        numbers = sorted(self._numbers)
        for at in range(0, len(numbers), TOGETHER):
            ids = reader.tx.ids(numbers[at : at + TOGETHER])
            for row in reader.tx.all("numbered_passages", **scoped(reader.scope), ids=ids):
                read += reader.passages(row[0], [row[1:]])
        return sorted(read, key=lambda one: (one.message.conversation_id, one.message.seq))
