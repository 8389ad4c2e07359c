-- snippet: for_update
FOR UPDATE

-- snippet: in_ids
= ANY(:ids)

-- snippet: in_numbers
= ANY(:ids)

-- snippet: skip_locked
FOR UPDATE SKIP LOCKED

-- name: set_scope
-- The role without special rights and the scope that row security lets through, for this transaction only.
SELECT set_config('role', 'recollect_app', true), set_config('recollect.tenant', :tenant, true),
    set_config('recollect.user', :user, true);

-- name: due_jobs
-- Jobs that are due and jobs whose lease ran out, with their scopes, longest due first, locked.
SELECT due, number, tenant_id, user_id, agent, {job_columns}
FROM recollect_due_jobs(:now, :any_kind, :ids, :limit);
