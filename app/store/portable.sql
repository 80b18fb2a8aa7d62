-- name: page
-- What was learned of the pages after a place.
SELECT ARRAY[page] AS place, page, source, model, title, topics, seqs, lines, error, created_at
  FROM page_index
 WHERE tenant_id = :tenant AND conversation_id = :conversation AND ARRAY[page] > :after::int[]
 ORDER BY page LIMIT :limit;

-- name: chapter
-- The names that a model gave to the chapters after a place.
SELECT ARRAY[first_page] AS place, first_page, last_page, title, model, created_at FROM chapter_names
 WHERE tenant_id = :tenant AND conversation_id = :conversation AND ARRAY[first_page] > :after::int[]
 ORDER BY first_page LIMIT :limit;

-- name: summary
-- The versions of the summary after one.
SELECT ARRAY[version] AS place, version, through_seq, text, model, created_at FROM summaries
 WHERE tenant_id = :tenant AND conversation_id = :conversation AND ARRAY[version] > :after::int[]
 ORDER BY version LIMIT :limit;

-- name: recall
-- A page's recalls in the order of their counts, each one more.
SELECT ARRAY[page, count] AS place, page, count, at_page, created_at FROM recalls
 WHERE tenant_id = :tenant AND conversation_id = :conversation AND ARRAY[page, count] > :after::int[]
 ORDER BY page, count LIMIT :limit;

-- name: cuts
-- The cuts of a generation; without :sensitive those that quote no sensitive memory.
SELECT {cut_fields}, e.created_at FROM cuts e
 WHERE e.tenant_id = :tenant AND e.conversation_id = :conversation AND e.generation = :generation
   AND (:sensitive::boolean OR NOT EXISTS (
     SELECT FROM memories m WHERE m.tenant_id = :tenant AND m.id = ANY (e.sources) AND m.sensitive))
 ORDER BY e.number;
