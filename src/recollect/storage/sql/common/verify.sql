-- Walks through whole tables, for `recollect db check`: they name no scope and run only outside of the service.
-- Each row starts with its tenant and user.

-- snippet: conversation_of
(SELECT c.id FROM conversations c
    WHERE c.number = conversation_no AND c.tenant_id = t.tenant_id AND c.user_id = t.user_id)

-- snippet: messages_of
FROM messages m WHERE m.conversation_no = t.number AND m.tenant_id = t.tenant_id AND m.user_id = t.user_id

-- name: walk_conversations
-- All conversations.
SELECT tenant_id, user_id, {conversation_columns} FROM conversations;

-- name: walk_messages
-- All messages, each with the id of its conversation.
SELECT tenant_id, user_id, {conversation_of}, {message_columns} FROM messages t;

-- name: walk_turns
-- All turns, each with the id of its conversation.
SELECT tenant_id, user_id, {conversation_of}, {turn_columns} FROM turns t;

-- name: walk_archive_batches
-- All archived batches, each with the id of its conversation.
SELECT tenant_id, user_id, {conversation_of},
    id, digest, archived, duplicates, refused, start_at, end_at, archived_at, checksum
FROM archive_batches t;

-- name: walk_summaries
-- All summaries, each with the id of its conversation.
SELECT tenant_id, user_id, {conversation_of}, {summary_columns} FROM summaries t;

-- name: walk_memories
-- All memories.
SELECT tenant_id, user_id, {memory_columns} FROM memories;

-- name: walk_memory_versions
-- What all memories were before.
SELECT tenant_id, user_id, memory_id, version, memory, until, checksum FROM memory_versions;

-- name: walk_jobs
-- All jobs.
SELECT tenant_id, user_id, {job_columns} FROM jobs;

-- name: walk_notes
-- All notes.
SELECT tenant_id, user_id, agent, notes, version, created_at, updated_at, checksum FROM notes;

-- name: walk_note_versions
-- What all notes were before.
SELECT tenant_id, user_id, agent, version, notes, operation, conversation_id, created_at, checksum
FROM note_versions;

-- name: walk_requests
-- All requests.
SELECT tenant_id, user_id, key, digest, started_at, lease_until, status, body, checksum FROM requests;

-- name: walk_memory_sources
-- Which memories were drawn from which messages.
SELECT tenant_id, user_id, conversation_id, message_id, memory_id FROM memory_sources;

-- name: walk_repeats
-- What the replies that are stored repeat.
SELECT r.tenant_id, r.user_id, r.source_conversation_id, r.source_id, r.conversation_id, r.message_id, r.seq
FROM repeats r
JOIN conversations c ON c.tenant_id = r.tenant_id AND c.user_id = r.user_id AND c.id = r.conversation_id
JOIN messages m ON m.tenant_id = r.tenant_id AND m.user_id = r.user_id AND m.conversation_no = c.number
    AND m.id = r.message_id;

-- name: walk_counters
-- All conversations, with what they say of their messages beside what is so.
SELECT tenant_id, user_id, id, message_count, next_seq, extracted_seq, head_id,
    (SELECT COUNT(*) {messages_of}), (SELECT MAX(m.seq) {messages_of}),
    (SELECT COUNT(*) {messages_of} AND m.id = t.head_id)
FROM conversations t;

-- name: summarised_ids
-- The messages that the summaries of one conversation stand for.
SELECT message_ids FROM summaries WHERE {of_conversation} AND level = 0;

-- name: walk_vectors
-- All vectors, and everything that could have one.
SELECT tenant_id, user_id, kind, number, model, {vector_bytes}, checksum FROM vectors v;

-- name: walk_stray_vectors
-- The vectors of texts that are not there.
SELECT tenant_id, user_id, kind, number FROM vectors v WHERE NOT EXISTS (
    SELECT 1 FROM messages m WHERE v.kind = 'message'
        AND m.tenant_id = v.tenant_id AND m.user_id = v.user_id AND m.number = v.number
) AND NOT EXISTS (
    SELECT 1 FROM memories m WHERE v.kind = 'memory' AND m.deleted_at IS NULL
        AND m.tenant_id = v.tenant_id AND m.user_id = v.user_id AND m.number = v.number
);
