-- name: messages
-- Messages in some stretches that can match, the newest of each first. As in search, prompts, refused questions and
-- recalled texts are left out. The collation "C" folds the case of ASCII only, but is twice as fast.
SELECT {message_fields}
  FROM unnest(:conversations::text[], :firsts::int[], :lasts::int[]) WITH ORDINALITY AS s (id, first, last, place)
  JOIN messages m ON m.tenant_id = :tenant AND m.conversation_id = s.id AND m.seq BETWEEN s.first AND s.last
 WHERE m.kind NOT IN ('prompt', 'refused') AND m.loaded IS NULL
   AND (:since::timestamptz IS NULL OR coalesce(m.said_at, m.created_at) >= :since)
   AND (:until::timestamptz IS NULL OR coalesce(m.said_at, m.created_at) < :until)
   AND (cardinality(:needles::text[]) = 0
        OR lower(CASE WHEN m.kind = 'orphan' THEN m.body ELSE coalesce(m.view, m.body) END COLLATE "C")
           LIKE ANY (:needles)
        OR CASE WHEN m.kind = 'orphan' THEN m.body ELSE coalesce(m.view, m.body) END COLLATE "C" ~ :expression)
 ORDER BY s.place, m.seq DESC LIMIT :limit;

-- name: results
-- Those of some archives that can match, with their content, in which U+FFFD replaces NUL.
SELECT a.id, a.tool_name, a.conversation_id, m.page, a.created_at, m.said_at, m.said_offset, t.content
  FROM archives a
  JOIN archive_contents t ON t.tenant_id = a.tenant_id AND t.scope = a.scope AND t.digest = a.digest
  LEFT JOIN messages m ON m.tenant_id = a.tenant_id AND m.conversation_id = a.conversation_id AND m.seq = a.seq
 WHERE a.tenant_id = :tenant AND a.id = ANY (:ids::uuid[]) AND (a.expires_at IS NULL OR a.expires_at > now())
   AND (:since::timestamptz IS NULL OR coalesce(m.said_at, a.created_at) >= :since)
   AND (:until::timestamptz IS NULL OR coalesce(m.said_at, a.created_at) < :until)
   AND (cardinality(:needles::text[]) = 0 OR lower(t.content COLLATE "C") LIKE ANY (:needles)
        OR t.content COLLATE "C" ~ :expression)
 ORDER BY a.id DESC;
