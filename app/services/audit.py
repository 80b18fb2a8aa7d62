"""Show and keep the audit log."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from asyncpg import Record

from app.core.times import time_text
from app.postgres.tenants import tenants
from app.runtime import Runtime
from app.store.operators import audit


def view(row: Record) -> dict[str, Any]:
    return {
        "id": str(row["id"]),
        "at": time_text(row["created_at"]),
        "action": row["action"],
        "route": row["route"],
        "ids": json.loads(row["ids"]),
        "key_id": str(row["key"]) if row["key"] else None,
        "user_id": row["user_id"],
        "address": row["address"],
        "status": row["status"],
        "request_id": row["request_id"],
    }


async def forget_old_entries(runtime: Runtime) -> None:
    days = runtime.auditing.days
    if not runtime.auditing.is_on or not days:
        return
    milliseconds = int((datetime.now(UTC) - timedelta(days=days)).timestamp() * 1000)
    for tenant in await tenants(runtime.database):
        is_more = True
        while is_more:
            async with runtime.database.begin(tenant) as tx:
                is_more = await audit.prune(tx, UUID(int=milliseconds << 80))
