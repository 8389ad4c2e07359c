-- snippet: job_columns
id, kind, conversation_id, key, payload, state, attempts, max_attempts, run_at, lease_until, worker, error,
created_at, updated_at, checksum

-- name: find_job
-- One job.
SELECT {job_columns} FROM jobs WHERE {of_user} AND id = :id;

-- name: lock_job
-- One job, held until the transaction ends.
SELECT {job_columns} FROM jobs WHERE {of_user} AND id = :id {for_update};

-- name: queued_job
-- The queued job with a key.
SELECT {job_columns} FROM jobs WHERE {of_user} AND key = :key AND state = 'queued' {for_update};

-- name: insert_job
-- One job.
INSERT INTO jobs (
    tenant_id, user_id, agent, id, kind, conversation_id, key, payload, state, attempts, max_attempts, run_at,
    lease_until, worker, error, created_at, updated_at, checksum
) VALUES (
    :tenant, :user, :agent, :id, :kind, :conversation_id, :key, :payload, :state, :attempts, :max_attempts, :run_at,
    :lease_until, :worker, :error, :created_at, :updated_at, :checksum
) ON CONFLICT (tenant_id, user_id, id) DO NOTHING;

-- name: update_job
-- Everything of a job that can change.
UPDATE jobs SET
    payload = :payload, state = :state, attempts = :attempts, run_at = :run_at, lease_until = :lease_until,
    worker = :worker, error = :error, updated_at = :updated_at, checksum = :checksum
WHERE {of_user} AND id = :id;

-- name: quiet_damaged_job
-- A damaged job without what it quotes; it stays damaged, for it to be found.
UPDATE jobs SET error = NULL WHERE {of_user} AND id = :id;

-- name: kill_job
-- A damaged job, by its place.
UPDATE jobs SET state = 'dead', lease_until = NULL, worker = NULL WHERE {of_user} AND number = :number;

-- name: job_number
-- The place of a job in the list.
SELECT number FROM jobs WHERE {of_user} AND id = :id;

-- name: page_jobs
-- Jobs by filter, newest first.
SELECT {job_columns} FROM jobs
WHERE {of_user} AND number < :before
    AND (CAST(:state AS TEXT) IS NULL OR state = :state)
    AND (CAST(:conversation_id AS TEXT) IS NULL OR conversation_id = :conversation_id)
ORDER BY number DESC LIMIT :limit;

-- name: delete_conversation_jobs
-- The jobs of a conversation.
DELETE FROM jobs WHERE {of_user} AND conversation_id = :conversation_id;

-- name: delete_jobs
-- All jobs of a user.
DELETE FROM jobs WHERE {of_user};

-- name: delete_done_jobs
-- Finished jobs that ended before a time.
DELETE FROM jobs WHERE {of_user} AND state = 'done' AND updated_at < :before;

-- name: telling_jobs
-- The jobs of all conversations whose errors may quote, and those under way, held.
SELECT {job_columns} FROM jobs
WHERE {of_user} AND conversation_id IS NOT NULL AND (error IS NOT NULL OR state = 'running')
ORDER BY number {for_update};

-- name: conversation_jobs
-- The jobs of a conversation, held.
SELECT {job_columns} FROM jobs WHERE {of_user} AND conversation_id = :conversation_id ORDER BY number {for_update};
