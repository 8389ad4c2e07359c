-- snippet: conversation_columns
number, id, agent, title, title_source, metadata, head_id, message_count, summary, created_at, updated_at,
last_activity_at, version, next_seq, extracted_seq, revision, rewritten, is_archived, is_pinned, is_active, is_branched,
has_erased, checksum

-- name: find_conversation
-- One conversation.
SELECT {conversation_columns} FROM conversations
WHERE tenant_id = :tenant AND user_id = :user AND id = :id;

-- name: find_conversations
-- These conversations.
SELECT {conversation_columns} FROM conversations
WHERE tenant_id = :tenant AND user_id = :user AND id {in_ids};

-- name: lock_conversation
-- One conversation, held until the transaction ends.
SELECT {conversation_columns} FROM conversations
WHERE tenant_id = :tenant AND user_id = :user AND id = :id {for_update};

-- name: add_user
-- A user, if new.
INSERT INTO users (tenant_id, user_id, created_at) VALUES (:tenant, :user, :at)
ON CONFLICT (tenant_id, user_id) DO NOTHING;

-- name: lock_user
-- The revision of a user's memories, held until the transaction ends, so that two writers of memories take turns.
SELECT memory_revision FROM users WHERE tenant_id = :tenant AND user_id = :user {for_update};

-- name: add_agent
-- An agent of a user, if new.
INSERT INTO agents (tenant_id, user_id, agent, created_at) VALUES (:tenant, :user, :agent, :at)
ON CONFLICT (tenant_id, user_id, agent) DO NOTHING;

-- name: lock_agent
-- An agent of a user, held until the transaction ends.
SELECT agent FROM agents
WHERE tenant_id = :tenant AND user_id = :user AND agent = :agent {for_update};

-- name: list_agents
-- The names of a user's agents.
SELECT agent FROM agents WHERE tenant_id = :tenant AND user_id = :user ORDER BY agent;

-- name: insert_conversation
-- A new conversation; nothing if the id is taken.
INSERT INTO conversations (
    tenant_id, user_id, id, agent, title, title_source, is_archived, is_pinned, metadata, head_id,
    message_count, summary, created_at, updated_at, last_activity_at, is_active, version, next_seq,
    is_branched, extracted_seq, revision, rewritten, has_erased, checksum
) VALUES (
    :tenant, :user, :id, :agent, :title, :title_source, :is_archived, :is_pinned, :metadata, :head_id,
    :message_count, :summary, :created_at, :updated_at, :last_activity_at, :is_active, :version, :next_seq,
    :is_branched, :extracted_seq, :revision, :rewritten, :has_erased, :checksum
) ON CONFLICT (tenant_id, user_id, id) DO NOTHING;

-- name: update_conversation
-- Everything of a conversation that can change.
UPDATE conversations SET
    title = :title, title_source = :title_source, is_archived = :is_archived, is_pinned = :is_pinned,
    metadata = :metadata, head_id = :head_id, message_count = :message_count, summary = :summary,
    updated_at = :updated_at, last_activity_at = :last_activity_at, is_active = :is_active,
    version = :version, next_seq = :next_seq, is_branched = :is_branched, extracted_seq = :extracted_seq,
    revision = :revision, rewritten = :rewritten, has_erased = :has_erased, checksum = :checksum
WHERE tenant_id = :tenant AND user_id = :user AND number = :number;

-- snippet: of_list
tenant_id = :tenant AND user_id = :user AND agent = :agent AND is_archived = :archived AND is_active = :active

-- name: newest_conversations
-- The newest conversations of one agent, active or not.
SELECT {conversation_columns} FROM conversations
WHERE {of_list}
ORDER BY last_activity_at DESC, id DESC
LIMIT :limit;

-- name: older_conversations
-- The conversations of one agent, active or not, after a position.
SELECT {conversation_columns} FROM conversations
WHERE {of_list} AND (last_activity_at, id) < (:activity, :after_id)
ORDER BY last_activity_at DESC, id DESC
LIMIT :limit;

-- name: pinned_conversations
-- The pinned ones of these; they have an index of their own.
SELECT {conversation_columns} FROM conversations
WHERE {of_list} AND is_pinned AND (last_activity_at, id) < (:activity, :after_id)
ORDER BY last_activity_at DESC, id DESC
LIMIT :limit;

-- name: unpinned_conversations
-- Those of these that are not pinned; the pinned ones among them are passed by.
SELECT {conversation_columns} FROM conversations
WHERE {of_list} AND NOT is_pinned AND (last_activity_at, id) < (:activity, :after_id)
ORDER BY last_activity_at DESC, id DESC
LIMIT :limit;

-- name: titled_conversations
-- The titles that a person gave to conversations of one agent, after a position, newest activity first.
SELECT title, last_activity_at, id, is_pinned FROM conversations
WHERE tenant_id = :tenant AND user_id = :user AND agent = :agent AND is_archived = :archived
    AND title_source = 'user' AND (last_activity_at, id) < (:activity, :after_id)
ORDER BY last_activity_at DESC, id DESC
LIMIT :limit;

-- name: oldest_conversations
-- The conversations of one agent whose last activity is at or before a time, longest idle first.
SELECT {conversation_columns} FROM conversations
WHERE tenant_id = :tenant AND user_id = :user AND agent = :agent AND is_archived = :archived
    AND is_active = :active AND last_activity_at <= :before
ORDER BY last_activity_at, id
LIMIT :limit;

-- name: idle_conversations
-- Active conversations of one agent whose last activity is at or before a time, longest idle first, held.
SELECT {conversation_columns} FROM conversations
WHERE tenant_id = :tenant AND user_id = :user AND agent = :agent AND is_archived = :archived
    AND is_active = :active AND last_activity_at <= :before
ORDER BY last_activity_at, id
LIMIT :limit {for_update};

-- name: delete_conversation
-- The row of a conversation.
DELETE FROM conversations WHERE tenant_id = :tenant AND user_id = :user AND number = :number;

-- name: conversation_ids
-- The ids of all conversations of a user, held.
SELECT id FROM conversations WHERE tenant_id = :tenant AND user_id = :user ORDER BY number {for_update};

-- name: numbered_conversations
-- All conversations of a user by number, damaged or not, held.
SELECT number, id FROM conversations WHERE tenant_id = :tenant AND user_id = :user ORDER BY number {for_update};

-- name: quarantine
-- A record that no longer matches its checksum.
INSERT INTO quarantine (tenant_id, user_id, kind, id, detected_at) VALUES (:tenant, :user, :kind, :id, :at)
ON CONFLICT (tenant_id, user_id, kind, id) DO NOTHING;

-- name: list_quarantine
-- The records of a user that no longer match their checksums.
SELECT kind, id, detected_at FROM quarantine
WHERE tenant_id = :tenant AND user_id = :user ORDER BY kind, id;

-- name: delete_quarantined
-- Records that are gone.
DELETE FROM quarantine WHERE tenant_id = :tenant AND user_id = :user AND kind = :kind AND id {in_ids};

-- name: delete_quarantine
-- A record that is gone or sound again.
DELETE FROM quarantine WHERE tenant_id = :tenant AND user_id = :user AND kind = :kind AND id = :id;
