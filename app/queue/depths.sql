-- name: depth
-- A tenant's work by lane and state. Of a conversation's rows, those whose conversation is busy in the lane wait
-- rightly.
SELECT * FROM (
SELECT lane, 'pending' AS state, count(*) AS jobs, max(extract(epoch FROM now() - created_at))::float8 AS age,
       count(*) FILTER (WHERE due < now() - interval '{unclaimed_seconds} seconds' AND NOT EXISTS (
         SELECT FROM work r WHERE r.tenant_id = {id} AND r.lane = w.lane AND r.conversation_id = w.conversation_id
                              AND r.token IS NOT NULL)) AS unclaimed,
       (array_agg(error ORDER BY created_at) FILTER (WHERE error IS NOT NULL))[1] AS error
  FROM (SELECT lane, due, created_at, conversation_id, error FROM work
         WHERE tenant_id = {id} AND failed_at IS NULL AND token IS NULL
         LIMIT {counted_max}) w
 GROUP BY lane
UNION ALL
SELECT lane, 'running', count(*), NULL, 0, NULL FROM work WHERE tenant_id = {id} AND token IS NOT NULL GROUP BY lane
UNION ALL
SELECT lane, 'dead', count(*), NULL, 0, NULL
  FROM (SELECT lane FROM work WHERE tenant_id = {id} AND failed_at IS NOT NULL LIMIT {counted_max}) d
 GROUP BY lane) AS lanes
 LIMIT length(set_config('app.tenant', {id}::text || '*', true));

-- name: depth_of_each
-- That of some tenants.
SELECT found.* FROM unnest(:tenant::uuid[]) AS t (id), LATERAL ({depth}) AS found;

-- name: neglected
-- A tenant's lanes with work that could have been claimed a minute ago. It is `ordered`, so that it can be asked often.
SELECT l.lane, w.error FROM unnest(ARRAY[{lanes}]) AS l (lane), LATERAL (
  SELECT w.error FROM work w
   WHERE w.tenant_id = {id} AND w.lane = l.lane AND w.failed_at IS NULL AND w.token IS NULL
     AND w.due < now() - interval '{unclaimed_seconds} seconds'
     AND (w.conversation_id IS NULL OR w.conversation_id <> ALL (ARRAY(
       SELECT r.conversation_id FROM work r
        WHERE r.tenant_id = {id} AND r.lane BETWEEN l.lane AND l.lane
          AND r.conversation_id IS NOT NULL AND r.token IS NOT NULL
        ORDER BY r.lane, r.conversation_id)))
   ORDER BY w.due LIMIT 1) w
 LIMIT length(set_config('app.tenant', {id}::text || '*', true)) / 4;

-- name: neglected_of_each
-- Those of some tenants.
SELECT found.* FROM unnest(:tenant::uuid[]) AS t (id), LATERAL ({neglected}) AS found;

-- name: depth_of_conversation
-- A conversation's work.
SELECT count(*) FILTER (WHERE failed_at IS NULL AND token IS NULL) AS pending,
       count(*) FILTER (WHERE token IS NOT NULL) AS running,
       count(*) FILTER (WHERE failed_at IS NOT NULL) AS dead,
       max(CASE WHEN failed_at IS NULL AND token IS NULL THEN extract(epoch FROM now() - created_at) END)::float8
         AS oldest_pending_seconds,
       count(*) FILTER (WHERE kind IN ({indexing})) AS unindexed
  FROM work WHERE tenant_id = :tenant AND conversation_id = :conversation;

-- name: abandoned
-- Jobs of all tenants whose lease ended a while ago: a worker that looked for them would have taken them back.
SELECT count(*) FROM (SELECT FROM work
  WHERE token IS NOT NULL AND due < now() - interval '{unclaimed_seconds} seconds'
  LIMIT {counted_max}) w;
