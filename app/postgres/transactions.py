"""Transactions that know their tenant: the first parameter of every statement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar
from uuid import UUID

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from app.core.line import Line
from app.postgres.along import along
from app.postgres.statements import Statement

# In quotes: generic in its stubs only.
Connection: TypeAlias = "PoolConnectionProxy[asyncpg.Record]"

EVERYTHING = "*"
"""What a transaction sees that is not narrowed to a user."""


class ReadTx:
    """A transaction of one tenant in which a caller reads. ``$1`` of each statement is the tenant.

    The parameters of a ``Statement`` are given by name, without the tenant. If ``$2`` is a ``Line``, the statement
    reads along it.
    """

    __slots__ = ("connection", "is_sharded", "sees", "tenant")

    def __init__(self, connection: Connection, tenant: UUID, *, is_sharded: bool = False) -> None:
        self.connection = connection
        """For statements that name no tenant."""
        self.tenant = tenant
        self.is_sharded = is_sharded
        """On Citus, where a statement that writes into one table and then another goes to no node."""
        self.sees = EVERYTHING
        """What it sees of the tenant, as its statements set it after the tenant's id."""

    def _bound(
        self, sql: str | Statement, args: tuple[object, ...], named: Mapping[str, object]
    ) -> tuple[str, tuple[object, ...]]:
        text, values = bound(sql, args, named)
        if values and isinstance(values[0], Line):
            text, stretches = along(text, values[0])
            values += stretches
        return text, (self.tenant, *values)

    async def fetch(self, sql: str | Statement, /, *args: object, **named: object) -> list[asyncpg.Record]:
        text, values = self._bound(sql, args, named)
        return await self.connection.fetch(text, *values)

    async def fetchrow(self, sql: str | Statement, /, *args: object, **named: object) -> asyncpg.Record | None:
        text, values = self._bound(sql, args, named)
        return await self.connection.fetchrow(text, *values)

    async def fetchval(self, sql: str | Statement, /, *args: object, **named: object) -> Any:
        text, values = self._bound(sql, args, named)
        return await self.connection.fetchval(text, *values)


def bound(
    sql: str | Statement, args: tuple[object, ...], named: Mapping[str, object]
) -> tuple[str, tuple[object, ...]]:
    """Return a statement for PostgreSQL and its arguments: ``args``, then those given by name.

    Raises TypeError if these are not the parameters of a ``Statement``.
    """
    if isinstance(sql, Statement):
        return sql.text, (*args, *sql.arguments(named))
    if named:
        raise TypeError(f"the statement has no named parameters: {sql}")
    return sql, args


@dataclass(slots=True)
class Changes:
    """Changes of a transaction that its process must know, noted where the rows are written."""

    conversations: set[str] = field(default_factory=set)
    """Those that are stale in caches."""
    are_erased: bool = False
    """Texts are gone, whatever quoted them."""
    stored: list[tuple[str | None, Iterable[str]]] = field(default_factory=list)
    """Texts that take room, by user."""


class Tx(ReadTx):
    """A writing transaction of one tenant. It has its own type, so that mypy refuses a snapshot in its place."""

    __slots__ = ("changes",)

    def __init__(self, connection: Connection, tenant: UUID, *, is_sharded: bool = False) -> None:
        super().__init__(connection, tenant, is_sharded=is_sharded)
        self.changes = Changes()

    async def execute(self, sql: str | Statement, /, *args: object, **named: object) -> int:
        """Return the number of rows that were changed."""
        text, values = self._bound(sql, args, named)
        tag = await self.connection.execute(text, *values)  # such as "UPDATE 3"
        return int(tag.rpartition(" ")[2])


AnyTx = TypeVar("AnyTx", bound=ReadTx)
