-- name: insert_alone
-- Inserts a memory: a row for its first passage, with scope and content, and for each further passage a row that points
-- to the first. Afterwards its key's current value must be decided.
INSERT INTO memories (tenant_id, id, owner, type, conversation_id, conversation_uid, seq, page, start, length, terms,
                        keywords, source, sensitive, expires_at, created_at, part_of, content, nul_offsets, metadata,
                        scope, holder, key, words, pinned, status, tokens, quote, valid_from, valid_to, learnt_at,
                        former)
  SELECT :tenant, p.id, :owner, :type, :conversation_id, :conversation_uid::uuid, :seq, :page, p.start, p.length,
         p.terms::sparsevec, :keywords::text[], :source, :sensitive, :expires_at, :created_at,
         CASE WHEN w.id IS NULL THEN :id::uuid END, w.content, coalesce(w.nul_offsets, '{}'),
         coalesce(w.metadata, '{}'), w.scope, w.holder, w.key, w.words, coalesce(w.pinned, false),
         coalesce(w.status, 'held'), coalesce(w.tokens, 0), w.quote, w.valid_from, w.valid_to, w.learnt_at,
         coalesce(w.key IS NOT NULL AND w.status = 'held', false)
    FROM unnest(:ids::uuid[], :starts::int[], :lengths::int[], :terms::text[]) AS p (id, start, length, terms)
    LEFT JOIN (VALUES (
      :id::uuid, :content::text, :nul_offsets::text::int[], :metadata::text, :scope::text, :holder::uuid, :key::text,
      :words::int[], :pinned::boolean, :status::text, :tokens::int, :quote::text, :valid_from::timestamptz,
      :valid_to::timestamptz, :learnt_at::timestamptz))
      AS w (id, content, nul_offsets, metadata, scope, holder, key, words, pinned, status, tokens, quote, valid_from,
            valid_to, learnt_at) ON w.id = p.id
  RETURNING owner, id;

-- name: insert
-- Inserts a memory in the same way, and marks its rows as waiting for vectors.
WITH s AS ({insert_alone})
INSERT INTO unembedded (tenant_id, owner, memory_id) SELECT :tenant, s.owner, s.id FROM s WHERE :embeds::boolean;

-- name: contents
-- The memories to which passages belong, without expired ones, and without sensitive ones unless :sensitive. Of several
-- rows of a memory only one has its content, which can be long. Text that a pruned message left to its passages applies
-- in its conversation, from the time it was said.
SELECT m.id AS passage, (row_number() OVER whole) = 1 AS is_whole, w.id, w.owner, coalesce(w.holder, w.owner), w.type,
       coalesce(w.scope, 'c:' || w.conversation_id), w.key, w.pinned, w.status,
       CASE WHEN row_number() OVER whole = 1 THEN w.content END AS content,
       CASE WHEN row_number() OVER whole = 1 THEN w.nul_offsets END AS nul_offsets, w.tokens, w.source, w.sensitive,
       w.conversation_id, w.seq, w.page, w.quote, w.keywords, w.metadata, coalesce(w.valid_from, w.created_at),
       w.valid_to, coalesce(w.learnt_at, w.created_at), w.created_at, w.expires_at, w.length
  FROM memories m
  JOIN memories w ON w.tenant_id = m.tenant_id AND w.id = CASE WHEN m.part_of IS NULL THEN m.id ELSE m.part_of END
 WHERE m.tenant_id = :tenant AND m.id = ANY (:ids::uuid[]) AND w.content IS NOT NULL
   AND (w.expires_at IS NULL OR w.expires_at > now()) AND (:sensitive OR NOT w.sensitive)
WINDOW whole AS (PARTITION BY w.id ORDER BY m.id);

-- name: list
-- A page of owners' memories, newest first, after a cursor's id. Topics match in any letter case.
--
-- An owner has many more passages of messages, so the ids come from the index of memories with content of their own.
SELECT m.id, m.owner, m.holder, m.type, m.scope, m.key, m.pinned, m.status, left(m.content, :characters) AS content,
       m.nul_offsets, m.tokens, m.source, m.sensitive, m.conversation_id, m.seq, m.page, m.quote, m.keywords,
       m.metadata, m.valid_from, m.valid_to, m.learnt_at, m.created_at, m.expires_at, m.length
  FROM (SELECT id FROM memories
         WHERE tenant_id = :tenant AND owner = ANY (:owners::uuid[]) AND {is_own} AND type = ANY (:types)
           AND (:sensitive OR NOT sensitive) AND (expires_at IS NULL OR expires_at > now()) AND {on_place}
           AND (:after::uuid IS NULL OR id < :after) ORDER BY id DESC OFFSET 0) k
  CROSS JOIN {then}
  JOIN memories m ON m.tenant_id = :tenant AND m.id = k.id
  LEFT JOIN conversations c ON c.tenant_id = :tenant AND c.id = m.conversation_id
 WHERE m.content IS NOT NULL AND m.status = :status
   AND (:scopes::text[] IS NULL OR m.scope = ANY (:scopes)) AND (:key::text IS NULL OR m.key = :key)
   AND (:pinned::boolean IS NULL OR m.pinned = :pinned)
   AND m.valid_from <= t.held_at AND m.learnt_at <= t.known_at AND (m.valid_to IS NULL OR m.valid_to > t.held_at)
   AND (m.key IS NULL OR m.status <> 'held' OR m.id = (SELECT n.id {value}))
   AND (cardinality(:topics::text[]) = 0
        OR EXISTS (SELECT FROM unnest(m.keywords) AS t (topic) WHERE lower(t.topic) = ANY (:topics))
        OR EXISTS (SELECT FROM page_index i, unnest(i.topics) AS t (topic)
                    WHERE i.tenant_id = :tenant AND i.conversation_id = m.conversation_id AND i.page = m.page
                      AND lower(t.topic) = ANY (:topics)))
   AND (:metadata::text = '{}' OR {metadata_of_m} @> :metadata::jsonb OR {metadata_of_c} @> :metadata::jsonb)
 ORDER BY m.id DESC LIMIT :limit;

-- piece: value
-- The value of a memory's key at a time, as known at another.
FROM memories n
        WHERE n.tenant_id = :tenant AND n.holder = m.holder AND n.key = m.key AND n.status = 'held'
          AND n.valid_from <= t.held_at AND n.learnt_at <= t.known_at
        ORDER BY n.valid_from DESC, n.learnt_at DESC, n.id DESC LIMIT 1

-- piece: then
-- The times at which memories were valid and until which they were learned, as a row. As expressions they would only be
-- compared after row-level security, with all versions of a key.
(SELECT coalesce(:as_of::timestamptz, now()) AS held_at, coalesce(:known_at::timestamptz, now()) AS known_at OFFSET 0) t

-- name: held_at
-- The values of keys that were valid at a time, as known at another, and share enough of a query's terms: first those
-- whose terms are not stored, then the best ones. A key is found by its current value, because it can have any number
-- of former ones.
SELECT v.id, v.type, v.conversation_id, v.page, v.holder, v.length, v.created_at, f.share,
       CASE WHEN v.words IS NULL THEN v.content END AS content
  FROM {then}
 CROSS JOIN unnest(:holders::uuid[]) AS s (owner)
 CROSS JOIN LATERAL (
   SELECT n.* FROM memories m
    CROSS JOIN LATERAL (
       SELECT n.id, n.type, n.conversation_id, n.page, n.holder, n.content, char_length(n.content) AS length,
              n.created_at, n.valid_from, n.valid_to, n.sensitive, n.expires_at, n.words
       {value}) n
    WHERE m.tenant_id = :tenant::uuid AND m.holder = s.owner AND m.key IS NOT NULL AND m.status = 'held'
      AND NOT m.former) v
 CROSS JOIN LATERAL (
   SELECT count(*)::float8 / cardinality(:terms::int[]) AS share FROM unnest(v.words) AS w (term)
    WHERE w.term = ANY (:terms::int[])) f
 WHERE v.content IS NOT NULL AND (:sensitive OR NOT v.sensitive) AND (v.expires_at IS NULL OR v.expires_at > now())
   AND (v.valid_to IS NULL OR v.valid_to > t.held_at)
   AND (v.words IS NULL OR f.share >= :share_min)
 ORDER BY v.words IS NULL DESC, f.share DESC, v.valid_from DESC, v.id DESC LIMIT :limit;

-- name: replaced
-- The former value of each of some values of keys.
SELECT m.id AS by, p.id, left(p.content, 800) AS content, p.valid_from, m.valid_from AS valid_to FROM memories m
 CROSS JOIN LATERAL (
   SELECT n.id, n.content, n.valid_from FROM memories n
    WHERE n.tenant_id = :tenant AND n.holder = m.holder AND n.key = m.key AND n.status = 'held'
      AND (n.valid_from, n.learnt_at, n.id) < (m.valid_from, m.learnt_at, m.id) AND (:sensitive OR NOT n.sensitive)
    ORDER BY n.valid_from DESC, n.learnt_at DESC, n.id DESC LIMIT 1) p
 WHERE m.tenant_id = :tenant AND m.id = ANY (:ids::uuid[]) AND p.content IS NOT NULL;
