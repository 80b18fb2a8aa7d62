-- name: answers_of
-- Some responses of an owner by key, with the text of those that name a conversation, or anything in it.
-- :quoted: its id as JSON.
WITH batch AS MATERIALIZED (
  SELECT key, response FROM idempotency
   WHERE tenant_id = :tenant AND owner = :owner AND key > :after ORDER BY key LIMIT {answers_at_once}
), named AS (
  SELECT DISTINCT b.key, g.found[1]::uuid AS id FROM batch b, regexp_matches(b.response, {uuids}, 'g') AS g (found)
), ours AS (
  SELECT key FROM named
   WHERE id IN (SELECT id FROM messages WHERE tenant_id = :tenant AND conversation_id = :conversation)
      OR id IN (SELECT id FROM archives WHERE tenant_id = :tenant AND conversation_id = :conversation)
      OR id IN (SELECT id FROM memories
                 WHERE tenant_id = :tenant AND conversation_id = :conversation AND content IS NOT NULL)
)
SELECT key, CASE WHEN position('"id":' || :quoted::text IN response) > 0
                   OR position('"conversation_id":' || :quoted::text IN response) > 0
                   OR key IN (SELECT key FROM ours) THEN response END AS response
  FROM batch ORDER BY key;
