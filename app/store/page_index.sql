-- name: unindexed
-- One page, its lines and the topics of the newest pages; nothing if it is gone, or if its index is as good as it gets:
-- the model's, or an extractive one that nothing went wrong with. It sets the tenant itself.
SELECT c.id, c.line, c.is_forked, c.generation, c.indexed_through, p.first_seq, p.title,
       coalesce((SELECT first_seq - 1 FROM pages
                  WHERE tenant_id = :tenant::uuid AND conversation_id = :conversation AND page > :page
                  ORDER BY page LIMIT 1), c.last_seq) AS last_seq,
       (SELECT array_agg(ARRAY[CASE m.kind WHEN 'result' THEN 'tool' ELSE m.role END, m.line] ORDER BY m.seq)
               FILTER (WHERE m.line <> '' AND m.kind <> 'prompt')
          FROM (SELECT seq, kind, role, line FROM messages
                 WHERE tenant_id = :tenant::uuid AND conversation_id = :conversation
                   AND seq >= (SELECT first_seq FROM pages
                                WHERE tenant_id = :tenant::uuid AND conversation_id = :conversation AND page = :page)
                   AND seq < (SELECT coalesce(min(first_seq), 2147483647) FROM pages
                               WHERE tenant_id = :tenant::uuid AND conversation_id = :conversation
                                 AND page = :page::bigint + 1)
                 ORDER BY seq LIMIT :lines_max) m) AS lines,
       (SELECT array_agg(t.topic ORDER BY i.page DESC, t.topic)
          FROM (SELECT page, topics FROM page_index
                 WHERE tenant_id = :tenant::uuid AND conversation_id = :conversation
                 ORDER BY page DESC LIMIT {pages_told}) i, unnest(i.topics) AS t (topic)) AS topics
  FROM conversations c
  LEFT JOIN pages p ON p.tenant_id = :tenant::uuid AND p.conversation_id = :conversation AND p.page = :page
 WHERE c.tenant_id = :tenant::uuid AND c.id = :conversation AND c.uid = :uid
   AND NOT EXISTS (SELECT FROM page_index
                    WHERE tenant_id = :tenant::uuid AND conversation_id = :conversation AND page = :page
                      AND (source = 'llm' OR error IS NULL))
 LIMIT length(set_config('app.tenant', :tenant::text || '*', true)) / 36;

-- name: index
-- Stores a page's index and advances the number of pages that are indexed without a gap. Does nothing if the
-- conversation is gone or its past was changed since; stores no index if the page has one or is gone. A model's index
-- replaces an extractive one.
--
-- The conversation is locked first. After waiting for the lock, the statement sees the conversation as it is then, but
-- its pages as they were before: so it advances only over the pages that it sees, and never back.
WITH c AS ({advance}), i AS ({put})
SELECT EXISTS (SELECT FROM i) AS is_stored FROM c;

-- name: advance
-- Its first part: the number of pages.
UPDATE conversations c
     SET indexed_through = greatest(c.indexed_through, coalesce(
           (SELECT p.page - 1 FROM pages p
             WHERE p.tenant_id = :tenant AND p.conversation_id = :conversation
               AND p.page > c.indexed_through AND p.page <> :page
               AND NOT EXISTS (SELECT FROM page_index i
                                WHERE i.tenant_id = :tenant AND i.conversation_id = :conversation AND i.page = p.page
                               OFFSET 0) -- by the page, never a scan of all for each
             ORDER BY p.page LIMIT 1),
           (SELECT page FROM pages
             WHERE tenant_id = :tenant AND conversation_id = :conversation ORDER BY page DESC LIMIT 1)))
   WHERE c.tenant_id = :tenant AND c.id = :conversation AND c.uid = :uid AND c.generation = :generation
  RETURNING c.id;

-- name: put
-- Its second part: the page's index. (Along a line, tables are found after FROM: pages come first.)
INSERT INTO page_index (tenant_id, conversation_id, page, source, model, title, title_tokens, topics, seqs, lines,
                          line_tokens, error, created_at)
  SELECT :tenant, :conversation, p.page, :source, :model, :title, :title_tokens, :topics, :seqs, :lines,
         :line_tokens, :error, {at}
    FROM pages p{and_c} WHERE p.tenant_id = :tenant AND p.conversation_id = :conversation AND p.page = :page
  ON CONFLICT (tenant_id, conversation_id, page) DO UPDATE
     SET source = excluded.source, model = excluded.model, title = excluded.title,
         title_tokens = excluded.title_tokens, topics = excluded.topics, seqs = excluded.seqs, lines = excluded.lines,
         line_tokens = excluded.line_tokens, error = excluded.error
   WHERE page_index.source = 'extractive' AND excluded.source = 'llm'
  RETURNING page, created_at;

-- name: topics
-- The topics of the newest pages.
SELECT t.topic, i.page
  FROM (SELECT page, topics FROM page_index
         WHERE tenant_id = :tenant AND conversation_id = :conversation
         ORDER BY page DESC LIMIT :pages) i, unnest(i.topics) AS t (topic)
 ORDER BY i.page DESC, t.topic;
