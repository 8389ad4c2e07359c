-- snippet: for_update

-- snippet: in_ids
IN (SELECT value FROM json_each(:ids))

-- snippet: in_numbers
IN (SELECT value FROM json_each(:ids))

-- snippet: skip_locked

-- snippet: vector_bytes
v.vector

-- snippet: content_bytes
LENGTH(CAST(content AS BLOB))

-- snippet: notes_bytes
LENGTH(CAST(notes AS BLOB))

-- name: database_size
-- The bytes of the whole database file.
SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size();

-- name: user_vectors
-- The vectors of a user's messages by one model, after a number.
SELECT number, vector FROM vectors
WHERE {of_user} AND kind = 'message' AND model = :model AND number > :after ORDER BY number LIMIT :limit;

-- name: index_message
-- The terms of one message.
INSERT INTO message_terms (rowid, terms) VALUES (:number, :terms);

-- name: unindex_message
-- Take the terms of one message back; they must be those that were indexed.
INSERT INTO message_terms (message_terms, rowid, terms) VALUES ('delete', :number, :terms);

-- name: open_vocabulary
-- Make the terms of the index readable.
CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab (main, message_terms, instance);

-- name: indexed_terms
-- The terms that one message is indexed by, among those of one user.
SELECT term FROM temp.vocabulary WHERE term >= :first AND term < :last AND doc = :number;

-- name: close_vocabulary
-- Take the view of the index away again.
DROP TABLE temp.vocabulary;

-- name: messages_with_term
-- The messages that hold one term.
SELECT rowid FROM message_terms WHERE message_terms MATCH :term;

-- name: indexed_to
-- The number up to which every message is indexed; kept times 9973, so that no flipped bit goes unnoticed.
SELECT value / 9973 FROM meta WHERE name = 'indexed_to' AND typeof(value) = 'integer' AND value % 9973 = 0;

-- name: move_indexed_to
-- Every message is indexed now; numbers above the newest message will be given again.
INSERT INTO meta (name, value) VALUES ('indexed_to', 9973 * (SELECT COALESCE(MAX(number), 0) FROM messages))
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: unindexed_messages
-- The messages that are not indexed yet.
SELECT number, tenant_id, user_id, content FROM messages
WHERE number > (
    SELECT value / 9973 FROM meta WHERE name = 'indexed_to' AND typeof(value) = 'integer' AND value % 9973 = 0
) ORDER BY number;

-- name: due_jobs
-- Jobs that are due and jobs whose lease ran out, with their scopes, longest due first.
SELECT * FROM (
    SELECT run_at AS due, number, tenant_id, user_id, agent, {job_columns} FROM jobs
    WHERE state = 'queued' AND run_at <= :now
    UNION ALL
    SELECT lease_until AS due, number, tenant_id, user_id, agent, {job_columns} FROM jobs
    WHERE state = 'running' AND lease_until <= :now
)
WHERE :any_kind OR kind IN (SELECT value FROM json_each(:ids))
ORDER BY due, number LIMIT :limit;

-- name: find_key
-- The key with an id, with its scope.
SELECT tenant_id, user_id, {key_columns} FROM api_keys WHERE id = :id;

-- name: page_keys
-- The keys of a tenant, with their scopes.
SELECT tenant_id, user_id, {key_columns} FROM api_keys
WHERE tenant_id = :of_tenant AND id > :after ORDER BY id LIMIT :limit;
