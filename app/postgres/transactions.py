"""Transactions that know their tenant: the first parameter of every statement."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar
from uuid import UUID

import asyncpg
from asyncpg.pool import PoolConnectionProxy

# In quotes: generic in its stubs only.
Connection: TypeAlias = "PoolConnectionProxy[asyncpg.Record]"


class ReadTx:
    """A transaction of one tenant in which a caller reads. ``$1`` of each statement is the tenant."""

    __slots__ = ("connection", "tenant")

    def __init__(self, connection: Connection, tenant: UUID) -> None:
        self.connection = connection
        """For statements that name no tenant."""
        self.tenant = tenant

    async def fetch(self, sql: str, *args: object) -> list[asyncpg.Record]:
        return await self.connection.fetch(sql, self.tenant, *args)

    async def fetchrow(self, sql: str, *args: object) -> asyncpg.Record | None:
        return await self.connection.fetchrow(sql, self.tenant, *args)

    async def fetchval(self, sql: str, *args: object) -> Any:
        return await self.connection.fetchval(sql, self.tenant, *args)


class Tx(ReadTx):
    """A transaction of one tenant that writes: a type of its own, so that mypy refuses a snapshot in its place."""

    __slots__ = ()

    async def execute(self, sql: str, *args: object) -> str:
        """Return the command's tag, such as "UPDATE 3"."""
        return await self.connection.execute(sql, self.tenant, *args)


AnyTx = TypeVar("AnyTx", bound=ReadTx)
