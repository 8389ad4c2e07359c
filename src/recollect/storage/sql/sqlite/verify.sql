-- name: walk_texts
-- The words of all messages, oldest first.
SELECT tenant_id, user_id, number, content FROM messages ORDER BY number;
