"""Archived tool results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from asyncpg import Record

from app.core.canonical import dumps
from app.db import Connection
from app.store.messages import NewArchive, NewMemory, columns_of

ALIVE = "(a.expires_at IS NULL OR a.expires_at > now())"

CARD_FIELDS = """a.id, a.scope, a.user_id, a.conversation_id, a.seq, a.tool_name, a.tool_input, a.query_summary,
 a.result_summary, a.key_terms, a.sources, a.placeholder, a.language, a.expires_at, a.created_at, t.length, t.tokens"""
JOINED = """archives a
  JOIN archive_contents t ON t.tenant_id = a.tenant_id AND t.scope = a.scope AND t.digest = a.digest"""

# A range of characters of an archive's content ($4 on, $5 of them; none at all if $5 is 0), if it is in the scope
# (any scope of the tenant's if $2 is null) and has not expired.
READ = f"""
SELECT {CARD_FIELDS}, substr(t.content, $4::int + 1, $5::int) AS text, t.nul_offsets
  FROM {JOINED}
 WHERE a.tenant_id = $1 AND ($2::text IS NULL OR a.scope = $2) AND a.id = $3 AND {ALIVE}
"""


async def read(
    connection: Connection, tenant: UUID, scope: str | None, uuid: UUID, offset: int, length: int
) -> Record | None:
    """An archive with a range of its content; NUL stands as U+FFFD in it (see ``nul_offsets``)."""
    return await connection.fetchrow(READ, tenant, scope, uuid, offset, length)


# Ranges of several archives.
PASSAGES = f"""
SELECT a.id, p.start, a.tool_name, substr(t.content, p.start + 1, p.length) AS text
  FROM unnest($2::uuid[], $3::int[], $4::int[]) AS p (id, start, length), {JOINED}
 WHERE a.tenant_id = $1 AND a.id = p.id AND {ALIVE}
"""


async def passages(
    connection: Connection, tenant: UUID, wanted: Sequence[tuple[UUID, int, int]]
) -> dict[tuple[UUID, int], tuple[str, str]]:
    """Tool name and text by archive and start."""
    if not wanted:
        return {}
    columns = [list(column) for column in zip(*wanted, strict=True)]
    rows = await connection.fetch(PASSAGES, tenant, *columns)
    return {(row["id"], row["start"]): (row["tool_name"], row["text"]) for row in rows}


# Archives, the newest first, after a cursor's id; ids are UUIDv7, so they are in order of time.
LIST = f"""
SELECT {CARD_FIELDS}
  FROM {JOINED}
 WHERE a.tenant_id = $1
   AND ($2::text IS NULL OR a.conversation_id = $2)
   AND ($3::text IS NULL OR a.user_id = $3)
   AND ($4::text IS NULL OR a.tool_name = $4)
   AND ($5::timestamptz IS NULL OR a.created_at >= $5)
   AND ($6::timestamptz IS NULL OR a.created_at < $6)
   AND ($7::uuid IS NULL OR a.id < $7)
   AND {ALIVE}
 ORDER BY a.id DESC LIMIT $8
"""


async def browse(
    connection: Connection,
    tenant: UUID,
    *,
    conversation_id: str | None = None,
    user_id: str | None = None,
    tool_name: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    after: UUID | None = None,
    limit: int,
) -> Sequence[Record]:
    return await connection.fetch(LIST, tenant, conversation_id, user_id, tool_name, since, until, after, limit)


INSERT_CONTENT = """
INSERT INTO archive_contents (tenant_id, scope, digest, content, nul_offsets, length, tokens)
VALUES ($1, $2, $3, $4, $5::text::int[], $6, $7) ON CONFLICT (tenant_id, scope, digest) DO NOTHING
"""
INSERT = """
INSERT INTO archives
  (tenant_id, id, scope, digest, user_id, conversation_id, seq, tool_name, tool_input, query_summary, result_summary,
   key_terms, sources, placeholder, language, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12::text::text[], $13::text::text[], $14, $15, $16)
"""
INSERT_MEMORIES = """
INSERT INTO memories
  (tenant_id, id, owner, type, conversation_id, conversation_uid, seq, page, archive_id, start, length, terms)
SELECT $1, id, owner, type, conversation_id, conversation_uid, seq, page, archive_id, start, length, terms::sparsevec
  FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::uuid[], $7::int[], $8::int[], $9::uuid[],
              $10::int[], $11::int[], $12::text[])
    AS m (id, owner, type, conversation_id, conversation_uid, seq, page, archive_id, start, length, terms)
"""


async def insert(connection: Connection, tenant: UUID, new: NewArchive, found_as: Sequence[NewMemory]) -> None:
    """An archive with its content (once for a scope) and its passages."""
    await connection.execute(
        INSERT_CONTENT, tenant, new.scope, new.digest, new.content, new.nul_offsets, new.length, new.tokens
    )
    await connection.execute(
        INSERT, tenant, new.id, new.scope, new.digest, new.user_id, new.conversation_id, new.seq, new.tool_name,
        new.tool_input, new.query_summary, new.result_summary, new.key_terms, new.sources, new.placeholder,
        new.language, new.expires_at,
    )  # fmt: skip
    await connection.execute(INSERT_MEMORIES, tenant, *columns_of(NewMemory, found_as))


# The message that an archive's placeholder stands in.
HOLDER = """
SELECT body, view, short, anthropic, line FROM messages WHERE tenant_id = $1 AND conversation_id = $2 AND seq = $3
"""
# Erasing changes a message's forms and its line on the contents page; never its offsets, which others build on.
REPLACE = """
UPDATE messages SET view = $4, short = $5, anthropic = $6, line = $7, archive_ids = array_remove(archive_ids, $8)
 WHERE tenant_id = $1 AND conversation_id = $2 AND seq = $3
"""


async def replace_placeholder(connection: Connection, tenant: UUID, row: Record, said: str) -> int:
    """Put ``said`` where the archive's placeholder (or its condensed form) stood."""
    place = (row["conversation_id"], row["seq"])
    holder = await connection.fetchrow(HOLDER, tenant, *place)
    if holder is None:
        return 0
    forms = [_replaced(holder[form], row, said) for form in ("view", "short", "anthropic")]
    await connection.execute(REPLACE, tenant, *place, *forms, said, row["id"])
    return 1


def _replaced(text: str | None, row: Record, said: str) -> str | None:
    """A form with the texts that name the archive replaced."""
    if text is None:
        return None
    value = json.loads(f"[{text}]")
    first_line = row["placeholder"].split("\n", 1)[0]
    return dumps(_swap(value, first_line, said))[1:-1]


def _swap(value: Any, beginning: str, said: str) -> Any:
    if isinstance(value, str):
        return said if value.startswith(beginning) else value
    if isinstance(value, list):
        return [_swap(item, beginning, said) for item in value]
    if isinstance(value, dict):
        return {key: _swap(item, beginning, said) for key, item in value.items()}
    return value


DELETE = "DELETE FROM archives WHERE tenant_id = $1 AND id = $2 RETURNING digest"
DELETE_PASSAGES = "DELETE FROM memories WHERE tenant_id = $1 AND archive_id = $2"
# The content goes when no other archive has it.
DELETE_CONTENT = """
DELETE FROM archive_contents t
 WHERE t.tenant_id = $1 AND t.scope = $2 AND t.digest = $3
   AND NOT EXISTS (SELECT FROM archives a WHERE a.tenant_id = $1 AND a.scope = $2 AND a.digest = $3)
"""


async def delete(connection: Connection, tenant: UUID, uuid: UUID, scope: str) -> dict[str, int]:
    passages = _count(await connection.execute(DELETE_PASSAGES, tenant, uuid))
    row = await connection.fetchrow(DELETE, tenant, uuid)
    contents = _count(await connection.execute(DELETE_CONTENT, tenant, scope, row["digest"])) if row else 0
    return {"memories": passages, "archive_contents": contents}


def _count(status: str) -> int:
    return int(status.rsplit(" ", 1)[-1])


EXPIRED = """
SELECT id, scope, conversation_id, seq, placeholder, language FROM archives
 WHERE tenant_id = $1 AND expires_at <= now() ORDER BY expires_at LIMIT 100
"""


async def expired(connection: Connection, tenant: UUID) -> Sequence[Record]:
    return await connection.fetch(EXPIRED, tenant)
