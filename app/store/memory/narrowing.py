"""The memories that a search is narrowed to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from app.core.model import PEOPLE
from app.core.neutral import replace_nul
from app.core.search.narrowing import Narrowing
from app.postgres.statements import SqlFile
from app.postgres.transactions import ReadTx
from app.text.language import scalar


def jsonb(column: str) -> str:
    """Return the SQL of metadata as jsonb, which cannot hold the escaped NUL that its text can."""
    return f"replace({column}, '\\u0000', '\\ufffd')::jsonb"


IS_OWN = "type NOT IN ('episode', 'passage')"
"""The condition of memories with content of their own, as of an index; named SQL."""

_SQL = SqlFile(
    __file__,
    metadata_of_memory=jsonb("coalesce(w.metadata, m.metadata)"),
    metadata_of_conversation=jsonb("c.metadata"),
)
AMONG = _SQL.statement("among")


async def among(tx: ReadTx, owners: Sequence[UUID], narrowing: Narrowing) -> list[UUID] | None:
    """Return the memories that pass, whatever their types; None if all do."""
    if not narrowing:
        return None
    passing = {"roles": narrowing.roles, "topics": comparable(narrowing.topics), "metadata": narrowing.metadata}
    rows = await tx.fetch(AMONG, owners=owners, people=sorted(PEOPLE), **passing)
    return [row["id"] for row in rows]


def comparable(topics: Iterable[str]) -> list[str]:
    """Return topics, as models write them, for a comparison in any letter case."""
    return [replace_nul(scalar(topic)).lower() for topic in topics]
