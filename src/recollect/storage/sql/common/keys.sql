-- snippet: key_columns
id, name, agent, rights, digest, created_at, expires_at, revoked_at, last_used_at, checksum

-- name: insert_key
-- One key.
INSERT INTO api_keys (
    tenant_id, user_id, id, name, agent, rights, digest, created_at, expires_at, revoked_at, last_used_at, checksum
) VALUES (
    :tenant, :user, :id, :name, :agent, :rights, :digest, :created_at, :expires_at, :revoked_at, :last_used_at,
    :checksum
) ON CONFLICT (tenant_id, user_id, id) DO NOTHING;

-- name: lock_key
-- One key, held until the transaction ends.
SELECT {key_columns} FROM api_keys WHERE {of_user} AND id = :id {for_update};

-- name: update_key
-- Everything of a key that can change.
UPDATE api_keys SET revoked_at = :revoked_at, last_used_at = :last_used_at, checksum = :checksum
WHERE {of_user} AND id = :id;

-- name: delete_keys
-- All keys of a user.
DELETE FROM api_keys WHERE {of_user};

-- name: walk_api_keys
-- All keys.
SELECT tenant_id, user_id, {key_columns} FROM api_keys;

-- name: revoked_keys
-- The keys that are refused, of all users.
SELECT tenant_id, user_id, id, revoked_at FROM api_keys WHERE revoked_at IS NOT NULL;
