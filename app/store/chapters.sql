-- piece: chapter
-- What is read of a chapter.
level, first_page, last_page, at_page, terms, day

-- name: around
-- The newest of each level, and all that are in the same volume as one of the pages recalled of late, as far as they
-- have left the window; with what a model named them.
WITH levels AS (
  SELECT level FROM generate_series(1, {levels}) AS level WHERE {volume} ^ (level - 1) <= :last_page
), recent AS MATERIALIZED (
  SELECT page FROM recalls
   WHERE tenant_id = :tenant AND conversation_id = :conversation AND at_page >= :recalled_since
), recalled AS MATERIALIZED (
  SELECT DISTINCT page FROM recent WHERE page <= :last_page ORDER BY page DESC LIMIT {recalled_max}
)
SELECT DISTINCT c.level, c.first_page, c.last_page, c.at_page, c.terms[1:{terms}] AS terms, c.day, n.title
  FROM levels l
  CROSS JOIN LATERAL (
    (SELECT {chapter} FROM chapters
      WHERE tenant_id = :tenant AND conversation_id = :conversation AND level = l.level AND first_page <= :last_page
      ORDER BY first_page DESC LIMIT {newest})
    UNION ALL
    SELECT c.* FROM recalled
      CROSS JOIN LATERAL (
        SELECT first_page, last_page FROM chapters
         WHERE tenant_id = :tenant AND conversation_id = :conversation AND level = l.level + 1
           AND first_page <= recalled.page
         ORDER BY first_page DESC LIMIT 1) v
      CROSS JOIN LATERAL (
        SELECT {chapter} FROM chapters
         WHERE tenant_id = :tenant AND conversation_id = :conversation AND level = l.level
           AND first_page BETWEEN v.first_page AND v.last_page) c
  ) c
  LEFT JOIN LATERAL (
    SELECT title FROM chapter_names
     WHERE tenant_id = :tenant AND conversation_id = :conversation AND first_page = c.first_page) n ON c.level = 1
 WHERE c.last_page <= :last_page
 ORDER BY c.first_page, c.level;

-- name: shelf
-- The newest chapters, and of each level of volumes the newest.
SELECT c.* FROM generate_series(1, {levels}) AS l (level)
  CROSS JOIN LATERAL (
    SELECT {chapter} FROM chapters
     WHERE tenant_id = :tenant AND conversation_id = :conversation AND level = l.level AND first_page < :before_page
     ORDER BY first_page DESC LIMIT CASE WHEN l.level = 1 THEN {others_max} ELSE {volume} END) c
 ORDER BY c.level, c.first_page;

-- name: told
-- Pages, each with the times of its first message and its last, and the words of its first messages.
SELECT p.page, o.time AS opened_at, e.time AS ended_at, m.words, p.first_seq
  FROM pages p
  CROSS JOIN LATERAL (
    SELECT coalesce(
      (SELECT first_seq FROM pages
        WHERE tenant_id = :tenant AND conversation_id = :conversation AND page > p.page ORDER BY page LIMIT 1),
      2147483647) AS first_seq OFFSET 0) next
  CROSS JOIN LATERAL (
    SELECT coalesce(said_at, created_at) + said_offset * interval '1 minute' AS time FROM messages
     WHERE tenant_id = :tenant AND conversation_id = :conversation AND seq = p.first_seq LIMIT 1) o
  CROSS JOIN LATERAL (
    SELECT coalesce(said_at, created_at) + said_offset * interval '1 minute' AS time FROM messages
     WHERE tenant_id = :tenant AND conversation_id = :conversation AND seq < next.first_seq
     ORDER BY seq DESC LIMIT 1) e
  CROSS JOIN LATERAL (
    SELECT coalesce(string_agg(words, ' ' ORDER BY seq), '') AS words
      FROM (SELECT seq, words FROM messages
             WHERE tenant_id = :tenant AND conversation_id = :conversation
               AND seq >= p.first_seq AND seq < next.first_seq
             ORDER BY seq LIMIT {lines_per_page}) first) m
 WHERE p.tenant_id = :tenant AND p.conversation_id = :conversation AND p.page BETWEEN :first_page AND :last_page
 ORDER BY p.page;

-- name: store
-- Stores a chapter in the place of the one of the same pages.
INSERT INTO chapters (tenant_id, conversation_id, {chapter})
VALUES (:tenant, :conversation, :level, :first_page, :last_page, :at_page, :terms, :day)
ON CONFLICT (tenant_id, conversation_id, level, first_page) DO UPDATE
   SET at_page = excluded.at_page, terms = excluded.terms, day = excluded.day;

-- name: unnamed
-- A closed chapter that no model has named.
SELECT {chapter} FROM chapters c
 WHERE tenant_id = :tenant AND conversation_id = :conversation AND level = 1 AND first_page = :first_page
   AND NOT EXISTS (SELECT FROM chapter_names
                    WHERE tenant_id = :tenant AND conversation_id = :conversation AND first_page = c.first_page);

-- name: name
-- Stores what a model named a chapter, unless it has a name.
INSERT INTO chapter_names (tenant_id, conversation_id, first_page, last_page, model, title, created_at)
VALUES (:tenant, :conversation, :first_page, :last_page, :model, :title, :at)
ON CONFLICT DO NOTHING;

-- name: holding
-- The chapters and volumes that some pages are in, the smaller ones first.
SELECT DISTINCT {chapter} FROM chapters, unnest(:pages::int[]) AS page
 WHERE tenant_id = :tenant AND conversation_id = :conversation AND page BETWEEN first_page AND last_page
 ORDER BY level, first_page;

-- name: parts
-- The chapters or smaller volumes that a volume is made of, in order.
SELECT {chapter} FROM chapters
 WHERE tenant_id = :tenant AND conversation_id = :conversation AND level = :level
   AND first_page BETWEEN :first_page AND :last_page
 ORDER BY first_page;
