-- Integer numbers stand for conversations inside the file: they keep the message indexes small and local.
CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE users (
    tenant_id       TEXT NOT NULL,
    user_id         TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    memory_revision INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, user_id)
) WITHOUT ROWID;

CREATE TABLE agents (
    tenant_id  TEXT NOT NULL,
    user_id    TEXT NOT NULL,
    agent      TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, user_id, agent),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE conversations (
    number           INTEGER PRIMARY KEY,
    tenant_id        TEXT NOT NULL,
    user_id          TEXT NOT NULL,
    id               TEXT NOT NULL,
    agent            TEXT NOT NULL,
    title            TEXT,
    title_source     TEXT NOT NULL,
    is_archived      INTEGER NOT NULL,
    is_pinned        INTEGER NOT NULL,
    metadata         TEXT,
    head_id          TEXT,
    message_count    INTEGER NOT NULL,
    summary          TEXT,
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    last_activity_at INTEGER NOT NULL,
    is_active        INTEGER NOT NULL,
    version          INTEGER NOT NULL,
    next_seq         INTEGER NOT NULL,
    is_branched      INTEGER NOT NULL,
    extracted_seq    INTEGER NOT NULL,
    revision         INTEGER NOT NULL,
    rewritten        INTEGER NOT NULL,
    has_erased       INTEGER NOT NULL,
    checksum         INTEGER NOT NULL,
    FOREIGN KEY (tenant_id, user_id, agent) REFERENCES agents
);
CREATE UNIQUE INDEX conversations_id ON conversations (id, user_id, tenant_id);
CREATE INDEX conversations_activity
    ON conversations (tenant_id, user_id, agent, is_archived, is_active, last_activity_at, id);
-- Only these titles are searched: an automatic one is taken from a message, and messages have their own index.
CREATE INDEX conversations_titled
    ON conversations (tenant_id, user_id, agent, is_archived, last_activity_at, id) WHERE title_source = 'user';
CREATE INDEX conversations_pinned
    ON conversations (tenant_id, user_id, agent, is_archived, is_active, last_activity_at, id) WHERE is_pinned;

CREATE TABLE messages (
    number          INTEGER PRIMARY KEY,
    tenant_id       TEXT NOT NULL,
    user_id         TEXT NOT NULL,
    conversation_no INTEGER NOT NULL REFERENCES conversations,
    seq             INTEGER NOT NULL,
    id              TEXT NOT NULL,
    parent_id       TEXT,
    turn_id         TEXT,
    role            TEXT NOT NULL,
    name            TEXT,
    content         TEXT NOT NULL,
    status          TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    tool_call_id    TEXT,
    payload         TEXT,
    checksum        INTEGER NOT NULL
);
CREATE UNIQUE INDEX messages_seq ON messages (conversation_no, seq);
CREATE UNIQUE INDEX messages_id ON messages (id, conversation_no);

-- Terms are written as the user's mark and the term, so a search walks only that user's entries.
-- Messages are indexed in the order of their numbers, many at a time; meta says how far.
CREATE VIRTUAL TABLE message_terms
    USING fts5 (terms, content = '', detail = none, columnsize = 0, tokenize = 'ascii');
INSERT INTO meta (name, value) VALUES ('indexed_to', 0);
INSERT INTO message_terms (message_terms, rank) VALUES ('secure-delete', 1);

-- Which replies repeat a message, or a memory where the conversation of the source is ''; a row outlives a reply that
-- a summary took the place of.
CREATE TABLE repeats (
    tenant_id              TEXT NOT NULL,
    user_id                TEXT NOT NULL,
    source_conversation_id TEXT NOT NULL,
    source_id              TEXT NOT NULL,
    conversation_id        TEXT NOT NULL,
    message_id             TEXT NOT NULL,
    seq                    INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, user_id, source_conversation_id, source_id, conversation_id, message_id)
) WITHOUT ROWID;
CREATE INDEX repeats_reply ON repeats (tenant_id, user_id, conversation_id, message_id);

CREATE TABLE turns (
    number          INTEGER PRIMARY KEY,
    tenant_id       TEXT NOT NULL,
    user_id         TEXT NOT NULL,
    conversation_no INTEGER NOT NULL REFERENCES conversations,
    id              TEXT NOT NULL,
    status          TEXT NOT NULL,
    mode            TEXT NOT NULL,
    metadata        TEXT,
    input_tokens    INTEGER NOT NULL,
    output_tokens   INTEGER NOT NULL,
    memory_ids      TEXT,
    -- What the model was told: ids, versions, tokens and reasons, and nobody's words.
    context         BLOB,
    created_at      INTEGER NOT NULL,
    checksum        INTEGER NOT NULL
);
CREATE UNIQUE INDEX turns_id ON turns (id, conversation_no);
CREATE INDEX turns_conversation ON turns (conversation_no, number);

CREATE TABLE archive_batches (
    number          INTEGER PRIMARY KEY,
    tenant_id       TEXT NOT NULL,
    user_id         TEXT NOT NULL,
    conversation_no INTEGER NOT NULL REFERENCES conversations,
    id              TEXT NOT NULL,
    digest          TEXT NOT NULL,
    archived        INTEGER NOT NULL,
    duplicates      INTEGER NOT NULL,
    refused         INTEGER NOT NULL,
    start_at        INTEGER NOT NULL,
    end_at          INTEGER NOT NULL,
    archived_at     INTEGER NOT NULL,
    checksum        INTEGER NOT NULL
);
CREATE UNIQUE INDEX archive_batches_digest ON archive_batches (conversation_no, digest);
CREATE INDEX archive_batches_age ON archive_batches (tenant_id, user_id, archived_at);

CREATE TABLE summaries (
    number          INTEGER PRIMARY KEY,
    tenant_id       TEXT NOT NULL,
    user_id         TEXT NOT NULL,
    conversation_no INTEGER NOT NULL REFERENCES conversations,
    id              TEXT NOT NULL,
    message_id      TEXT NOT NULL,
    content         TEXT NOT NULL,
    generator       TEXT NOT NULL,
    level           INTEGER NOT NULL,
    first_seq       INTEGER NOT NULL,
    last_seq        INTEGER NOT NULL,
    last_message_id TEXT NOT NULL,
    message_count   INTEGER NOT NULL,
    start_at        INTEGER NOT NULL,
    end_at          INTEGER NOT NULL,
    created_at      INTEGER NOT NULL,
    message_ids     TEXT,
    folds           TEXT,
    folded_into     TEXT,
    metadata        TEXT,
    checksum        INTEGER NOT NULL
);
CREATE UNIQUE INDEX summaries_id ON summaries (conversation_no, id);
CREATE INDEX summaries_active ON summaries (conversation_no, last_seq) WHERE folded_into IS NULL;
CREATE INDEX summaries_range ON summaries (conversation_no, level, last_seq);

CREATE TABLE memories (
    number           INTEGER PRIMARY KEY,
    tenant_id        TEXT NOT NULL,
    user_id          TEXT NOT NULL,
    id               TEXT NOT NULL,
    agent            TEXT NOT NULL,
    memory_type      TEXT NOT NULL,
    category         TEXT,
    content          TEXT NOT NULL,
    content_key      TEXT NOT NULL,
    importance       REAL NOT NULL,
    confidence       REAL NOT NULL,
    is_pinned        INTEGER NOT NULL,
    is_archived      INTEGER NOT NULL,
    origin           TEXT NOT NULL,
    trust            TEXT NOT NULL,
    quote            TEXT,
    conversation_id  TEXT,
    subject          TEXT,
    attribute        TEXT,
    valid_from       INTEGER,
    valid_to         INTEGER,
    superseded_by    TEXT,
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    last_accessed_at INTEGER NOT NULL,
    access_count     INTEGER NOT NULL,
    version          INTEGER NOT NULL,
    deleted_at       INTEGER,
    sources          TEXT,
    checksum         INTEGER NOT NULL,
    FOREIGN KEY (tenant_id, user_id, agent) REFERENCES agents
);
CREATE UNIQUE INDEX memories_id ON memories (id, user_id, tenant_id);
CREATE UNIQUE INDEX memories_statement ON memories (tenant_id, user_id, content_key)
    WHERE superseded_by IS NULL AND valid_to IS NULL AND deleted_at IS NULL;
CREATE INDEX memories_user ON memories (tenant_id, user_id, number);

CREATE TABLE memory_sources (
    tenant_id       TEXT NOT NULL,
    user_id         TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    message_id      TEXT NOT NULL,
    memory_id       TEXT NOT NULL,
    PRIMARY KEY (tenant_id, user_id, conversation_id, message_id, memory_id)
) WITHOUT ROWID;

CREATE TABLE memory_versions (
    number    INTEGER PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    user_id   TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    version   INTEGER NOT NULL,
    memory    TEXT NOT NULL,
    until     INTEGER NOT NULL,
    checksum  INTEGER NOT NULL
);
CREATE UNIQUE INDEX memory_versions_memory ON memory_versions (tenant_id, user_id, memory_id, version);

-- Every message and memory that recall can find has a row; one without a vector yet has the model ''.
-- Rows stand in the order in which they came: among the others of its user, so long a row would split a page each time.
CREATE TABLE vectors (
    tenant_id TEXT NOT NULL,
    user_id   TEXT NOT NULL,
    kind      TEXT NOT NULL,
    number    INTEGER NOT NULL,
    model     TEXT NOT NULL,
    vector    BLOB,
    checksum  INTEGER,
    PRIMARY KEY (number, kind, user_id, tenant_id)
);
CREATE INDEX vectors_model ON vectors (tenant_id, user_id, kind, model, number);

CREATE TABLE notes (
    tenant_id  TEXT NOT NULL,
    user_id    TEXT NOT NULL,
    agent      TEXT NOT NULL,
    notes      TEXT NOT NULL,
    version    INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    checksum   INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, user_id, agent),
    FOREIGN KEY (tenant_id, user_id, agent) REFERENCES agents
) WITHOUT ROWID;

CREATE TABLE note_versions (
    tenant_id       TEXT NOT NULL,
    user_id         TEXT NOT NULL,
    agent           TEXT NOT NULL,
    version         INTEGER NOT NULL,
    notes           TEXT NOT NULL,
    operation       TEXT NOT NULL,
    conversation_id TEXT,
    created_at      INTEGER NOT NULL,
    checksum        INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, user_id, agent, version)
) WITHOUT ROWID;

CREATE TABLE preferences (
    tenant_id      TEXT NOT NULL,
    user_id        TEXT NOT NULL,
    memory_enabled INTEGER NOT NULL,
    instructions   TEXT NOT NULL,
    version        INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL,
    checksum       INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, user_id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users
) WITHOUT ROWID;

CREATE TABLE jobs (
    number          INTEGER PRIMARY KEY,
    tenant_id       TEXT NOT NULL,
    user_id         TEXT NOT NULL,
    agent           TEXT NOT NULL,
    id              TEXT NOT NULL,
    kind            TEXT NOT NULL,
    conversation_id TEXT,
    key             TEXT,
    payload         TEXT,
    state           TEXT NOT NULL,
    attempts        INTEGER NOT NULL,
    max_attempts    INTEGER NOT NULL,
    run_at          INTEGER NOT NULL,
    lease_until     INTEGER,
    worker          TEXT,
    error           TEXT,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    checksum        INTEGER NOT NULL
);
CREATE UNIQUE INDEX jobs_id ON jobs (id, user_id, tenant_id);
CREATE UNIQUE INDEX jobs_key ON jobs (tenant_id, user_id, key) WHERE state = 'queued' AND key IS NOT NULL;
CREATE INDEX jobs_due ON jobs (run_at, number) WHERE state = 'queued';
CREATE INDEX jobs_leased ON jobs (lease_until, number) WHERE state = 'running';
CREATE INDEX jobs_user ON jobs (tenant_id, user_id, state, number);

CREATE TABLE tombstones (
    tenant_id  TEXT NOT NULL,
    user_id    TEXT NOT NULL,
    kind       TEXT NOT NULL,
    digest     TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, user_id, kind, digest)
) WITHOUT ROWID;

CREATE TABLE requests (
    tenant_id   TEXT NOT NULL,
    user_id     TEXT NOT NULL,
    key         TEXT NOT NULL,
    digest      TEXT NOT NULL,
    started_at  INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    status      INTEGER,
    body        BLOB,
    checksum    INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, user_id, key)
) WITHOUT ROWID;

CREATE TABLE usage (
    number          INTEGER PRIMARY KEY,
    tenant_id       TEXT NOT NULL,
    user_id         TEXT NOT NULL,
    id              TEXT NOT NULL,
    at              INTEGER NOT NULL,
    kind            TEXT NOT NULL,
    model           TEXT NOT NULL,
    conversation_id TEXT,
    job_id          TEXT,
    input_tokens    INTEGER NOT NULL,
    output_tokens   INTEGER NOT NULL,
    calls           INTEGER NOT NULL,
    estimated       INTEGER NOT NULL,
    checksum        INTEGER NOT NULL
);
CREATE UNIQUE INDEX usage_id ON usage (id, user_id, tenant_id);
CREATE INDEX usage_period ON usage (tenant_id, user_id, at);
CREATE INDEX usage_conversation ON usage (tenant_id, user_id, conversation_id) WHERE conversation_id IS NOT NULL;

-- A key that belongs to no user is kept under its own id. Only the digest of its secret is here.
CREATE TABLE api_keys (
    tenant_id    TEXT NOT NULL,
    user_id      TEXT NOT NULL,
    id           TEXT NOT NULL,
    name         TEXT NOT NULL,
    agent        TEXT,
    rights       TEXT NOT NULL,
    digest       TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    revoked_at   INTEGER,
    last_used_at INTEGER,
    checksum     INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, user_id, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX api_keys_id ON api_keys (id);

CREATE TABLE audit (
    number    INTEGER PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    user_id   TEXT NOT NULL,
    agent     TEXT NOT NULL,
    id        TEXT NOT NULL,
    at        INTEGER NOT NULL,
    action    TEXT NOT NULL,
    kind      TEXT NOT NULL,
    entity_id TEXT NOT NULL,
    detail    TEXT
);
CREATE INDEX audit_user ON audit (tenant_id, user_id, number);

CREATE TABLE quarantine (
    tenant_id   TEXT NOT NULL,
    user_id     TEXT NOT NULL,
    kind        TEXT NOT NULL,
    id          TEXT NOT NULL,
    detected_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, user_id, kind, id)
) WITHOUT ROWID;
