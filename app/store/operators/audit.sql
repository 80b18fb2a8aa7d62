-- name: add
-- Add an entry, by itself and in one round trip: it sets the tenant as the hot statements do.
INSERT INTO audit (tenant_id, id, action, route, ids, key, user_id, address, status, request_id)
SELECT :tenant::uuid, :id::uuid, :action, :route, :ids, :key::uuid, :user_id, :address, :status::int, :request_id
 LIMIT length(set_config('app.tenant', :tenant::text, true)) / 36 RETURNING id;
