-- name: recall
-- Counts one recall more of each page; nothing if there is no such page.
WITH c AS (
  UPDATE conversations SET version = version + 1
   WHERE tenant_id = :tenant AND id = :conversation AND EXISTS (
     SELECT FROM pages
      WHERE tenant_id = :tenant AND conversation_id = :conversation AND page BETWEEN :first_page AND :last_page)
  RETURNING last_page
)
INSERT INTO recalls (tenant_id, conversation_id, page, count, at_page, created_at)
SELECT :tenant, :conversation, p.page,
       1 + coalesce((SELECT max(count) FROM recalls
                      WHERE tenant_id = :tenant AND conversation_id = :conversation AND page = p.page), 0),
       coalesce(:at_page::int, c.last_page), coalesce(:at::timestamptz, clock_timestamp())
  FROM c
  JOIN pages p ON p.tenant_id = :tenant AND p.conversation_id = :conversation
   AND p.page BETWEEN :first_page AND :last_page
RETURNING count;

-- piece: pages_of
-- Pages with their recalls, those that a condition picks.
SELECT p.page, p.title, p.first_seq,
       coalesce((SELECT first_seq - 1 FROM pages
                  WHERE tenant_id = :tenant AND conversation_id = :conversation AND page > p.page
                  ORDER BY page LIMIT 1),
                (SELECT last_seq FROM conversations WHERE tenant_id = :tenant AND id = :conversation)) AS last_seq,
       coalesce(r.count, 0) AS recall_count, r.at_page AS last_recalled_page, p.created_at
  FROM pages p
  LEFT JOIN LATERAL (
    SELECT count, at_page FROM recalls
     WHERE tenant_id = :tenant AND conversation_id = :conversation AND page = p.page
     ORDER BY count DESC LIMIT 1) r ON true
 WHERE p.tenant_id = :tenant AND p.conversation_id = :conversation AND

-- name: pages
-- The first pages after one, in order.
{pages_of} p.page > :after ORDER BY p.page LIMIT :limit;

-- name: some_pages
-- Some pages, in order.
{pages_of} p.page = ANY (:pages::int[]) ORDER BY p.page;
