"""Memories: whatever search can find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import NamedTuple
from uuid import UUID

from app.core.relevance import (
    CHANCE,
    CLOSENESS_PER_COVERAGE,
    CLOSENESS_USUAL_MAX,
    COMMON,
    COVERAGE_PER_CLOSENESS,
    FEW,
    FOUND_MIN,
    MEANING_ENGLISH,
    WORDS,
    Favoured,
    relevance,
    score_of,
)
from app.postgres.database import Connection
from app.store.lifting import LOOKED_AT, lifting
from app.text import bm25
from app.text.bm25 import DIMENSIONS

__all__ = ["Hit", "Meaning", "find", "first_id", "relevance", "search"]


def first_id(time: datetime) -> UUID:
    """Return the smallest UUIDv7 of a moment, or the nearest that exists."""
    return UUID(int=min(max(int(time.timestamp() * 1000), 0), 2**48 - 1) << 80)


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that matched; ``score`` is that of core.relevance, with the neighbours' part."""

    id: UUID
    type: str
    conversation_id: str | None
    seq: int | None
    page: int | None
    archive_id: UUID | None
    start: int
    length: int
    score: float
    created_at: datetime
    coverage: float = 0.0
    """The part of the query that its words carry; 0 if it was found by meaning alone."""
    own: float = 0.0
    """The score without the neighbours' part."""


class Hits(NamedTuple):
    """Results of a search, best first."""

    hits: list[Hit]
    total: int
    """The number of all matches."""
    known: float = 0.0
    """The part of the information of ``telling`` terms that the owner's newest memories know."""
    memories: int = 0
    """The owner's memories, counted up to RECENT."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """A query's vector, and how vectors of its model are to be read: see core.relevance."""

    model: UUID
    vector: str
    """In pgvector's text form."""
    usual_mean: float
    usual_deviation: float


RECENT = 1_000
"""The owner's newest memories, which tell how common words are, and what all vectors have in common."""


# A query can have parts, which are scored beside it: names and parameters of the first have no suffix. A term's idf is
# worked out over the owner's newest rows, for all of them at once.
_TERMS = f"""
WITH terms AS MATERIALIZED (
  SELECT DISTINCT term, format('{{{{%s:1}}}}/{DIMENSIONS}', term)::sparsevec AS one
    FROM unnest({{all_terms}}) AS t (term)
), asked AS MATERIALIZED (
  SELECT format('{{{{%s}}}}/{DIMENSIONS}', string_agg(format('%s:1', term), ',' ORDER BY term))::sparsevec AS v
    FROM terms
), recent AS MATERIALIZED ( -- terms of those alone that have one of the query's: most have none of its others either
  SELECT CASE WHEN (terms <#> a.v) < 0 THEN terms END AS terms
    FROM asked a, (SELECT terms FROM memories WHERE tenant_id = $1 AND owner BETWEEN $2 AND $2
                   ORDER BY owner DESC, id DESC LIMIT {RECENT}) m -- in no other index's order
), idf AS (
  SELECT term, ln(1 + (n - df + 0.5) / (df + 0.5)) AS idf, (df + 0.5) / (n + 1) AS part, df > 0 AS known
    FROM (SELECT t.term, count(r.terms) AS df, (SELECT count(*) FROM recent) AS n
            FROM terms t LEFT JOIN recent r ON r.terms IS NOT NULL AND (r.terms <#> t.one) < 0 GROUP BY t.term) d
)"""
_QUERY = f"""query{{k}} AS MATERIALIZED (
  SELECT format('{{{{%s}}}}/{DIMENSIONS}', string_agg(format('%s:%s', term, idf), ',' ORDER BY term))::sparsevec AS v,
         greatest(sum(idf), 1e-9)::float8 AS information,
         greatest({WORDS}, {CHANCE} * sum(idf) / sqrt(sum(idf * idf * part * (1 - part))))::float8 AS words
    FROM idf WHERE term = ANY ({{terms}})
)"""
# The mean and spread of closeness are worked out over the owner's newest vectors.
_SAMPLE = f"""sample AS MATERIALIZED (
  SELECT embedding FROM embeddings WHERE tenant_id = $1 AND owner BETWEEN $2 AND $2 AND model = $22
   ORDER BY owner DESC, memory_id DESC LIMIT {RECENT}
), common AS MATERIALIZED (
  SELECT CASE WHEN n > 0 THEN total * array_fill((1.0 / n)::real, ARRAY[vector_dims(total)])::vector END AS mean, n,
         {COMMON} * n / (n + {FEW}) AS part
    FROM (SELECT sum(embedding::vector) AS total, count(*) AS n FROM sample) s -- three times as fast as avg
)"""
_CLOSENESS = f"""probe{{k}} AS MATERIALIZED (
  SELECT n, CASE WHEN n = 0 THEN {{vector}}::text::halfvec
                 ELSE ({{vector}}::text::vector
                       - mean * array_fill(part::real, ARRAY[vector_dims(mean)])::vector)::halfvec END AS v,
         CASE WHEN n = 0 THEN 0 ELSE -part * (mean <#> mean) END AS level FROM common
), closeness{{k}} AS MATERIALIZED (
  SELECT p.v, p.level, (coalesce(s.total, 0) + {FEW} * $24::float8) / (p.n + {FEW}) AS mean,
         sqrt((p.n * coalesce(s.variance, 0) + {FEW} * $25::float8 * $25::float8) / (p.n + {FEW})) AS deviation
    FROM probe{{k}} p, LATERAL (SELECT sum(x) AS total, var_pop(x) AS variance
                             FROM (SELECT p.level - (embedding <#> p.v) AS x FROM sample) y) s
)"""
# A full join, although no vector lacks its memory: it is the only kind of join never executed as a look-up, or as a
# scan of all vectors, per row, as a planner without statistics of an owner, expecting a row or two, would do.
# Conditions on its rows are in a CASE, so that it stays a full join: the planner would see through any other condition
# that a lone vector cannot pass.
_VECTORS = """FULL JOIN
         (SELECT memory_id, {closeness}
            FROM embeddings WHERE tenant_id = $1 AND owner = $2 AND model = $22 OFFSET 0) e ON e.memory_id = m.id"""
_CLOSE = """((SELECT level FROM closeness{k}) - (embedding <#> (SELECT v FROM closeness{k}))
            - (SELECT mean FROM closeness{k})) / (SELECT deviation FROM closeness{k}) AS closeness{k}"""
_NO_VECTORS = "CROSS JOIN (SELECT {closeness}) e"
_COVERAGE = "-(terms <#> (SELECT v FROM query{k})) / (SELECT information FROM query{k}) AS coverage{k}"
_SCORE = f"""CASE WHEN closeness{{k}} IS NULL
              THEN (SELECT words FROM query{{k}}) * coverage{{k}}
                   + $12::float8 * least({CLOSENESS_PER_COVERAGE} * coverage{{k}}, {CLOSENESS_USUAL_MAX})
              WHEN $13 THEN {WORDS * COVERAGE_PER_CLOSENESS} * greatest(closeness{{k}}, 0) + $12 * closeness{{k}}
              ELSE (SELECT words FROM query{{k}}) * coverage{{k}} + $12 * closeness{{k}} END"""
# Every row is looked at, in covering indexes alone.
_SCORED = """scored AS MATERIALIZED ( -- narrow: it is written for every row, and read twice
  SELECT id, {coverage} AS coverage, {score} AS score
    FROM (SELECT id, {coverages},
                 (expires_at IS NULL OR expires_at > now())
                 AND ($4::uuid IS NULL OR conversation_uid = $4)
                 AND ($5::text[] IS NULL OR type = ANY ($5))
                 AND ($6::uuid[] IS NULL OR archive_id = ANY ($6) OR id = ANY ($6))
                 AND ($8::text IS NULL OR (terms <#> $8::text::sparsevec) < 0)
                 AND ($9::uuid IS NULL OR id >= $9)
                 AND ($10::uuid IS NULL OR id < $10)
                 AND ($15::boolean OR NOT sensitive) AS fits
            FROM memories WHERE tenant_id = $1 AND owner = $2 OFFSET 0) m -- numbers alone, before they are joined
         {vectors}
   WHERE CASE WHEN fits THEN {coverage} > 0 OR closeness IS NOT NULL END
)"""
_RANKED = f"""found AS (
  SELECT *, count(*) FILTER (WHERE score >= $14 OR (coverage > 0 AND NOT $13)) OVER () AS counted,
         count(*) OVER () AS taken
    FROM every WHERE score >= $11 ORDER BY score DESC, id LIMIT $7
), telling AS (
  SELECT coalesce(sum(idf) FILTER (WHERE known) / nullif(sum(idf), 0), 0)::float8 AS known,
         (SELECT count(*) FROM recent) AS memories
    FROM idf WHERE term = ANY ($16)
), many AS MATERIALIZED ( -- once, not for each row that is returned
  SELECT count(*) AS counted FROM scored
   WHERE score >= $11 AND (score >= $14 OR (coverage > 0 AND NOT $13))
)
SELECT m.id, m.type, m.seq, m.page, m.archive_id, m.start, m.length, f.score, f.own, f.coverage,
       m.conversation_id, m.created_at, telling.known, telling.memories,
       CASE WHEN many.counted > {LOOKED_AT} THEN many.counted ELSE greatest(f.counted, least(f.taken, $7)) END AS total
  FROM found f JOIN memories m ON m.tenant_id = $1 AND m.id = f.id, many, telling
 ORDER BY f.score DESC, f.id
"""


@cache
def statement(parts: int, *, vectors: bool) -> str:
    """Return the search over one owner's rows for a query with so many parts besides itself.

    BM25 is an inner product, and with vectors closeness is another. The whole and its parts are looked up in one scan,
    and a memory scores as it does for the best of them.
    """
    last = 25 if vectors else 21
    step = 2 if vectors else 1
    names = ["", *(f"_{part}" for part in range(1, parts + 1))]
    terms = ["$3::int[]", *(f"${last + 1 + step * part}::int[]" for part in range(parts))]
    probes = ["$23", *(f"${last + 2 + step * part}" for part in range(parts))]
    close = [_CLOSE.format(k=name) if vectors else f"NULL::float8 AS closeness{name}" for name in names]
    scored = _SCORED.format(
        coverage=_greatest([f"coverage{name}" for name in names]),
        score=_greatest([_SCORE.format(k=name) for name in names]),
        coverages=", ".join(_COVERAGE.format(k=name) for name in names),
        vectors=(_VECTORS if vectors else _NO_VECTORS).format(closeness=", ".join(close)),
    )
    queries = [_QUERY.format(k=name, terms=of) for name, of in zip(names, terms, strict=True)]
    near = [_CLOSENESS.format(k=name, vector=of) for name, of in zip(names, probes, strict=True)]
    ways = [*queries, *([_SAMPLE, *near] if vectors else [])]
    return ", ".join([_TERMS.format(all_terms=" || ".join(terms)), *ways, scored, lifting(), _RANKED])


def _greatest(expressions: Sequence[str]) -> str:
    return expressions[0] if len(expressions) == 1 else f"greatest({', '.join(expressions)})"


BY_WORDS, SEARCH = statement(0, vectors=False), statement(0, vectors=True)


@dataclass(frozen=True, slots=True)
class Named:
    """What a query names besides its subject: it raises scores, and leaves nothing out."""

    speakers: Sequence[int] = ()
    """The components of whatever could be a speaker's name."""
    times: Sequence[Favoured] = ()


class Part(NamedTuple):
    """A query beside the first one."""

    terms: Sequence[int]
    vector: str | None = None
    """In pgvector's text form; not None where the first has a meaning."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """The terms and the meaning that score passages."""

    terms: Sequence[int]
    meaning: Meaning | None = None
    """None: a passage must contain one of the terms."""
    weight: float = MEANING_ENGLISH
    """Of closeness, for the query's language."""
    only_meaning: bool = False
    """The terms apply only to passages without a vector."""
    telling: Sequence[int] = ()
    """The terms whose known part is measured."""
    named: Named = Named()
    parts: Sequence[Part] = ()
    """Queries that are searched for as well: a passage scores as it does for the best of all."""


@dataclass(frozen=True, slots=True)
class Filter:
    """The passages that are searched."""

    conversation_uid: UUID | None = None
    types: Sequence[str] | None = None
    among: Sequence[UUID] | None = None
    """Ids of memories, or of archives whose passages are searched."""
    keywords: Sequence[int] = ()
    """At least one of them must occur."""
    since: datetime | None = None
    """Like ``until`` compared with the time in the passages' ids, which is indexed: when they were made, not the time
    they tell of."""
    until: datetime | None = None
    score_min: float = float("-inf")
    sensitive: bool = False
    """Sensitive ones too."""


ALL = Filter()


async def search(
    connection: Connection,
    tenant: UUID,
    owner: UUID,
    scoring: Scoring,
    where: Filter = ALL,
    *,
    limit: int = 10,
    every_passage: bool = False,
) -> Hits:
    """Return the best passages by a scoring, and the total number that match.

    Each message is represented by its best passage, unless ``every_passage`` is set.
    """
    meaning = scoring.meaning
    if not scoring.terms and meaning is None:
        return Hits([], 0)
    arguments: list[object] = [
        tenant, owner, scoring.terms, where.conversation_uid, where.types, where.among, limit,
        bm25.any_of(where.keywords) if where.keywords else None, first_id(where.since) if where.since else None,
        first_id(where.until) if where.until else None, where.score_min, scoring.weight, scoring.only_meaning,
        score_of(FOUND_MIN), where.sensitive, scoring.telling, every_passage, *_named(scoring.named),
    ]  # fmt: skip
    if meaning is not None:
        arguments += [meaning.model, meaning.vector, meaning.usual_mean, meaning.usual_deviation]
    for part in scoring.parts:
        arguments += [part.terms] if meaning is None else [part.terms, part.vector]
    rows = await connection.fetch(statement(len(scoring.parts), vectors=meaning is not None), *arguments)
    hits = [
        Hit(
            r["id"], r["type"], r["conversation_id"], r["seq"], r["page"], r["archive_id"], r["start"], r["length"],
            float(r["score"]), r["created_at"], float(r["coverage"]), float(r["own"]),
        )
        for r in rows
    ]  # fmt: skip
    return Hits(hits, rows[0]["total"], float(rows[0]["known"]), rows[0]["memories"]) if rows else Hits(hits, 0)


def _named(named: Named) -> list[object]:
    """The statement's arguments: None where nothing is named, so that it looks for nothing."""
    times = named.times
    return [
        bm25.any_of(named.speakers) if named.speakers else None,
        [first_id(one.since) for one in times] or None,
        [first_id(one.until) for one in times] or None,
        [one.weight for one in times] or None,
    ]


# Where the indexed passages of an archive, or of a message, end.
ARCHIVE_INDEXED = """
SELECT start + length AS through FROM memories
 WHERE tenant_id = $1 AND archive_id = $2 ORDER BY start DESC LIMIT 1
"""
MESSAGE_INDEXED = """
SELECT max(start + length) AS through FROM memories
 WHERE tenant_id = $1 AND conversation_id = $2 AND seq = $3 AND archive_id IS NULL AND content IS NULL
"""


async def archive_indexed(connection: Connection, tenant: UUID, archive: UUID) -> int:
    return await connection.fetchval(ARCHIVE_INDEXED, tenant, archive) or 0


async def message_indexed(connection: Connection, tenant: UUID, conversation_id: str, seq: int) -> int:
    return await connection.fetchval(MESSAGE_INDEXED, tenant, conversation_id, seq) or 0


FIND = """
SELECT id, owner, type, conversation_id, seq, page, archive_id, start, length, created_at
  FROM memories WHERE tenant_id = $1 AND id = $2
"""


async def find(connection: Connection, tenant: UUID, memory: UUID, owner: UUID | None = None) -> Hit | None:
    """Return a memory by id; if ``owner`` is given, only that owner's."""
    r = await connection.fetchrow(FIND, tenant, memory)
    if r is None or owner not in (None, r["owner"]):
        return None
    return Hit(
        r["id"], r["type"], r["conversation_id"], r["seq"], r["page"], r["archive_id"], r["start"], r["length"], 0.0,
        r["created_at"],
    )  # fmt: skip
