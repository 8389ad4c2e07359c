-- snippet: for_update
FOR NO KEY UPDATE

-- snippet: in_ids
= ANY(:ids)

-- snippet: in_numbers
= ANY(:ids)

-- name: set_scope
-- The role without special rights and the scope that row security lets through, for this transaction only.
SELECT set_config('role', 'recollect_app', true), set_config('recollect.tenant', :tenant, true),
    set_config('recollect.user', :user, true);

-- name: set_scope_to_write
-- The same, and the id by which a lost commit can be looked up; a transaction that locks or writes has one anyway.
SELECT set_config('role', 'recollect_app', true), set_config('recollect.tenant', :tenant, true),
    set_config('recollect.user', :user, true), CAST(pg_current_xact_id() AS TEXT);

-- name: outcome
-- What became of a transaction: committed, aborted, in progress, or NULL if that is no longer known.
SELECT pg_xact_status(:transaction);

-- name: index_messages
-- The terms of messages, one list each.
INSERT INTO message_terms (tenant_id, user_id, number, terms)
SELECT :tenant, :user, added.number, CAST(added.terms AS BIGINT[])
FROM unnest(CAST(:numbers AS BIGINT[]), CAST(:terms AS TEXT[])) AS added (number, terms);

-- name: unindex_messages
-- Take the terms of messages away.
DELETE FROM message_terms WHERE tenant_id = :tenant AND user_id = :user AND number = ANY(:ids);

-- snippet: vector_bytes
recollect_vector_bytes(v.vector)

-- snippet: content_bytes
OCTET_LENGTH(content)

-- snippet: notes_bytes
OCTET_LENGTH(notes)

-- name: database_size
-- The bytes of the whole database, or NULL where that may not be asked.
SELECT CASE WHEN has_database_privilege(current_database(), 'CONNECT') THEN pg_database_size(current_database()) END;

-- name: matching_messages
-- The messages of the transaction's scope that hold a term, with how many of the terms each holds.
SELECT number, CAST(held AS BIGINT) FROM recollect_matching(:ids, array_fill(CAST(1 AS BIGINT), ARRAY[cardinality(:ids)]));

-- name: best_matching
-- The messages of the transaction's scope that hold the terms which weigh most.
SELECT number FROM recollect_matching(:ids, :weights) ORDER BY held DESC, number DESC LIMIT :limit OFFSET :skip;

-- name: term_frequencies
-- In how many messages of the transaction's scope each term occurs.
SELECT frequency FROM recollect_frequencies(:ids);

-- name: nearest_vectors
-- The messages of a user whose vectors of one model are nearest to a vector.
SELECT number FROM (
    SELECT number, recollect_similarity(vector, :vector) AS similarity FROM vectors
    WHERE {of_user} AND kind = 'message' AND model = :model
) compared
WHERE similarity IS NOT NULL ORDER BY similarity DESC, number DESC LIMIT :limit OFFSET :skip;

-- name: due_jobs
-- Jobs that are due and jobs whose lease ran out, with their scopes, longest due first, locked.
SELECT due, number, tenant_id, user_id, agent, {job_columns}
FROM recollect_due_jobs(:now, :any_kind, :ids, :limit);

-- name: find_key
-- The key with an id, with its scope.
SELECT tenant_id, user_id, {key_columns} FROM recollect_find_key(:id);

-- name: page_keys
-- The keys of a tenant, with their scopes.
SELECT tenant_id, user_id, {key_columns} FROM recollect_tenant_keys(:of_tenant, :after, :limit) ORDER BY id;
