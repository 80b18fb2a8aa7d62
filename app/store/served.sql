-- name: change
-- Replaces rows of different conversations, each unless it has been written since by another process.
UPDATE served_windows w SET body = n.body
  FROM unnest(:conversations::text[], :uids::uuid[], :firsts::int[], :sizes::int[], :bodies::bytea[])
    AS n (conversation_id, uid, first, size, body)
  JOIN conversations c ON c.tenant_id = :tenant AND c.id = n.conversation_id AND c.uid = n.uid
 WHERE w.tenant_id = :tenant AND w.conversation_id = n.conversation_id AND w.first = n.first
   AND octet_length(w.body) = n.size
RETURNING w.conversation_id;

-- name: change_alone
-- The same by itself: it sets the tenant, and returns the conversations.
WITH changed AS ({change})
SELECT array_agg(conversation_id) AS conversations FROM changed
 LIMIT length(set_config('app.tenant', :tenant::text || '*', true)) / 36;

-- name: begin_row
-- Begins a row of a conversation that is held, after one that is full.
INSERT INTO served_windows (tenant_id, conversation_id, first, body)
SELECT :tenant, c.id, :first, :body FROM conversations c
 WHERE c.tenant_id = :tenant AND c.id = :conversation AND c.uid = :uid
ON CONFLICT DO NOTHING RETURNING conversation_id;

-- name: keep
-- Keeps texts, each unless something was erased since it was served: of the conversation, of what it keeps in mind, or
-- of what the text quotes.
INSERT INTO served_texts (tenant_id, conversation_id, digest, salt, part, through, body, sources)
SELECT :tenant, c.id, t.digest, t.salt, t.part, t.through, t.body, t.sources::uuid[]
  FROM conversations c,
       unnest(:digests::bytea[], :salts::bytea[], :parts::text[], :throughs::int[], :bodies::bytea[], :sources::text[])
         AS t (digest, salt, part, through, body, sources)
 WHERE c.tenant_id = :tenant AND c.id = :conversation AND c.uid = :uid
   AND c.erasures = :erasures
   AND (t.part <> 'head' OR :withdrawn = coalesce(
        (SELECT sum(d.count) FROM withdrawals d
          WHERE d.tenant_id = :tenant AND d.owner = ANY (c.scopes)), 0)::bigint)
   AND (t.part <> 'tail' OR cardinality(t.sources::uuid[]) =
        (SELECT count(*) FROM memories m WHERE m.tenant_id = :tenant AND m.id = ANY (t.sources::uuid[]))
        + (SELECT count(*) FROM archives a WHERE a.tenant_id = :tenant AND a.id = ANY (t.sources::uuid[])))
ON CONFLICT DO NOTHING;

-- name: forget_quoted
-- Erases the texts of other conversations that quote what belongs to one.
DELETE FROM served_texts t
 WHERE t.tenant_id = :tenant AND cardinality(t.sources) > 0 AND t.conversation_id <> :conversation
   AND (EXISTS (SELECT FROM memories m
                 WHERE m.tenant_id = :tenant AND m.id = ANY (t.sources) AND m.conversation_id = :conversation)
        OR EXISTS (SELECT FROM archives a
                    WHERE a.tenant_id = :tenant AND a.id = ANY (t.sources)
                      AND a.conversation_id = :conversation));

-- name: items
-- The messages of a window that was served: the prompt, the pinned user message, and all from the condensed zone on, up
-- to its last one.
SELECT {item}
  FROM (SELECT * FROM messages
         WHERE tenant_id = :tenant AND conversation_id = :conversation
           AND seq <= :prompt_through::int AND seq < :condensed_from::int
        UNION ALL
        SELECT * FROM messages
         WHERE tenant_id = :tenant AND conversation_id = :conversation
           AND seq = :pinned::int AND seq > :prompt_through::int AND seq < :condensed_from::int
        UNION ALL
        SELECT * FROM messages
         WHERE tenant_id = :tenant AND conversation_id = :conversation
           AND seq >= :condensed_from::int AND seq <= :last_seq::int) m
  CROSS JOIN (SELECT :verbatim_from::int AS verbatim_from, :pinned::int AS pinned) z
  CROSS JOIN (SELECT :last_page::int AS last_page) c
 ORDER BY m.seq;
