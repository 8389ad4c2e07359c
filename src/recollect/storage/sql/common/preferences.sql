-- snippet: preference_columns
user_id, memory_enabled, instructions, version, updated_at, checksum

-- name: find_preferences
-- What a user set.
SELECT {preference_columns} FROM preferences WHERE {of_user};

-- name: save_preferences
-- What a user set, first or changed.
INSERT INTO preferences (tenant_id, user_id, memory_enabled, instructions, version, updated_at, checksum)
VALUES (:tenant, :user, :memory_enabled, :instructions, :version, :updated_at, :checksum)
ON CONFLICT (tenant_id, user_id) DO UPDATE SET
    memory_enabled = excluded.memory_enabled, instructions = excluded.instructions, version = excluded.version,
    updated_at = excluded.updated_at, checksum = excluded.checksum;

-- name: delete_preferences
-- What a user set.
DELETE FROM preferences WHERE {of_user};

-- name: walk_preferences
-- What all users set.
SELECT tenant_id, user_id, {preference_columns} FROM preferences;
