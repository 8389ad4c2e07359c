"""Check what only Postgres has: references and unique keys as the rows say, and the table of terms; rebuild that table.

An index that lost its step with its table lets rows in that it should refuse, so keys are compared without indexes.
"""

from __future__ import annotations

from collections.abc import Iterator

from recollect.domain.scope import Scope
from recollect.domain.terms import terms
from recollect.storage.postgres_connection import PostgresConnection
from recollect.storage.postgres_reading import PostgresSnapshot, count_rows, value
from recollect.storage.postgres_transaction import term_digests
from recollect.storage.verify import PAGE, SEALED, Damage, Progress, Verifier

MOST_FINDINGS = 100

_REFERENCES = """
SELECT c.conrelid::regclass::text, c.confrelid::regclass::text,
    (SELECT string_agg(format('child.%I = parent.%I', a.attname, b.attname), ' AND ')
        FROM unnest(c.conkey, c.confkey) AS k (own, other)
        JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.own
        JOIN pg_attribute b ON b.attrelid = c.confrelid AND b.attnum = k.other)
FROM pg_constraint c WHERE c.contype = 'f' AND c.connamespace = to_regnamespace('recollect') ORDER BY c.conname
"""
_KEYS = """
SELECT i.indrelid::regclass::text, COALESCE(pg_get_expr(i.indpred, i.indrelid), 'true'),
    (SELECT string_agg(format('%I', a.attname), ', ') FROM unnest(i.indkey) AS k
        JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k)
FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid
WHERE i.indisunique AND t.relnamespace = to_regnamespace('recollect') ORDER BY i.indexrelid::regclass::text
"""
_SCANS = """
SELECT set_config('enable_indexscan', %(use)s, true), set_config('enable_indexonlyscan', %(use)s, true),
    set_config('enable_bitmapscan', %(use)s, true)
"""


def damage(connection: PostgresConnection, progress: Progress) -> Iterator[Damage]:
    """Give everything that is wrong with the snapshot of a transaction."""
    connection.execute(_SCANS, {"use": "off"})
    yield from reference_damage(connection, progress)
    yield from key_damage(connection, progress)
    connection.execute(_SCANS, {"use": "on"})
    totals = count_rows(connection, (*SEALED, "memory_sources"))
    snapshot = PostgresSnapshot(connection)
    yield from Verifier(snapshot, totals, progress).damage()
    yield from index_damage(connection, totals["messages"], progress)


def reference_damage(connection: PostgresConnection, progress: Progress) -> Iterator[Damage]:
    """Give the rows that point to rows which are not there."""
    progress("references", 0, 1)
    for child, parent, condition in connection.execute(_REFERENCES).fetchall():
        query = f"""
            SELECT child.tenant_id, child.user_id FROM {child} child
            WHERE NOT EXISTS (SELECT 1 FROM {parent} parent WHERE {condition}) LIMIT {MOST_FINDINGS}
        """
        for tenant, user in connection.execute(query.encode()).fetchall():
            yield Damage(kind="reference", table=child, record=f"{tenant}/{user}", problem=f"has no {parent}")
    progress("references", 1, 1)


def key_damage(connection: PostgresConnection, progress: Progress) -> Iterator[Damage]:
    """Give the keys that more than one row has although they are unique."""
    progress("keys", 0, 1)
    for table, predicate, columns in connection.execute(_KEYS).fetchall():
        query = f"""
            SELECT concat_ws('/', {columns}) FROM {table} WHERE {predicate}
            GROUP BY {columns} HAVING COUNT(*) > 1 LIMIT {MOST_FINDINGS}
        """
        for (record,) in connection.execute(query.encode()).fetchall():
            problem = f"has more than one row with the same {columns}"
            yield Damage(kind="file", table=table, record=record, problem=problem)
    progress("keys", 1, 1)


def index_damage(connection: PostgresConnection, messages: int, progress: Progress) -> Iterator[Damage]:
    """Give the messages that are not found by exactly their terms, and entries of messages that are gone."""
    snapshot, salt, found = PostgresSnapshot(connection), _salt(connection), 0
    for done, (tenant, user, number, content, indexed) in enumerate(snapshot.walk("walk_indexed")):
        if done % PAGE == 0:
            progress("index", done, max(done, messages))
        wanted = term_digests(salt, Scope(tenant, user), terms(content))
        if sorted(wanted) != sorted(indexed or ()):
            yield _misindexed(tenant, user, number, "is not found by exactly its words")
            found += 1
        if found == MOST_FINDINGS:
            break
    for tenant, user, number in snapshot.walk("walk_stray_terms"):
        yield _misindexed(tenant, user, number, "is gone but its words are indexed")
    progress("index", messages, messages)


def _misindexed(tenant: str, user: str, number: int, problem: str) -> Damage:
    return Damage(kind="index", table="message_terms", record=f"{tenant}/{user} number {number}", problem=problem)


def _salt(connection: PostgresConnection) -> bytes:
    return bytes(value(connection, "SELECT value FROM meta WHERE name = 'salt'"))


def rebuild_index(connection: PostgresConnection, progress: Progress) -> None:
    """Index every message again, inside a transaction."""
    total, salt, done = count_rows(connection, ("messages",))["messages"], _salt(connection), 0
    connection.execute("TRUNCATE message_terms")
    with connection.cursor(name="texts") as texts, connection.cursor() as writing:
        texts.execute("SELECT tenant_id, user_id, number, content FROM messages")
        while found := texts.fetchmany(PAGE):
            progress("rebuild the index", done, total)
            indexed = [(t, u, number, term_digests(salt, Scope(t, u), terms(text))) for t, u, number, text in found]
            writing.executemany("INSERT INTO message_terms VALUES (%s, %s, %s, %s)", [row for row in indexed if row[3]])
            done += len(found)
    progress("rebuild the index", total, total)
