"""Read everything that a SQLite file of ours holds, and check it as no user of the store could.

Every row is read without an index and without a scope, every checksum is verified, and what one table says
about another is compared; a test of crashes or faults needs no other definition of a sound file.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import apsw
import msgspec

from recollect.domain.conversation import Conversation
from recollect.domain.memory import Memory
from recollect.domain.message import Message
from recollect.domain.scope import Scope
from recollect.domain.summary import Summary, newest_text
from recollect.domain.terms import terms
from recollect.storage import keys, knowledge_rows, preferences, rows, usage
from recollect.storage.driver import Row
from recollect.storage.migrations.sqlite import prepare
from recollect.storage.queries import load_queries
from recollect.storage.sqlite_connection import SqliteTransaction, connect, user_mark
from recollect.storage.turn_rows import turn_from

PATH = "/data/recollect.db"
#: How many characters of an indexed term name its user.
MARK = len(user_mark("", ""))

Key = tuple[str, str, str]


class Contents(NamedTuple):
    """Hold every record of a file, each with the tenant and user that it belongs to."""

    conversations: dict[Key, rows.StoredConversation]
    #: By conversation, in order of seq, each with its number.
    messages: dict[Key, list[tuple[int, Message]]]
    turns: dict[Key, list[Any]]
    batches: dict[Key, list[Any]]
    summaries: dict[Key, list[Summary]]
    memories: list[tuple[Scope, Memory]]
    #: Rows of the tables that hang on no conversation, by table, tenant and user first.
    others: dict[str, list[Row]]


def open_image(vfs: str) -> apsw.Connection:
    """Open the file on a simulated disk as our driver does, recovery included."""
    connection = connect(PATH, vfs=vfs, exclusive=True)
    try:
        prepare(connection)
    except BaseException:  # whatever fails, no connection may stay open on the disk
        connection.close()
        raise
    return connection


def every(query: str, more: str = "tenant_id, user_id") -> str:
    """Return the query of one record as a query of all of them, with more columns in front."""
    head = load_queries("sqlite")[query].partition("WHERE")[0]
    return head.replace("SELECT ", f"SELECT {more}, ", 1)


def read_contents(connection: apsw.Connection) -> Contents:
    """Return everything in the file; raise `CorruptRecordError` if a record does not match its checksum."""
    conversations: dict[Key, rows.StoredConversation] = {}
    numbers: dict[int, Key] = {}
    for tenant, user, *row in connection.execute(every("find_conversation")):
        stored = rows.conversation_from(Scope(tenant, user), tuple(row))
        key = (tenant, user, stored.value.id)
        conversations[key] = stored
        numbers[stored.number] = key

    def parts(query: str, read: Callable[[Scope, str, Row], Any]) -> dict[Key, list[Any]]:
        found: dict[Key, list[Any]] = defaultdict(list)
        more = "number, conversation_no, tenant_id, user_id"
        for number, conversation, tenant, user, *row in connection.execute(every(query, more) + " ORDER BY number"):
            key = numbers[conversation]
            assert key[:2] == (tenant, user), f"a record of {query} is in the conversation of another user"
            value = read(Scope(tenant, user), key[2], tuple(row))
            found[key].append((number, value) if query == "find_message" else value)
        return found

    messages = parts("find_message", rows.message_from)
    for found in messages.values():
        found.sort(key=lambda numbered: numbered[1].seq)
    return Contents(
        conversations,
        messages,
        parts("list_turns", turn_from),
        parts("find_batch", rows.batch_from),
        parts("find_summary", rows.summary_from),
        [
            (Scope(tenant, user), knowledge_rows.memory_from(Scope(tenant, user), tuple(row)))
            for tenant, user, *row in connection.execute(every("find_memory"))
        ],
        _others(connection),
    )


def _others(connection: apsw.Connection) -> dict[str, list[Row]]:
    tables: dict[str, tuple[str, Callable[[Scope, Row], Any] | None]] = {
        "notes": (every("read_note"), knowledge_rows.note_from),
        "note_versions": (every("note_version"), knowledge_rows.note_version_from),
        "memory_versions": (every("memory_versions"), knowledge_rows.version_from),
        "jobs": (every("find_job"), knowledge_rows.job_from),
        "requests": (every("find_request"), _check_request),
        "preferences": (every("find_preferences"), preferences.preferences_from),
        "usage": (every("usage_of_period"), usage.entry_from),
        "api_keys": (every("lock_key"), keys.key_from),
        "audit": (every("page_audit"), None),
        "memory_sources": ("SELECT * FROM memory_sources", None),
        "repeats": ("SELECT * FROM repeats", None),
        "tombstones": ("SELECT * FROM tombstones", None),
    }
    found: dict[str, list[Row]] = {}
    for table, (sql, check) in tables.items():
        found[table] = connection.execute(sql).fetchall()
        if check is not None:
            for tenant, user, *row in found[table]:
                check(Scope(tenant, user), tuple(row))
    return found


def _check_request(scope: Scope, row: Row) -> None:
    status, body = row[4], row[5]
    if status is None or body is not None:
        rows.unsealed(scope, "request", row)


def check_file(connection: apsw.Connection) -> Contents:
    """Return everything in the file after proving that SQLite, every checksum and every counter agree."""
    assert connection.pragma("integrity_check") == "ok"
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    contents = read_contents(connection)
    for key, stored in contents.conversations.items():
        numbered = contents.messages.get(key, [])
        check_conversation(stored, [message for _, message in numbered], contents.summaries.get(key, []))
    _check_sources(contents)
    return contents


def check_conversation(stored: rows.StoredConversation, messages: list[Message], summaries: list[Summary]) -> None:
    """Compare a conversation with its messages: the counters, the order, the head, the summary, unsplit turns."""
    conversation = stored.value
    seqs = [message.seq for message in messages]
    assert conversation.message_count == len(messages), f"{conversation.id} counts wrongly"
    assert all(0 < seq < conversation.next_seq for seq in seqs)
    replaced = {message_id for summary in summaries for message_id in summary.message_ids}
    if not stored.has_erased and not replaced:
        assert seqs == list(range(1, conversation.next_seq)), f"{conversation.id} has gaps"
        _check_chain(conversation, messages)
    active = [summary for summary in summaries if summary.folded_into is None]
    assert conversation.summary == newest_text(active)
    seen: list[str | None] = []
    for message in messages:
        if message.turn_id is not None and message.turn_id != (seen[-1] if seen else None):
            assert message.turn_id not in seen, f"{conversation.id} has a split turn"
        seen.append(message.turn_id)


def _check_chain(conversation: Conversation, messages: list[Message]) -> None:
    ids = [None, *(message.id for message in messages)]
    assert conversation.head_id in ids
    if not conversation.is_branched:
        assert [message.parent_id for message in messages] == ids[:-1]
        assert conversation.head_id == ids[-1]


def _check_sources(contents: Contents) -> None:
    """Compare the sources that memories name with the table that finds memories by source."""
    named = {
        (scope.tenant, scope.user, source.conversation_id, source.message_id, memory.id)
        for scope, memory in contents.memories
        for source in memory.sources
    }
    assert set(contents.others["memory_sources"]) == named


def check_index(connection: apsw.Connection, contents: Contents) -> None:
    """Prove that search finds each message by each of its words, and that the index holds no other word."""
    held: dict[str, dict[int, set[str]]] = defaultdict(dict)
    scopes: dict[str, Scope] = {}
    for (tenant, user, _), numbered in contents.messages.items():
        mark = user_mark(tenant, user)
        scopes[mark] = Scope(tenant, user)
        held[mark].update({number: set(terms(message.content)) for number, message in numbered})
    tx = SqliteTransaction(connection, b"")
    for mark, scope in scopes.items():
        holders: dict[str, set[int]] = defaultdict(set)
        for number, words in held[mark].items():
            for word in words:
                holders[word].add(number)
        for word, wanted in holders.items():
            assert set(tx.matching(scope, [word])) == wanted, f"search for {word!r}"
    connection.execute("CREATE VIRTUAL TABLE temp.indexed USING fts5vocab(main, message_terms, instance)")
    for term, number in connection.execute("SELECT term, doc FROM indexed"):
        mark, word = str(term)[:MARK], str(term)[MARK:]
        assert number in held[mark], f"the index holds {word!r} of a message that is gone"
        assert word in held[mark][int(str(number))] | {""}, f"the index holds {word!r} of no message"
    connection.execute("DROP TABLE temp.indexed")


def plain(value: Any) -> Any:
    """Return a value that compares and prints as what it says."""
    return msgspec.to_builtins(value)
