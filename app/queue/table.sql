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
SELECT * FROM taken LIMIT length(set_config('app.tenant', :tenant::text, true)) / 36;

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
 LIMIT length(set_config('app.tenant', {id}::text, true)) / 36;

-- name: astray
-- Those of some tenants.
SELECT found.tenant FROM unnest(:tenant::uuid[]) AS t (id), LATERAL ({astray_of_tenant}) AS found;
