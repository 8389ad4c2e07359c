-- name: find_note
-- The note of an agent.
SELECT agent, notes, version, created_at, updated_at, checksum FROM notes
WHERE {of_user} AND agent = :agent {for_update};

-- name: read_note
-- The note of an agent, to look at.
SELECT agent, notes, version, created_at, updated_at, checksum FROM notes
WHERE {of_user} AND agent = :agent;

-- name: noting_agents
-- The agents that have a note.
SELECT agent FROM notes WHERE {of_user} ORDER BY agent;

-- name: save_note
-- The note of an agent, first or changed.
INSERT INTO notes (tenant_id, user_id, agent, notes, version, created_at, updated_at, checksum)
VALUES (:tenant, :user, :agent, :notes, :version, :created_at, :updated_at, :checksum)
ON CONFLICT (tenant_id, user_id, agent) DO UPDATE SET
    notes = excluded.notes, version = excluded.version, updated_at = excluded.updated_at,
    checksum = excluded.checksum;

-- name: insert_note_version
-- The note as a change left it.
INSERT INTO note_versions (
    tenant_id, user_id, agent, version, notes, operation, conversation_id, created_at, checksum
) VALUES (:tenant, :user, :agent, :version, :notes, :operation, :conversation_id, :created_at, :checksum);

-- name: note_version
-- One version of the note of an agent.
SELECT agent, version, notes, operation, conversation_id, created_at, checksum FROM note_versions
WHERE {of_user} AND agent = :agent AND version = :version;

-- name: note_versions
-- The versions of the note of an agent, newest first.
SELECT agent, version, notes, operation, conversation_id, created_at, checksum FROM note_versions
WHERE {of_user} AND agent = :agent AND version < :before ORDER BY version DESC LIMIT :limit;

-- name: notes_of_conversation
-- The agents whose notes were changed in a conversation in a period, each with the first version that did so.
SELECT agent, MIN(version) FROM note_versions
WHERE {of_user} AND conversation_id = :conversation_id AND created_at BETWEEN :since AND :until
GROUP BY agent ORDER BY agent;

-- name: note_versions_from
-- The versions of the note of an agent from one on, in order.
SELECT agent, version, notes, operation, conversation_id, created_at, checksum FROM note_versions
WHERE {of_user} AND agent = :agent AND version >= :version ORDER BY version;

-- name: rewrite_note_version
-- A version of a note that lost some of its text.
UPDATE note_versions SET notes = :notes, checksum = :checksum
WHERE {of_user} AND agent = :agent AND version = :version;

-- name: delete_note_version
-- One version of a note.
DELETE FROM note_versions WHERE {of_user} AND agent = :agent AND version = :version;

-- name: delete_note
-- The note of an agent.
DELETE FROM notes WHERE {of_user} AND agent = :agent;

-- name: delete_notes
-- All notes of a user.
DELETE FROM notes WHERE {of_user};

-- name: delete_note_versions
-- All versions of all notes of a user.
DELETE FROM note_versions WHERE {of_user};

-- name: insert_audit
-- One entry of the audit trail.
INSERT INTO audit (tenant_id, user_id, agent, id, at, action, kind, entity_id, detail)
VALUES (:tenant, :user, :agent, :id, :at, :action, :kind, :entity_id, :detail);

-- name: page_audit
-- The audit trail, newest first.
SELECT id, at, agent, action, kind, entity_id, detail FROM audit
WHERE {of_user} AND number < :before AND (CAST(:entity_id AS TEXT) IS NULL OR entity_id = :entity_id)
ORDER BY number DESC LIMIT :limit;

-- name: audit_number
-- The place of an entry in the audit trail.
SELECT number FROM audit WHERE {of_user} AND id = :id;

-- name: find_request
-- A request by its idempotency key.
SELECT key, digest, started_at, lease_until, status, body, checksum FROM requests
WHERE {of_user} AND key = :key {for_update};

-- name: insert_request
-- A request that was not known; waits for another that is just being written.
INSERT INTO requests (tenant_id, user_id, key, digest, started_at, lease_until, status, body, checksum)
VALUES (:tenant, :user, :key, :digest, :started_at, :lease_until, :status, :body, :checksum)
ON CONFLICT (tenant_id, user_id, key) DO NOTHING;

-- name: save_request
-- A request, begun or finished.
INSERT INTO requests (tenant_id, user_id, key, digest, started_at, lease_until, status, body, checksum)
VALUES (:tenant, :user, :key, :digest, :started_at, :lease_until, :status, :body, :checksum)
ON CONFLICT (tenant_id, user_id, key) DO UPDATE SET
    digest = excluded.digest, started_at = excluded.started_at, lease_until = excluded.lease_until,
    status = excluded.status, body = excluded.body, checksum = excluded.checksum;

-- name: delete_request
-- A request that came to nothing, so that it may be tried again.
DELETE FROM requests WHERE {of_user} AND key = :key AND digest = :digest AND status IS NULL;

-- name: erase_answers
-- Forget what was answered to the finished requests of a user, but not that they are done.
UPDATE requests SET body = NULL WHERE {of_user} AND body IS NOT NULL;

-- name: delete_requests
-- All requests of a user.
DELETE FROM requests WHERE {of_user};

-- name: delete_old_requests
-- Requests begun before a time.
DELETE FROM requests WHERE {of_user} AND started_at < :before;

-- name: delete_audit
-- The audit trail of a user.
DELETE FROM audit WHERE {of_user};

-- name: delete_agents
-- The agents of a user.
DELETE FROM agents WHERE {of_user};

-- name: empty_user
-- The row of a user, with nothing but the revision of memories, which must never be given again.
UPDATE users SET created_at = :at WHERE {of_user};

-- name: delete_user_quarantine
-- What is known of a user's damaged records.
DELETE FROM quarantine WHERE {of_user};
