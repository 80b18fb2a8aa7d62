"""Results of background jobs about pages: titles, lines, topics. Append-only, each with its time, because a branch
shares what was learned before its fork.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from uuid import UUID

from app.core.line import Line
from app.core.window.topics import PAGES_TOLD, Topic, counted
from app.postgres.along import along
from app.postgres.database import Database
from app.postgres.statements import SqlFile
from app.postgres.transactions import ReadTx, Tx
from app.store.conversations import line_of

# The conversation, locked, unless it is gone, or its past was changed since.
HOLD = """
SELECT 1 FROM conversations WHERE tenant_id = $1 AND id = $2 AND uid = $3 AND generation = $4 FOR NO KEY UPDATE
"""
_SQL = SqlFile(__file__, pages_told=PAGES_TOLD)
UNINDEXED = _SQL.statement("unindexed")
_NOW = "coalesce(:at::timestamptz, clock_timestamp())"
INDEX = _SQL.statement("index", and_c=", c", at=_NOW)
ADVANCE = _SQL.statement("advance")
PUT = _SQL.statement("put", and_c="", at=":at::timestamptz")
TOPICS = _SQL.statement("topics")


async def now(tx: ReadTx) -> datetime:
    """Return the database's time. Call it with the conversation locked, so that later results get a later time."""
    at: datetime = await tx.connection.fetchval("SELECT clock_timestamp()")
    return at


async def hold(tx: Tx, conversation_id: str, uid: UUID, generation: int) -> datetime | None:
    """Lock the conversation for a new result. Return the time; None if the result's basis is outdated."""
    return await now(tx) if await tx.fetchrow(HOLD, conversation_id, uid, generation) is not None else None


@dataclass(frozen=True, slots=True)
class NewPageIndex:
    page: int
    source: str
    model: str | None = None
    title: str | None = None
    title_tokens: int = 0
    topics: Sequence[str] = ()
    """Each once, under the name that the conversation knows it by."""
    seqs: Sequence[int] = ()
    lines: Sequence[str] = ()
    line_tokens: Sequence[int] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Unindexed:
    """A page to index, with all the material of an index."""

    line: Line
    generation: int
    indexed_through: int
    first_seq: int
    last_seq: int
    title: str
    lines: Sequence[tuple[str, str]]
    """Role and line of its messages; the role of results is ``tool``."""
    topics: Sequence[str]
    """The conversation's topics, the latest first."""


async def unindexed(
    database: Database, tenant: UUID, conversation_id: str, uid: UUID, page: int, lines_max: int
) -> Unindexed | None:
    """Return a page that needs an index, or None."""
    sql, stretches = along(UNINDEXED.text, conversation_id)
    wanted = {"conversation": conversation_id, "uid": uid, "page": page, "lines_max": lines_max}
    row = await database.fetch_row(sql, str(tenant), *UNINDEXED.arguments(wanted), *stretches)
    if row is None:
        return None
    line = line_of(row)
    if line.stretches and not isinstance(conversation_id, Line):
        return await unindexed(database, tenant, line, uid, page, lines_max)
    if row["title"] is None:
        return None
    lines = [(role, line) for role, line in row["lines"] or ()]
    topics = list(dict.fromkeys(row["topics"] or ()))
    return Unindexed(
        line, row["generation"], row["indexed_through"], row["first_seq"], row["last_seq"], row["title"], lines, topics
    )


async def index(
    tx: Tx, conversation_id: str, uid: UUID, generation: int, new: NewPageIndex, at: datetime | None = None
) -> bool | None:
    """Store an index. Return whether it is new; None if its basis is outdated. ``at``: its time; None: now."""
    if tx.is_sharded:
        place = {"conversation": conversation_id, "uid": uid, "generation": generation, "page": new.page}
        if await tx.fetchval(ADVANCE, **place) is None:
            return None
        at = at or await now(tx)
        return await tx.fetchrow(PUT, conversation=conversation_id, at=at, **asdict(new)) is not None
    row = await tx.fetchrow(INDEX, conversation=conversation_id, uid=uid, generation=generation, at=at, **asdict(new))
    return row["is_stored"] if row else None


EXISTS = """
SELECT source, error FROM page_index WHERE tenant_id = $1 AND conversation_id = $2 AND page = $3
"""


async def exists(tx: ReadTx, conversation_id: str, page: int) -> bool:
    return await tx.fetchrow(EXISTS, conversation_id, page) is not None


async def topics(tx: ReadTx, conversation_id: str, pages: int = PAGES_TOLD) -> list[Topic]:
    """Return the topics of the newest pages, latest first."""
    rows = await tx.fetch(TOPICS, conversation=conversation_id, pages=pages)
    return counted((row["topic"], row["page"]) for row in rows)
