-- The mirror of the SQLite schema; the schema and the roles exist already.
-- Every key starts with tenant and user: a query reads one user's corner of an index, and the tables can be
-- distributed by tenant. Ids sort by their bytes ("C"), as SQLite sorts them, whatever the database's locale.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value BYTEA NOT NULL
);

CREATE TABLE users (
    tenant_id       TEXT COLLATE "C" NOT NULL,
    user_id         TEXT COLLATE "C" NOT NULL,
    created_at      BIGINT NOT NULL,
    memory_revision BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, user_id)
);

CREATE TABLE agents (
    tenant_id  TEXT COLLATE "C" NOT NULL,
    user_id    TEXT COLLATE "C" NOT NULL,
    agent      TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, user_id, agent),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users ON DELETE CASCADE
);

CREATE TABLE conversations (
    number           BIGINT GENERATED ALWAYS AS IDENTITY,
    tenant_id        TEXT COLLATE "C" NOT NULL,
    user_id          TEXT COLLATE "C" NOT NULL,
    id               TEXT COLLATE "C" NOT NULL,
    agent            TEXT COLLATE "C" NOT NULL,
    title            TEXT,
    title_source     TEXT NOT NULL,
    is_archived      BOOLEAN NOT NULL,
    is_pinned        BOOLEAN NOT NULL,
    metadata         TEXT,
    head_id          TEXT COLLATE "C",
    message_count    BIGINT NOT NULL,
    summary          TEXT,
    created_at       BIGINT NOT NULL,
    updated_at       BIGINT NOT NULL,
    last_activity_at BIGINT NOT NULL,
    is_active        BOOLEAN NOT NULL,
    version          BIGINT NOT NULL,
    next_seq         BIGINT NOT NULL,
    is_branched      BOOLEAN NOT NULL,
    extracted_seq    BIGINT NOT NULL,
    revision         BIGINT NOT NULL,
    rewritten        BIGINT NOT NULL,
    has_erased       BOOLEAN NOT NULL,
    checksum         BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, user_id, number),
    UNIQUE (tenant_id, user_id, id),
    FOREIGN KEY (tenant_id, user_id, agent) REFERENCES agents
);
CREATE INDEX conversations_activity
    ON conversations (tenant_id, user_id, agent, is_archived, is_active, last_activity_at, id);
-- Only these titles are searched: an automatic one is taken from a message, and messages have their own index.
CREATE INDEX conversations_titled
    ON conversations (tenant_id, user_id, agent, is_archived, last_activity_at, id) WHERE title_source = 'user';
CREATE INDEX conversations_pinned
    ON conversations (tenant_id, user_id, agent, is_archived, is_active, last_activity_at, id) WHERE is_pinned;

CREATE TABLE messages (
    number          BIGINT GENERATED ALWAYS AS IDENTITY,
    tenant_id       TEXT COLLATE "C" NOT NULL,
    user_id         TEXT COLLATE "C" NOT NULL,
    conversation_no BIGINT NOT NULL,
    seq             BIGINT NOT NULL,
    id              TEXT COLLATE "C" NOT NULL,
    parent_id       TEXT COLLATE "C",
    turn_id         TEXT COLLATE "C",
    role            TEXT NOT NULL,
    name            TEXT,
    content         TEXT NOT NULL,
    status          TEXT NOT NULL,
    created_at      BIGINT NOT NULL,
    tool_call_id    TEXT,
    payload         TEXT,
    checksum        BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, user_id, number),
    UNIQUE (tenant_id, user_id, conversation_no, seq),
    -- The conversation comes last, so that a message is found also by those who do not know where it is.
    UNIQUE (tenant_id, user_id, id, conversation_no),
    FOREIGN KEY (tenant_id, user_id, conversation_no) REFERENCES conversations
);

-- A term is a digest keyed by the salt, the tenant and the user, so the index walks one user's entries
-- and holds no words: GIN never removes a key, not even after the last message that held it is gone.
CREATE TABLE message_terms (
    tenant_id TEXT COLLATE "C" NOT NULL,
    user_id   TEXT COLLATE "C" NOT NULL,
    number    BIGINT NOT NULL,
    terms     BIGINT[] NOT NULL,
    PRIMARY KEY (tenant_id, user_id, number)
);
-- Without the list of pending entries, which every search would have to read as well.
CREATE INDEX message_terms_terms ON message_terms USING gin (terms) WITH (fastupdate = off);

-- Which replies repeat a message, or a memory where the conversation of the source is ''; a row outlives a reply that
-- a summary took the place of.
CREATE TABLE repeats (
    tenant_id              TEXT COLLATE "C" NOT NULL,
    user_id                TEXT COLLATE "C" NOT NULL,
    source_conversation_id TEXT COLLATE "C" NOT NULL,
    source_id              TEXT COLLATE "C" NOT NULL,
    conversation_id        TEXT COLLATE "C" NOT NULL,
    message_id             TEXT COLLATE "C" NOT NULL,
    seq                    BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, user_id, source_conversation_id, source_id, conversation_id, message_id)
);
CREATE INDEX repeats_reply ON repeats (tenant_id, user_id, conversation_id, message_id);

CREATE TABLE turns (
    number          BIGINT GENERATED ALWAYS AS IDENTITY,
    tenant_id       TEXT COLLATE "C" NOT NULL,
    user_id         TEXT COLLATE "C" NOT NULL,
    conversation_no BIGINT NOT NULL,
    id              TEXT COLLATE "C" NOT NULL,
    status          TEXT NOT NULL,
    mode            TEXT NOT NULL,
    metadata        TEXT,
    input_tokens    BIGINT NOT NULL,
    output_tokens   BIGINT NOT NULL,
    memory_ids      TEXT,
    -- What the model was told: ids, versions, tokens and reasons, and nobody's words.
    context         BYTEA,
    created_at      BIGINT NOT NULL,
    checksum        BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, user_id, conversation_no, number),
    UNIQUE (tenant_id, user_id, conversation_no, id),
    FOREIGN KEY (tenant_id, user_id, conversation_no) REFERENCES conversations
);

CREATE TABLE archive_batches (
    number          BIGINT GENERATED ALWAYS AS IDENTITY,
    tenant_id       TEXT COLLATE "C" NOT NULL,
    user_id         TEXT COLLATE "C" NOT NULL,
    conversation_no BIGINT NOT NULL,
    id              TEXT COLLATE "C" NOT NULL,
    digest          TEXT COLLATE "C" NOT NULL,
    archived        BIGINT NOT NULL,
    duplicates      BIGINT NOT NULL,
    refused         BIGINT NOT NULL,
    start_at        BIGINT NOT NULL,
    end_at          BIGINT NOT NULL,
    archived_at     BIGINT NOT NULL,
    checksum        BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, user_id, conversation_no, digest),
    FOREIGN KEY (tenant_id, user_id, conversation_no) REFERENCES conversations
);
CREATE INDEX archive_batches_age ON archive_batches (tenant_id, user_id, archived_at);

CREATE TABLE summaries (
    number          BIGINT GENERATED ALWAYS AS IDENTITY,
    tenant_id       TEXT COLLATE "C" NOT NULL,
    user_id         TEXT COLLATE "C" NOT NULL,
    conversation_no BIGINT NOT NULL,
    id              TEXT COLLATE "C" NOT NULL,
    message_id      TEXT COLLATE "C" NOT NULL,
    content         TEXT NOT NULL,
    generator       TEXT NOT NULL,
    level           BIGINT NOT NULL,
    first_seq       BIGINT NOT NULL,
    last_seq        BIGINT NOT NULL,
    last_message_id TEXT COLLATE "C" NOT NULL,
    message_count   BIGINT NOT NULL,
    start_at        BIGINT NOT NULL,
    end_at          BIGINT NOT NULL,
    created_at      BIGINT NOT NULL,
    message_ids     TEXT,
    folds           TEXT,
    folded_into     TEXT COLLATE "C",
    metadata        TEXT,
    checksum        BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, user_id, conversation_no, id),
    FOREIGN KEY (tenant_id, user_id, conversation_no) REFERENCES conversations
);
CREATE INDEX summaries_active
    ON summaries (tenant_id, user_id, conversation_no, last_seq) WHERE folded_into IS NULL;
CREATE INDEX summaries_range ON summaries (tenant_id, user_id, conversation_no, level, last_seq);

CREATE TABLE memories (
    number           BIGINT GENERATED ALWAYS AS IDENTITY,
    tenant_id        TEXT COLLATE "C" NOT NULL,
    user_id          TEXT COLLATE "C" NOT NULL,
    id               TEXT COLLATE "C" NOT NULL,
    agent            TEXT COLLATE "C" NOT NULL,
    memory_type      TEXT NOT NULL,
    category         TEXT,
    content          TEXT NOT NULL,
    content_key      TEXT COLLATE "C" NOT NULL,
    importance       DOUBLE PRECISION NOT NULL,
    confidence       DOUBLE PRECISION NOT NULL,
    is_pinned        BOOLEAN NOT NULL,
    is_archived      BOOLEAN NOT NULL,
    origin           TEXT NOT NULL,
    trust            TEXT NOT NULL,
    quote            TEXT,
    conversation_id  TEXT COLLATE "C",
    subject          TEXT,
    attribute        TEXT,
    valid_from       BIGINT,
    valid_to         BIGINT,
    superseded_by    TEXT COLLATE "C",
    created_at       BIGINT NOT NULL,
    updated_at       BIGINT NOT NULL,
    last_accessed_at BIGINT NOT NULL,
    access_count     BIGINT NOT NULL,
    version          BIGINT NOT NULL,
    deleted_at       BIGINT,
    sources          TEXT,
    checksum         BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, user_id, number),
    UNIQUE (tenant_id, user_id, id),
    FOREIGN KEY (tenant_id, user_id, agent) REFERENCES agents
);
CREATE UNIQUE INDEX memories_statement ON memories (tenant_id, user_id, content_key)
    WHERE superseded_by IS NULL AND valid_to IS NULL AND deleted_at IS NULL;

CREATE TABLE memory_sources (
    tenant_id       TEXT COLLATE "C" NOT NULL,
    user_id         TEXT COLLATE "C" NOT NULL,
    conversation_id TEXT COLLATE "C" NOT NULL,
    message_id      TEXT COLLATE "C" NOT NULL,
    memory_id       TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, user_id, conversation_id, message_id, memory_id)
);

CREATE TABLE memory_versions (
    number    BIGINT GENERATED ALWAYS AS IDENTITY,
    tenant_id TEXT COLLATE "C" NOT NULL,
    user_id   TEXT COLLATE "C" NOT NULL,
    memory_id TEXT COLLATE "C" NOT NULL,
    version   BIGINT NOT NULL,
    memory    TEXT NOT NULL,
    until     BIGINT NOT NULL,
    checksum  BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, user_id, memory_id, version)
);

-- The extension with the type of vectors may be in any schema, which no query of ours names: the functions below
-- are bound to it here.
SELECT set_config('search_path', format('recollect, %I', n.nspname), true)
FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector';

-- Every message and memory that recall can find has a row; one without a vector yet has the model ''.
CREATE TABLE vectors (
    tenant_id TEXT COLLATE "C" NOT NULL,
    user_id   TEXT COLLATE "C" NOT NULL,
    kind      TEXT COLLATE "C" NOT NULL,
    number    BIGINT NOT NULL,
    model     TEXT COLLATE "C" NOT NULL,
    vector    HALFVEC,
    checksum  BIGINT,
    PRIMARY KEY (tenant_id, user_id, kind, number)
);
CREATE INDEX vectors_model ON vectors (tenant_id, user_id, kind, model, number);

CREATE FUNCTION recollect_vector_bytes(of_vector HALFVEC) RETURNS BYTEA
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN halfvec_send(of_vector);

-- Vectors of another length are not comparable.
CREATE FUNCTION recollect_similarity(one HALFVEC, other HALFVEC) RETURNS DOUBLE PRECISION
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN vector_dims(one) = vector_dims(other) THEN -(one <#> other) END;

SET LOCAL search_path = recollect;

CREATE TABLE notes (
    tenant_id  TEXT COLLATE "C" NOT NULL,
    user_id    TEXT COLLATE "C" NOT NULL,
    agent      TEXT COLLATE "C" NOT NULL,
    notes      TEXT NOT NULL,
    version    BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    checksum   BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, user_id, agent),
    FOREIGN KEY (tenant_id, user_id, agent) REFERENCES agents
);

CREATE TABLE note_versions (
    tenant_id       TEXT COLLATE "C" NOT NULL,
    user_id         TEXT COLLATE "C" NOT NULL,
    agent           TEXT COLLATE "C" NOT NULL,
    version         BIGINT NOT NULL,
    notes           TEXT NOT NULL,
    operation       TEXT NOT NULL,
    conversation_id TEXT COLLATE "C",
    created_at      BIGINT NOT NULL,
    checksum        BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, user_id, agent, version)
);

CREATE TABLE preferences (
    tenant_id      TEXT COLLATE "C" NOT NULL,
    user_id        TEXT COLLATE "C" NOT NULL,
    memory_enabled BOOLEAN NOT NULL,
    instructions   TEXT NOT NULL,
    version        BIGINT NOT NULL,
    updated_at     BIGINT NOT NULL,
    checksum       BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, user_id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users
);

CREATE TABLE jobs (
    number          BIGINT GENERATED ALWAYS AS IDENTITY,
    tenant_id       TEXT COLLATE "C" NOT NULL,
    user_id         TEXT COLLATE "C" NOT NULL,
    agent           TEXT COLLATE "C" NOT NULL,
    id              TEXT COLLATE "C" NOT NULL,
    kind            TEXT COLLATE "C" NOT NULL,
    conversation_id TEXT COLLATE "C",
    key             TEXT COLLATE "C",
    payload         TEXT,
    state           TEXT COLLATE "C" NOT NULL,
    attempts        BIGINT NOT NULL,
    max_attempts    BIGINT NOT NULL,
    run_at          BIGINT NOT NULL,
    lease_until     BIGINT,
    worker          TEXT,
    error           TEXT,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL,
    checksum        BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, user_id, number),
    UNIQUE (tenant_id, user_id, id)
);
CREATE UNIQUE INDEX jobs_key ON jobs (tenant_id, user_id, key) WHERE state = 'queued' AND key IS NOT NULL;
CREATE INDEX jobs_user ON jobs (tenant_id, user_id, state, number);
-- The two indexes without a scope: workers look for what is due next, whoever it belongs to.
CREATE INDEX jobs_due ON jobs (run_at, number) WHERE state = 'queued';
CREATE INDEX jobs_leased ON jobs (lease_until, number) WHERE state = 'running';

CREATE TABLE tombstones (
    tenant_id  TEXT COLLATE "C" NOT NULL,
    user_id    TEXT COLLATE "C" NOT NULL,
    kind       TEXT COLLATE "C" NOT NULL,
    digest     TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, user_id, kind, digest)
);

CREATE TABLE requests (
    tenant_id   TEXT COLLATE "C" NOT NULL,
    user_id     TEXT COLLATE "C" NOT NULL,
    key         TEXT COLLATE "C" NOT NULL,
    digest      TEXT COLLATE "C" NOT NULL,
    started_at  BIGINT NOT NULL,
    lease_until BIGINT NOT NULL,
    status      BIGINT,
    body        BYTEA,
    checksum    BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, user_id, key)
);

CREATE TABLE usage (
    number          BIGINT GENERATED ALWAYS AS IDENTITY,
    tenant_id       TEXT COLLATE "C" NOT NULL,
    user_id         TEXT COLLATE "C" NOT NULL,
    id              TEXT COLLATE "C" NOT NULL,
    at              BIGINT NOT NULL,
    kind            TEXT COLLATE "C" NOT NULL,
    model           TEXT COLLATE "C" NOT NULL,
    conversation_id TEXT COLLATE "C",
    job_id          TEXT COLLATE "C",
    input_tokens    BIGINT NOT NULL,
    output_tokens   BIGINT NOT NULL,
    calls           BIGINT NOT NULL,
    estimated       BIGINT NOT NULL,
    checksum        BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, user_id, number),
    UNIQUE (tenant_id, user_id, id)
);
CREATE INDEX usage_period ON usage (tenant_id, user_id, at);
CREATE INDEX usage_conversation ON usage (tenant_id, user_id, conversation_id) WHERE conversation_id IS NOT NULL;

-- A key that belongs to no user is kept under its own id. Only the digest of its secret is here.
CREATE TABLE api_keys (
    tenant_id    TEXT COLLATE "C" NOT NULL,
    user_id      TEXT COLLATE "C" NOT NULL,
    id           TEXT COLLATE "C" NOT NULL,
    name         TEXT NOT NULL,
    agent        TEXT COLLATE "C",
    rights       TEXT COLLATE "C" NOT NULL,
    digest       TEXT COLLATE "C" NOT NULL,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT,
    revoked_at   BIGINT,
    last_used_at BIGINT,
    checksum     BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, user_id, id)
);
-- Without a scope: a key is looked up to find out whose it is.
CREATE INDEX api_keys_id ON api_keys (id);

CREATE TABLE audit (
    number    BIGINT GENERATED ALWAYS AS IDENTITY,
    tenant_id TEXT COLLATE "C" NOT NULL,
    user_id   TEXT COLLATE "C" NOT NULL,
    agent     TEXT COLLATE "C" NOT NULL,
    id        TEXT COLLATE "C" NOT NULL,
    at        BIGINT NOT NULL,
    action    TEXT NOT NULL,
    kind      TEXT NOT NULL,
    entity_id TEXT COLLATE "C" NOT NULL,
    detail    TEXT,
    PRIMARY KEY (tenant_id, user_id, number)
);
CREATE INDEX audit_entity ON audit (tenant_id, user_id, entity_id, number);

CREATE TABLE quarantine (
    tenant_id   TEXT COLLATE "C" NOT NULL,
    user_id     TEXT COLLATE "C" NOT NULL,
    kind        TEXT COLLATE "C" NOT NULL,
    id          TEXT COLLATE "C" NOT NULL,
    detected_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, user_id, kind, id)
);

-- Who may do what. FORCE binds the owner of the tables too; an unset scope matches nothing.

GRANT USAGE ON SCHEMA recollect TO recollect_app, recollect_jobs, recollect_search, recollect_keys;
GRANT SELECT ON meta, schema_migrations TO recollect_app;

DO $$
DECLARE guarded TEXT;
BEGIN
    FOR guarded IN
        SELECT DISTINCT table_name FROM information_schema.columns
        WHERE table_schema = 'recollect' AND column_name = 'tenant_id'
    LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO recollect_app', guarded);
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', guarded);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', guarded);
        EXECUTE format($policy$
            CREATE POLICY in_scope ON %I
            USING (tenant_id = current_setting('recollect.tenant', true)
                AND user_id = current_setting('recollect.user', true))
            WITH CHECK (tenant_id = current_setting('recollect.tenant', true)
                AND user_id = current_setting('recollect.user', true))
        $policy$, guarded);
    END LOOP;
END $$;

-- Claiming looks at the jobs of all scopes, and only this function can.
-- Locking a row takes the right to update one column; the check forbids to use it.
GRANT SELECT, UPDATE (lease_until) ON jobs TO recollect_jobs;
CREATE POLICY to_be_seen ON jobs FOR SELECT TO recollect_jobs USING (true);
CREATE POLICY to_be_locked ON jobs FOR UPDATE TO recollect_jobs USING (true) WITH CHECK (false);

CREATE FUNCTION recollect_due_jobs(now_is BIGINT, any_kind BOOLEAN, kinds TEXT[], at_most BIGINT)
RETURNS TABLE (
    due BIGINT, number BIGINT, tenant_id TEXT, user_id TEXT, agent TEXT, id TEXT, kind TEXT, conversation_id TEXT,
    key TEXT, payload TEXT, state TEXT, attempts BIGINT, max_attempts BIGINT, run_at BIGINT, lease_until BIGINT,
    worker TEXT, error TEXT, created_at BIGINT, updated_at BIGINT, checksum BIGINT
)
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = recollect, pg_temp
AS $$
    WITH queued AS (
        SELECT j.run_at AS due, j.* FROM jobs j
        WHERE j.state = 'queued' AND j.run_at <= now_is AND (any_kind OR j.kind = ANY(kinds))
        ORDER BY j.run_at, j.number LIMIT at_most FOR NO KEY UPDATE SKIP LOCKED
    ), abandoned AS (
        SELECT j.lease_until AS due, j.* FROM jobs j
        WHERE j.state = 'running' AND j.lease_until <= now_is AND (any_kind OR j.kind = ANY(kinds))
        ORDER BY j.lease_until, j.number LIMIT at_most FOR NO KEY UPDATE SKIP LOCKED
    ), both_kinds AS (
        SELECT * FROM queued UNION ALL SELECT * FROM abandoned
    )
    SELECT b.due, b.number, b.tenant_id, b.user_id, b.agent, b.id, b.kind, b.conversation_id, b.key, b.payload,
        b.state, b.attempts, b.max_attempts, b.run_at, b.lease_until, b.worker, b.error, b.created_at, b.updated_at,
        b.checksum
    FROM both_kinds b ORDER BY b.due, b.number LIMIT at_most
$$;

-- Row security evaluates a condition before its own only if its operator is known not to leak, and the overlap of
-- arrays is not; so the index would serve no search of the application's role. This function puts the scope first
-- by itself, takes it from the same settings as the policies, and reads digests only.
GRANT SELECT ON message_terms TO recollect_search;
CREATE POLICY to_be_searched ON message_terms FOR SELECT TO recollect_search USING (true);

CREATE FUNCTION recollect_matching(wanted BIGINT[], weights BIGINT[])
RETURNS TABLE (number BIGINT, held NUMERIC)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = recollect, pg_temp
AS $$
    SELECT m.number, sum(t.weight) FROM unnest(wanted, weights) AS t (term, weight)
    JOIN message_terms m ON m.terms @> ARRAY[t.term]
    WHERE m.tenant_id = current_setting('recollect.tenant', true)
        AND m.user_id = current_setting('recollect.user', true)
    GROUP BY m.number
$$;

CREATE FUNCTION recollect_frequencies(wanted BIGINT[])
RETURNS TABLE (frequency BIGINT)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = recollect, pg_temp
AS $$
    SELECT (SELECT count(*) FROM message_terms m
        WHERE m.terms @> ARRAY[t.term] AND m.tenant_id = current_setting('recollect.tenant', true)
            AND m.user_id = current_setting('recollect.user', true))
    FROM unnest(wanted) WITH ORDINALITY AS t (term, place) ORDER BY t.place
$$;

-- Whose a key is stands in the key, so it is looked up across scopes, by exactly one id; and whoever looks after a
-- tenant lists its keys. These two functions read digests only, and can change nothing.
GRANT SELECT ON api_keys TO recollect_keys;
CREATE POLICY to_be_found ON api_keys FOR SELECT TO recollect_keys USING (true);

CREATE FUNCTION recollect_find_key(wanted TEXT) RETURNS SETOF api_keys
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = recollect, pg_temp
AS $$
    SELECT k.* FROM api_keys k WHERE k.id = wanted LIMIT 1
$$;

CREATE FUNCTION recollect_tenant_keys(of_tenant TEXT, after_id TEXT, at_most BIGINT) RETURNS SETOF api_keys
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = recollect, pg_temp
AS $$
    SELECT k.* FROM api_keys k WHERE k.tenant_id = of_tenant AND k.id > after_id ORDER BY k.id LIMIT at_most
$$;

REVOKE ALL ON FUNCTION recollect_due_jobs, recollect_matching, recollect_frequencies, recollect_find_key,
    recollect_tenant_keys FROM PUBLIC;
GRANT EXECUTE ON FUNCTION recollect_due_jobs, recollect_matching, recollect_frequencies, recollect_find_key,
    recollect_tenant_keys TO recollect_app;

-- A new owner must be able to create in the schema at the moment it is given something there.
GRANT CREATE ON SCHEMA recollect TO recollect_jobs, recollect_search, recollect_keys;
ALTER FUNCTION recollect_due_jobs OWNER TO recollect_jobs;
ALTER FUNCTION recollect_matching OWNER TO recollect_search;
ALTER FUNCTION recollect_frequencies OWNER TO recollect_search;
ALTER FUNCTION recollect_find_key OWNER TO recollect_keys;
ALTER FUNCTION recollect_tenant_keys OWNER TO recollect_keys;
REVOKE CREATE ON SCHEMA recollect FROM recollect_jobs, recollect_search, recollect_keys;
