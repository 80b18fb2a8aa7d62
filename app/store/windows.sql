-- piece: item
-- What a window shows of a message m. Wanted: the zones z, the conversation c and :anthropic.
m.seq AS m_seq,
         m.page AS m_page,
         m.call_group AS m_call_group,
         m.kind AS m_kind,
         m.role AS m_role,
         coalesce(CASE WHEN m.seq < z.verbatim_from AND m.seq <> z.pinned THEN m.short END, m.view, m.body) AS m_text,
         CASE WHEN m.seq < z.verbatim_from AND m.seq <> z.pinned THEN m.short_tokens ELSE m.full_tokens END AS m_tokens,
         m.parts AS m_parts,
         m.calls AS m_calls,
         m.results AS m_results,
         m.full_before + m.full_tokens AS m_full_after,
         CASE WHEN m.page = c.last_page AND m.seq >= z.verbatim_from THEN m.loaded END AS m_loaded,
         m.loaded_tokens AS m_loaded_tokens,
         CASE WHEN m.seq >= z.verbatim_from OR m.seq = z.pinned THEN m.short END AS m_short,
         m.short_tokens AS m_short_tokens,
         CASE WHEN :anthropic::boolean AND m.seq >= z.verbatim_from THEN m.anthropic END AS m_anthropic,
         nullif(m.archive_ids::text, '{}') AS m_archives,
         nullif(m.fresh_tokens::text, '{}') AS m_fresh

-- name: window
-- A conversation, the head of its own epoch, and the messages of a window's body: the prompt, the pinned user message,
-- and all from the condensed zone on. Without an epoch of its own, also what it keeps in mind while the history is
-- whole.
--
-- The zones are the caller's, made for a conversation of :uid, or its own epoch's (:condensed_from null). No message is
-- read if the caller's epoch ended before the conversation's totals.
--
-- What bounds ``seq`` are scalar subqueries of their own: under row-level security a bound that holds COALESCE, LEAST
-- or arithmetic on a column counts as leaky and is applied only after every message of the conversation was read.
WITH c AS MATERIALIZED (
  SELECT {conversation_fields} FROM conversations c WHERE c.tenant_id = :tenant::uuid AND c.id = :conversation
), e AS MATERIALIZED (
  SELECT e.* FROM epochs e
   WHERE e.tenant_id = :tenant::uuid AND e.conversation_id = :conversation AND e.number = (SELECT epoch FROM c)
), z AS MATERIALIZED (
  SELECT coalesce(:condensed_from::int, e.condensed_from, 1) AS condensed_from,
         coalesce(:verbatim_from::int, e.verbatim_from, 1) AS verbatim_from,
         coalesce(:pinned::int, e.pinned, 0) AS pinned,
         c.prompt_through
    FROM c LEFT JOIN e ON true
)
SELECT c.*, {epoch_fields}, e.head AS e_head, w.*, k.*
  FROM c
  CROSS JOIN z
  LEFT JOIN e ON true
  LEFT JOIN LATERAL (
    SELECT {item_arrays}
      FROM (
        SELECT {item}
          FROM (
            SELECT m.* FROM messages m
             WHERE m.tenant_id = :tenant::uuid AND m.conversation_id = :conversation
               AND m.seq <= (SELECT least(prompt_through, condensed_from - 1) FROM z)
            UNION ALL
            SELECT m.* FROM messages m
             WHERE m.tenant_id = :tenant::uuid AND m.conversation_id = :conversation
               AND m.seq = (SELECT pinned FROM z WHERE pinned > prompt_through AND pinned < condensed_from)
            UNION ALL
            SELECT m.* FROM messages m
             WHERE m.tenant_id = :tenant::uuid AND m.conversation_id = :conversation
               AND m.seq >= (SELECT condensed_from FROM z)
          ) m
         WHERE :condensed_from::int IS NULL
            OR (c.uid = :uid::uuid AND c.full_total <= :full_until::bigint AND c.last_page <= :pages_until::int
                AND c.generation + c.withdrawn = :generation::bigint AND c.short_total <= :short_until::bigint)
      ) i
  ) w ON true
  LEFT JOIN LATERAL ({kept_whole}
     WHERE (SELECT number FROM e) IS NULL
  ) k ON true
 LIMIT length(set_config('app.tenant', :tenant::text, true)) / 36;

-- name: newer
-- A conversation, and a row for each message after the last known one of a window whose zones are known; one row if
-- there are none.
--
-- The upper bound on ``seq`` keeps out nothing: it makes the planner expect few rows whatever :last_seq is, so that it
-- keeps its plan. Planning takes three times as long as executing here.
SELECT {conversation_fields}, NULL::int AS e_made_for,
         {item}
  FROM conversations c
  CROSS JOIN (SELECT :verbatim_from::int AS verbatim_from, 0 AS pinned) z
  LEFT JOIN messages m ON m.tenant_id = :tenant::uuid AND m.conversation_id = :conversation
   AND m.seq > :last_seq::int AND m.seq <= 2147483647
 WHERE c.tenant_id = :tenant::uuid AND c.id = :conversation
 ORDER BY m.seq
 LIMIT length(set_config('app.tenant', :tenant::text, true)) * 10000000;

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
SELECT m.seq, m.page, m.call_group, m.kind, m.full_tokens, m.short_tokens, m.full_before, m.short_before,
       m.user_seq, m.revision, m.fresh_tokens, m.loaded_tokens
  FROM messages m
 WHERE m.tenant_id = :tenant AND m.conversation_id = :conversation
   AND m.seq >= (SELECT call_group FROM s) AND m.seq <= :last_seq
UNION ALL
SELECT m.seq, m.page, m.call_group, m.kind, m.full_tokens, m.short_tokens, m.full_before, m.short_before,
       m.user_seq, m.revision, m.fresh_tokens, m.loaded_tokens
  FROM messages m
 WHERE m.tenant_id = :tenant AND m.conversation_id = :conversation
   AND m.seq = (SELECT user_seq FROM s WHERE user_seq < call_group)
 ORDER BY seq;

-- name: lines
-- The contents-page lines of some pages, as far as the pages are archived (:before).
SELECT p.page, m.seq, m.role, m.kind, m.line, m.line_tokens
  FROM pages p
  CROSS JOIN LATERAL (
    SELECT min(n.first_seq) AS seq FROM (
      (SELECT first_seq FROM pages
        WHERE tenant_id = :tenant AND conversation_id = :conversation AND page > p.page ORDER BY page LIMIT 1)
      UNION ALL SELECT :before) n) until
  CROSS JOIN LATERAL (
    SELECT seq, role, kind, line, line_tokens FROM messages
     WHERE tenant_id = :tenant AND conversation_id = :conversation AND seq >= p.first_seq AND seq < until.seq
     ORDER BY seq LIMIT :lines_max) m
 WHERE p.tenant_id = :tenant AND p.conversation_id = :conversation AND p.page = ANY (:pages::int[])
 ORDER BY m.seq;

-- name: store_epoch
-- Stores an epoch, which its conversation is in from now on. Epochs with larger numbers were made by other rules: under
-- other settings.
WITH c AS (
  UPDATE conversations SET epoch = :number::bigint WHERE tenant_id = :tenant AND id = :conversation RETURNING id
), later AS (
  DELETE FROM epochs WHERE tenant_id = :tenant AND conversation_id = :conversation AND number > :number
)
INSERT INTO epochs (tenant_id, conversation_id, number, made_for, head, condensed_from, verbatim_from, pinned,
                    head_room, full_until, short_until, pages_until, generation, trigger_page, revision, half_mark)
SELECT :tenant, c.id, :number, :made_for::int, :head::text, :condensed_from::bigint, :verbatim_from::bigint,
       :pinned::bigint, :head_room::bigint, :full_until::bigint, :short_until::bigint, :pages_until::bigint,
       :generation::bigint, :trigger_page::bigint, :revision::bigint, :half_mark::bigint
  FROM c
ON CONFLICT (tenant_id, conversation_id, number) DO UPDATE
   SET made_for = excluded.made_for, head = excluded.head, condensed_from = excluded.condensed_from,
       verbatim_from = excluded.verbatim_from, pinned = excluded.pinned, head_room = excluded.head_room,
       full_until = excluded.full_until, short_until = excluded.short_until, pages_until = excluded.pages_until,
       generation = excluded.generation, trigger_page = excluded.trigger_page, revision = excluded.revision,
       half_mark = excluded.half_mark;
