-- name: count_conversations
-- How many conversations a user has, archived and not, and how many messages they have.
SELECT is_archived, COUNT(*), SUM(message_count) FROM conversations WHERE {of_user} GROUP BY is_archived;

-- name: count_memories
-- How many memories a user has of each kind, and how long they are; in the order of `kind_of`.
SELECT
    CASE
        WHEN superseded_by IS NOT NULL OR valid_to IS NOT NULL THEN 'superseded'
        WHEN trust = 'pending' THEN 'pending'
        WHEN trust = 'rejected' THEN 'rejected'
        WHEN is_archived THEN 'archived'
        ELSE 'active'
    END AS state,
    memory_type, category, origin, COUNT(*), SUM({content_bytes})
FROM memories WHERE {of_user} AND deleted_at IS NULL
GROUP BY 1, memory_type, category, origin;

-- name: count_superseded
-- How many memories stopped to hold on each day of a period.
SELECT (COALESCE(valid_to, updated_at) - :start) / :day, COUNT(*) FROM memories
WHERE {of_user} AND deleted_at IS NULL AND (superseded_by IS NOT NULL OR valid_to IS NOT NULL)
    AND COALESCE(valid_to, updated_at) >= :start AND COALESCE(valid_to, updated_at) < :end
GROUP BY 1;

-- name: count_learned
-- How many memories were stored on each day of a period.
SELECT (at - :start) / :day, COUNT(*) FROM audit
WHERE {of_user} AND at >= :start AND at < :end AND action = 'create' AND kind = 'memory'
GROUP BY 1;

-- name: erasures_between
-- What the audit trail tells of erasures in a period.
SELECT id, at, agent, action, kind, entity_id, detail FROM audit
WHERE {of_user} AND at >= :start AND at < :end AND action = 'erase';

-- name: bytes_of_messages
-- How long the messages of a user are; CROSS keeps SQLite from walking the messages of all users.
SELECT SUM({content_bytes}) FROM conversations c CROSS JOIN messages m
WHERE c.tenant_id = :tenant AND c.user_id = :user
    AND m.tenant_id = :tenant AND m.user_id = :user AND m.conversation_no = c.number;

-- name: bytes_of_notes
-- How long the notes of a user are.
SELECT SUM({notes_bytes}) FROM notes WHERE {of_user};

-- name: count_jobs
-- How many jobs of a user are in each state.
SELECT state, COUNT(*) FROM jobs WHERE {of_user} GROUP BY state;
