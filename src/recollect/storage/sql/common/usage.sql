-- snippet: usage_columns
id, at, kind, model, conversation_id, job_id, input_tokens, output_tokens, calls, estimated, checksum

-- name: insert_usage
-- What was spent, unless it is entered already.
INSERT INTO usage (
    tenant_id, user_id, id, at, kind, model, conversation_id, job_id, input_tokens, output_tokens, calls, estimated,
    checksum
) VALUES (
    :tenant, :user, :id, :at, :kind, :model, :conversation_id, :job_id, :input_tokens, :output_tokens, :calls,
    :estimated, :checksum
) ON CONFLICT (tenant_id, user_id, id) DO NOTHING;

-- name: usage_of_period
-- What a user spent in a period.
SELECT {usage_columns} FROM usage WHERE {of_user} AND at >= :since AND at < :until;

-- name: usage_of_conversation
-- What was spent on a conversation in a period.
SELECT {usage_columns} FROM usage
WHERE {of_user} AND conversation_id = :conversation_id AND at >= :since AND at < :until;

-- name: all_usage_of_conversation
-- What was ever spent on a conversation.
SELECT {usage_columns} FROM usage WHERE {of_user} AND conversation_id = :conversation_id {for_update};

-- name: detach_usage
-- What was spent, without saying on what.
UPDATE usage SET conversation_id = NULL, job_id = NULL, checksum = :checksum WHERE {of_user} AND id = :id;

-- name: detach_damaged_usage
-- The same for an entry that was damaged and stays so.
UPDATE usage SET conversation_id = NULL, job_id = NULL WHERE {of_user} AND conversation_id = :conversation_id;

-- name: delete_usage
-- Everything that a user spent.
DELETE FROM usage WHERE {of_user};

-- name: walk_usage
-- What all users spent.
SELECT tenant_id, user_id, {usage_columns} FROM usage;
