-- name: ready
-- The next messages to prune, in order: beyond the number to keep, before the window's zones (:before), on pages that
-- are indexed, summarised (:through) and in search with all their passages. The first one that is not ready ends them.
WITH c AS MATERIALIZED (
  SELECT pruned_through, prompt_through, indexed_through, last_seq - :keep AS through FROM conversations
   WHERE tenant_id = :tenant AND id = :conversation
), looked AS MATERIALIZED (
  SELECT m.seq, m.kind, m.role, m.page, m.body, m.view, m.anthropic FROM messages m
   WHERE m.tenant_id = :tenant AND m.conversation_id = :conversation AND m.seq > (SELECT pruned_through FROM c)
     AND m.seq <= (SELECT through FROM c) AND m.seq < :before AND m.seq <= :through
   ORDER BY m.seq LIMIT :limit
)
SELECT l.*, l.page > (SELECT indexed_through FROM c)
         OR EXISTS (SELECT FROM memories s JOIN unembedded u ON u.tenant_id = :tenant AND u.memory_id = s.id
                     WHERE s.tenant_id = :tenant AND s.conversation_id = :conversation AND s.seq = l.seq)
         OR EXISTS (SELECT FROM work w WHERE w.tenant_id = :tenant AND w.kind = '{passages}'
                                         AND w.conversation_id = :conversation)
         AS waits
  FROM looked l ORDER BY l.seq;
