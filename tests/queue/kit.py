"""Helpers of the tests of the work table."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from app.ids import uuid7
from app.postgres.database import Database
from app.queue import enqueue, table
from app.queue.enqueue import NewWork
from app.queue.table import Claimed

ANN = UUID("aaaaaaaa-0000-7000-8000-000000000001")
BOB = UUID("bbbbbbbb-0000-7000-8000-000000000002")
KINDS = ("page", "summary", "embed")


async def conversation(database: Database, tenant: UUID, *names: str) -> None:
    async with database.begin(tenant) as tx:
        for name in names:
            await tx.execute("INSERT INTO conversations (tenant_id, id, uid) VALUES ($1, $2, $3)", name, uuid7())


async def put(database: Database, tenant: UUID, *new: NewWork) -> None:
    async with database.begin(tenant) as tx:
        await enqueue.enqueue(tx, new)


def page(name: str, number: int) -> NewWork:
    return enqueue.page(name, UUID(int=int.from_bytes(name.encode())), number)


async def take(database: Database, tenant: UUID = ANN, limit: int = 10, **options: Any) -> list[Claimed]:
    return await table.claim(database, tenant, "llm", KINDS, limit, **options)


async def done(database: Database, claimed: Claimed) -> None:
    async with database.begin(claimed.tenant) as tx:
        await table.finish(tx, claimed)


async def rows(database: Database, tenant: UUID = ANN) -> list[dict[str, Any]]:
    async with database.snapshot(tenant) as tx:
        return [dict(row) for row in await tx.fetch("SELECT * FROM work WHERE tenant_id = $1 ORDER BY id")]


async def pass_time(
    database: Database, tenant: UUID = ANN, *, seconds: float = 3600, only: Sequence[str] = KINDS
) -> None:
    """Move all times of the work table back, as if time had passed."""
    async with database.begin(tenant) as tx:
        rows = await tx.fetch(
            "SELECT id, due, created_at FROM work WHERE tenant_id = $1 AND kind = ANY ($2::text[]) FOR UPDATE",
            list(only),
        )
        for row in rows:
            times = [row[name] - timedelta(seconds=seconds) for name in ("due", "created_at")]
            await tx.execute(
                "UPDATE work SET due = $3, created_at = $4 WHERE tenant_id = $1 AND id = $2", row["id"], *times
            )


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition. Fails if it does not become true in time."""
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - there is nothing to wait on but what it asks
            await asyncio.sleep(0.005)
