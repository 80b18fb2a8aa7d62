-- name: pages
-- The pages from :oldest_page to :newest_page, those recalled of late and some more: with their recalls, the model's
-- names, their days, and their lines as far as they have left the window; none of what is after :last_page has.
--
-- A page ends where the next one begins, which the same read tells. Its day is when its first message was said, or else
-- stored, in UTC. Each look-up is a lateral one with a limit: so the planner uses the index, whatever it knows of the
-- tables.
WITH recent AS MATERIALIZED (
  SELECT page, count, at_page FROM recalls
   WHERE tenant_id = :tenant AND conversation_id = :conversation AND at_page >= :recalled_since
), r AS (
  SELECT DISTINCT ON (page) page, count, at_page FROM recent
   WHERE page <= :last_page
   ORDER BY page, count DESC
), p AS (
  SELECT page, first_seq, title, title_tokens,
         CASE WHEN page > :last_page THEN first_seq + 1
              ELSE least(lead(first_seq) OVER (ORDER BY page), :condensed_from) END AS next_seq
    FROM pages
   WHERE tenant_id = :tenant AND conversation_id = :conversation AND page BETWEEN :oldest_page AND :newest_page
  UNION ALL
  SELECT p.*
    FROM (SELECT page FROM r UNION SELECT unnest(:more::int[])) more
    CROSS JOIN LATERAL (
      SELECT page, first_seq, title, title_tokens, least(lead(first_seq) OVER (ORDER BY page), :condensed_from) FROM (
        SELECT page, first_seq, title, title_tokens FROM pages
         WHERE tenant_id = :tenant AND conversation_id = :conversation AND page >= more.page ORDER BY page LIMIT 2) two
       ORDER BY page LIMIT 1) p
   WHERE more.page < :oldest_page AND p.page = more.page
)
SELECT p.page, p.title, p.title_tokens, coalesce(r.count, 0) AS count, coalesce(r.at_page, 0) AS at_page,
       i.page IS NOT NULL AS is_named, i.title AS name, i.title_tokens AS name_tokens, i.seqs AS named_seqs,
       i.lines AS named_lines, i.line_tokens AS named_line_tokens,
       to_char(m.time, 'YYYY-MM-DD') AS day, m.seqs, m.roles, m.lines, m.line_tokens
  FROM p
  LEFT JOIN r ON r.page = p.page
  LEFT JOIN LATERAL (
    SELECT page, title, title_tokens, seqs, lines, line_tokens FROM page_index
     WHERE tenant_id = :tenant AND conversation_id = :conversation AND page = p.page
       AND source = 'llm' LIMIT 1
  ) i ON true
  CROSS JOIN LATERAL (
    SELECT (array_agg(coalesce(l.said_at, l.created_at) AT TIME ZONE 'UTC'
                      + l.said_offset * interval '1 minute'))[1] AS time,
           array_agg(l.seq) FILTER (WHERE l.is_line) AS seqs,
           array_agg(CASE WHEN l.kind = 'result' THEN 'tool' ELSE l.role END) FILTER (WHERE l.is_line) AS roles,
           array_agg(l.line) FILTER (WHERE l.is_line) AS lines,
           array_agg(l.line_tokens) FILTER (WHERE l.is_line) AS line_tokens
      FROM (
        SELECT seq, role, kind, line, line_tokens, said_at, said_offset, created_at,
               line <> '' AND kind <> 'prompt' AS is_line
          FROM messages
         WHERE tenant_id = :tenant AND conversation_id = :conversation AND seq >= p.first_seq AND seq < p.next_seq
         ORDER BY seq LIMIT {lines_per_page}) l
  ) m
 ORDER BY p.page;

-- name: texts
-- What is kept in mind; the topics of the newest pages; and the summary that covers all messages before :condensed_from
-- and the fewest after it, else the newest.
SELECT k.*, t.*, s.through_seq, s.text AS summary, s.model
  FROM conversations c
  LEFT JOIN LATERAL ({kept}
  ) k ON true
  LEFT JOIN LATERAL (
    SELECT array_agg(t.topic ORDER BY i.page DESC, t.topic) AS topics,
           array_agg(i.page ORDER BY i.page DESC, t.topic) AS topic_pages
      FROM (SELECT page, topics FROM page_index
             WHERE tenant_id = :tenant AND conversation_id = :conversation AND page <= :last_page
             ORDER BY page DESC LIMIT {pages_told}) i, unnest(i.topics) AS t (topic)
  ) t ON true
  LEFT JOIN LATERAL (
    SELECT through_seq, text, model FROM (
      SELECT version, through_seq, text, model FROM summaries
       WHERE tenant_id = :tenant AND conversation_id = :conversation
       ORDER BY version DESC LIMIT {versions_looked_at}) s
     ORDER BY through_seq < :condensed_from - 1,
              CASE WHEN through_seq < :condensed_from - 1 THEN -version ELSE version END LIMIT 1
  ) s ON true
 WHERE c.tenant_id = :tenant AND c.id = :conversation;
