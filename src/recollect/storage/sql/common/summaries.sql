-- snippet: summary_columns
id, message_id, content, generator, level, first_seq, last_seq, last_message_id, message_count, start_at, end_at,
created_at, message_ids, folds, folded_into, metadata, checksum

-- name: find_summary
-- One summary.
SELECT {summary_columns} FROM summaries WHERE {of_conversation} AND id = :id;

-- name: find_summaries
-- These summaries, in order of what they cover.
SELECT {summary_columns} FROM summaries WHERE {of_conversation} AND id {in_ids} ORDER BY first_seq, level;

-- name: active_summaries
-- The active summaries whose range ends in a range of places, in order.
SELECT {summary_columns} FROM summaries
WHERE {of_conversation} AND folded_into IS NULL AND last_seq >= :first AND last_seq <= :last
ORDER BY last_seq, level, id;

-- name: overlapping_summaries
-- The summaries of messages that meet a range of places, folded or not.
SELECT {summary_columns} FROM summaries
WHERE {of_conversation} AND level = 0 AND last_seq >= :first AND first_seq <= :last
ORDER BY last_seq;

-- name: covering_summaries
-- Every summary, folded or not, whose range holds a place.
SELECT {summary_columns} FROM summaries
WHERE {of_conversation} AND first_seq <= :seq AND last_seq >= :seq
ORDER BY level DESC, last_seq;

-- name: insert_summary
-- One summary.
INSERT INTO summaries (
    tenant_id, user_id, conversation_no, id, message_id, content, generator, level, first_seq, last_seq,
    last_message_id, message_count, start_at, end_at, created_at, message_ids, folds, folded_into, metadata, checksum
) VALUES (
    :tenant, :user, :conversation, :id, :message_id, :content, :generator, :level, :first_seq, :last_seq,
    :last_message_id, :message_count, :start_at, :end_at, :created_at, :message_ids, :folds, :folded_into, :metadata,
    :checksum
);

-- name: fold_summary
-- Put a summary under the one that takes its place, or bring it back.
UPDATE summaries SET folded_into = :folded_into, checksum = :checksum WHERE {of_conversation} AND id = :id;

-- name: empty_summary
-- Take the words from a summary, which stays in its place.
UPDATE summaries SET content = :content, metadata = :metadata, folded_into = :folded_into, checksum = :checksum
WHERE {of_conversation} AND id = :id;

-- name: delete_summary
-- One summary.
DELETE FROM summaries WHERE {of_conversation} AND id = :id;

-- name: delete_summaries
-- All summaries of a conversation.
DELETE FROM summaries WHERE {of_conversation};
