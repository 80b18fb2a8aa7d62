"""Calls of models and their tokens, counted by tenant and day, and by conversation."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from app.db import Connection


@dataclass(frozen=True, slots=True)
class Spent:
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def and_call(self, prompt_tokens: int, completion_tokens: int) -> Spent:
        return Spent(self.calls + 1, self.prompt_tokens + prompt_tokens, self.completion_tokens + completion_tokens)


_ADDED = """calls = t.calls + excluded.calls, prompt_tokens = t.prompt_tokens + excluded.prompt_tokens,
       completion_tokens = t.completion_tokens + excluded.completion_tokens"""
SPEND = f"""
INSERT INTO spending AS t (tenant_id, day, kind, calls, prompt_tokens, completion_tokens)
VALUES ($1, (now() AT TIME ZONE 'UTC')::date, $2, $3, $4, $5)
ON CONFLICT (tenant_id, day, kind) DO UPDATE SET {_ADDED}
"""
SPEND_ON = f"""
INSERT INTO conversation_spending AS t (tenant_id, conversation_id, kind, calls, prompt_tokens, completion_tokens)
SELECT $1, id, $3, $4, $5, $6 FROM conversations WHERE tenant_id = $1 AND id = $2
ON CONFLICT (tenant_id, conversation_id, kind) DO UPDATE SET {_ADDED}
"""


async def add(connection: Connection, tenant: UUID, conversation_id: str | None, kind: str, spent: Spent) -> None:
    """What work of a kind has cost. Late in its transaction: all of a tenant's work meets in one row."""
    if not spent.calls:
        return
    numbers = (spent.calls, spent.prompt_tokens, spent.completion_tokens)
    if conversation_id is not None:
        await connection.execute(SPEND_ON, tenant, conversation_id, kind, *numbers)
    await connection.execute(SPEND, tenant, kind, *numbers)


OF_CONVERSATION = """
SELECT kind, calls, prompt_tokens, completion_tokens FROM conversation_spending
 WHERE tenant_id = $1 AND conversation_id = $2 ORDER BY kind
"""


async def of_conversation(connection: Connection, tenant: UUID, conversation_id: str) -> dict[str, Spent]:
    """By the kind of work."""
    rows = await connection.fetch(OF_CONVERSATION, tenant, conversation_id)
    return {row["kind"]: Spent(row["calls"], row["prompt_tokens"], row["completion_tokens"]) for row in rows}
