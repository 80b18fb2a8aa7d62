-- name: busy
-- The tenants that have any work, done or not: from each to the next by the index, as most have none.
WITH RECURSIVE busy (id) AS (
  (SELECT tenant_id FROM work ORDER BY tenant_id LIMIT 1)
  UNION ALL
  SELECT (SELECT w.tenant_id FROM work w WHERE w.tenant_id > busy.id ORDER BY w.tenant_id LIMIT 1)
    FROM busy WHERE busy.id IS NOT NULL)
SELECT id FROM busy WHERE id IS NOT NULL;

-- name: busy_on_citus
-- The same. Citus takes no recursion over shards, and asks all of them at once.
SELECT DISTINCT tenant_id AS id FROM work;

-- name: some
-- Two tenants, if there are several.
SELECT tenant_id AS id FROM tenants ORDER BY tenant_id LIMIT 2;

-- name: due_of_tenant
-- The tenant's lanes in which something is due. A LIMIT is evaluated before the first row of what it limits, so
-- row-level security knows the tenant.
SELECT {id} AS tenant, l.lane FROM unnest(ARRAY[{lanes}]) AS l (lane), LATERAL (
  SELECT FROM work w
   WHERE w.tenant_id = {id} AND w.lane = l.lane AND w.failed_at IS NULL AND w.token IS NULL AND w.due <= now()
   ORDER BY w.due LIMIT 1) w
 LIMIT length(set_config('app.tenant', {id}::text || '*', true)) / 4;

-- name: due
-- Those of some tenants.
SELECT found.* FROM unnest(:tenant::uuid[]) AS t (id), LATERAL ({due_of_tenant}) AS found;

-- name: claim
-- Leases the longest-due work of a conversation with nothing running in the lane.
--
-- The query is `ordered`, and written so that each part has a single plan whatever the statistics: running work is read
-- in the order of work_running_key, due work in that of work_due_idx, and the row is found by its ctid.
WITH found AS MATERIALIZED (
  SELECT w.ctid AS place FROM work w
   WHERE w.tenant_id = :tenant::uuid AND w.lane = :lane AND w.kind = ANY (:kinds::text[])
     AND w.failed_at IS NULL AND w.token IS NULL AND w.due <= now()
     AND (w.conversation_id IS NULL OR w.conversation_id <> ALL (ARRAY(
       SELECT r.conversation_id FROM work r
        WHERE r.tenant_id = :tenant::uuid AND r.lane BETWEEN :lane AND :lane
          AND r.conversation_id IS NOT NULL AND r.token IS NOT NULL
        ORDER BY r.lane, r.conversation_id)))
   ORDER BY w.due LIMIT 1 FOR UPDATE OF w SKIP LOCKED
), taken AS (
  UPDATE work w SET claimed = w.version, token = :token, due = now() + :lease::interval, attempts = w.attempts + 1
    FROM found WHERE w.tenant_id = :tenant::uuid AND w.ctid = found.place
  RETURNING w.id, w.kind, w.subject, w.conversation_id, w.args, w.attempts, w.version, w.token, w.lane,
         w.excused AS transient_attempts
)
SELECT * FROM taken LIMIT length(set_config('app.tenant', :tenant::text || '*', true)) / 36;

-- name: astray_of_tenant
-- The tenant, if it has a lease that has ended, or work that is due later than anything can be.
SELECT {id} AS tenant FROM (
    (SELECT FROM work r WHERE r.tenant_id = {id} AND r.lane IN ({lanes}) AND r.token IS NOT NULL
        AND (r.due <= now() OR r.due > now() + :lease::interval) LIMIT 1)
    UNION ALL
    (SELECT FROM unnest(ARRAY[{lanes}]) AS l (lane), LATERAL (
       SELECT FROM work w
        WHERE w.tenant_id = {id} AND w.lane = l.lane AND w.failed_at IS NULL AND w.token IS NULL
          AND w.due > now() + interval '{wait_max_seconds} seconds'
        ORDER BY w.due LIMIT 1) w LIMIT 1)) AS one
 LIMIT length(set_config('app.tenant', {id}::text || '*', true)) / 36;

-- name: astray
-- Those of some tenants.
SELECT found.tenant FROM unnest(:tenant::uuid[]) AS t (id), LATERAL ({astray_of_tenant}) AS found;

-- name: expired
-- Work whose worker was not heard of until the lease ended. That all lanes are named leads to the index of running work
-- even before the table was ever analyzed.
SELECT kind, subject, token, attempts, excused, id, conversation_id, version = claimed AS is_whole FROM work
 WHERE tenant_id = :tenant AND lane IN ({lanes}) AND token IS NOT NULL AND due <= now()
 ORDER BY due LIMIT {reaped_at_once} FOR UPDATE SKIP LOCKED;
