-- name: messages
-- Messages from a place on, with what is wrong with their place, sums, chain and archives.
--
-- over: how much less the offsets are than the sums.
WITH batch AS (
  SELECT conversation_id, seq, kind, full_tokens, short_tokens, full_before, short_before, digest, chain, archive_ids,
         coalesce(view, body) AS shown, row_number() OVER (PARTITION BY conversation_id ORDER BY seq) = 1 AS is_first
    FROM messages WHERE tenant_id = :tenant AND (conversation_id, seq) >= (:conversation, :seq)
   ORDER BY conversation_id, seq LIMIT :limit
), placed AS ( -- p: the message that a branch's first one follows
  SELECT b.*, coalesce(lag(b.seq) OVER w, p.seq, 0) AS prev_seq,
         coalesce(lag(b.chain) OVER w, p.chain, '') AS prev_chain,
         b.seq > 1 AND coalesce(lag(b.chain) OVER w, p.chain) IS NULL AS is_chain_unknown,
         coalesce(lag(b.shown) OVER w, p.shown, '') AS prev_shown,
         coalesce(lag(b.full_before + b.full_tokens) OVER w, p.full_after, 0) - b.full_before AS full_over,
         coalesce(lag(b.short_before + b.short_tokens) OVER w, p.short_after, 0) - b.short_before AS short_over
    FROM batch b
    LEFT JOIN LATERAL (
      SELECT m.seq, m.chain, coalesce(m.view, m.body) AS shown, m.full_before + m.full_tokens AS full_after,
             m.short_before + m.short_tokens AS short_after
        FROM conversations c
        JOIN messages m ON m.tenant_id = :tenant AND m.conversation_id = c.parent_id AND m.seq = b.seq - 1
       WHERE c.tenant_id = :tenant AND c.id = b.conversation_id AND b.is_first LIMIT 1) p ON true
  WINDOW w AS (PARTITION BY b.conversation_id ORDER BY b.seq)
)
SELECT conversation_id, seq, array_remove(ARRAY[
         CASE WHEN seq <> prev_seq + 1 THEN 'gap' END,
         CASE WHEN seq = prev_seq + 1 AND (least(full_over, short_over) < 0
                                           OR greatest(full_over, short_over) > 0 AND prev_shown !~ :marks)
              THEN 'sums' END,
         CASE WHEN seq = prev_seq + 1 AND NOT is_chain_unknown AND chain <>
                   CASE WHEN kind = 'prompt' OR digest = '' THEN prev_chain ELSE sha256(prev_chain || digest) END
              THEN 'chain' END,
         CASE WHEN EXISTS (SELECT FROM unnest(archive_ids) AS r (id)
                            WHERE NOT EXISTS (SELECT FROM archives a WHERE a.tenant_id = :tenant AND a.id = r.id))
              THEN 'placeholder' END], NULL) AS faults
  FROM placed ORDER BY conversation_id, seq;

-- name: conversations
-- Conversations, with a fault where the totals are not those of the last message.
SELECT c.id, array_remove(ARRAY[
         CASE WHEN c.last_seq <> coalesce(m.seq, 0) OR c.chain <> coalesce(m.chain, c.chain)
                   OR least(m.full_over, m.short_over) < 0
                   OR greatest(m.full_over, m.short_over) > 0 AND m.shown !~ :marks
              THEN 'totals' END], NULL) AS faults
  FROM (SELECT id, parent_id, last_seq, full_total, short_total, chain FROM conversations
         WHERE tenant_id = :tenant AND id > :after ORDER BY id LIMIT :limit) c
  LEFT JOIN LATERAL (
    SELECT m.seq, m.chain, coalesce(m.view, m.body) AS shown, m.full_before + m.full_tokens - c.full_total AS full_over,
           m.short_before + m.short_tokens - c.short_total AS short_over
      FROM ((SELECT * FROM messages WHERE tenant_id = :tenant AND conversation_id = c.id ORDER BY seq DESC LIMIT 1)
            UNION ALL -- of a branch without messages of its own
            (SELECT * FROM messages WHERE tenant_id = :tenant AND conversation_id = c.parent_id AND seq = c.last_seq)) m
     ORDER BY m.conversation_id = c.id DESC LIMIT 1) m ON true
 ORDER BY c.id;

-- name: archives
-- Archives, with a fault where the content is gone.
SELECT a.id, array_remove(ARRAY[CASE WHEN t.digest IS NULL THEN 'content' END], NULL) AS faults
  FROM (SELECT id, scope, digest FROM archives WHERE tenant_id = :tenant AND id > :after ORDER BY id LIMIT :limit) a
  LEFT JOIN archive_contents t ON t.tenant_id = :tenant AND t.scope = a.scope AND t.digest = a.digest
 ORDER BY a.id;

-- name: memories
-- Memories, with a fault where the message or archive they quote is gone.
SELECT s.id, array_remove(ARRAY[
         CASE WHEN s.archive_id IS NOT NULL
                   AND NOT EXISTS (SELECT FROM archives a WHERE a.tenant_id = :tenant AND a.id = s.archive_id)
                OR s.seq IS NOT NULL AND s.conversation_id IS NOT NULL
                   AND NOT EXISTS (SELECT FROM messages m WHERE m.tenant_id = :tenant
                                      AND m.conversation_id = s.conversation_id AND m.seq = s.seq)
              THEN 'source' END], NULL) AS faults
  FROM (SELECT id, archive_id, conversation_id, seq FROM memories
         WHERE tenant_id = :tenant AND id > :after ORDER BY id LIMIT :limit) s
 ORDER BY s.id;

-- name: vectors
-- Vectors, with a fault where the memory is gone.
SELECT e.memory_id, array_remove(ARRAY[CASE WHEN s.id IS NULL THEN 'vector' END], NULL) AS faults
  FROM (SELECT memory_id FROM embeddings
         WHERE tenant_id = :tenant AND memory_id > :after ORDER BY memory_id LIMIT :limit) e
  LEFT JOIN memories s ON s.tenant_id = :tenant AND s.id = e.memory_id
 ORDER BY e.memory_id;

-- name: unembedded
-- Marks of memories without a vector, with a fault where the memory is gone.
SELECT u.memory_id, array_remove(ARRAY[CASE WHEN s.id IS NULL THEN 'unembedded' END], NULL) AS faults
  FROM (SELECT memory_id FROM unembedded
         WHERE tenant_id = :tenant AND memory_id > :after ORDER BY memory_id LIMIT :limit) u
  LEFT JOIN memories s ON s.tenant_id = :tenant AND s.id = u.memory_id
 ORDER BY u.memory_id;

-- name: postings
-- Entries of the word indexes, with a fault where the memory is gone.
SELECT p.owner, p.term, p.memory_id, array_remove(ARRAY[CASE WHEN s.id IS NULL THEN 'posting' END], NULL) AS faults
  FROM (SELECT owner, term, memory_id FROM postings
         WHERE tenant_id = :tenant AND (owner, term, memory_id) > (:owner, :term, :after)
         ORDER BY owner, term, memory_id LIMIT :limit) p
  LEFT JOIN memories s ON s.tenant_id = :tenant AND s.id = p.memory_id
 ORDER BY p.owner, p.term, p.memory_id;

-- name: listed
-- Copies of vectors in the lists of the vector indexes, with a fault where they are none of the vector.
SELECT l.memory_id, array_remove(ARRAY[
         CASE WHEN e.embedding IS DISTINCT FROM l.embedding OR e.owner <> l.owner OR e.model <> l.model
              THEN 'listed' END], NULL) AS faults
  FROM (SELECT memory_id, owner, model, embedding FROM listed
         WHERE tenant_id = :tenant AND memory_id > :after ORDER BY memory_id LIMIT :limit) l
  LEFT JOIN embeddings e ON e.tenant_id = :tenant AND e.memory_id = l.memory_id
 ORDER BY l.memory_id;
