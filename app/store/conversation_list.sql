-- name: list
-- A page of the conversations of some ({of}) in an order ({key}), after a cursor's (value, uid). Topics match in any
-- letter case.
SELECT id, uid, user_id, space_id, title, model, budget, metadata, created_at, updated_at, last_seq, last_page,
       history_total
  FROM conversations c
 WHERE tenant_id = :tenant AND {of}
   AND (:pattern::text IS NULL OR title ILIKE :pattern OR id ILIKE :pattern OR EXISTS (
         SELECT FROM pages p WHERE p.tenant_id = :tenant AND p.conversation_id = c.id AND p.title ILIKE :pattern))
   AND (:after::{type} IS NULL OR ({key}, uid) {beyond} (:after, :after_uid::uuid))
   AND (cardinality(:topics::text[]) = 0 OR EXISTS (
         SELECT FROM page_index i, unnest(i.topics) AS t (topic)
          WHERE i.tenant_id = :tenant AND i.conversation_id = c.id AND lower(t.topic) = ANY (:topics)))
   AND (:metadata::text = '{}' OR {metadata_as_json} @> :metadata::jsonb)
 ORDER BY {key} {direction}, uid {direction}
 LIMIT :limit;
