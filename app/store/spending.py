"""Model usage: calls and tokens by day, kind of work and model, for a tenant and its conversations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass, fields
from datetime import date
from uuid import UUID

from asyncpg import Record

from app.core.dialects.usage import ModelUsage
from app.postgres.database import Database
from app.postgres.sharding import routed
from app.postgres.transactions import ReadTx, Tx

MODEL_CHARACTERS_MAX = 200


@dataclass(frozen=True, slots=True)
class Spent:
    """Calls, and their tokens as the provider counted them."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    """Those of the prompts that the provider found in its cache."""
    written_tokens: int = 0
    """Those that it wrote to its cache."""
    saved_tokens: int = 0
    """Those of histories that windows left out."""

    @staticmethod
    def of(calls: int, usage: ModelUsage | None) -> Spent:
        return Spent(calls, **asdict(usage)) if usage is not None else Spent(calls)


COUNTERS = tuple(counter.name for counter in fields(Spent))
_COUNTERS = ", ".join(COUNTERS)
_MORE = ", ".join(f"{name} = s.{name} + ${at}" for at, name in enumerate(COUNTERS, 5))
_TOTAL = "tenant_id = $1 AND conversation_id IS NULL"
_TODAY = "(now() AT TIME ZONE 'UTC')::date"
_VALUES = f"{_TODAY}, $3, $4, {', '.join(f'${at}' for at in range(5, 5 + len(COUNTERS)))}"

# Add to today's total of a kind of work and, if its conversation still exists, to the conversation's.
OF_CONVERSATION = "SELECT id FROM conversations WHERE tenant_id = $1 AND id = $2 FOR KEY SHARE"


def _add(rows: str) -> str:
    return f"""
    INSERT INTO spending AS s (tenant_id, conversation_id, day, kind, model, {_COUNTERS})
           {rows}
           ON CONFLICT (tenant_id, conversation_id, day, kind, model) DO UPDATE SET {_MORE}"""


_OF_BOTH = f"SELECT $1, w.id, {_VALUES} FROM (SELECT NULL AS id UNION ALL SELECT id FROM c) w"
RECORD = f"WITH c AS ({OF_CONVERSATION}) {_add(_OF_BOTH)}"
FIND_ROUTED, ADD_ROUTED = map(routed, (OF_CONVERSATION, _add(f"VALUES ($1, $2, {_VALUES})")))


async def record(
    database: Database, tenant: UUID, conversation_id: str | None, kind: str, model: str, spent: Spent
) -> None:
    """Record calls in their own transaction as soon as the provider has answered, whether or not the job succeeds."""
    async with database.begin(tenant) as tx:
        await add(tx, conversation_id, kind, model, spent)


async def add(tx: Tx, conversation_id: str | None, kind: str, model: str, spent: Spent) -> None:
    counts = (max(count, 0) for count in astuple(spent))
    values = (conversation_id, kind, model.replace("\x00", "")[:MODEL_CHARACTERS_MAX], *counts)
    if not tx.is_sharded:
        await tx.execute(RECORD, *values)
        return
    await ADD_ROUTED.fetchrow(tx, (None, *values[1:]))
    if await FIND_ROUTED.fetchrow(tx, values) is not None:
        await ADD_ROUTED.fetchrow(tx, values)


_SUMS = ", ".join(f"sum({{0}}{name})::bigint AS {name}" for name in COUNTERS)

TOTALS = f"SELECT kind, {_SUMS.format('')} FROM spending WHERE {_TOTAL} GROUP BY kind"
TOTALS_OF = f"""
SELECT kind, {_SUMS.format("")} FROM spending WHERE tenant_id = $1 AND conversation_id = $2 GROUP BY kind
"""


async def totals(tx: ReadTx) -> dict[str, Spent]:
    return _read(await tx.fetch(TOTALS))


async def totals_of(tx: ReadTx, conversation_id: str) -> dict[str, Spent]:
    return _read(await tx.fetch(TOTALS_OF, conversation_id))


def _read(rows: Sequence[Record]) -> dict[str, Spent]:
    return {kind: Spent(*counts) for kind, *counts in rows}


# Tokens of today's work that no client pays for itself.
BACKGROUND_TODAY = f"""
SELECT coalesce(sum(prompt_tokens + completion_tokens), 0)::bigint FROM spending
 WHERE {_TOTAL} AND day = {_TODAY} AND kind <> 'proxy'
"""


async def background_today(tx: ReadTx) -> int:
    """Return the tokens of Quire's own calls since midnight UTC."""
    return int(await tx.fetchval(BACKGROUND_TODAY))


# What models were used for since a day, in the order of names; `name` is empty for no user.
SINCE = f"""
SELECT '' AS name, model, {_SUMS.format("")} FROM spending WHERE {_TOTAL} AND day >= $2 GROUP BY model
 ORDER BY model
"""
SINCE_BY_DAY = f"""
SELECT day::text AS name, model, {_SUMS.format("")} FROM spending WHERE {_TOTAL} AND day >= $2 GROUP BY day, model
 ORDER BY day DESC, model
"""
_OF_CONVERSATIONS = f"""
WITH used AS (
  SELECT {{name}} AS name, s.model, {_SUMS.format("s.")}
    FROM spending s JOIN conversations c ON c.tenant_id = s.tenant_id AND c.id = s.conversation_id
   WHERE s.tenant_id = $1 AND s.day >= $2 AND {{name}} >= $3
   GROUP BY 1, 2)
SELECT * FROM used WHERE name IN (SELECT name FROM used GROUP BY name ORDER BY {{order}} LIMIT $4) ORDER BY name, model
"""
SINCE_BY_CONVERSATION = _OF_CONVERSATIONS.format(name="s.conversation_id", order="name")
SINCE_BY_USER = _OF_CONVERSATIONS.format(name="coalesce(c.user_id, '') COLLATE \"C\"", order="name")
LARGEST = _OF_CONVERSATIONS.format(name="s.conversation_id", order="sum(prompt_tokens + completion_tokens) DESC, name")


_BY = {
    "tenant": SINCE, "model": SINCE, "day": SINCE_BY_DAY, "user": SINCE_BY_USER, "conversation": SINCE_BY_CONVERSATION,
    "largest": LARGEST,
}  # fmt: skip


async def since(tx: ReadTx, by: str, day: date, first: str, limit: int) -> list[tuple[str, str, Spent]]:
    """Return name, model and usage since a day; of users and conversations a number from an id on. "" is nobody.

    By "largest": the conversations that used the most tokens.
    """
    rows = await tx.fetch(_BY[by], day, *((first, limit) if by in ("user", "conversation", "largest") else ()))
    return [(name, model, Spent(*counts)) for name, model, *counts in rows]
