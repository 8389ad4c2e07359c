-- snippet: for_update

-- snippet: in_ids
IN (SELECT value FROM json_each(:ids))

-- snippet: in_numbers
IN (SELECT value FROM json_each(:ids))

-- snippet: skip_locked

-- name: index_message
-- The terms of one message.
INSERT INTO message_terms (rowid, terms) VALUES (:number, :terms);

-- name: unindex_message
-- Take the terms of one message back; they must be those that were indexed.
INSERT INTO message_terms (message_terms, rowid, terms) VALUES ('delete', :number, :terms);

-- name: messages_with_term
-- The messages that hold one term.
SELECT rowid FROM message_terms WHERE message_terms MATCH :term;

-- name: due_jobs
-- Jobs that are due and jobs whose lease ran out, with their scopes, longest due first.
SELECT * FROM (
    SELECT run_at AS due, number, tenant_id, user_id, agent, {job_columns} FROM jobs
    WHERE state = 'queued' AND run_at <= :now
    UNION ALL
    SELECT lease_until AS due, number, tenant_id, user_id, agent, {job_columns} FROM jobs
    WHERE state = 'running' AND lease_until <= :now
)
WHERE :any_kind OR kind IN (SELECT value FROM json_each(:ids))
ORDER BY due, number LIMIT :limit;

-- name: postpone_message
-- A message to index later.
INSERT INTO message_backlog (number) VALUES (:number);

-- name: forget_postponed
-- A message that need not be indexed any more.
DELETE FROM message_backlog WHERE number = :number;

-- name: postponed_messages
-- The messages to index later.
SELECT b.number, m.tenant_id, m.user_id, m.content FROM message_backlog b JOIN messages m ON m.number = b.number
ORDER BY b.number;

-- name: empty_backlog
-- Nothing is left to index later.
DELETE FROM message_backlog;
