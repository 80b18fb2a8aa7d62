-- name: tell
-- Writes events, if the tenant has them on.
INSERT INTO events (tenant_id, id, type, data)
SELECT :tenant, e.id, e.type, e.data FROM unnest(:ids::uuid[], :types::text[], :data::text[]) AS e (id, type, data)
 WHERE EXISTS (SELECT FROM tenants t WHERE t.tenant_id = :tenant AND t.events) RETURNING id;

-- name: drop_unfounded
-- A wish that was not kept, because it was known, is no memory.
DELETE FROM events e WHERE e.tenant_id = :tenant AND e.seq IS NULL AND e.type IN ('memory.proposed', 'memory.changed')
   AND NOT EXISTS (
     SELECT FROM memories m WHERE m.tenant_id = :tenant AND m.id = (e.data::json ->> 'memory_key')::uuid);

-- name: number
-- Numbers new events, from the last number on.
UPDATE events e SET seq = :last + n.place
  FROM (SELECT id, row_number() OVER (ORDER BY id) AS place FROM (
          SELECT id FROM events WHERE tenant_id = :tenant AND seq IS NULL
           ORDER BY id LIMIT {numbered_at_once}) AS o) AS n
 WHERE e.tenant_id = :tenant AND e.id = n.id RETURNING e.seq, e.type;

-- name: after
-- Numbered events after one, at most two hundred.
SELECT id, seq, type, data FROM events
 WHERE tenant_id = :tenant::uuid AND seq > :seq ORDER BY seq
 LIMIT length(set_config('app.tenant', :tenant::text || '*', true)) / 36 * 200;

-- name: prune
-- Forgets events older than a UUIDv7 of that time.
DELETE FROM events WHERE tenant_id = :tenant AND id = ANY (ARRAY(
  SELECT id FROM events WHERE tenant_id = :tenant AND id < :before ORDER BY id LIMIT :limit FOR UPDATE SKIP LOCKED));

-- name: next
-- The first event after a cursor that a webhook takes.
SELECT id, seq, type, data FROM events
 WHERE tenant_id = :tenant AND seq > :cursor AND (cardinality(:types::text[]) = 0 OR type = ANY (:types))
 ORDER BY seq LIMIT 1;

-- name: delivered
-- Moves a webhook's cursor past an event.
UPDATE webhooks SET cursor = :seq, last_status = 'delivered', failing_since = NULL
 WHERE tenant_id = :tenant AND id = :id;

-- name: failed
-- Notes a failed delivery, and turns the webhook off if it fails for too long or wants no more.
UPDATE webhooks
   SET last_status = :status, failing_since = coalesce(failing_since, (SELECT now())),
       disabled_at = CASE WHEN :is_gone::boolean OR failing_since < (SELECT now()) - :off_after::interval
                          THEN (SELECT now()) END
 WHERE tenant_id = :tenant AND id = :id RETURNING disabled_at;
