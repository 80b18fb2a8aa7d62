"""Find stored responses to requests with an Idempotency-Key that an erasure must change."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from app.postgres.statements import SqlFile
from app.postgres.transactions import ReadTx, Tx
from app.store.idempotency import UNKNOWN

UUIDS = "'\"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\"'"
ANSWERS_AT_ONCE = 1000
"""Responses read by one statement: an owner may have a day's, with long texts."""
FEW_IDS = 8
"""Up to this many ids are searched for one by one; for more it is faster to extract every id of a text first."""


def _naming(condition: str) -> str:
    """Return SQL for a batch of an owner's responses by key, with the texts of those that contain one of the ids."""
    return f"""
SELECT key, CASE WHEN EXISTS ({condition}) THEN response END AS response
  FROM (SELECT key, response FROM idempotency
         WHERE tenant_id = $1 AND owner = $3 AND key > $4 ORDER BY key LIMIT {ANSWERS_AT_ONCE}) i
 ORDER BY key
"""


ANSWERS_NAMING_FEW = _naming(
    """SELECT FROM unnest($2::uuid[]) AS u (id) WHERE position(format('"%s"', u.id) IN i.response) > 0"""
)
ANSWERS_NAMING = _naming(
    f"SELECT FROM regexp_matches(i.response, {UUIDS}, 'g') AS g (found) WHERE g.found[1]::uuid = ANY ($2::uuid[])"
)
_SQL = SqlFile(__file__, answers_at_once=ANSWERS_AT_ONCE, uuids=UUIDS)
ANSWERS_OF = _SQL.statement("answers_of")
# Those that name nothing: what recall tools said.
ANSWERS_SAID = f"""
SELECT key, CASE WHEN response NOT LIKE '{{"messages":%' AND position('"is_error":' IN response) > 0
            THEN response END AS response
  FROM (SELECT key, response FROM idempotency
         WHERE tenant_id = $1 AND owner = $2 AND key > $3 ORDER BY key LIMIT {ANSWERS_AT_ONCE}) i
 ORDER BY key
"""
# Those that speak of an archive; answers to what recall tools were asked name it too.
ANSWERS_SHOWING = """
SELECT key FROM idempotency
 WHERE tenant_id = $1 AND owner = ANY ($2::uuid[]) AND position($3::text IN response) > 0
"""
# In order of key, as app.store.locks has it.
LOCK = "SELECT key, response FROM idempotency WHERE tenant_id = $1 AND key = ANY ($2::text[]) ORDER BY key FOR UPDATE"
CORRECT = "UPDATE idempotency SET response = $3 WHERE tenant_id = $1 AND key = $2"


async def answers_naming(tx: ReadTx, owner: UUID, ids: Sequence[UUID]) -> AsyncIterator[tuple[str, str]]:
    """Yield key and text of an owner's responses that contain one of the ids."""
    sql = ANSWERS_NAMING_FEW if len(ids) <= FEW_IDS else ANSWERS_NAMING
    async for answer in _answers(owner, partial(tx.fetch, sql, ids)):
        yield answer


async def answers_of(tx: ReadTx, owner: UUID, conversation_id: str, quoted: str) -> AsyncIterator[tuple[str, str]]:
    """Yield an owner's responses that concern a conversation. ``quoted`` is the conversation's id as JSON."""

    async def read(whose: UUID, after: str) -> Sequence[Any]:
        named = {"conversation": conversation_id, "quoted": quoted, "owner": whose, "after": after}
        return await tx.connection.fetch(ANSWERS_OF.text, tx.tenant, *ANSWERS_OF.arguments(named))

    async for answer in _answers(owner, read):
        yield answer


async def answers_said(tx: ReadTx, owner: UUID) -> AsyncIterator[tuple[str, str]]:
    async for answer in _answers(owner, partial(tx.fetch, ANSWERS_SAID)):
        yield answer


async def _answers(
    owner: UUID, read: Callable[[UUID, str], Awaitable[Sequence[Any]]]
) -> AsyncIterator[tuple[str, str]]:
    """Yield the matching responses of an owner and of unknown owners, in batches by key."""
    for whose in (owner, UNKNOWN):
        after = ""
        while rows := await read(whose, after):
            for key, response in rows:
                if response is not None:
                    yield key, response
            after = rows[-1]["key"]
            if len(rows) < ANSWERS_AT_ONCE:
                break


async def answers_showing(tx: ReadTx, owner: UUID, archive: UUID) -> list[str]:
    return [row["key"] for row in await tx.fetch(ANSWERS_SHOWING, [owner, UNKNOWN], str(archive))]


async def lock(tx: Tx, keys: Sequence[str]) -> dict[str, str]:
    """Lock responses, and return them as read afterwards, in order of key."""
    return {row["key"]: row["response"] for row in await tx.fetch(LOCK, keys)}


async def correct(tx: Tx, key: str, response: str) -> None:
    await tx.execute(CORRECT, key, response)
