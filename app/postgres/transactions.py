"""Transactions that know their tenant: the first parameter of every statement."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar
from uuid import UUID

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from app.core.line import Line
from app.postgres.along import along

# In quotes: generic in its stubs only.
Connection: TypeAlias = "PoolConnectionProxy[asyncpg.Record]"


class ReadTx:
    """A transaction of one tenant in which a caller reads. ``$1`` of each statement is the tenant.

    What is read of a ``Line``, if that is ``$2``, is read along it.
    """

    __slots__ = ("connection", "tenant")

    def __init__(self, connection: Connection, tenant: UUID) -> None:
        self.connection = connection
        """For statements that name no tenant."""
        self.tenant = tenant

    async def fetch(self, sql: str, *args: object) -> list[asyncpg.Record]:
        sql, stretches = _along(sql, args)
        return await self.connection.fetch(sql, self.tenant, *args, *stretches)

    async def fetchrow(self, sql: str, *args: object) -> asyncpg.Record | None:
        sql, stretches = _along(sql, args)
        return await self.connection.fetchrow(sql, self.tenant, *args, *stretches)

    async def fetchval(self, sql: str, *args: object) -> Any:
        sql, stretches = _along(sql, args)
        return await self.connection.fetchval(sql, self.tenant, *args, *stretches)


def _along(sql: str, args: tuple[object, ...]) -> tuple[str, tuple[object, ...]]:
    return along(sql, args[0]) if args and isinstance(args[0], Line) else (sql, ())


class Tx(ReadTx):
    """A transaction of one tenant that writes: a type of its own, so that mypy refuses a snapshot in its place."""

    __slots__ = ()

    async def execute(self, sql: str, *args: object) -> str:
        """Return the command's tag, such as "UPDATE 3"."""
        sql, stretches = _along(sql, args)
        return await self.connection.execute(sql, self.tenant, *args, *stretches)


AnyTx = TypeVar("AnyTx", bound=ReadTx)
