"""Memories: whatever search can find."""

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
    """A passage that matched; ``score`` is that of core.search.relevance, with the neighbours' part."""

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
    """The part of the query that its words carry, more if chance carries less than usual; 0: found by meaning alone."""
    owner: UUID | None = None
    """Of the scope that it was found in."""


class Hits(NamedTuple):
    """Results of a search, best first."""

    hits: list[Hit]
    total: int
    """The number of all matches, or at least so many where an owner has an index."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """A query's vector, and how vectors of its model are to be read: see core.search.relevance."""

    model: UUID
    vector: str
    """In pgvector's text form."""
    usual_mean: float
    usual_deviation: float


@dataclass(frozen=True, slots=True)
class Named:
    """Names and days in a query, besides its subject: they raise scores, and leave nothing out."""

    speakers: Sequence[int] = ()
    """The components of whatever could be a speaker's name."""
    times: Sequence[Favoured] = ()


class QueryPart(NamedTuple):
    """A question of a compound query."""

    terms: Sequence[int]
    vector: str | None = None
    """In pgvector's text form; not None where the first has a meaning."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """The terms and the meaning that score passages."""

    terms: Sequence[int]
    meaning: Meaning | None = None
    """None: a passage must contain one of the terms."""
    weight: float = MEANING
    """Of closeness."""
    only_meaning: bool = False
    """The terms apply only to passages without a vector."""
    named: Named = Named()
    parts: Sequence[QueryPart] = ()
    """Questions that are searched for instead of the whole, and take turns among the results."""

    def each(self) -> list[Scoring]:
        """Return a scoring for each part; of a query without parts, its own."""
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
    """A line in a tree, as the search statement takes it: nothing that another line said is found."""

    own: UUID
    uids: Sequence[UUID]
    """Of its ancestors, like the following."""
    seqs: Sequence[int]
    """The last shared message of each."""
    ids: Sequence[UUID]
    """What is of no message, and has a smaller id, is shared."""
    tree: Sequence[UUID]
    """All conversations of the tree."""


class Asking(NamedTuple):
    """The newest message of a user, which asks. A search does not find it."""

    conversation_uid: UUID
    seq: int
    is_said: bool = False
    """It is the query itself: what repeats it is not found either, even if that is no question."""


class Within(NamedTuple):
    """A conversation that is searched alone, with what it shares of its ancestors."""

    uid: UUID
    ids: Sequence[str]
    """Its own and theirs."""


FIRST, LAST = UUID(int=0), UUID(int=2**128 - 1)


@dataclass(frozen=True, slots=True)
class PassageFilter:
    conversation: Within | None = None
    line: OnLine | None = None
    """The line that asks; None: it is in no tree."""
    asking: Asking | None = None
    types: Sequence[str] | None = None
    among: Sequence[UUID] | None = None
    """Ids of memories, or of archives whose passages are searched."""
    keywords: Sequence[int] = ()
    """At least one of them must occur."""
    since: UUID = FIRST
    """Like ``until`` compared with the passages' ids, which hold when they were made, not the time they tell of."""
    until: UUID = LAST
    score_min: float = float("-inf")
    sensitive: bool = False
    """Sensitive ones too."""

    def narrow(self, owners: Sequence[UUID]) -> dict[str, object]:
        """Return what holds all that passes, as statements take it; {}: nothing but the owners."""
        none: dict[str, object] = {"conversations": [], "among": self.among, "own_of": []}
        if self.among is not None:
            return none
        if self.types is not None and set(self.types) <= set(OWN_TYPES):
            return none | {"own_of": owners}
        return none | {"conversations": self.conversation.ids} if self.conversation else {}

    @property
    def is_wide(self) -> bool:
        """Return whether an index finds enough of what passes: most memories are episodes."""
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
    """Return the best passages by a scoring, and the total number that match.

    Each message is represented by its best passage and each archive by its three best, unless ``every_passage`` is set.
    """
    indexed = await _indexed(tx, owners, scoring, where)
    found: list[Hits] = []
    for one in scoring.each():
        sql, arguments = search_statement(owners, one, where, indexed, limit=limit, every_passage=every_passage)
        rows = await tx.fetch(sql, **arguments) if one.terms or one.meaning else []
        found.append(Hits([Hit(*row[:-1]) for row in rows], rows[0]["total"] if rows else 0))
    if len(found) == 1:
        return found[0]
    hits = in_turns([one.hits for one in found], lambda hit: hit.id)[:limit]
    lowest = accumulate((hit.score for hit in hits), min)
    told = [hit._replace(score=score) for hit, score in zip(hits, lowest, strict=True)]
    return Hits(told, max(one.total for one in found))


async def _indexed(tx: ReadTx, owners: Sequence[UUID], scoring: Scoring, where: PassageFilter) -> Sequence[UUID] | None:
    """Return the owners whose index says what is read; None: what the filter is narrowed to is."""
    narrow = where.narrow(owners)
    args = {"owners": owners, "few": FEW, "since": where.since, "until": where.until}
    if narrow and await tx.fetchval(ARE_FEW, **args, **narrow):
        return None
    if not where.is_wide:
        return []
    model = scoring.meaning.model if scoring.meaning else None
    few = 0 if (where.since, where.until) == (FIRST, LAST) else FEW  # who has an index has very many
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
    """Return a search's statement and arguments. ``indexed``: owners with an index; None: what is narrow is read."""
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
        "times_since": [first_id(one.since) for one in times] or None,
        "times_until": [first_id(one.until) for one in times] or None,
        "times_weight": [one.weight for one in times] or None,
    }


# Where the indexed passages of an archive, or of a message, end.
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
