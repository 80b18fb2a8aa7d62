"""Model usage: calls and tokens by tenant and day, by conversation, and by kind of work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from asyncpg import Record

from app.postgres.database import Database
from app.postgres.transactions import ReadTx, Tx


@dataclass(frozen=True, slots=True)
class Spent:
    """Calls, and their tokens as the provider counted them."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


_MORE = "(calls, prompt_tokens, completion_tokens) = (s.calls + $4, s.prompt_tokens + $5, s.completion_tokens + $6)"

# Add to today's total of a kind of work and, if its conversation still exists, to the conversation's.
RECORD = f"""
WITH c AS (SELECT id FROM conversations WHERE tenant_id = $1 AND id = $2 FOR KEY SHARE),
     o AS (INSERT INTO conversation_spending AS s
             (tenant_id, conversation_id, kind, calls, prompt_tokens, completion_tokens)
           SELECT $1, c.id, $3, $4, $5, $6 FROM c
           ON CONFLICT (tenant_id, conversation_id, kind) DO UPDATE SET {_MORE})
INSERT INTO spending AS s (tenant_id, day, kind, calls, prompt_tokens, completion_tokens)
VALUES ($1, (now() AT TIME ZONE 'UTC')::date, $3, $4, $5, $6)
ON CONFLICT (tenant_id, day, kind) DO UPDATE SET {_MORE}
"""


async def record(
    database: Database,
    tenant: UUID,
    conversation_id: str | None,
    kind: str,
    prompt_tokens: int,
    completion_tokens: int,
    calls: int = 1,
) -> None:
    """Record calls in a transaction of their own as soon as the provider has answered, whatever becomes of the job."""
    async with database.begin(tenant) as tx:
        await add(tx, conversation_id, kind, Spent(calls, prompt_tokens, completion_tokens))


async def add(tx: Tx, conversation_id: str | None, kind: str, spent: Spent) -> None:
    """Add to the totals."""
    tokens = max(spent.prompt_tokens, 0), max(spent.completion_tokens, 0)
    await tx.execute(RECORD, conversation_id, kind, spent.calls, *tokens)


_SUMS = """kind, sum(calls)::bigint AS calls, sum(prompt_tokens)::bigint AS prompt_tokens,
 sum(completion_tokens)::bigint AS completion_tokens"""

TOTALS = f"SELECT {_SUMS} FROM spending WHERE tenant_id = $1 GROUP BY kind"
TOTALS_OF = f"SELECT {_SUMS} FROM conversation_spending WHERE tenant_id = $1 AND conversation_id = $2 GROUP BY kind"


async def totals(tx: ReadTx) -> dict[str, Spent]:
    """Return the totals of all time, by kind of work."""
    return _read(await tx.fetch(TOTALS))


async def totals_of(tx: ReadTx, conversation_id: str) -> dict[str, Spent]:
    """Return the totals of one conversation, by kind of work."""
    return _read(await tx.fetch(TOTALS_OF, conversation_id))


def _read(rows: Sequence[Record]) -> dict[str, Spent]:
    return {row["kind"]: Spent(row["calls"], row["prompt_tokens"], row["completion_tokens"]) for row in rows}
