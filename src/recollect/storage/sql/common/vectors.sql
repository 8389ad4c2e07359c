-- name: put_vector
-- The vector of a record in place of an older one, or that it has none.
INSERT INTO vectors (tenant_id, user_id, kind, number, model, vector, checksum)
VALUES (:tenant, :user, :kind, :number, :model, :vector, :checksum)
ON CONFLICT (tenant_id, user_id, kind, number) DO UPDATE SET
    model = excluded.model, vector = excluded.vector, checksum = excluded.checksum;

-- name: delete_vectors
-- The vectors of some records.
DELETE FROM vectors WHERE {of_user} AND kind = :kind AND number {in_numbers} AND model <> '';

-- name: delete_vector_places
-- That some records could have a vector.
DELETE FROM vectors WHERE {of_user} AND kind = :kind AND number {in_numbers};

-- name: reset_vector
-- A vector that was damaged, unless another one took its place.
UPDATE vectors SET model = '', vector = NULL, checksum = NULL
WHERE {of_user} AND kind = :kind AND number = :number
    AND (checksum = :checksum OR CAST(:checksum AS BIGINT) IS NULL);

-- name: embeddable_messages
-- Those of these messages that can have a vector.
SELECT m.number, m.id FROM messages m WHERE m.tenant_id = :tenant AND m.user_id = :user
    AND m.conversation_no = :conversation AND m.id {in_ids} AND EXISTS (
        SELECT 1 FROM vectors v
        WHERE v.tenant_id = :tenant AND v.user_id = :user AND v.kind = 'message' AND v.number = m.number)
ORDER BY m.number;

-- name: embeddable_memories
-- Those of these memories that are not deleted.
SELECT number, id, version FROM memories WHERE {of_user} AND id {in_ids} AND deleted_at IS NULL ORDER BY number;

-- name: bump_memories
-- The memories of a user changed.
UPDATE users SET memory_revision = memory_revision + 1 WHERE {of_user};

-- name: memory_revision
-- The revision of a user's memories.
SELECT memory_revision FROM users WHERE {of_user};

-- name: count_vectors
-- How much of a user could have a vector, and how much has none of this model.
SELECT COUNT(*), COALESCE(SUM(CASE WHEN model = :model THEN 0 ELSE 1 END), 0) FROM vectors WHERE {of_user};

-- name: unembedded_places
-- What has no vector of this model, after a place, without a look at what has one.
SELECT model, number FROM (
    SELECT * FROM (
        SELECT model, number FROM vectors
        WHERE {of_user} AND kind = :kind AND model < :model AND (model, number) > (:after_model, :after_number)
        ORDER BY model, number LIMIT :limit
    ) lesser
    UNION ALL
    SELECT * FROM (
        SELECT model, number FROM vectors
        WHERE {of_user} AND kind = :kind AND model > :model AND (model, number) > (:after_model, :after_number)
        ORDER BY model, number LIMIT :limit
    ) greater
) others
ORDER BY model, number LIMIT :limit;

-- name: numbered_memories
-- Memories of one user by number.
SELECT number, {memory_columns} FROM memories WHERE {of_user} AND number {in_numbers};

-- name: memory_vectors
-- All memories of a user that are not deleted, each with its vector.
SELECT m.number, v.model, {vector_bytes}, v.checksum, m.id, m.agent, m.memory_type, m.category, m.content, m.importance,
    m.confidence, m.is_pinned, m.is_archived, m.origin, m.trust, m.quote, m.conversation_id, m.subject, m.attribute,
    m.valid_from, m.valid_to, m.superseded_by, m.created_at, m.updated_at, m.last_accessed_at, m.access_count,
    m.version, m.deleted_at, m.sources, m.checksum
FROM memories m LEFT JOIN vectors v
    ON v.tenant_id = :tenant AND v.user_id = :user AND v.kind = 'memory' AND v.number = m.number
WHERE m.tenant_id = :tenant AND m.user_id = :user AND m.deleted_at IS NULL ORDER BY m.number;

-- name: conversation_revisions
-- All conversations of a user, as far as must be known to see which changed.
SELECT number, id, revision, message_count FROM conversations WHERE {of_user};

-- name: numbered_conversation_rows
-- Conversations of one user by number.
SELECT {conversation_columns} FROM conversations WHERE {of_user} AND number {in_numbers};

-- snippet: passage_columns
m.number, v.model, {vector_bytes}, v.checksum, m.seq, m.id, m.parent_id, m.turn_id, m.role, m.name, m.content, m.status,
m.created_at, m.tool_call_id, m.payload, m.checksum

-- snippet: vector_of_message
v.tenant_id = :tenant AND v.user_id = :user AND v.kind = 'message' AND v.number = m.number

-- name: passages_after
-- The messages of some conversations from a place on that recall can find, each with its vector.
SELECT m.conversation_no, {passage_columns}
FROM messages m LEFT JOIN vectors v ON {vector_of_message}
WHERE m.tenant_id = :tenant AND m.user_id = :user AND m.conversation_no {in_numbers} AND m.seq >= :first
    AND m.role IN ('user', 'assistant')
ORDER BY m.conversation_no, m.seq;

-- name: numbered_passages
-- Messages by number, each with its conversation and its vector; CROSS as in numbered_messages.
SELECT c.id, {passage_columns}
FROM messages m CROSS JOIN conversations c LEFT JOIN vectors v ON {vector_of_message}
WHERE c.number = m.conversation_no AND m.tenant_id = :tenant AND m.user_id = :user
    AND c.tenant_id = :tenant AND c.user_id = :user AND m.number {in_numbers};

-- name: candidate_places
-- Messages by number that recall can find, each with its conversation, its place and its neighbours there.
SELECT m.number, m.conversation_no, m.seq, (
    SELECT n.number FROM messages n WHERE n.tenant_id = :tenant AND n.user_id = :user
        AND n.conversation_no = m.conversation_no AND n.seq < m.seq AND EXISTS (
            SELECT 1 FROM vectors w
            WHERE w.tenant_id = :tenant AND w.user_id = :user AND w.kind = 'message' AND w.number = n.number)
    ORDER BY n.seq DESC LIMIT 1
), (
    SELECT n.number FROM messages n WHERE n.tenant_id = :tenant AND n.user_id = :user
        AND n.conversation_no = m.conversation_no AND n.seq > m.seq AND EXISTS (
            SELECT 1 FROM vectors w
            WHERE w.tenant_id = :tenant AND w.user_id = :user AND w.kind = 'message' AND w.number = n.number)
    ORDER BY n.seq LIMIT 1
)
FROM messages m
WHERE m.tenant_id = :tenant AND m.user_id = :user AND m.number {in_numbers} AND EXISTS (
    SELECT 1 FROM vectors v WHERE {vector_of_message});

-- name: recalled_places
-- The places of all messages of a conversation that recall can find.
SELECT m.seq, m.number FROM messages m
WHERE m.tenant_id = :tenant AND m.user_id = :user AND m.conversation_no = :conversation AND EXISTS (
    SELECT 1 FROM vectors v WHERE {vector_of_message})
ORDER BY m.seq;

-- name: count_messages
-- How many messages a user has.
SELECT COALESCE(SUM(message_count), 0) FROM conversations WHERE {of_user};
