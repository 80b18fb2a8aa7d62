"""Memories: everything that search can find."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from itertools import accumulate
from typing import NamedTuple
from uuid import UUID

from app.core.search.fusion import in_turns
from app.core.search.narrowing import OWN_TYPES
from app.core.search.relevance import FOUND_MIN, MEANING, Favoured, score_of
from app.core.times import first_id
from app.postgres.statements import Statement
from app.postgres.transactions import ReadTx
from app.store.memory import search_index
from app.store.memory.search_index import FEW
from app.store.memory.search_statement import ARE_FEW, STATEMENTS
from app.text import bm25


class Hit(NamedTuple):
    """A passage that matched. ``score`` is defined in core.search.relevance, and includes its neighbours' part."""

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
    """The share of the query that its words cover, corrected for chance; 0 if it was found by meaning alone."""
    owner: UUID | None = None
    """The owner id of the scope in which it was found."""


class Hits(NamedTuple):
    """Results of a search, best first."""

    hits: list[Hit]
    total: int
    """The number of all matches; a lower bound if an owner has an index."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """A query's vector, and the usual closeness of its model's vectors: see core.search.relevance."""

    model: UUID
    vector: str
    """In pgvector's text form."""
    usual_mean: float
    usual_deviation: float


@dataclass(frozen=True, slots=True)
class Named:
    """Names and times in a query. They raise scores, but exclude nothing."""

    speakers: Sequence[int] = ()
    """The components of all words that can be a speaker's name."""
    times: Sequence[Favoured] = ()


class QueryPart(NamedTuple):
    """A question of a compound query."""

    terms: Sequence[int]
    vector: str | None = None
    """In pgvector's text form; not None if the query has a ``meaning``."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """The terms and the meaning that score passages."""

    terms: Sequence[int]
    meaning: Meaning | None = None
    """None if a passage must contain one of the terms."""
    weight: float = MEANING
    """The weight of closeness."""
    only_meaning: bool = False
    """Whether the terms count only for passages without a vector."""
    named: Named = Named()
    parts: Sequence[QueryPart] = ()
    """Questions to search for instead of the whole query; their results alternate."""

    def each(self) -> list[Scoring]:
        """Return a scoring for each part; for a query without parts, the scoring itself."""
        return [
            replace(
                self,
                terms=part.terms,
                meaning=replace(self.meaning, vector=part.vector) if self.meaning and part.vector else None,
                parts=(),
            )
            for part in self.parts
        ] or [self]


class OnLine(NamedTuple):
    """A line in a tree, as arguments of the search statement, which finds nothing that only other lines said."""

    own: UUID
    uids: Sequence[UUID]
    """The uids of its ancestors, in the order of ``seqs`` and ``ids``."""
    seqs: Sequence[int]
    """The last shared message of each ancestor."""
    ids: Sequence[UUID]
    """The ids below which an ancestor's memories that belong to no message are shared."""
    tree: Sequence[UUID]
    """All conversations of the tree."""


class Asking(NamedTuple):
    """The user's newest message, which asks. A search does not find it."""

    conversation_uid: UUID
    seq: int
    is_said: bool = False
    """Whether it is the query itself, so that repetitions are not found either, even if they are no questions."""


class Within(NamedTuple):
    """The only conversation to search, with the messages that it shares with its ancestors."""

    uid: UUID
    ids: Sequence[str]
    """The ids of the conversation and its ancestors."""


FIRST, LAST = UUID(int=0), UUID(int=2**128 - 1)


@dataclass(frozen=True, slots=True)
class PassageFilter:
    conversation: Within | None = None
    line: OnLine | None = None
    """The line that asks; None if it is in no tree."""
    asking: Asking | None = None
    types: Sequence[str] | None = None
    among: Sequence[UUID] | None = None
    """Ids of memories, or of archives whose passages are searched."""
    keywords: Sequence[int] = ()
    """Terms of which at least one must occur."""
    since: UUID = FIRST
    """Compared, like ``until``, with the passages' ids, which hold the time of creation, not one that they mention."""
    until: UUID = LAST
    score_min: float = float("-inf")
    sensitive: bool = False
    """Whether sensitive memories can be found too."""

    def narrow(self, owners: Sequence[UUID]) -> dict[str, object]:
        """Return arguments that narrow the search to few memories; {} if nothing but the owners does."""
        none: dict[str, object] = {"conversations": [], "among": self.among, "own_of": []}
        if self.among is not None:
            return none
        if self.types is not None and set(self.types) <= set(OWN_TYPES):
            return none | {"own_of": owners}
        return none | {"conversations": self.conversation.ids} if self.conversation else {}

    @property
    def is_wide(self) -> bool:
        """Return whether enough memories pass for an index to find: most memories are episodes."""
        return self.among is None and (self.types is None or "episode" in self.types)


ALL = PassageFilter()


async def search(
    tx: ReadTx,
    owners: Sequence[UUID],
    scoring: Scoring,
    where: PassageFilter = ALL,
    *,
    limit: int = 10,
    every_passage: bool = False,
) -> Hits:
    """Return the best passages by a scoring, and the number of all matches.

    Each message is represented by its best passage and each archive by its three best, unless ``every_passage`` is set.
    """
    indexed = await _indexed(tx, owners, scoring, where)
    results: list[Hits] = []
    for part in scoring.each():
        sql, arguments = search_statement(owners, part, where, indexed, limit=limit, every_passage=every_passage)
        rows = await tx.fetch(sql, **arguments) if part.terms or part.meaning else []
        results.append(Hits([Hit(*row[:-1]) for row in rows], rows[0]["total"] if rows else 0))
    if len(results) == 1:
        return results[0]
    hits = in_turns([result.hits for result in results], lambda hit: hit.id)[:limit]
    lowest = accumulate((hit.score for hit in hits), min)
    ordered = [hit._replace(score=score) for hit, score in zip(hits, lowest, strict=True)]
    return Hits(ordered, max(result.total for result in results))


async def _indexed(tx: ReadTx, owners: Sequence[UUID], scoring: Scoring, where: PassageFilter) -> Sequence[UUID] | None:
    """Return the owners whose index is used; None if the memories to which the filter narrows are looked up instead."""
    narrow = where.narrow(owners)
    args = {"owners": owners, "few": FEW, "since": where.since, "until": where.until}
    if narrow and await tx.fetchval(ARE_FEW, **args, **narrow):
        return None
    if not where.is_wide:
        return []
    model = scoring.meaning.model if scoring.meaning else None
    few = 0 if (where.since, where.until) == (FIRST, LAST) else FEW  # an owner with an index has very many memories
    return await search_index.ready(tx, owners, model, where.since, where.until, few)


def search_statement(
    owners: Sequence[UUID],
    scoring: Scoring,
    where: PassageFilter = ALL,
    indexed: Sequence[UUID] | None = (),
    *,
    limit: int,
    every_passage: bool = False,
) -> tuple[Statement, dict[str, object]]:
    """Return a search's statement and arguments. ``indexed``: owners with an index; None for a narrowed search."""
    meaning = scoring.meaning
    arguments: dict[str, object] = {
        "owners": owners,
        "terms": scoring.terms,
        "conversation_uid": where.conversation.uid if where.conversation else None,
        "asking_uid": where.asking.conversation_uid if where.asking else None,
        "asking_seq": where.asking.seq if where.asking else None,
        "is_said": where.asking is not None and where.asking.is_said,
        "types": where.types,
        "among": where.among,
        "keywords": bm25.any_of(where.keywords) if where.keywords else None,
        "since": where.since,
        "until": where.until,
        "sensitive": where.sensitive,
        "score_min": where.score_min,
        "found_min": score_of(FOUND_MIN),
        "weight": scoring.weight,
        "only_meaning": scoring.only_meaning,
        "every_passage": every_passage,
        "limit": limit,
        **_named(scoring.named),
        **(asdict(meaning) if meaning else {}),
        **(where.line._asdict() if where.line else {}),
    }
    if indexed is None:
        arguments |= {"indexed": owners, "scanned": [], **where.narrow(owners)}
    elif indexed:
        scanned = [owner for owner in owners if owner not in indexed]
        arguments |= {"indexed": indexed, "scanned": scanned, "literals": where.keywords}
    read = "within" if indexed is None else "indexed" if indexed else "all"
    by_words, by_both = STATEMENTS[read, where.line is not None]
    return by_words if meaning is None else by_both, arguments


def _named(named: Named) -> dict[str, object]:
    times = named.times
    return {
        "speakers": bm25.any_of(named.speakers) if named.speakers else None,
        "times_since": [first_id(time.since) for time in times] or None,
        "times_until": [first_id(time.until) for time in times] or None,
        "times_weight": [time.weight for time in times] or None,
    }


# The end of the indexed passages of an archive, and of a message.
ARCHIVE_INDEXED = """
SELECT start + length AS through FROM memories
 WHERE tenant_id = $1 AND archive_id = $2 ORDER BY start DESC LIMIT 1
"""
MESSAGE_INDEXED = """
SELECT max(start + length) AS through FROM memories
 WHERE tenant_id = $1 AND conversation_id = $2 AND seq = $3 AND archive_id IS NULL AND content IS NULL
"""


async def archive_indexed(tx: ReadTx, archive: UUID) -> int:
    return await tx.fetchval(ARCHIVE_INDEXED, archive) or 0


async def message_indexed(tx: ReadTx, conversation_id: str, seq: int) -> int:
    return await tx.fetchval(MESSAGE_INDEXED, conversation_id, seq) or 0


FIND = """
SELECT id, type, conversation_id, seq, page, archive_id, start, length, 0::float8, created_at, 0::float8, owner
  FROM memories WHERE tenant_id = $1 AND id = ANY ($2::uuid[])
"""


async def find(tx: ReadTx, memory: UUID, owners: Container[UUID] | None = None) -> Hit | None:
    """Return a memory by id; if ``owners`` are given, only one of theirs."""
    found = await among(tx, [memory])
    return next((hit for hit in found if owners is None or hit.owner in owners), None)


async def among(tx: ReadTx, ids: Sequence[UUID]) -> list[Hit]:
    return [Hit(*row) for row in await tx.fetch(FIND, ids)] if ids else []
