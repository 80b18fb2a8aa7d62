-- name: add
-- Add entries, by themselves and in one round trip: it sets the tenant as the hot statements do.
INSERT INTO audit (tenant_id, id, action, route, ids, key, user_id, address, status, request_id)
SELECT :tenant::uuid, e.*
  FROM unnest(:id::uuid[], :action::text[], :route::text[], :ids::text[], :key::uuid[], :user_id::text[],
              :address::text[], :status::int[], :request_id::text[]) AS e
 LIMIT length(set_config('app.tenant', :tenant::text || '*', true)) / 36 * cardinality(:id::uuid[]) RETURNING id;
