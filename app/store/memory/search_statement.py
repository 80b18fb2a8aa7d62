"""The statement that searches the memories of owners: how every row is scored, and the best are found.

Every memory and every vector of the owners is read, in covering indexes alone. What happens to a row after that is the
larger part of the cost, so little does: most memories have no word of the query, and of these only a vector that could
still be among the best, or count as found, is kept.
"""

from __future__ import annotations

from app.core.search.relevance import (
    CHANCE,
    CLOSENESS_PER_COVERAGE,
    CLOSENESS_USUAL_MAX,
    COMMON,
    COVERAGE_PER_CLOSENESS,
    FEW,
    WORDS,
)
from app.store.memory.lifting import FITS, IN_CONVERSATION, LOOKED_AT, LOOKED_AT_EACH, lifting
from app.text.bm25 import DIMENSIONS

RECENT = 1_000
"""The newest memories, of each owner as many, which tell how common words are, and what all vectors have in common."""
_SHARE = f"{RECENT} / cardinality($2::uuid[])"

# A term's idf is worked out over the newest rows.
_TERMS = f"""
WITH terms AS MATERIALIZED (
  SELECT DISTINCT term, format('{{%s:1}}/{DIMENSIONS}', term)::sparsevec AS one
    FROM unnest($3::int[]) AS t (term)
), asked AS MATERIALIZED (
  SELECT format('{{%s}}/{DIMENSIONS}', string_agg(format('%s:1', term), ',' ORDER BY term))::sparsevec AS v
    FROM terms
), recent AS MATERIALIZED ( -- terms of those alone that have one of the query's: most have none of its others either
  SELECT CASE WHEN (terms <#> a.v) < 0 THEN terms END AS terms
    FROM asked a, unnest($2::uuid[]) AS o (owner),
         LATERAL (SELECT terms FROM memories WHERE tenant_id = $1 AND owner BETWEEN o.owner AND o.owner
                   ORDER BY owner DESC, id DESC LIMIT {_SHARE}) m -- in no other index's order
), counted AS MATERIALIZED (
  SELECT count(*) AS n FROM recent
), idf AS (
  SELECT term, ln(1 + (n - df + 0.5) / (df + 0.5)) AS idf, (df + 0.5) / (n + 1) AS part, df > 0 AS known
    FROM (SELECT t.term, count(r.terms) AS df, (SELECT n FROM counted) AS n
            FROM terms t LEFT JOIN recent r ON r.terms IS NOT NULL AND (r.terms <#> t.one) < 0 GROUP BY t.term) d
)"""
_QUERY = f"""query AS MATERIALIZED (
  SELECT format('{{%s}}/{DIMENSIONS}', string_agg(format('%s:%s', term, idf), ',' ORDER BY term))::sparsevec AS v,
         greatest(sum(idf), 1e-9)::float8 AS information,
         greatest({WORDS}, {CHANCE} * sum(idf) / sqrt(sum(idf * idf * part * (1 - part))))::float8 AS words
    FROM idf WHERE term = ANY ($3::int[])
)"""
_COVERAGE = "-(terms <#> (SELECT v FROM query)) / (SELECT information FROM query) AS coverage"
# The memories that have a word of the query, and those that are not to be found. All others score by closeness alone.
_WORDED = f"""worded AS (
  SELECT id, fits, {_COVERAGE}
    FROM (SELECT id, terms,
                 ({FITS}) IS TRUE AS fits
            FROM memories WHERE tenant_id = $1 AND owner = ANY ($2) OFFSET 0) m
   WHERE NOT fits OR (terms <#> (SELECT v FROM asked)) < 0 OFFSET 0
)"""
# The mean and spread of closeness are worked out over the newest vectors. To read them three times costs less
# than to keep them.
_SAMPLE = f"""sample AS NOT MATERIALIZED (
  SELECT embedding FROM unnest($2::uuid[]) AS o (owner),
         LATERAL (SELECT embedding FROM embeddings WHERE tenant_id = $1 AND owner BETWEEN o.owner AND o.owner
                     AND model = $22 ORDER BY owner DESC, memory_id DESC LIMIT {_SHARE}) e
), common AS MATERIALIZED (
  SELECT CASE WHEN n > 0 THEN total * array_fill((1.0 / n)::real, ARRAY[vector_dims(total)])::vector END AS mean, n,
         {COMMON} * n / (n + {FEW}) AS part
    FROM (SELECT sum(embedding::vector) AS total, count(*) AS n FROM sample) s -- three times as fast as avg
)"""
# `least` is a closeness below which a memory without a word of the query is neither among the best nor counts as found:
# enough of the newest vectors are as close, whatever words they have, even if all that are not to be found are of them.
_CLOSENESS = f"""probe AS MATERIALIZED (
  SELECT n, CASE WHEN n = 0 THEN $23::text::halfvec
                 ELSE ($23::text::vector
                       - mean * array_fill(part::real, ARRAY[vector_dims(mean)])::vector)::halfvec END AS v,
         CASE WHEN n = 0 THEN 0 ELSE -part * (mean <#> mean) END AS level FROM common
), near AS MATERIALIZED (
  SELECT p.level - (embedding <#> p.v) AS x FROM probe p, sample
), spread AS MATERIALIZED (
  SELECT p.v, p.level, (coalesce(s.total, 0) + {FEW} * $24::float8) / (p.n + {FEW}) AS mean,
         sqrt((p.n * coalesce(s.variance, 0) + {FEW} * $25::float8 * $25::float8) / (p.n + {FEW})) AS deviation
    FROM probe p, (SELECT sum(x) AS total, var_pop(x) AS variance FROM near) s
), closeness AS MATERIALIZED (
  SELECT v, level, mean, deviation,
         least(coalesce(((SELECT x FROM near ORDER BY x DESC LIMIT 1
                          OFFSET {LOOKED_AT} + {LOOKED_AT_EACH} * $7 - 1
                                 + (SELECT count(*) FROM worded WHERE NOT fits)) - mean) / deviation, '-Infinity'),
               $14 / ($12::float8 + {WORDS * COVERAGE_PER_CLOSENESS})) AS least
    FROM spread
)"""
# A full join: it is the only kind of join never executed as a look-up, or as a scan of all vectors, per row, as a
# planner without statistics of an owner, expecting a row or two, would do. Conditions on its rows are in a CASE, so
# that it stays a full join: the planner would see through any other condition that a lone row cannot pass.
_VECTORS = """FULL JOIN
         (SELECT memory_id, {closeness}
            FROM embeddings WHERE tenant_id = $1 AND owner = ANY ($2) AND model = $22 OFFSET 0) e
           ON e.memory_id = m.id"""
_CLOSE = """((SELECT level FROM closeness) - (embedding <#> (SELECT v FROM closeness))
            - (SELECT mean FROM closeness)) / (SELECT deviation FROM closeness) AS closeness"""
_NO_VECTORS = "CROSS JOIN (SELECT NULL::uuid AS memory_id, {closeness}) e"
_IS_CLOSE = "closeness >= (SELECT least FROM closeness)"
_SCORE = f"""CASE WHEN closeness IS NULL
              THEN (SELECT words FROM query) * coverage
                   + $12::float8 * least({CLOSENESS_PER_COVERAGE} * coverage, {CLOSENESS_USUAL_MAX})
              WHEN $13 THEN {WORDS * COVERAGE_PER_CLOSENESS} * greatest(closeness, 0) + $12 * closeness
              ELSE (SELECT words FROM query) * coalesce(coverage, 0) + $12 * closeness END"""
_SCORED = f"""scored AS MATERIALIZED ( -- narrow: it is written for every row that is kept, and read twice
  SELECT coalesce(id, memory_id) AS id, coalesce(coverage, 0) AS coverage, {_SCORE} AS score
    FROM worded m {{vectors}}
   WHERE CASE WHEN coalesce(fits, true) THEN coverage > 0 OR {{is_close}} END
)"""
_RANKED = f"""found AS (
  SELECT *, count(*) FILTER (WHERE score >= $14 OR (coverage > 0 AND NOT $13)) OVER () AS counted,
         count(*) OVER () AS taken
    FROM every WHERE score >= $11 ORDER BY score DESC, id LIMIT $7
), telling AS (
  SELECT coalesce(sum(idf) FILTER (WHERE known) / nullif(sum(idf), 0), 0)::float8 AS known,
         (SELECT n FROM counted) AS memories
    FROM idf WHERE term = ANY ($16)
), many AS MATERIALIZED ( -- once, not for each row that is returned
  SELECT count(*) AS counted FROM scored
   WHERE score >= $11 AND (score >= $14 OR (coverage > 0 AND NOT $13))
)
SELECT m.id, m.type, m.seq, m.page, m.archive_id, m.start, m.length, f.score, f.own, f.coverage,
       m.conversation_id, m.created_at, m.owner, telling.known, telling.memories,
       CASE WHEN many.counted > {LOOKED_AT} THEN many.counted ELSE greatest(f.counted, least(f.taken, $7)) END AS total
  FROM found f JOIN memories m ON m.tenant_id = $1 AND m.owner = ANY ($2) AND m.id = f.id, many, telling
 ORDER BY f.score DESC, f.id
"""


def _statement(*, vectors: bool) -> str:
    """Return the search over the rows of owners: BM25 is an inner product, and with vectors closeness is another."""
    close = _CLOSE if vectors else "NULL::float8 AS closeness"
    scored = _SCORED.format(
        vectors=(_VECTORS if vectors else _NO_VECTORS).format(closeness=close),
        is_close=_IS_CLOSE if vectors else "false",
    )
    ways = [_QUERY, _WORDED, *([_SAMPLE, _CLOSENESS] if vectors else [])]
    return ", ".join([_TERMS, *ways, scored, lifting(by_words=not vectors), _RANKED])


BY_WORDS, SEARCH = _statement(vectors=False), _statement(vectors=True)


def on_line(first: int) -> str:
    """Return the condition that a memory is on a line of a tree, or in no conversation of the tree unless $4 says in
    which. From the parameter ``first`` on: see ``memories.OnLine``.
    """
    own, uids, seqs, ids, tree = (f"${first + i}::{kind}" for i, kind in enumerate(_ON_LINE))
    place = f"array_position({uids}, conversation_uid)"
    return f"""(CASE WHEN conversation_uid = {own} THEN true
                       WHEN conversation_uid = ANY ({uids})
                       THEN CASE WHEN seq IS NULL THEN id < ({ids})[{place}] ELSE seq <= ({seqs})[{place}] END
                       ELSE $4::uuid IS NULL AND (conversation_uid = ANY ({tree})) IS NOT TRUE END)"""


_ON_LINE = ("uuid", "uuid[]", "int[]", "uuid[]", "uuid[]")
BY_WORDS_ON_LINE, SEARCH_ON_LINE = (
    sql.replace(IN_CONVERSATION, on_line(first)) for sql, first in ((BY_WORDS, 22), (SEARCH, 26))
)
