-- name: learnt
-- What was learned between two revisions, in order.
SELECT revision, 'page' AS kind, page AS n, 0 AS m FROM page_index
 WHERE tenant_id = :tenant AND conversation_id = :conversation AND revision > :after AND revision <= :through
UNION ALL
SELECT revision, 'chapter', first_page, last_page FROM chapter_names
 WHERE tenant_id = :tenant AND conversation_id = :conversation AND revision > :after AND revision <= :through
UNION ALL
SELECT revision, 'summary', version, 0 FROM summaries
 WHERE tenant_id = :tenant AND conversation_id = :conversation AND revision > :after AND revision <= :through
UNION ALL
SELECT revision, 'recall', page, count FROM recalls
 WHERE tenant_id = :tenant AND conversation_id = :conversation AND revision > :after AND revision <= :through
 ORDER BY revision, kind, n;
