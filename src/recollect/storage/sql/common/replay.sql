-- What a restore must know of erasures, of all users; each write that follows from it names its scope.

-- name: all_tombstones
-- The marks of everything erased.
SELECT tenant_id, user_id, kind, digest, created_at FROM tombstones;

-- name: all_erasures
-- The receipts of all erasures, oldest first.
SELECT tenant_id, user_id, agent, id, at, kind, entity_id, detail FROM audit
WHERE action = 'erase' ORDER BY number;

-- name: conversations_with_erased
-- The conversations that something was erased from.
SELECT tenant_id, user_id, id, agent, created_at FROM conversations WHERE has_erased = :yes;

-- name: message_ids_of_user
-- The ids of all messages of a user, each with that of its conversation.
SELECT c.id, m.id FROM messages m JOIN conversations c
    ON c.tenant_id = m.tenant_id AND c.user_id = m.user_id AND c.number = m.conversation_no
WHERE m.tenant_id = :tenant AND m.user_id = :user ORDER BY m.number;

-- name: statements_of_user
-- What all memories of a user say.
SELECT id, content FROM memories WHERE {of_user} ORDER BY number;

-- name: sources_without_message
-- The messages that memories cite although they are gone: whoever erased these chose to keep the memories.
SELECT s.tenant_id, s.user_id, s.conversation_id, s.message_id FROM memory_sources s
WHERE NOT EXISTS (
    SELECT 1 FROM conversations c JOIN messages m
        ON m.tenant_id = c.tenant_id AND m.user_id = c.user_id AND m.conversation_no = c.number
    WHERE c.tenant_id = s.tenant_id AND c.user_id = s.user_id AND c.id = s.conversation_id AND m.id = s.message_id);

-- name: oldest_memories
-- When the oldest memory was made that belongs to a conversation.
SELECT tenant_id, user_id, conversation_id, MIN(created_at) FROM memories
WHERE conversation_id IS NOT NULL GROUP BY tenant_id, user_id, conversation_id;
