-- name: due_of_tenant
-- The tenant, with each chore that may have something to do for it: a row is older than a parameter says (null: none
-- is), or past its time, or limits hold that are counted. There are at most twelve.
--
-- The query is `ordered`: the indexes of the times are read in their order, whatever the statistics.
SELECT {id} AS tenant, found.chore FROM (
    (SELECT 'answers' AS chore FROM idempotency
      WHERE tenant_id = {id} AND created_at < now() - :answers::interval ORDER BY created_at LIMIT 1)
    UNION ALL
    (SELECT 'requests' FROM proxied_requests WHERE tenant_id = {id} AND id < :requests ORDER BY id LIMIT 1)
    UNION ALL
    (SELECT 'rates' FROM rates WHERE tenant_id = {id} AND at < now() - :rates::interval LIMIT 1)
    UNION ALL
    (SELECT 'events' FROM events WHERE tenant_id = {id} AND id < :events ORDER BY id LIMIT 1)
    UNION ALL
    (SELECT 'audit' FROM audit WHERE tenant_id = {id} AND id < :audit ORDER BY id LIMIT 1)
    UNION ALL
    (SELECT 'archives' FROM archives WHERE tenant_id = {id} AND expires_at <= now() ORDER BY expires_at LIMIT 1)
    UNION ALL
    (SELECT 'memories' FROM memories
      WHERE tenant_id = {id} AND expires_at <= now() AND part_of IS NULL
      ORDER BY expires_at LIMIT 1)
    UNION ALL
    (SELECT 'conversations' FROM conversations
      WHERE tenant_id = {id} AND updated_at < :conversations ORDER BY updated_at LIMIT 1)
    UNION ALL
    (SELECT 'conversations' WHERE :messages::bigint > 0)
    UNION ALL
    (SELECT 'storage' FROM (SELECT) AS one LEFT JOIN tenants own ON own.tenant_id = {id}
      WHERE coalesce(own.storage_bytes, :storage) > 0 OR coalesce(own.user_storage_bytes, :user_storage) > 0)) AS found
 LIMIT length(set_config('app.tenant', {id}::text || '*', true)) / 3;

-- name: due
-- Those of some tenants.
SELECT found.* FROM unnest(:tenant::uuid[]) AS t (id), LATERAL ({due_of_tenant}) AS found;
