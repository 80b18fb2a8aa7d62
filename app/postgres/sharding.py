"""Statements in the form that Citus accepts.

A tenant's rows are on one node, so a statement that names one tenant goes there whole. Exceptions are INSERT in a WITH,
INSERT of a SELECT without a table, and functions that are not immutable in DO UPDATE, CASE or COALESCE of written
values. If plain PostgreSQL's statement has one of these, its parts run in one transaction.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from asyncpg import Record

from app.postgres.transactions import ReadTx

_PARAMETER = re.compile(r"\$(\d+)")


@dataclass(frozen=True, slots=True)
class Routed:
    """A part of a larger statement, as a statement of its own."""

    sql: str
    places: tuple[int, ...]
    """Of its parameters among those of the larger one."""

    async def fetch(self, tx: ReadTx, arguments: Sequence[object]) -> list[Record]:
        """Run the part with its share of the larger statement's arguments, without the tenant."""
        given = (tx.tenant, *arguments)
        return await tx.connection.fetch(self.sql, *(given[place] for place in self.places))

    async def fetchrow(self, tx: ReadTx, arguments: Sequence[object]) -> Record | None:
        rows = await self.fetch(tx, arguments)
        return rows[0] if rows else None


def routed(sql: str) -> Routed:
    """Renumber the parameters of a part."""
    sql = str(sql)
    numbers = list(dict.fromkeys(int(found[1]) for found in _PARAMETER.finditer(sql)))
    return Routed(
        _PARAMETER.sub(lambda found: f"${numbers.index(int(found[1])) + 1}", sql), tuple(n - 1 for n in numbers)
    )
