"""Lists of conversations and of their users."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Final, NamedTuple
from uuid import UUID

from app.core.search.narrowing import EVERYTHING, Narrowing
from app.postgres.statements import SqlFile, Statement
from app.postgres.transactions import ReadTx
from app.store.memory.narrowing import comparable, jsonb


class _Key(NamedTuple):
    expression: str
    """Never null, so that a cursor can continue after any row."""
    type: str


ORDERS: Final = {
    "activity": _Key("updated_at", "timestamptz"), "title": _Key("coalesce(title, id)", "text"),
    "user": _Key("coalesce(user_id, '')", "text"), "messages": _Key("last_seq", "int"),
    "pages": _Key("last_page", "int"), "tokens": _Key("history_total", "bigint"),
}  # fmt: skip
"""What a list can be sorted by. All but the first read every conversation of the tenant or user."""


@dataclass(frozen=True, slots=True)
class ConversationFilter:
    """A filter of conversations: by user or space, and by a text in their titles, page titles or ids."""

    user_id: str | None = None
    text: str | None = None
    among: Narrowing = EVERYTHING
    """By topics of their pages and by members of their metadata."""
    space_id: str | None = None
    """Those of a space."""


@dataclass(frozen=True, slots=True)
class ListedConversation:
    id: str
    uid: UUID
    user_id: str | None
    space_id: str | None
    title: str | None
    model: str | None
    budget: int | None
    metadata: str
    created_at: datetime
    updated_at: datetime
    last_seq: int
    last_page: int
    history_total: int


_SQL = SqlFile(__file__, metadata_as_json=jsonb("metadata"))
_OF_ALL = ":owner::text IS NULL"
_OF_USER = "user_id = :owner::text"
_OF_SPACE = "space_id = :owner::text"
"""A statement of its own, so that any cached plan uses the user's index."""


@cache
def _statement(of: str, order: str, *, ascending: bool) -> Statement:
    key = ORDERS[order]
    beyond, direction = (">", "ASC") if ascending else ("<", "DESC")
    return _SQL.statement("list", of=of, key=key.expression, type=key.type, beyond=beyond, direction=direction)


LIST = _statement(_OF_ALL, "activity", ascending=False)
LIST_OF_USER = _statement(_OF_USER, "activity", ascending=False)
LIST_OF_SPACE = _statement(_OF_SPACE, "activity", ascending=False)


async def browse(
    tx: ReadTx,
    wanted: ConversationFilter,
    after: tuple[datetime | str | int, UUID] | None,
    limit: int,
    order: str = "activity",
    *,
    ascending: bool = False,
) -> list[ListedConversation]:
    """List conversations, latest activity first by default.

    ``after``: the value of ``order`` in the last row (see ``value_of``), and its uid.
    """
    pattern = None
    if wanted.text:
        escaped = wanted.text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        pattern = f"%{escaped}%"
    when, uid = after or (None, None)
    whose, of = wanted.user_id, _OF_ALL if wanted.user_id is None else _OF_USER
    if wanted.space_id is not None:
        whose, of = wanted.space_id, _OF_SPACE
    statement = _statement(of, order, ascending=ascending)
    topics, metadata = comparable(wanted.among.topics), wanted.among.metadata
    rows = await tx.fetch(
        statement, owner=whose, pattern=pattern, after=when, after_uid=uid, topics=topics, metadata=metadata,
        limit=limit,
    )  # fmt: skip
    return [ListedConversation(*row) for row in rows]


def value_of(row: ListedConversation, order: str) -> datetime | str | int:
    values: dict[str, datetime | str | int] = {
        "activity": row.updated_at, "title": row.title if row.title is not None else row.id,
        "user": row.user_id or "", "messages": row.last_seq, "pages": row.last_page, "tokens": row.history_total,
    }  # fmt: skip
    return values[order]


COUNTED_MAX = 10_000
# How many there are, no further than is worth counting.
COUNT = f"SELECT count(*) FROM (SELECT FROM conversations WHERE tenant_id = $1 LIMIT {COUNTED_MAX + 1}) c"


async def count(tx: ReadTx) -> int:
    """Count conversations up to ``COUNTED_MAX``, and return one more for any larger number."""
    return int(await tx.fetchval(COUNT))


USERS_AMONG, USERS_MAX = 200, 50
# The users of the newest conversations, the latest first.
USERS = f"""
SELECT user_id FROM (
  SELECT user_id, updated_at FROM conversations WHERE tenant_id = $1 ORDER BY updated_at DESC, uid DESC
   LIMIT {USERS_AMONG}) c
 WHERE user_id IS NOT NULL GROUP BY user_id ORDER BY max(updated_at) DESC LIMIT {USERS_MAX}
"""


async def recent_users(tx: ReadTx) -> list[str]:
    """Return the most recently active users."""
    return [row["user_id"] for row in await tx.fetch(USERS)]
