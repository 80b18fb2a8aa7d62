-- piece: held
-- The condition of a memory m that a scope s pins, that is valid at {from}, known at the time t, and not in view yet.
m.tenant_id = :tenant::uuid AND m.holder = s.owner AND m.pinned AND m.status = 'held'
            AND m.valid_from <= {from} AND (m.expires_at IS NULL OR m.expires_at > t.time)
            AND (m.conversation_id IS DISTINCT FROM :conversation OR m.seq IS NULL OR m.seq < {before})
            AND (m.learnt_at <= t.time
                 OR m.conversation_id = :conversation
                AND (m.source = 'rule' OR m.seq IS NULL AND m.scope LIKE 'c:%'))

-- piece: in_mind
-- The pinned memories of a conversation c as arrays, the widest scope first and the newest first in each. Memories that
-- messages from {before} on state are left out, because these are in view; so are those learned after the time {known},
-- except the conversation's own. {from} and {to}: the time of validity. {only}: a condition on the valid value. A key
-- is found by its current value, even if another one is valid at that time or on that line.
SELECT array_agg(k.id) AS kept_ids, array_agg(k.content) AS kept_texts, array_agg(k.tokens) AS kept_tokens,
           array_agg(k.valid_from) AS kept_since, array_agg(k.source = 'person') AS kept_written
      FROM (
        SELECT v.id, v.content, v.tokens, v.valid_from, v.source
          FROM (SELECT {known} AS time) t
          CROSS JOIN LATERAL unnest(c.scopes) WITH ORDINALITY AS s (owner, place)
          CROSS JOIN LATERAL (
            (SELECT m.id, m.content, m.tokens, m.valid_from, m.source, m.valid_to, m.sensitive
               FROM memories /*in mind*/ m
              WHERE {held} AND NOT m.former AND m.key IS NULL ORDER BY m.valid_from DESC LIMIT {pinned_read_max})
            UNION ALL
            (SELECT m.id, m.content, m.tokens, m.valid_from, m.source, m.valid_to, m.sensitive FROM memories k
              CROSS JOIN LATERAL (
                SELECT m.id, m.content, m.tokens, m.valid_from, m.source, m.valid_to, m.sensitive
                  FROM memories /*in mind*/ m WHERE {held} AND m.key = k.key
                 ORDER BY m.valid_from DESC, m.learnt_at DESC, m.id DESC LIMIT 1) m
              WHERE k.tenant_id = :tenant::uuid AND k.holder = s.owner AND k.pinned AND NOT k.former
                AND k.key IS NOT NULL AND k.status = 'held'
              LIMIT {pinned_read_max})) v
         WHERE (v.valid_to IS NULL OR v.valid_to > {to}) AND {only}
         ORDER BY s.place, v.valid_from DESC, v.id DESC LIMIT {kept_read_max}) k

-- name: then
-- A conversation's pinned memories that were valid at a time, as far as they were known at another.
SELECT k.* FROM conversations c CROSS JOIN LATERAL ({kept}) k WHERE c.tenant_id = :tenant AND c.id = :conversation;

-- name: of_speaker
-- A person's pinned memories, for a group to which they speak: without sensitive ones.
SELECT k.* FROM (SELECT ARRAY[:speaker::uuid] AS scopes) c
 CROSS JOIN LATERAL ({kept}) k
 WHERE k.kept_ids IS NOT NULL;

-- piece: until
-- The end of a memory m.
m.valid_to

-- piece: replaced
-- The end of a version, which the next held value ends too.
least(m.valid_to, (
         SELECT n.valid_from FROM memories n
          WHERE n.tenant_id = :tenant AND n.holder = m.holder AND n.key = m.key AND n.status = 'held'
            AND n.valid_from >= m.valid_from AND (n.valid_from, n.learnt_at, n.id) > (m.valid_from, m.learnt_at, m.id)
          ORDER BY n.valid_from, n.learnt_at, n.id LIMIT 1)) AS valid_to

-- name: of_conversation
-- The pinned memories that a conversation's messages state or that belong to it, first those that people wrote.
SELECT {fields} FROM memories /*line*/ m
 WHERE m.tenant_id = :tenant AND m.conversation_id = :conversation AND m.pinned AND m.status = 'held'
   AND (m.valid_to IS NULL OR m.valid_to > m.valid_from)
 ORDER BY m.seq NULLS FIRST, m.id;

-- name: end_earlier
-- Ends the values that an erased value of their key replaced, so that its erasure does not bring them back.
UPDATE memories m SET valid_to = greatest(m.valid_from, e.valid_from)
  FROM unnest(:holders::uuid[], :keys::text[], :since::timestamptz[]) AS e (holder, key, valid_from)
 WHERE m.tenant_id = :tenant AND m.holder = e.holder AND m.key = e.key AND m.valid_from <= e.valid_from
   AND (m.valid_to IS NULL OR m.valid_to > e.valid_from);

-- name: follow
-- Withdraws memories that messages of one line (its conversations, and the last message of each) gave to wider scopes,
-- or ended, if another line lacks these messages. Restores those whose messages it has. Values must be decided again.
UPDATE memories m SET status = CASE m.status WHEN 'held' THEN 'withdrawn' WHEN 'withdrawn' THEN 'held'
                                             WHEN 'proposed' THEN 'retracted' ELSE 'proposed' END,
       former = m.key IS NOT NULL AND m.status = 'withdrawn'
  FROM (SELECT m.id, bool_or(s.is_new) AS is FROM memories m
          JOIN (SELECT *, false FROM unnest(:before_ids::text[], :before_seqs::int[]) UNION ALL
                SELECT *, true FROM unnest(:after_ids::text[], :after_seqs::int[])) AS s (id, seq, is_new)
            ON m.conversation_id = s.id AND m.seq <= s.seq
         WHERE m.tenant_id = :tenant AND (m.scope NOT LIKE 'c:%' OR m.metadata LIKE '%"ends":%')
           AND m.status IN ('held', 'withdrawn', 'proposed', 'retracted') GROUP BY m.id) f
 WHERE m.tenant_id = :tenant AND m.id = f.id AND (m.status IN ('held', 'proposed')) <> f.is
RETURNING m.holder, m.key, m.status, m.valid_to, m.source, m.metadata;

-- name: versions
-- The versions of a memory's key, latest first, each valid until the next; without a key only the memory itself. Each
-- half uses its own index even before the table is analyzed.
SELECT * FROM (
  (SELECT {fields} FROM memories m
    WHERE m.tenant_id = :tenant AND m.scope IS NOT NULL
      AND m.holder = (SELECT o.holder FROM memories o WHERE o.tenant_id = :tenant AND o.id = :memory)
      AND m.key = (SELECT o.key FROM memories o WHERE o.tenant_id = :tenant AND o.id = :memory)
      AND m.valid_from <= coalesce(:before::timestamptz, 'infinity')
      AND (:before::timestamptz IS NULL OR (m.valid_from, m.learnt_at, m.id) < (:before, coalesce(
             (SELECT o.learnt_at FROM memories o WHERE o.tenant_id = :tenant AND o.id = :before_id::uuid), 'infinity'),
             :before_id))
    ORDER BY m.valid_from DESC, m.learnt_at DESC, m.id DESC LIMIT :limit)
  UNION ALL
  (SELECT {fields} FROM memories m
    WHERE m.tenant_id = :tenant AND m.id = :memory AND m.key IS NULL AND m.scope IS NOT NULL
      AND :before::timestamptz IS NULL)) v
 ORDER BY v.valid_from DESC, v.learnt_at DESC, v.id DESC LIMIT :limit;

-- name: one
-- A memory that has a scope, with the user and the space of its conversation.
SELECT {fields}, c.user_id, c.space_id FROM memories m
  LEFT JOIN conversations c ON c.tenant_id = :tenant AND c.id = m.conversation_id
 WHERE m.tenant_id = :tenant AND m.id = :memory AND m.scope IS NOT NULL;

-- name: status_of
-- The status of earlier memories with the same text in a scope: held takes precedence over refused.
SELECT m.status FROM memories m
 WHERE m.tenant_id = :tenant AND m.holder = :holder AND md5(m.content) = md5(:content) AND m.content = :content
   AND m.key IS NOT DISTINCT FROM :key::text AND (m.expires_at IS NULL OR m.expires_at > now()) AND NOT m.former
   AND m.status NOT IN ('withdrawn', 'retracted') AND (m.status <> 'held' OR m.valid_to IS NULL)
 ORDER BY array_position(ARRAY['held', 'refused', 'proposed'], m.status) LIMIT 1;

-- name: decide
-- Makes the latest value of each key that is valid already the current one, or else the last of all. The others become
-- former values, which search finds only if they are valid later. A key never has two current values: the old one is
-- updated first.
WITH k AS (
  SELECT * FROM unnest(:holders::uuid[], :keys::text[]) AS k (holder, key)
), value AS (
  SELECT v.id FROM k CROSS JOIN LATERAL (
    (SELECT m.id FROM memories m
      WHERE m.tenant_id = :tenant AND m.holder = k.holder AND m.key = k.key AND m.status = 'held'
        AND m.valid_from <= greatest(now(), m.learnt_at)
      ORDER BY m.valid_from DESC, m.learnt_at DESC, m.id DESC LIMIT 1)
    UNION ALL
    (SELECT m.id FROM memories m
      WHERE m.tenant_id = :tenant AND m.holder = k.holder AND m.key = k.key AND m.status = 'held'
      ORDER BY m.valid_from DESC, m.learnt_at DESC, m.id DESC LIMIT 1)
    LIMIT 1) v
), others AS (
  SELECT o.id FROM k CROSS JOIN LATERAL (
    SELECT m.id FROM memories m
     WHERE m.tenant_id = :tenant AND m.holder = k.holder AND m.key = k.key AND m.status = 'held'
       AND (NOT m.former OR m.length > 0 AND m.valid_from <= greatest(now(), m.learnt_at)) OFFSET 0) o
   WHERE o.id NOT IN (SELECT id FROM value)
), old AS (
  UPDATE memories SET former = true, start = 0, length = 0, terms = '{no_terms}'::sparsevec
   WHERE tenant_id = :tenant AND id IN (SELECT id FROM others)
  RETURNING id
), vectors AS (
  DELETE FROM embeddings WHERE tenant_id = :tenant AND memory_id IN (SELECT id FROM old)
), words AS (
  DELETE FROM postings WHERE tenant_id = :tenant AND memory_id IN (SELECT id FROM old)
), waiting AS (
  DELETE FROM unembedded WHERE tenant_id = :tenant AND memory_id IN (SELECT id FROM old)
), parts AS (
  DELETE FROM memories WHERE tenant_id = :tenant AND part_of IN (SELECT id FROM old)
)
UPDATE memories SET former = false
 WHERE tenant_id = :tenant AND id IN (SELECT id FROM value) AND former AND (SELECT count(*) FROM old) >= 0;

-- name: keep_version
-- Stores a memory as a version with a new id, before the memory is changed.
INSERT INTO memories (tenant_id, id, owner, type, conversation_id, conversation_uid, seq, page, start, length, terms,
                      content, nul_offsets, keywords, metadata, source, sensitive, created_at, scope, holder, key,
                      words, pinned, status, tokens, quote, valid_from, valid_to, learnt_at, former)
SELECT tenant_id, :version, owner, type, conversation_id, conversation_uid, seq, page, 0, 0, '{no_terms}'::sparsevec,
       content, nul_offsets, keywords, metadata, source, sensitive, created_at, scope, holder, key, words, pinned,
       status, tokens, quote, valid_from, valid_to, learnt_at, status = 'held'
  FROM memories WHERE tenant_id = :tenant AND id = :memory;

-- name: change
-- Changes a memory's properties, but not its text. Afterwards its key's current value must be decided again.
UPDATE memories SET pinned = :pinned, status = :status, valid_from = :valid_from, valid_to = :valid_to,
       sensitive = :sensitive, tokens = :tokens, metadata = :metadata, learnt_at = :learnt_at,
       former = key IS NOT NULL AND :status::text = 'held'
 WHERE tenant_id = :tenant AND id = :memory;
