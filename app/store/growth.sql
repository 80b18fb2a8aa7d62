-- name: turns
-- The last pages, the newest first, with the running total before each.
SELECT p.page, m.full_before
  FROM (SELECT page, first_seq FROM pages
         WHERE tenant_id = :tenant AND conversation_id = :conversation ORDER BY page DESC LIMIT :limit) p
  CROSS JOIN LATERAL (
    SELECT full_before FROM messages
     WHERE tenant_id = :tenant AND conversation_id = :conversation AND seq = p.first_seq LIMIT 1) m
 ORDER BY p.page;

-- name: epochs
-- The last epochs with the offsets at which their zones begin.
SELECT e.number, e.trigger_page, e.head, c.short_before AS condensed_start, v.short_before AS condensed_end,
       v.full_before AS verbatim_start
  FROM (SELECT number, trigger_page, condensed_from, verbatim_from, head FROM epochs
         WHERE tenant_id = :tenant AND conversation_id = :conversation ORDER BY number DESC LIMIT :limit) e
  LEFT JOIN LATERAL (
    SELECT short_before FROM messages
     WHERE tenant_id = :tenant AND conversation_id = :conversation AND seq = e.condensed_from LIMIT 1) c ON true
  LEFT JOIN LATERAL (
    SELECT short_before, full_before FROM messages
     WHERE tenant_id = :tenant AND conversation_id = :conversation AND seq = e.verbatim_from LIMIT 1) v ON true
 ORDER BY e.number;
