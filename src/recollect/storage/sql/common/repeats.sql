-- name: insert_repeat
-- A message or memory that a reply repeats.
INSERT INTO repeats (tenant_id, user_id, source_conversation_id, source_id, conversation_id, message_id, seq)
VALUES (:tenant, :user, :source_conversation_id, :source_id, :conversation_id, :message_id, :seq)
ON CONFLICT (tenant_id, user_id, source_conversation_id, source_id, conversation_id, message_id)
DO UPDATE SET seq = excluded.seq;

-- name: repeats_of_source
-- The replies that repeat one message or memory.
SELECT conversation_id, message_id, seq FROM repeats
WHERE {of_user} AND source_conversation_id = :source_conversation_id AND source_id = :source_id;

-- name: repeats_of_conversation
-- The replies that repeat any message of a conversation.
SELECT conversation_id, message_id, seq FROM repeats
WHERE {of_user} AND source_conversation_id = :source_conversation_id;

-- name: delete_repeats
-- What one reply repeats.
DELETE FROM repeats WHERE {of_user} AND conversation_id = :conversation_id AND message_id = :message_id;

-- name: delete_repeats_in
-- What the replies of a conversation repeat.
DELETE FROM repeats WHERE {of_user} AND conversation_id = :conversation_id;
