-- name: search
-- The best memories of owners, best first, each with the number of all matches. BM25 and closeness are inner products.
-- {compared} and {by_meaning} are empty if there are no vectors, {candidates} if no owner has an index.
WITH {terms}, {query}, {compared}{candidates}{worded}, {shared}, {by_meaning}{scored}, {lifting}, {ranked};

-- piece: terms
-- The idf of each term, computed over the newest rows.
terms AS MATERIALIZED (
  SELECT DISTINCT term, format('{%s:1}/{dimensions}', term)::sparsevec AS one
    FROM unnest(:terms::int[]) AS t (term)
), asked AS MATERIALIZED (
  SELECT format('{%s}/{dimensions}', string_agg(format('%s:1', term), ',' ORDER BY term))::sparsevec AS v,
         sqrt(count(*)) AS norm
    FROM terms
), recent AS MATERIALIZED ( -- terms only of rows that have one of the query's: the others need not be compared again
  SELECT CASE WHEN (terms <#> a.v) < 0 THEN terms END AS terms
    FROM asked a, unnest(:owners::uuid[]) AS o (owner),
         LATERAL (SELECT terms FROM memories WHERE tenant_id = :tenant AND owner BETWEEN o.owner AND o.owner
                   ORDER BY owner DESC, id DESC -- in no other index's order
                   LIMIT {recent} / cardinality(:owners::uuid[])) m
), counted AS MATERIALIZED (
  SELECT count(*) AS n FROM recent
), idf AS (
  SELECT term, ln(1 + (n - df + 0.5) / (df + 0.5)) AS idf, (df + 0.5) / (n + 1) AS part
    FROM (SELECT t.term, count(r.terms) AS df, (SELECT n FROM counted) AS n
            FROM terms t LEFT JOIN recent r ON r.terms IS NOT NULL AND (r.terms <#> t.one) < 0 GROUP BY t.term) d
)

-- piece: query
-- The query's vector, and the weight of its words.
query AS MATERIALIZED (
  SELECT format('{%s}/{dimensions}', string_agg(format('%s:%s', term, idf), ',' ORDER BY term))::sparsevec AS v,
         greatest(sum(idf), 1e-9)::float8 AS information,
         greatest({words}, {chance} * sum(idf) / sqrt(sum(idf * idf * part * (1 - part))))::float8 AS words
    FROM idf WHERE term = ANY (:terms::int[])
)

-- piece: worded
-- The memories that have a word of the query, and those that must not be found. All others score by closeness alone.
--
-- An owner's rows, or those of a time, are read as a range of (owner, id), which only one index has. The planner would
-- expect a ninth of the tenant's rows from the range, and an average owner's share from "=". With few owners that is
-- most rows, and a scan of the whole table looks cheaper once vectors were rewritten. So a condition that is always
-- true makes it expect few rows.
worded AS (
  SELECT id, passes AND {repeats} IS NOT TRUE AS fits, -product / (SELECT information FROM query) AS coverage
    FROM {read_memories}
   WHERE NOT passes OR product < 0 OFFSET 0
)

-- piece: shared
-- The weight of words for this query, which is high only if some memory has enough of them. (A long query has more than
-- any memory can.) A memory without them can say the same in other words or another language, and scores by closeness.
shared AS MATERIALIZED (
  SELECT words, words / {words} AS by_chance,
         CASE WHEN cardinality(:terms::int[]) >= {long_terms} THEN 0
              ELSE {per_closeness} * words / {words} END AS unsaid,
         CASE WHEN cardinality(:terms::int[]) >= {long_terms} THEN 1
              ELSE least(1, words * (SELECT max(coverage) FROM worded WHERE fits) / {shared_words}) ^ 3 END AS part
    FROM query
)

-- piece: all_memories
-- All memories of owners in the searched time.
unnest({all_of}::uuid[]) AS o (owner),
         LATERAL (SELECT id, terms, terms <#> (SELECT v FROM query) AS product, ({passes}) IS TRUE AS passes
                    FROM memories
                   WHERE tenant_id = :tenant
                     AND (owner, id) >= (o.owner, :since) AND (owner, id) < (o.owner, :until)
                     AND start + 0 BETWEEN 0 AND {int_max} -- true, and planned as if few were
                  OFFSET 0) m

-- piece: candidate_memories
-- The candidates of indexed owners, and all memories of the others.
(SELECT id, terms, product, passes FROM {all_memories}
          UNION ALL
          SELECT id, terms, terms <#> (SELECT v FROM query), ({passes}) IS TRUE FROM memories
           WHERE tenant_id = :tenant AND owner = ANY (:indexed::uuid[]) AND id = ANY (ARRAY(SELECT id FROM candidates))
         OFFSET 0) m

-- piece: within
-- The memories to which a search is narrowed, looked up one by one.
candidates AS MATERIALIZED (
  SELECT DISTINCT id, NULL::float8 AS far FROM ({narrow}) m
),

-- piece: narrow
-- All memories of some conversations, some memories and archives, and in the searched time the owners' memories with
-- content of their own.
SELECT m.id FROM unnest(:conversations::text[]) AS c (conversation),
         LATERAL (SELECT id FROM memories WHERE tenant_id = :tenant AND conversation_id = c.conversation OFFSET 0) m
  UNION ALL
  SELECT m.id FROM unnest(:among::uuid[]) AS a (archive),
         LATERAL (SELECT id FROM memories WHERE tenant_id = :tenant AND archive_id = a.archive OFFSET 0) m
  UNION ALL
  SELECT unnest(:among::uuid[])
  UNION ALL
  SELECT m.id FROM unnest(:own_of::uuid[]) AS o (owner),
         LATERAL (SELECT id FROM memories
                   WHERE tenant_id = :tenant AND (owner, id) >= (o.owner, :since) AND (owner, id) < (o.owner, :until)
                     AND {is_own} OFFSET 0) m

-- name: are_few
-- Whether a search is narrowed to few memories, and to less than half of the owners' memories: looking up a memory
-- takes up to twice as long as reading it among all.
WITH narrow AS (SELECT count(*) AS n FROM ({narrow} LIMIT :few::int + 1) m)
SELECT n <= :few AND 2 * n <= (SELECT count(*) FROM (
  SELECT FROM unnest(:owners::uuid[]) AS o (owner),
              LATERAL (SELECT FROM memories WHERE tenant_id = :tenant AND owner BETWEEN o.owner AND o.owner
                        ORDER BY owner, id -- in no other index's order
                        LIMIT 2 * n) m
   LIMIT 2 * n) m) FROM narrow;

-- piece: looked_up
-- The memories of indexed owners that are read and scored: those with the query's rarest words, together few, of too
-- many the newest, or with one of the keywords; those in the nearest lists, where what has none but commoner words is
-- found; and those that wait to be indexed.
wanted AS MATERIALIZED (
  SELECT term, 0 AS place FROM unnest(:literals::int[]) AS t (term)
  UNION ALL
  SELECT term, place
    FROM (SELECT term, sum(part) OVER rarest AS through, row_number() OVER rarest AS place FROM idf
          WINDOW rarest AS (ORDER BY part, term)) t
   WHERE :keywords::text IS NULL AND (through <= {shares} * {part_max} OR place <= {words_min})
), candidates AS MATERIALIZED ( -- with the products of those in lists
  SELECT id, min(far) AS far FROM (
  (SELECT p.memory_id AS id, NULL::float8 AS far FROM wanted w, unnest(:indexed::uuid[]) AS o (owner),
          LATERAL (SELECT memory_id FROM postings
                    WHERE tenant_id = :tenant AND owner = o.owner AND term = w.term
                      AND (owner, term, memory_id) >= (o.owner, w.term, :since)
                      AND (owner, term, memory_id) < (o.owner, w.term, :until) OFFSET 0) p
    ORDER BY w.place, p.memory_id DESC LIMIT CASE WHEN :keywords::text IS NULL THEN {shares} * {posted_max} END)
  UNION ALL
  SELECT u.memory_id, NULL FROM unnest(:indexed::uuid[]) AS o (owner),
         LATERAL (SELECT memory_id FROM unembedded WHERE tenant_id = :tenant AND owner BETWEEN o.owner AND o.owner
                   ORDER BY owner, memory_id OFFSET 0) u -- in no other index's order
  {nearest_vectors}) c GROUP BY id
),

-- piece: nearest
-- The nearest vectors in the nearest lists.
UNION ALL
  (SELECT e.memory_id, e.far
     FROM (SELECT i.owner, c.list
             FROM search_indexes i,
                  LATERAL (SELECT list FROM unnest(i.centroids) WITH ORDINALITY AS c (centroid, list)
                            ORDER BY centroid <#> (SELECT v FROM spread), list LIMIT {lists}) c
            WHERE i.tenant_id = :tenant AND i.owner = ANY (:indexed) AND :keywords::text IS NULL) l,
          LATERAL (SELECT memory_id, embedding <#> (SELECT v FROM spread) AS far FROM listed
                    WHERE tenant_id = :tenant AND owner = l.owner AND model = :model AND list = l.list
                      AND (list, memory_id) >= (l.list, :since) AND (list, memory_id) < (l.list, :until) OFFSET 0) e
    ORDER BY far LIMIT {near})

-- piece: passes
-- Whether a memory can be found, unless it repeats the query.
(expires_at IS NULL OR expires_at > now())
                  AND {on_place}
                  AND (:types::text[] IS NULL OR type = ANY (:types))
                  AND (:among::uuid[] IS NULL OR archive_id = ANY (:among) OR id = ANY (:among))
                  AND (:keywords::text IS NULL OR (terms <#> (SELECT :keywords::text::sparsevec)) < 0)
                  AND id >= :since AND id < :until
                  AND (:sensitive::boolean OR NOT sensitive)
                  AND (conversation_uid = :asking_uid::uuid AND seq = :asking_seq::int) IS NOT TRUE

-- piece: repeats
-- Whether a memory with a word of the query repeats the query, by the cosine of their words. For a statement the limit
-- is higher, because a single further word states something new.
((:is_said::boolean OR {asking_part} > 0.5)
                AND -(terms <#> (SELECT v FROM asked)) >= CASE WHEN {asking_part} > 0.5 THEN 0.9 ELSE 0.97 END
                    * (SELECT norm FROM asked) * sqrt(l2_norm(terms) ^ 2 - {asking_part} ^ 2 - {only_asks} ^ 2))

-- piece: only_asks
-- 1 for a memory that only asks, else 0.
-(terms <#> '{only_asks_terms}'::sparsevec)

-- piece: asking_part
-- The share of a memory that asks, 0 to 1.
-(terms <#> '{asking_terms}'::sparsevec)

-- piece: in_conversation
-- Whether a memory is in the requested conversation, if there is one.
(:conversation_uid::uuid IS NULL OR conversation_uid = :conversation_uid)

-- piece: on_line
-- Whether a memory is on a line of a tree, or outside of the tree if no conversation is requested. See memories.OnLine.
(CASE WHEN conversation_uid = :own::uuid THEN true
                       WHEN conversation_uid = ANY (:uids::uuid[])
                       THEN CASE WHEN seq IS NULL
                                 THEN id < (:ids::uuid[])[array_position(:uids::uuid[], conversation_uid)]
                                 ELSE seq <= (:seqs::int[])[array_position(:uids::uuid[], conversation_uid)] END
                       ELSE :conversation_uid::uuid IS NULL
                        AND (conversation_uid = ANY (:tree::uuid[])) IS NOT TRUE END)

-- piece: newest
-- The newest vectors, equally many of each owner.
unnest(:owners::uuid[]) AS o (owner),
         LATERAL (SELECT memory_id, embedding FROM embeddings
                   WHERE tenant_id = :tenant AND owner BETWEEN o.owner AND o.owner
                     AND model = :model ORDER BY owner DESC, memory_id DESC
                   LIMIT {vectors} / cardinality(:owners::uuid[])) e

-- piece: how_compared
-- The values with which a vector is compared with the query's.
common AS MATERIALIZED (
  SELECT CASE WHEN n > 0 THEN total * array_fill((1.0 / n)::real, ARRAY[vector_dims(total)])::vector END AS mean, n,
         {common} * n / (n + {few}) AS part
    FROM (SELECT sum(embedding::vector) AS total, count(*) AS n FROM {newest_for_mean}) s -- three times as fast as avg
), probe AS MATERIALIZED (
  SELECT CASE WHEN n = 0 THEN :vector::text::halfvec
              ELSE (:vector::text::vector
                    - mean * array_fill(part::real, ARRAY[vector_dims(mean)])::vector)::halfvec END AS v,
         CASE WHEN n = 0 THEN 0 ELSE -part * (mean <#> mean) END AS level FROM common
), near AS MATERIALIZED (
  SELECT p.level - (embedding <#> p.v) AS x, memory_id >= :since AND memory_id < :until AS is_read
    FROM probe p, {newest_for_spread}
), spread AS MATERIALIZED (
  SELECT p.v, p.level, (coalesce(s.total, 0) + {few} * :usual_mean::float8) / (s.n + {few}) AS mean,
         sqrt((s.n * coalesce(s.variance, 0) + {few} * :usual_deviation::float8 * :usual_deviation::float8)
              / (s.n + {few})) AS deviation
    FROM probe p, (SELECT count(*) AS n, sum(x) AS total, var_pop(x) AS variance FROM near) s
),

-- piece: closeness
-- The same values, and the least closeness: below it, a memory without a word of the query is neither among the best
-- nor counts as found. Enough of the newest vectors are closer, whatever words they have, even if all memories that
-- must not be found are among them. In a conversation or a narrowed search, every memory can be among the best.
closeness AS MATERIALIZED (
  SELECT v, level, mean, deviation,
         least(coalesce(((SELECT x FROM near
                           WHERE is_read AND {is_wide}
                          ORDER BY x DESC LIMIT 1
                          OFFSET greatest({looked_at}, 2 * :limit) - 1
                                 + (SELECT count(*) FROM worded WHERE NOT fits)) - mean) / deviation, '-Infinity'),
               :found_min / (:weight::float8 + CASE WHEN :only_meaning THEN {per_closeness}
                                                    ELSE (SELECT unsaid * part FROM shared) END)) AS least
    FROM spread
),

-- piece: vectors
-- The closeness of each vector.
--
-- A full join is the only join that is never executed as a look-up or a scan of all vectors for each row. A planner
-- without statistics of an owner, which expects a row or two, would choose that. Conditions on the joined rows are in a
-- CASE: with any other condition that unmatched rows fail, the planner would replace the full join.
FULL JOIN
         (SELECT memory_id, ((SELECT level FROM closeness) - far - (SELECT mean FROM closeness))
                            / (SELECT deviation FROM closeness) AS closeness
            FROM {read_vectors} OFFSET 0) e
           ON e.memory_id = m.id

-- piece: all_vectors
-- All vectors of owners in the searched time.
unnest({all_of}::uuid[]) AS o (owner),
                 LATERAL (SELECT memory_id, embedding <#> (SELECT v FROM closeness) AS far FROM embeddings
                           WHERE tenant_id = :tenant
                             AND (owner, model, memory_id) >= (o.owner, :model, :since)
                             AND (owner, model, memory_id) < (o.owner, :model, :until)
                             AND vector_dims(embedding) BETWEEN 1 AND {int_max} -- true, and planned as if few were
                          OFFSET 0) v

-- piece: candidate_vectors
-- The vectors of the candidates, and all of owners without an index. Candidates from lists have their product already.
(SELECT memory_id, far FROM {all_vectors}
                  UNION ALL
                  SELECT id, far FROM candidates WHERE far IS NOT NULL
                  UNION ALL
                  SELECT memory_id, embedding <#> (SELECT v FROM closeness) FROM embeddings
                   WHERE tenant_id = :tenant AND owner = ANY (:indexed) AND model = :model
                     AND memory_id = ANY (ARRAY({compared_ids}))
                  OFFSET 0) v

-- piece: best_worded
-- The memories with most of the query's words: those with few of them are in a list if they are close. If meaning alone
-- scores, all are compared, because words would score the others.
SELECT id FROM worded WHERE fits AND id NOT IN (SELECT id FROM candidates WHERE far IS NOT NULL)
                      ORDER BY coverage DESC, id LIMIT CASE WHEN NOT :only_meaning THEN {near} END

-- piece: no_vectors
-- Replaces the join if there are no vectors.
CROSS JOIN (SELECT NULL::uuid AS memory_id, NULL::float8 AS closeness) e

-- piece: scored
-- The score of every memory that can be among the best.
scored AS MATERIALIZED ( -- few columns, because it is written for every row that is kept, and read twice
  SELECT coalesce(id, memory_id) AS id, coalesce(coverage, 0) * (SELECT by_chance FROM shared) AS coverage,
         CASE WHEN closeness IS NULL
              THEN (SELECT words * part FROM shared) * coverage
                   + :weight::float8 * least({closeness_per_coverage} * coverage, {closeness_usual_max})
              WHEN :only_meaning THEN {per_closeness} * greatest(closeness, 0) + :weight::float8 * closeness
              ELSE (SELECT words * part FROM shared) * coalesce(coverage, 0) + :weight::float8 * closeness
                   + CASE WHEN coverage > 0 THEN 0 ELSE (SELECT unsaid * part FROM shared) * greatest(closeness, 0) END
         END AS score
    FROM worded m {joined}
   WHERE CASE WHEN coalesce(fits, true) THEN coverage > 0 OR {is_close} END
)

-- piece: ranked
-- The best rows of "every", with the number of all matches.
found AS (
  SELECT *, count(*) FILTER (WHERE score >= :score_min
                               AND (score >= :found_min OR (coverage > 0 AND NOT :only_meaning))) OVER () AS counted,
         count(*) FILTER (WHERE score >= :score_min) OVER () AS taken
    FROM every ORDER BY score DESC, id LIMIT :limit
), many AS MATERIALIZED ( -- computed once, not for each returned row
  SELECT count(*) AS counted FROM scored
   WHERE score >= :score_min AND (score >= :found_min OR (coverage > 0 AND NOT :only_meaning))
)
SELECT m.id, m.type, m.conversation_id, m.seq, m.page, m.archive_id, m.start, m.length, f.score, m.created_at,
       f.coverage, m.owner,
       greatest(CASE WHEN many.counted > {looked_at} THEN many.counted ELSE f.counted END,
                least(f.taken, :limit)) AS total
  FROM found f JOIN memories m ON m.tenant_id = :tenant AND m.owner = ANY (:owners) AND m.id = f.id, many
 ORDER BY f.score DESC, f.id

-- piece: lifting
-- Makes "every" (id, coverage, score) from "scored". A message has the score of its best passage, and if it is a turn
-- of a dialogue, its neighbours lift it. All other memories stand alone; of an archive its best passages. The share of
-- a turn that asks lifts the next turn and is not lifted by it. See core/search/relevance.py.
top AS MATERIALIZED (
  SELECT * FROM scored ORDER BY score DESC, id LIMIT greatest({looked_at}, 2 * :limit)
), best AS MATERIALIZED (
  SELECT b.*, m.type, m.conversation_uid, m.seq, m.page, m.archive_id, {asking},
         {only_asks} AS only_asks,
         CASE WHEN (m.terms <#> (SELECT :speakers::text::sparsevec)) < 0 THEN {spoken} ELSE 0 END
         + CASE WHEN :times_since::uuid[] IS NULL THEN 0
                ELSE coalesce((SELECT max(weight)
                                 FROM unnest(:times_since, :times_until::uuid[], :times_weight::float8[])
                                      t (since, until, weight)
                                WHERE b.id >= since AND b.id < until), 0) END AS named
    FROM top b FULL JOIN -- never a look-up per row; see vectors
         (SELECT id, type, conversation_uid, seq, page, archive_id, terms FROM memories
           WHERE tenant_id = :tenant AND owner = ANY (:owners) AND id = ANY (ARRAY(SELECT id FROM top)) OFFSET 0) m
         ON m.id = b.id
), {of_silent}turns AS (
  SELECT id, conversation_uid, seq, coverage, score, named, asking, only_asks, {talk} AS talk FROM best
   WHERE type = 'episode'
  {of_silent_turns}
), beside AS ( -- frames of rows, because frames of a range cost several times as much
  SELECT conversation_uid, seq, CASE WHEN lag(seq) OVER w = seq - 1 THEN lag(asked) OVER w END AS before,
         CASE WHEN lead(seq) OVER w = seq + 1 THEN lead(said) OVER w END AS after,
         CASE seq - 2 WHEN lag(seq) OVER w THEN lag(said) OVER w
                      WHEN lag(seq, 2) OVER w THEN lag(said, 2) OVER w END AS before_that,
         CASE seq + 2 WHEN lead(seq) OVER w THEN lead(said) OVER w
                      WHEN lead(seq, 2) OVER w THEN lead(said, 2) OVER w END AS after_that
    FROM (SELECT conversation_uid, seq, greatest(max(asking * score), 0) AS asked, greatest(max(score), 0) AS said
            FROM turns WHERE talk AND conversation_uid IS NOT NULL GROUP BY conversation_uid, seq) messages
  WINDOW w AS (PARTITION BY conversation_uid ORDER BY seq)
), lifted AS (
  SELECT id, t.conversation_uid, t.seq, coverage, score AS own, talk,
         score + named - {only_asks_less} * only_asks * (2 - least(1, coverage / {telling_coverage}))
         + CASE WHEN talk THEN {neighbour} * (coalesce(before, 0) + (1 - asking) * coalesce(after, 0))
                             + {next_but_one} * (coalesce(before_that, 0) + coalesce(after_that, 0))
           ELSE 0 END AS score,
         row_number() OVER (PARTITION BY t.conversation_uid, t.seq ORDER BY score DESC, id) AS place
    FROM turns t FULL JOIN beside b ON b.conversation_uid = t.conversation_uid AND b.seq = t.seq -- see vectors
), drawn AS (
  SELECT id, coverage, place, CASE WHEN talk AND own > 0
           THEN score + {around} * (max(score) FILTER (WHERE talk) OVER around - score) ELSE score END AS score
    FROM lifted WHERE place = 1 OR :every_passage
  WINDOW around AS (PARTITION BY conversation_uid ORDER BY seq
                    RANGE BETWEEN {around_turns} PRECEDING AND {around_turns} FOLLOWING)
), alone AS (
  SELECT *, row_number() OVER (PARTITION BY archive_id ORDER BY score + named DESC, id) AS place
    FROM best WHERE type <> 'episode'
), every AS (
  SELECT id, coverage, score FROM drawn
  UNION ALL
  SELECT id, coverage, score + named FROM alone
   WHERE place <= {archive_passages} OR archive_id IS NULL OR :every_passage
)

-- piece: talk
-- Whether a message is a turn of a dialogue.
seq > {messages_a_page}::float8 * page

-- piece: asking
-- The share of a message that asks.
{asking_part} AS asking

-- piece: silent
-- The turns around the best that have no word of the query. (With vectors they are among the scored.)
silent AS MATERIALIZED (
  SELECT DISTINCT ON (m.conversation_uid, m.seq) m.id, m.conversation_uid, m.seq, m.asking
    FROM (SELECT id, seq FROM best WHERE type = 'episode' AND coverage < {all_words} AND {talk}
           ORDER BY score DESC, id LIMIT {silent_max}) b,
         LATERAL (SELECT conversation_id FROM memories
                   WHERE tenant_id = :tenant AND owner = ANY (:owners) AND id = b.id OFFSET 0) c,
         LATERAL (SELECT id, conversation_uid, seq, start, {asking},
                         owner = ANY (:owners) AND type = 'episode' AND {passes}
                           AND ((terms <#> (SELECT v FROM asked)) < 0 AND {repeats}) IS NOT TRUE AS fits
                    FROM memories WHERE tenant_id = :tenant AND conversation_id = c.conversation_id
                     AND seq BETWEEN b.seq - 1 AND b.seq + 1 OFFSET 0) m -- not by owner: that would read all of theirs
   WHERE m.fits AND (m.conversation_uid, m.seq) NOT IN -- hashed once: a join would compare each with each
         (SELECT conversation_uid, seq FROM best WHERE conversation_uid IS NOT NULL AND seq IS NOT NULL)
   ORDER BY m.conversation_uid, m.seq, m.start
),

-- piece: silent_turns
-- The silent turns, which have no score of their own.
UNION ALL SELECT id, conversation_uid, seq, 0, 0, 0, asking, 0, true FROM silent
