-- piece: pinned
-- What a scope s keeps in view, or kept.
m.tenant_id = :tenant::uuid AND m.holder = s.owner AND m.pinned

-- piece: held
-- Of that what is true from {from} on, was known at the time t, and is not in view already.
m.tenant_id = :tenant::uuid AND m.holder = s.owner AND m.pinned AND m.status = 'held'
                AND m.valid_from <= {from} AND (m.expires_at IS NULL OR m.expires_at > t.time)
                AND (m.conversation_id IS DISTINCT FROM :conversation OR m.seq IS NULL OR m.seq < {before})
                AND (m.learnt_at <= t.time
                     OR m.conversation_id = :conversation
                    AND (m.source = 'rule' OR m.seq IS NULL AND m.scope LIKE 'c:%'))

-- piece: in_mind
-- The arrays of what a conversation c keeps in mind, the widest scope and the newest first. {before}: the first message
-- in view; what is said in it or after it is there to read. {known}: a time; what was learnt later is left out, but for
-- the conversation's own. {from} and {to}: when it is true. {only}: a condition on the value that holds. Keys are
-- walked one by one: each can have any number of former values.
SELECT array_agg(k.id) AS kept_ids, array_agg(k.content) AS kept_texts, array_agg(k.tokens) AS kept_tokens,
           array_agg(k.valid_from) AS kept_since, array_agg(k.source = 'person') AS kept_written
      FROM (
        SELECT v.id, v.content, v.tokens, v.valid_from, v.source
          FROM (SELECT {known} AS time) t
          CROSS JOIN LATERAL unnest(c.scopes) WITH ORDINALITY AS s (owner, place)
          CROSS JOIN LATERAL (
            (SELECT m.id, m.content, m.tokens, m.valid_from, m.source, m.valid_to, m.sensitive
               FROM memories /*in mind*/ m
              WHERE {held} AND m.key IS NULL ORDER BY m.valid_from DESC LIMIT {pinned_read_max})
            UNION ALL
            (WITH RECURSIVE keys (key) AS (
               (SELECT m.key FROM memories m WHERE {pinned} ORDER BY m.key LIMIT 1)
               UNION ALL
               SELECT (SELECT m.key FROM memories m WHERE {pinned} AND m.key > keys.key ORDER BY m.key LIMIT 1)
                 FROM keys WHERE keys.key IS NOT NULL)
             SELECT m.id, m.content, m.tokens, m.valid_from, m.source, m.valid_to, m.sensitive FROM keys
              CROSS JOIN LATERAL (
                SELECT m.id, m.content, m.tokens, m.valid_from, m.source, m.valid_to, m.sensitive FROM memories m
                 WHERE {held} AND m.key = keys.key
                 ORDER BY m.valid_from DESC, m.learnt_at DESC, m.id DESC LIMIT 1) m
              LIMIT {pinned_read_max})) v
         WHERE (v.valid_to IS NULL OR v.valid_to > {to}) AND {only}
         ORDER BY s.place, v.valid_from DESC, v.id DESC LIMIT {kept_read_max}) k

-- name: then
-- What a conversation would keep in mind of what was true at a time, as far as it was known at another.
SELECT k.* FROM conversations c CROSS JOIN LATERAL ({kept}) k WHERE c.tenant_id = :tenant AND c.id = :conversation;

-- name: of_speaker
-- What a person, the owner of their scope, keeps in mind, for a group to which they speak: nothing sensitive.
SELECT k.* FROM (SELECT ARRAY[:speaker::uuid] AS scopes) c
 CROSS JOIN LATERAL ({kept}) k
 WHERE k.kept_ids IS NOT NULL;

-- piece: fields
-- What is shown of a memory m.
m.id, m.owner, m.holder, m.type, m.scope, m.key, m.pinned, m.status, m.content, m.tokens, m.source, m.sensitive, m.seq,
       m.page, m.conversation_id, m.quote, m.keywords, m.metadata, m.valid_from, m.valid_to, m.learnt_at, m.created_at,
       m.expires_at, m.nul_offsets, m.length

-- name: of_conversation
-- The pinned memories that a conversation holds or was told of, those that people wrote first.
SELECT {fields} FROM memories /*line*/ m
 WHERE m.tenant_id = :tenant AND m.conversation_id = :conversation AND m.pinned AND m.status = 'held'
   AND (m.valid_to IS NULL OR m.valid_to > m.valid_from)
 ORDER BY m.seq NULLS FIRST, m.id;

-- name: end_earlier
-- Ends everything after the current value of a key, which an erased value must not bring back: it was replaced.
UPDATE memories m SET valid_to = greatest(m.valid_from, e.valid_from)
  FROM unnest(:holders::uuid[], :keys::text[], :since::timestamptz[]) AS e (holder, key, valid_from)
 WHERE m.tenant_id = :tenant AND m.holder = e.holder AND m.key = e.key AND m.valid_from <= e.valid_from
   AND (m.valid_to IS NULL OR m.valid_to > e.valid_from);

-- name: versions
-- The rows of a memory's key, the latest value first; of one without a key itself alone. Each half has an index of its
-- own before the table was analyzed, too.
SELECT * FROM (
  (SELECT {fields} FROM memories m
    WHERE m.tenant_id = :tenant AND m.scope IS NOT NULL
      AND m.holder = (SELECT o.holder FROM memories o WHERE o.tenant_id = :tenant AND o.id = :memory)
      AND m.key = (SELECT o.key FROM memories o WHERE o.tenant_id = :tenant AND o.id = :memory)
      AND m.valid_from <= coalesce(:before::timestamptz, 'infinity')
      AND (:before::timestamptz IS NULL OR (m.valid_from, m.id) < (:before, :before_id::uuid))
    ORDER BY m.valid_from DESC, m.id DESC LIMIT :limit)
  UNION ALL
  (SELECT {fields} FROM memories m
    WHERE m.tenant_id = :tenant AND m.id = :memory AND m.key IS NULL AND m.scope IS NOT NULL
      AND :before::timestamptz IS NULL)) v
 ORDER BY v.valid_from DESC, v.id DESC LIMIT :limit;

-- name: one
-- A memory that has a scope, with the user and the space of its conversation.
SELECT {fields}, c.user_id, c.space_id FROM memories m
  LEFT JOIN conversations c ON c.tenant_id = :tenant AND c.id = m.conversation_id
 WHERE m.tenant_id = :tenant AND m.id = :memory AND m.scope IS NOT NULL;

-- name: status_of
-- What became of a text in its scope before: held before refused.
SELECT m.status FROM memories m
 WHERE m.tenant_id = :tenant AND m.holder = :holder AND md5(m.content) = md5(:content) AND m.content = :content
   AND m.key IS NOT DISTINCT FROM :key::text AND (m.expires_at IS NULL OR m.expires_at > now())
   AND m.status NOT IN ('withdrawn', 'retracted')
   AND (m.status <> 'held' OR m.valid_to IS NULL AND (m.key IS NULL OR NOT EXISTS (
     SELECT FROM memories n
      WHERE n.tenant_id = :tenant AND n.holder = :holder AND n.key = m.key AND n.status = 'held'
        AND (n.valid_from, n.learnt_at, n.id) > (m.valid_from, m.learnt_at, m.id))))
 ORDER BY array_position(ARRAY['held', 'refused', 'proposed'], m.status) LIMIT 1;

-- name: retire
-- Takes the values of a key that a later one replaces out of search: they are history.
WITH old AS (
  SELECT m.id FROM memories m
   WHERE m.tenant_id = :tenant AND m.holder = :holder AND m.key = :key AND m.length > 0 AND m.part_of IS NULL
     AND EXISTS (SELECT FROM memories n
                  WHERE n.tenant_id = :tenant AND n.holder = :holder AND n.key = :key AND n.status = 'held'
                    AND (n.valid_from, n.learnt_at, n.id) > (m.valid_from, m.learnt_at, m.id))
), vectors AS (
  DELETE FROM embeddings WHERE tenant_id = :tenant AND memory_id IN (SELECT id FROM old)
), words AS (
  DELETE FROM postings WHERE tenant_id = :tenant AND memory_id IN (SELECT id FROM old)
), waiting AS (
  DELETE FROM unembedded WHERE tenant_id = :tenant AND memory_id IN (SELECT id FROM old)
), parts AS (
  DELETE FROM memories WHERE tenant_id = :tenant AND part_of IN (SELECT id FROM old)
)
UPDATE memories SET start = 0, length = 0, terms = '{no_terms}'::sparsevec
 WHERE tenant_id = :tenant AND id IN (SELECT id FROM old);

-- name: keep_version
-- Keeps a memory as it was, under an id of its own, before it is changed.
INSERT INTO memories (tenant_id, id, owner, type, conversation_id, conversation_uid, seq, page, start, length, terms,
                      content, nul_offsets, keywords, metadata, source, sensitive, created_at, scope, holder, key,
                      words, pinned, status, tokens, quote, valid_from, valid_to, learnt_at)
SELECT tenant_id, :version, owner, type, conversation_id, conversation_uid, seq, page, 0, 0, '{no_terms}'::sparsevec,
       content, nul_offsets, keywords, metadata, source, sensitive, created_at, scope, holder, key, words, pinned,
       status, tokens, quote, valid_from, valid_to, learnt_at FROM memories WHERE tenant_id = :tenant AND id = :memory;

-- name: change
-- Changes what a memory says of itself besides its text.
UPDATE memories SET pinned = :pinned, status = :status, valid_from = :valid_from, valid_to = :valid_to,
       sensitive = :sensitive, tokens = :tokens, learnt_at = :learnt_at
 WHERE tenant_id = :tenant AND id = :memory;
