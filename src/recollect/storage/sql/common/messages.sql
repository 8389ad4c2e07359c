-- snippet: message_columns
seq, id, parent_id, turn_id, role, name, content, status, created_at, tool_call_id, payload, checksum

-- snippet: of_conversation
tenant_id = :tenant AND user_id = :user AND conversation_no = :conversation

-- name: insert_message
-- One message; its number is given back.
INSERT INTO messages (
    tenant_id, user_id, conversation_no, seq, id, parent_id, turn_id, role, name, content, status,
    created_at, tool_call_id, payload, checksum
) VALUES (
    :tenant, :user, :conversation, :seq, :id, :parent_id, :turn_id, :role, :name, :content, :status,
    :created_at, :tool_call_id, :payload, :checksum
);

-- name: has_message
-- Whether a message is stored.
SELECT id FROM messages WHERE {of_conversation} AND id = :id;

-- name: which_messages
-- Which of these messages are stored.
SELECT id FROM messages WHERE {of_conversation} AND id {in_ids};

-- name: find_message
-- One message.
SELECT {message_columns} FROM messages WHERE {of_conversation} AND id = :id;

-- name: find_messages
-- These messages, in order.
SELECT {message_columns} FROM messages WHERE {of_conversation} AND id {in_ids} ORDER BY seq;

-- name: holding_message
-- The conversations with a message of this id, the newest message first.
SELECT c.id FROM messages m
JOIN conversations c ON c.tenant_id = m.tenant_id AND c.user_id = m.user_id AND c.number = m.conversation_no
WHERE m.tenant_id = :tenant AND m.user_id = :user AND m.id = :id
ORDER BY m.number DESC LIMIT :limit;

-- name: message_seq
-- The place of a message.
SELECT seq, parent_id FROM messages WHERE {of_conversation} AND id = :id;

-- name: messages_before
-- Messages before a place, newest first.
SELECT {message_columns} FROM messages WHERE {of_conversation} AND seq < :seq
ORDER BY seq DESC LIMIT :limit;

-- name: messages_after
-- Messages after a place, oldest first.
SELECT {message_columns} FROM messages WHERE {of_conversation} AND seq > :seq
ORDER BY seq LIMIT :limit;

-- name: path_before
-- The messages that lead to one message, newest first, that one included.
-- CROSS keeps SQLite from walking the conversation at each step instead of looking the parent up.
WITH RECURSIVE path (message_id, next_id, depth) AS (
    SELECT id, parent_id, 1 FROM messages WHERE {of_conversation} AND id = :id
    UNION ALL
    SELECT m.id, m.parent_id, path.depth + 1 FROM path CROSS JOIN messages m
    WHERE m.id = path.next_id AND m.tenant_id = :tenant AND m.user_id = :user AND m.conversation_no = :conversation
        AND path.depth < :limit
)
SELECT {message_columns} FROM messages
WHERE {of_conversation} AND id IN (SELECT message_id FROM path)
ORDER BY seq DESC;

-- name: path_seqs
-- The places of the messages that lead from one place to a message, oldest first, each with its parent.
WITH RECURSIVE path (message_seq, next_id) AS (
    SELECT seq, parent_id FROM messages WHERE {of_conversation} AND id = :id
    UNION ALL
    SELECT m.seq, m.parent_id FROM path CROSS JOIN messages m
    WHERE m.id = path.next_id AND m.tenant_id = :tenant AND m.user_id = :user AND m.conversation_no = :conversation
        AND m.seq > :after
)
SELECT message_seq, next_id FROM path WHERE message_seq > :after ORDER BY message_seq;

-- name: messages_between
-- The messages of a range of places, in order.
SELECT {message_columns} FROM messages
WHERE {of_conversation} AND seq >= :first AND seq <= :last ORDER BY seq;

-- name: messages_to_erase
-- What must be known of messages to remove them.
SELECT number, {message_columns} FROM messages WHERE {of_conversation} ORDER BY seq;

-- name: message_to_erase
-- What must be known of one message to remove it.
SELECT number, {message_columns} FROM messages WHERE {of_conversation} AND id = :id;

-- name: times_around
-- When the user began the turn of this message and when the next one.
SELECT
    (SELECT created_at FROM messages WHERE {of_conversation} AND seq <= :seq AND role = 'user'
     ORDER BY seq DESC LIMIT 1),
    (SELECT created_at FROM messages WHERE {of_conversation} AND seq > :seq AND role = 'user' ORDER BY seq LIMIT 1);

-- name: delete_message
-- One message.
DELETE FROM messages WHERE {of_conversation} AND id = :id;

-- name: delete_messages
-- All messages of a conversation.
DELETE FROM messages WHERE {of_conversation};

-- name: children
-- The messages that answer one message.
SELECT {message_columns} FROM messages WHERE {of_conversation} AND parent_id = :id ORDER BY seq;

-- name: answers
-- The ids of the messages that answer some of these, each with the one that it answers.
SELECT parent_id, id, seq FROM messages WHERE {of_conversation} AND parent_id {in_ids} ORDER BY seq;

-- name: roots
-- The ids of the messages that answer none.
SELECT parent_id, id, seq FROM messages WHERE {of_conversation} AND parent_id IS NULL ORDER BY seq;

-- name: run_starts
-- From a place on, the messages that do not answer the one before them, each with the place of what it answers and with
-- the message before it.
SELECT seq, (
    SELECT p.seq FROM messages p
    WHERE p.tenant_id = :tenant AND p.user_id = :user AND p.conversation_no = :conversation AND p.id = walked.parent_id
) AS parent_seq, before_seq, before_id
FROM (
    SELECT seq, parent_id, LAG(seq) OVER in_order AS before_seq, LAG(id) OVER in_order AS before_id
    FROM messages WHERE {of_conversation} AND seq >= :first
    WINDOW in_order AS (ORDER BY seq)
) walked
WHERE before_id IS NULL OR parent_id IS NULL OR parent_id <> before_id
ORDER BY seq;

-- name: last_message
-- The last message of a conversation, on whichever branch.
SELECT seq, id FROM messages WHERE {of_conversation} ORDER BY seq DESC LIMIT 1;

-- name: move_message
-- A message under another parent.
UPDATE messages SET parent_id = :parent_id, checksum = :checksum WHERE {of_conversation} AND id = :id;

-- name: numbered_messages
-- Messages of one user by number, each with its conversation.
-- CROSS keeps SQLite from walking the user's conversations instead of looking the messages up.
SELECT c.id, m.number, m.seq, m.id, m.parent_id, m.turn_id, m.role, m.name, m.content, m.status, m.created_at,
    m.tool_call_id, m.payload, m.checksum
FROM messages m CROSS JOIN conversations c
WHERE c.number = m.conversation_no AND m.tenant_id = :tenant AND m.user_id = :user
    AND c.tenant_id = :tenant AND c.user_id = :user AND m.number {in_numbers};

-- name: matching_places
-- Messages of one user by number, each with the place of its conversation among the others; CROSS as above.
SELECT m.number, c.id, c.agent, c.is_archived, c.is_pinned, c.last_activity_at
FROM messages m CROSS JOIN conversations c
WHERE c.number = m.conversation_no AND m.tenant_id = :tenant AND m.user_id = :user
    AND c.tenant_id = :tenant AND c.user_id = :user AND m.number {in_numbers};

-- snippet: turn_columns
id, status, mode, metadata, input_tokens, output_tokens, memory_ids, created_at, context, checksum

-- name: insert_turn
-- One turn.
INSERT INTO turns (
    tenant_id, user_id, conversation_no, id, status, mode, metadata, input_tokens, output_tokens, memory_ids,
    created_at, context, checksum
) VALUES (
    :tenant, :user, :conversation, :id, :status, :mode, :metadata, :input_tokens, :output_tokens, :memory_ids,
    :created_at, :context, :checksum
);

-- name: has_turn
-- Whether a turn is stored.
SELECT id FROM turns WHERE {of_conversation} AND id = :id;

-- name: find_turns
-- These turns, oldest first.
SELECT {turn_columns} FROM turns WHERE {of_conversation} AND id {in_ids} ORDER BY number;

-- name: list_turns
-- The turns of a conversation, oldest first.
SELECT {turn_columns} FROM turns WHERE {of_conversation} ORDER BY number;

-- name: delete_turn
-- One turn.
DELETE FROM turns WHERE {of_conversation} AND id = :id;

-- name: delete_turns
-- The turns of a conversation.
DELETE FROM turns WHERE {of_conversation};

-- name: find_batch
-- The batch with this content, if it was archived before.
SELECT id, digest, archived, duplicates, refused, start_at, end_at, archived_at, checksum
FROM archive_batches WHERE {of_conversation} AND digest = :digest;

-- name: insert_batch
-- One archived batch.
INSERT INTO archive_batches (
    tenant_id, user_id, conversation_no, id, digest, archived, duplicates, refused, start_at, end_at, archived_at,
    checksum
) VALUES (
    :tenant, :user, :conversation, :id, :digest, :archived, :duplicates, :refused, :start_at, :end_at, :archived_at,
    :checksum
);

-- name: delete_batches
-- The batches of a conversation.
DELETE FROM archive_batches WHERE {of_conversation};

-- name: insert_tombstone
-- The mark of something erased.
INSERT INTO tombstones (tenant_id, user_id, kind, digest, created_at)
VALUES (:tenant, :user, :kind, :digest, :at)
ON CONFLICT (tenant_id, user_id, kind, digest) DO NOTHING;

-- name: which_tombstones
-- Which of these digests were erased.
SELECT digest FROM tombstones
WHERE tenant_id = :tenant AND user_id = :user AND kind = :kind AND digest {in_ids};

-- name: delete_tombstone
-- A mark that a person took back.
DELETE FROM tombstones
WHERE tenant_id = :tenant AND user_id = :user AND kind = :kind AND digest = :digest;
