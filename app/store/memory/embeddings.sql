-- name: look
-- Some of the tenant's memories, in order.
SELECT id, owner, length, type, conversation_id, seq, start
  FROM memories WHERE tenant_id = :tenant AND id > :after ORDER BY id LIMIT :limit;

-- piece: lacking
-- The condition of a memory s without a vector of the model, unless it never gets one: see jobs/embed.py.
s.length > 0
   AND NOT EXISTS (SELECT FROM embeddings e WHERE e.tenant_id = :tenant AND e.memory_id = s.id AND e.model = :model)
   AND NOT EXISTS (
     SELECT FROM messages t
      WHERE s.type = 'episode' AND t.tenant_id = :tenant AND t.conversation_id = s.conversation_id AND t.seq = s.seq
        AND ((t.author = 'tool' AND (s.start > 0 OR cardinality(t.archive_ids) > 0))
             OR (t.calls > 0 AND coalesce(t.view, t.body) ~ '"content":(null|"")')))

-- name: hold_lacking
-- Some memories without a vector of the model, locked. Rows that are being erased are locked already and skipped.
SELECT s.owner, s.id FROM memories s WHERE s.tenant_id = :tenant AND s.id = ANY (:ids::uuid[]) AND {lacking}
   FOR KEY SHARE OF s SKIP LOCKED;

-- name: mark
-- Marks those of the tenant's next memories that have no vector of the model, and returns their owners. Rows that are
-- being erased are locked already and skipped.
WITH looked AS MATERIALIZED (
  {look}
), marked AS (
  INSERT INTO unembedded (tenant_id, owner, memory_id)
  SELECT :tenant, m.owner, m.id FROM looked s JOIN memories m ON m.tenant_id = :tenant AND m.id = s.id
   WHERE {lacking}
     FOR KEY SHARE OF m SKIP LOCKED
  ON CONFLICT DO NOTHING
)
SELECT (SELECT array_agg(DISTINCT s.owner) FROM looked s
         WHERE {lacking}) AS owners,
       (SELECT id FROM looked ORDER BY id DESC LIMIT 1) AS through, (SELECT count(*) FROM looked) AS looked_at;
