-- name: among
-- The memories of owners that pass. Topics match in any letter case. A memory has the metadata of its whole.
-- A machine's words in the user's role count as a tool's.
SELECT m.id FROM memories m
  LEFT JOIN messages s ON s.tenant_id = :tenant AND s.conversation_id = m.conversation_id AND s.seq = m.seq
  LEFT JOIN memories w ON w.tenant_id = :tenant AND w.id = m.part_of
  LEFT JOIN conversations c ON c.tenant_id = :tenant AND c.id = m.conversation_id
 WHERE m.tenant_id = :tenant AND m.owner = ANY (:owners::uuid[])
   AND (cardinality(:roles::text[]) = 0 OR CASE WHEN m.archive_id IS NOT NULL OR s.kind = 'result' THEN 'tool'
                                            WHEN s.role = 'user' AND s.author <> ALL (:people::text[]) THEN 'tool'
                                            WHEN m.type = 'episode' THEN s.role END = ANY (:roles))
   AND (cardinality(:topics::text[]) = 0
        OR EXISTS (SELECT FROM unnest(m.keywords) AS k (topic) WHERE lower(k.topic) = ANY (:topics))
        OR EXISTS (SELECT FROM page_index i, unnest(i.topics) AS t (topic)
                    WHERE i.tenant_id = :tenant AND i.conversation_id = m.conversation_id AND i.page = m.page
                      AND lower(t.topic) = ANY (:topics)))
   AND (:metadata::text = '{}'
        OR {metadata_of_memory} @> :metadata::jsonb OR {metadata_of_conversation} @> :metadata::jsonb);
