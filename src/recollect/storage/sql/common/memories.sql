-- snippet: memory_columns
id, agent, memory_type, category, content, importance, confidence, is_pinned, is_archived, origin, trust, quote,
conversation_id, subject, attribute, valid_from, valid_to, superseded_by, created_at, updated_at, last_accessed_at,
access_count, version, deleted_at, sources, checksum

-- snippet: of_user
tenant_id = :tenant AND user_id = :user

-- name: find_memory
-- One memory.
SELECT {memory_columns} FROM memories WHERE {of_user} AND id = :id;

-- name: find_memories
-- These memories, but for those that are deleted, the first added first.
SELECT {memory_columns} FROM memories WHERE {of_user} AND id {in_ids} AND deleted_at IS NULL ORDER BY number;

-- name: lock_memory
-- One memory, held until the transaction ends.
SELECT {memory_columns} FROM memories WHERE {of_user} AND id = :id {for_update};

-- name: memory_number
-- The place of a memory in the list.
SELECT number FROM memories WHERE {of_user} AND id = :id;

-- name: same_statement
-- The current memory that says the same.
SELECT {memory_columns} FROM memories
WHERE {of_user} AND content_key = :content_key
    AND superseded_by IS NULL AND valid_to IS NULL AND deleted_at IS NULL;

-- name: insert_memory
-- One memory, unless its id is known or another current memory says the same.
INSERT INTO memories (
    tenant_id, user_id, id, agent, memory_type, category, content, content_key, importance, confidence, is_pinned,
    is_archived, origin, trust, quote, conversation_id, subject, attribute, valid_from, valid_to, superseded_by,
    created_at, updated_at, last_accessed_at, access_count, version, deleted_at, sources, checksum
) VALUES (
    :tenant, :user, :id, :agent, :memory_type, :category, :content, :content_key, :importance, :confidence, :is_pinned,
    :is_archived, :origin, :trust, :quote, :conversation_id, :subject, :attribute, :valid_from, :valid_to,
    :superseded_by, :created_at, :updated_at, :last_accessed_at, :access_count, :version, :deleted_at, :sources,
    :checksum
)
ON CONFLICT DO NOTHING RETURNING number;

-- name: update_memory
-- Everything of a memory that can change.
UPDATE memories SET
    memory_type = :memory_type, category = :category, content = :content, content_key = :content_key,
    importance = :importance, confidence = :confidence, is_pinned = :is_pinned, is_archived = :is_archived,
    trust = :trust, quote = :quote, conversation_id = :conversation_id, valid_to = :valid_to,
    superseded_by = :superseded_by, updated_at = :updated_at, version = :version, deleted_at = :deleted_at,
    sources = :sources, checksum = :checksum
WHERE {of_user} AND id = :id;

-- name: touch_memories
-- Memories that were shown to a model.
UPDATE memories SET access_count = access_count + 1, last_accessed_at = :at
WHERE {of_user} AND id {in_ids};

-- name: memory_place
-- The places of a memory in all lists.
SELECT number, importance FROM memories WHERE {of_user} AND id = :id;

-- name: newest_memories
-- Memories by filter, newest first.
SELECT number, {memory_columns} FROM memories
WHERE {of_user} AND number < :before AND {memory_filters}
ORDER BY number DESC LIMIT :limit;

-- name: first_memories
-- Memories by filter, oldest first.
SELECT number, {memory_columns} FROM memories
WHERE {of_user} AND number > :before AND {memory_filters}
ORDER BY number LIMIT :limit;

-- name: weightiest_memories
-- Memories by filter, those that matter most first, then newest first.
SELECT number, {memory_columns} FROM memories
WHERE {of_user} AND (importance, number) < (:importance, :before) AND {memory_filters}
ORDER BY importance DESC, number DESC LIMIT :limit;

-- snippet: memory_filters
deleted_at IS NULL
    AND (CAST(:since AS BIGINT) IS NULL OR created_at >= :since)
    AND (CAST(:until AS BIGINT) IS NULL OR created_at < :until)
    AND (CAST(:memory_type AS TEXT) IS NULL OR memory_type = :memory_type)
    AND (CAST(:category AS TEXT) IS NULL OR category = :category)
    AND (CAST(:origin AS TEXT) IS NULL OR origin = :origin)
    AND (CAST(:trust AS TEXT) IS NULL OR trust = :trust)
    AND (CAST(:conversation_id AS TEXT) IS NULL OR conversation_id = :conversation_id)
    AND is_pinned {in_flags_pinned} AND is_archived {in_flags_archived}
    AND (CAST(:as_of AS BIGINT) IS NOT NULL OR (superseded_by IS NULL AND valid_to IS NULL))
    AND (CAST(:as_of AS BIGINT) IS NULL OR (
        COALESCE(valid_from, created_at) <= :as_of AND (valid_to IS NULL OR valid_to > :as_of)))

-- snippet: in_flags_pinned
IN (:pinned_low, :pinned_high)

-- snippet: in_flags_archived
IN (:archived_low, :archived_high)

-- name: delete_memory
-- One memory.
DELETE FROM memories WHERE {of_user} AND id = :id;

-- name: insert_source
-- A message that a memory was drawn from.
INSERT INTO memory_sources (tenant_id, user_id, conversation_id, message_id, memory_id)
VALUES (:tenant, :user, :conversation_id, :message_id, :memory_id)
ON CONFLICT (tenant_id, user_id, conversation_id, message_id, memory_id) DO NOTHING;

-- name: memories_of_message
-- The memories drawn from a message.
SELECT memory_id FROM memory_sources
WHERE {of_user} AND conversation_id = :conversation_id AND message_id = :message_id ORDER BY memory_id;

-- name: memories_of_conversation
-- The memories drawn from a conversation or added to it.
SELECT memory_id FROM memory_sources WHERE {of_user} AND conversation_id = :conversation_id
UNION
SELECT id FROM memories WHERE {of_user} AND conversation_id = :conversation_id
ORDER BY 1;

-- name: delete_sources
-- Every source of a memory that no longer says which it has; walks all sources of the user.
DELETE FROM memory_sources WHERE {of_user} AND memory_id = :memory_id;

-- name: delete_source
-- One source of a memory.
DELETE FROM memory_sources
WHERE {of_user} AND conversation_id = :conversation_id AND message_id = :message_id AND memory_id = :memory_id;

-- name: memories_superseded_by
-- The memories that one memory took the place of, held.
SELECT {memory_columns} FROM memories WHERE {of_user} AND superseded_by = :id ORDER BY number {for_update};

-- name: insert_memory_version
-- A memory as it was before a change.
INSERT INTO memory_versions (tenant_id, user_id, memory_id, version, memory, until, checksum)
VALUES (:tenant, :user, :memory_id, :version, :memory, :until, :checksum)
ON CONFLICT (tenant_id, user_id, memory_id, version) DO NOTHING;

-- name: memory_versions
-- What a memory was before, newest first.
SELECT memory_id, version, memory, until, checksum FROM memory_versions WHERE {of_user} AND memory_id = :id ORDER BY version DESC;

-- name: delete_memory_versions
-- What a memory was before.
DELETE FROM memory_versions WHERE {of_user} AND memory_id = :id;

-- name: all_memory_ids
-- The ids of all memories of a user, held.
SELECT id FROM memories WHERE {of_user} ORDER BY number {for_update};
