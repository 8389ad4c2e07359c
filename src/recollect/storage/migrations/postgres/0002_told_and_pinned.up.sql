-- What the model was told: ids, versions, tokens and reasons, and nobody's words.
ALTER TABLE turns ADD COLUMN context BYTEA;

CREATE INDEX conversations_pinned
    ON conversations (tenant_id, user_id, agent, is_archived, is_active, last_activity_at, id) WHERE is_pinned;
