-- Walks through whole tables, for `recollect db check`: they name no scope and run only outside of the service.
-- Each row starts with its place in the walk, then its tenant and user.

-- snippet: conversation_of
(SELECT c.id FROM conversations c
    WHERE c.number = conversation_no AND c.tenant_id = t.tenant_id AND c.user_id = t.user_id)

-- name: walk_conversations
-- All conversations.
SELECT number, tenant_id, user_id, {conversation_columns} FROM conversations
WHERE number > :after ORDER BY number LIMIT :limit;

-- name: walk_messages
-- All messages, each with the id of its conversation.
SELECT number, tenant_id, user_id, {conversation_of}, {message_columns} FROM messages t
WHERE number > :after ORDER BY number LIMIT :limit;

-- name: walk_turns
-- All turns, each with the id of its conversation.
SELECT number, tenant_id, user_id, {conversation_of},
    id, status, mode, metadata, input_tokens, output_tokens, memory_ids, created_at, checksum
FROM turns t WHERE number > :after ORDER BY number LIMIT :limit;

-- name: walk_archive_batches
-- All archived batches, each with the id of its conversation.
SELECT number, tenant_id, user_id, {conversation_of},
    id, digest, archived, duplicates, refused, start_at, end_at, archived_at, checksum
FROM archive_batches t WHERE number > :after ORDER BY number LIMIT :limit;

-- name: walk_summaries
-- All summaries, each with the id of its conversation.
SELECT number, tenant_id, user_id, {conversation_of}, {summary_columns} FROM summaries t
WHERE number > :after ORDER BY number LIMIT :limit;

-- name: walk_memories
-- All memories.
SELECT number, tenant_id, user_id, {memory_columns} FROM memories
WHERE number > :after ORDER BY number LIMIT :limit;

-- name: walk_memory_versions
-- What all memories were before.
SELECT number, tenant_id, user_id, memory_id, version, memory, until, checksum FROM memory_versions
WHERE number > :after ORDER BY number LIMIT :limit;

-- name: walk_jobs
-- All jobs.
SELECT number, tenant_id, user_id, {job_columns} FROM jobs
WHERE number > :after ORDER BY number LIMIT :limit;

-- name: walk_notes
-- All notes.
SELECT tenant_id, user_id, agent, tenant_id, user_id, agent, notes, version, created_at, updated_at, checksum
FROM notes WHERE (tenant_id, user_id, agent) > (:tenant, :user, :agent)
ORDER BY tenant_id, user_id, agent LIMIT :limit;

-- name: walk_note_versions
-- What all notes were before.
SELECT tenant_id, user_id, agent, version, tenant_id, user_id,
    agent, version, notes, operation, conversation_id, created_at, checksum
FROM note_versions WHERE (tenant_id, user_id, agent, version) > (:tenant, :user, :agent, :version)
ORDER BY tenant_id, user_id, agent, version LIMIT :limit;

-- name: walk_requests
-- All requests.
SELECT tenant_id, user_id, key, tenant_id, user_id, key, digest, started_at, lease_until, status, body, checksum
FROM requests WHERE (tenant_id, user_id, key) > (:tenant, :user, :key)
ORDER BY tenant_id, user_id, key LIMIT :limit;

-- name: walk_memory_sources
-- Which memories were drawn from which messages.
SELECT tenant_id, user_id, conversation_id, message_id, memory_id,
    tenant_id, user_id, conversation_id, message_id, memory_id
FROM memory_sources
WHERE (tenant_id, user_id, conversation_id, message_id, memory_id)
    > (:tenant, :user, :conversation_id, :message_id, :memory_id)
ORDER BY tenant_id, user_id, conversation_id, message_id, memory_id LIMIT :limit;

-- name: walk_counters
-- All conversations, with what they say of their messages beside what is so.
SELECT number, tenant_id, user_id, id, message_count, next_seq, extracted_seq, head_id,
    (SELECT COUNT(*) FROM messages m WHERE m.conversation_no = t.number),
    (SELECT MAX(m.seq) FROM messages m WHERE m.conversation_no = t.number),
    (SELECT COUNT(*) FROM messages m WHERE m.conversation_no = t.number AND m.id = t.head_id)
FROM conversations t WHERE number > :after ORDER BY number LIMIT :limit;

-- name: summarised_ids
-- The messages that the summaries of one conversation stand for, by its number.
SELECT message_ids FROM summaries WHERE conversation_no = :conversation AND level = 0;

-- name: walk_texts
-- The words of all messages.
SELECT number, tenant_id, user_id, content FROM messages
WHERE number > :after ORDER BY number LIMIT :limit;
