-- piece: item
-- What a window shows of a message m, as an ``Item`` has it. Wanted: the zones z, the conversation c and :anthropic.
m.seq AS m_seq,
         m.page AS m_page,
         m.call_group AS m_call_group,
         m.kind AS m_kind,
         CASE WHEN m.kind = 'result' THEN 'tool' ELSE m.role END AS m_role,
         coalesce(CASE WHEN m.seq < z.verbatim_from AND m.seq <> z.pinned THEN m.short END, m.view, m.body) AS m_text,
         m.parts AS m_parts,
         CASE WHEN m.seq < z.verbatim_from AND m.seq <> z.pinned THEN m.short_tokens ELSE m.full_tokens END AS m_tokens,
         m.calls AS m_calls,
         m.results AS m_results,
         m.full_before + m.full_tokens AS m_full_after,
         CASE WHEN m.page = c.last_page AND m.seq >= z.verbatim_from THEN m.loaded END AS m_loaded,
         m.loaded_tokens AS m_loaded_tokens,
         CASE WHEN m.seq >= z.verbatim_from OR m.seq = z.pinned THEN m.short END AS m_short,
         m.short_tokens AS m_short_tokens,
         CASE WHEN :anthropic::boolean AND m.seq >= z.verbatim_from THEN m.anthropic END AS m_anthropic,
         nullif(m.archive_ids::text, '{}') AS m_archives,
         nullif(m.fresh_tokens::text, '{}') AS m_fresh,
         nullif(m.marks::text, '{}') AS m_marks,
         m.salt AS m_salt,
         m.author AS m_author

-- name: window
-- A conversation, the newest cut of a budget, and the messages of a window's body: the prompt, the pinned user message,
-- and all from the condensed zone on; from the beginning where there is no cut. Where so many came since that they
-- cannot fit, the prompt alone is read (is_read): each window has it, and is charged by what its text is made of.
--
-- The budget is :budget, or else the conversation's own, or else :usual. What bounds ``seq`` are scalar subqueries of
-- their own: under row-level security a bound that holds COALESCE, LEAST or arithmetic on a column counts as leaky and
-- is applied only after every message of the conversation was read.
WITH c AS MATERIALIZED (
  SELECT {conversation_fields} FROM conversations c WHERE c.tenant_id = :tenant::uuid AND c.id = :conversation
), b AS MATERIALIZED (
  SELECT coalesce(:budget::int, budget, :usual::int) AS budget, generation + withdrawn AS generation FROM c
), e AS MATERIALIZED (
  SELECT e.* FROM cuts e
   WHERE e.tenant_id = :tenant::uuid AND e.conversation_id = :conversation AND e.budget = (SELECT budget FROM b)
     AND e.step = :step AND e.generation = (SELECT generation FROM b)
     AND (NOT (SELECT is_apart FROM c) OR e.created_at >= (SELECT created_at FROM c))
   ORDER BY number DESC LIMIT 1
), z AS MATERIALIZED (
  SELECT coalesce(e.condensed_from, 1) AS condensed_from, coalesce(e.verbatim_from, 1) AS verbatim_from,
         coalesce(e.pinned, 0) AS pinned, c.prompt_through,
         c.full_total - coalesce(e.full_total, 0) <= {most} * b.budget::bigint AS is_read
    FROM c CROSS JOIN b LEFT JOIN e ON true
)
SELECT c.*, {cut_fields}, z.is_read, b.budget AS read_budget, w.*
  FROM c
  CROSS JOIN b
  CROSS JOIN z
  LEFT JOIN e ON true
  LEFT JOIN LATERAL (
    SELECT {item_arrays}
      FROM (
        SELECT {item}
          FROM (
            SELECT m.* FROM messages m
             WHERE m.tenant_id = :tenant::uuid AND m.conversation_id = :conversation
               AND m.seq <= (SELECT CASE WHEN is_read THEN least(prompt_through, condensed_from - 1)
                                         ELSE prompt_through END FROM z)
            UNION ALL
            SELECT m.* FROM messages m
             WHERE m.tenant_id = :tenant::uuid AND m.conversation_id = :conversation
               AND m.seq = (SELECT pinned FROM z
                             WHERE is_read AND pinned > prompt_through AND pinned < condensed_from)
            UNION ALL
            SELECT m.* FROM messages m
             WHERE m.tenant_id = :tenant::uuid AND m.conversation_id = :conversation
               AND m.seq >= (SELECT condensed_from FROM z WHERE is_read)
          ) m
      ) i
  ) w ON true
 LIMIT length(set_config('app.tenant', :tenant::text || :sees, true)) / 36;

-- name: newer
-- A conversation, and a row for each message after the last known one of a window whose zones are known; one row if
-- there are none.
--
-- The upper bound on ``seq`` keeps out nothing: it makes the planner expect few rows whatever :last_seq is, so that it
-- keeps its plan. Planning takes three times as long as executing here.
SELECT {conversation_fields},
       (SELECT e.number FROM cuts e
         WHERE e.tenant_id = :tenant::uuid AND e.conversation_id = :conversation AND e.budget = :budget::int
           AND e.step = :step ORDER BY number DESC LIMIT 1) AS cut,
       {item}
  FROM conversations c
  CROSS JOIN (SELECT :verbatim_from::int AS verbatim_from, 0 AS pinned) z
  LEFT JOIN messages m ON m.tenant_id = :tenant::uuid AND m.conversation_id = :conversation
   AND m.seq > :last_seq::int AND m.seq <= 2147483647
 WHERE c.tenant_id = :tenant::uuid AND c.id = :conversation AND {unchanged}
 ORDER BY m.seq
 LIMIT length(set_config('app.tenant', :tenant::text || :sees, true))::bigint * 10000000;

-- piece: entry
-- A message's place and weight, as an ``Entry`` has them.
m.seq, m.page, m.call_group, m.kind, m.full_tokens, m.short_tokens, m.full_before, m.short_before, m.user_seq,
       m.fresh_tokens, CASE WHEN m.loaded_tokens > m.full_tokens THEN m.loaded_tokens - m.full_tokens ELSE 0 END,
       m.calls, m.marks

-- name: entries
-- The newest messages up to one, without their texts, back to a condensed offset and on to the start of a call group,
-- and the user message that opened the page they begin in (which a late result can be on a page after).
WITH e AS (
  SELECT call_group, user_seq FROM messages
   WHERE tenant_id = :tenant AND conversation_id = :conversation AND short_before <= :short_from
   ORDER BY short_before DESC, seq DESC LIMIT 1
), s AS (
  SELECT e.call_group, least(e.user_seq, m.user_seq) AS user_seq
    FROM e
    LEFT JOIN LATERAL (
      SELECT user_seq FROM messages
       WHERE tenant_id = :tenant AND conversation_id = :conversation AND seq = e.call_group LIMIT 1) m ON true
)
SELECT {entry}
  FROM messages m
 WHERE m.tenant_id = :tenant AND m.conversation_id = :conversation
   AND m.seq >= (SELECT call_group FROM s) AND m.seq <= :last_seq
UNION ALL
SELECT {entry}
  FROM messages m
 WHERE m.tenant_id = :tenant AND m.conversation_id = :conversation
   AND m.seq = (SELECT user_seq FROM s WHERE user_seq < call_group)
 ORDER BY seq;

-- name: store_cut
-- Stores the next cut of a conversation, unless another was faster or the past was changed, and forgets the oldest, but
-- for the newest of each other budget: however many cuts small windows need, a large one keeps its head.
WITH c AS (
  UPDATE conversations SET epoch = :number
   WHERE tenant_id = :tenant AND id = :conversation AND uid = :uid AND epoch = :number::bigint - 1
     AND generation = :own_generation
  RETURNING id
), old AS (
  DELETE FROM cuts d WHERE d.tenant_id = :tenant AND d.conversation_id = (SELECT id FROM c)
     AND d.number <= :number - {kept}
     AND d.number <> ALL (ARRAY(
       SELECT max(n.number) FROM cuts n
        WHERE n.tenant_id = :tenant AND n.conversation_id = :conversation AND (n.budget, n.step) <> (:budget, :step)
        GROUP BY n.budget, n.step ORDER BY 1 DESC LIMIT {budgets}))
)
INSERT INTO cuts (tenant_id, conversation_id, {cut_columns})
SELECT :tenant, c.id, {cut_values} FROM c
RETURNING number;

-- name: put_cut
-- Stores a cut of an import with its number, unless the conversation has had one of it. A branch begins with the number
-- of its parent's newest cut, whichever it had at the fork.
WITH c AS (
  UPDATE conversations SET epoch = greatest(epoch, :number)
   WHERE tenant_id = :tenant AND id = :conversation
     AND NOT EXISTS (SELECT FROM cuts
                      WHERE tenant_id = :tenant AND conversation_id = :conversation AND number = :number)
     AND (epoch < :number OR parent_id IS NOT NULL)
  RETURNING id
)
INSERT INTO cuts (tenant_id, conversation_id, created_at, {cut_columns})
SELECT :tenant, c.id, :at, {cut_values} FROM c
RETURNING number;

-- name: newest_cut
-- The newest cut of a budget.
SELECT {cut_fields} FROM cuts e
 WHERE e.tenant_id = :tenant AND e.conversation_id = :conversation AND e.budget = :budget AND e.step = 0
   AND e.generation = :generation
 ORDER BY number DESC LIMIT 1;
