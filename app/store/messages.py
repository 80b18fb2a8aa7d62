"""Messages: appending them in one statement, and reading them back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import cache, lru_cache
from operator import attrgetter
from uuid import UUID

from asyncpg import Record

from app.concurrency import run_in_thread_if_large
from app.core.append import Append
from app.core.nul import with_nul
from app.core.rows import NewArchive, NewMemory, NewMessage, NewNote, NewPage
from app.core.sync import DIGEST_BYTES
from app.postgres.database import Connection, Database
from app.queue import enqueue
from app.queue.enqueue import NewWork
from app.store.conversations import calls_text


@dataclass(frozen=True, slots=True)
class IdempotentResponse:
    """What a request with an Idempotency-Key is answered, now and when it is sent again."""

    key: str
    digest: bytes
    response: str
    owner: UUID


def _array_literal(values: Sequence[object]) -> str:
    """Return a PostgreSQL array, each element quoted. Arrays of arrays cannot be unnested, but their texts can."""
    quoted = ('"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"' for value in values)
    return "{" + ",".join(quoted) + "}"


_TYPES: dict[str, str] = {
    "Kind": "text",
    "Role": "text",
    "Lane": "text",
    "Language": "text",
    "int": "int",
    "str": "text",
    "str | None": "text",
    "UUID": "uuid",
    "UUID | None": "uuid",
    "bytes": "bytea",
    "bytes | None": "bytea",
    "int | None": "int",
    "datetime | None": "timestamptz",
    "tuple[str, ...]": "text",
    "tuple[int, ...]": "text",
    "tuple[UUID, ...]": "text",
}
STATEMENTS_KEPT = 256
"""Texts of statements that are kept: some dozens serve nearly all appends, though shapes there are thousands of."""
FEW = 4
"""Rows of a table that are written out in a statement, a parameter for each value. Unnesting arrays takes the server
a function scan with a store for each column, and the driver a look at each element: half of what an append of two
messages cost. More rows than that are arrays, so that there are not too many statements."""


@cache
def _names(row: type) -> list[str]:
    return [f.name for f in fields(row)]


def _values(row: type, count: int, first: int, alias: str) -> tuple[str, list[str], int]:
    """A FROM item of as many rows, the columns, and the next parameter's number."""
    names, types = _names(row), [_TYPES[str(f.type)] for f in fields(row)]
    if count > FEW:
        return _unnest(row, first, alias), names, first + len(names)
    starts = range(first, first + count * len(names), len(names))
    rows = (", ".join(f"${at + i}::{one}" for i, one in enumerate(types)) for at in starts)
    listed = ", ".join(f"({one})" for one in rows)
    return f"(VALUES {listed}) AS {alias} ({', '.join(names)})", names, first + count * len(names)


def _unnest(row: type, first: int, alias: str) -> str:
    """The same of arrays, a parameter for each column."""
    parameters = ", ".join(f"${first + i}::{_TYPES[str(f.type)]}[]" for i, f in enumerate(fields(row)))
    return f"unnest({parameters}) AS {alias} ({', '.join(_names(row))})"


_CAST_COLUMNS = {
    "archive_ids": "uuid[]",
    "key_terms": "text[]",
    "sources": "text[]",
    "nul_offsets": "int[]",
    "terms": "sparsevec",
}
_CONTENT_COLUMNS = ("scope", "digest", "content", "nul_offsets", "length", "tokens")


def _select(alias: str, names: Sequence[str]) -> str:
    return ", ".join(f"{alias}.{n}::{_CAST_COLUMNS[n]}" if n in _CAST_COLUMNS else f"{alias}.{n}" for n in names)


# What both kinds of append leave in the conversation's row.
_STATE = (
    "last_seq", "last_page", "user_seq", "prompt_through", "open_group", "open_calls", "full_total", "short_total",
    "history_total", "prompt_tokens", "language", "updated_at", "chain", "asked",
    "answered",
)  # fmt: skip
_FIRST = 6


@dataclass(frozen=True)
class StatementShape:
    """What an append's statement depends on. Numbers are of rows: 0, up to FEW, or more than that."""

    new: bool
    messages: int
    pages: int
    memories: int
    notes: int
    archives: int
    work: int
    embeds: bool
    once: bool

    @staticmethod
    def of(append: Append, work: Sequence[NewWork], once: IdempotentResponse | None) -> StatementShape:
        return StatementShape(
            new=append.is_new,
            messages=min(len(append.messages), FEW + 1),
            pages=min(len(append.pages), FEW + 1),
            memories=min(len(append.memories), FEW + 1),
            notes=min(len(append.notes), FEW + 1),
            archives=min(len(append.archives), FEW + 1),
            work=min(len(work), FEW + 1),
            embeds=append.follow_up.embeds is not None,
            once=once is not None,
        )


@lru_cache(STATEMENTS_KEPT)
def append_sql(shape: StatementShape) -> str:
    """One statement that stores an append whole or not at all, and returns a row if it did.

    It stores nothing if the conversation is no longer at the version that the append was decided on. A client
    id or an Idempotency-Key that exists already raises UniqueViolationError, and then too nothing is stored.
    """
    state = {name: f"${_FIRST + i}" for i, name in enumerate(_STATE)}
    at = _FIRST + len(_STATE)
    if shape.new:
        columns = ", ".join(state)
        conversation = f"""INSERT INTO conversations
            (tenant_id, id, uid, version, user_id, title, system, system_tokens, created_at, {columns})
          SELECT $1::uuid, $2, $3::uuid, 1, ${at}, ${at + 1}, ${at + 2}, ${at + 3}, $5, {", ".join(state.values())}
           WHERE $4::int < 0
          ON CONFLICT (tenant_id, id) DO NOTHING RETURNING id, revision"""
        at += 4
    else:
        sets = ", ".join(f"{name} = {value}" for name, value in state.items())
        conversation = f"""UPDATE conversations SET version = version + 1, {sets}
          WHERE tenant_id = $1::uuid AND id = $2 AND uid = $3 AND version = $4 AND $5::timestamptz IS NOT NULL
          RETURNING id, revision"""
    source, names, at = _values(NewMessage, shape.messages, at, "m")
    parts = [
        f"c AS ({conversation})",
        f"""m AS (INSERT INTO messages (tenant_id, conversation_id, revision, created_at, {", ".join(names)})
          SELECT $1::uuid, c.id, c.revision, $5, {_select("m", names)} FROM c, {source})""",
    ]
    if shape.pages:
        source, names, at = _values(NewPage, shape.pages, at, "p")
        parts.append(f"""p AS (INSERT INTO pages (tenant_id, conversation_id, revision, created_at, {", ".join(names)})
          SELECT $1::uuid, c.id, c.revision, $5, {_select("p", names)} FROM c, {source})""")
    if shape.memories:
        source, names, at = _values(NewMemory, shape.memories, at, "s")
        parts.append(f"""s AS (INSERT INTO memories (tenant_id, created_at, {", ".join(names)})
          SELECT $1::uuid, $5, {_select("s", names)} FROM c, {source} RETURNING owner, id)""")
    if shape.memories and shape.embeds:
        parts.append("""u AS (INSERT INTO unembedded (tenant_id, owner, memory_id)
          SELECT $1::uuid, s.owner, s.id FROM s)""")
    if shape.notes:
        source, names, at = _values(NewNote, shape.notes, at, "n")
        parts.append(f"""n AS (INSERT INTO notes (tenant_id, conversation_id, source, created_at, {", ".join(names)})
          SELECT $1::uuid, c.id, 'extractive', $5, {_select("n", names)} FROM c, {source})""")
    if shape.archives:
        source, names, at = _values(NewArchive, shape.archives, at, "a")
        kept = [n for n in names if n not in _CONTENT_COLUMNS[2:]]
        parts += [
            f"a AS (SELECT {_select('a', names)} FROM c, {source})",
            # A content that is there is locked: see store.archives.INSERT_CONTENT.
            f"""ac AS (INSERT INTO archive_contents AS t (tenant_id, {", ".join(_CONTENT_COLUMNS)})
          SELECT DISTINCT ON (scope, digest) $1::uuid, {", ".join(_CONTENT_COLUMNS)} FROM a
          ON CONFLICT (tenant_id, scope, digest) DO UPDATE SET length = t.length)""",
            f"""ar AS (INSERT INTO archives (tenant_id, created_at, {", ".join(kept)})
          SELECT $1::uuid, $5, {", ".join(kept)} FROM a)""",
        ]
    last: list[str] = []
    if shape.work:
        source, names, at = _values(NewWork, shape.work, at, "w")
        last.append(f"""w AS (INSERT INTO work (tenant_id, {", ".join(names)})
          SELECT $1::uuid, {_select("w", names)} FROM c, {source}
          {enqueue.AGAIN})""")
    if shape.once:
        last.append(f"""o AS (INSERT INTO idempotency (tenant_id, key, digest, response, owner)
          SELECT $1::uuid, ${at}, ${at + 1}::bytea, ${at + 2}, ${at + 3}::uuid FROM c)""")
    # PostgreSQL reads c first and then runs the others from the last to the first: work and the key are locked last.
    with_parts = ",\n     ".join([parts[0], *reversed(last), *parts[1:]])
    return f"WITH {with_parts}\nSELECT revision FROM c LIMIT length(set_config('app.tenant', $1::text, true)) / 36"


def _arguments(tenant: UUID, append: Append, work: Sequence[NewWork], once: IdempotentResponse | None) -> list[object]:
    after, created_at = append.conversation, append.conversation.updated_at
    end, totals = after.end, after.totals
    version = -1 if append.is_new else after.version - 1
    arguments: list[object] = [str(tenant), after.id, after.uid, version, created_at]
    arguments += [end.last_seq, end.last_page, end.user_seq, end.prompt_through, end.group, calls_text(end)]
    arguments += [totals.full, totals.short, totals.history, after.prompt_tokens, after.language, created_at]
    arguments += [after.chain, after.asked, after.answered]
    if append.is_new:
        arguments += [after.user_id, after.title, after.system, after.system_tokens]
    for row, rows in (
        (NewMessage, append.messages),
        (NewPage, append.pages),
        (NewMemory, append.memories),
        (NewNote, append.notes),
        (NewArchive, append.archives),
        (NewWork, work),
    ):
        arguments += _listed(row, rows) if len(rows) <= FEW else columns_of(row, rows)
    if once:
        arguments += [once.key, once.digest, once.response, once.owner]
    return arguments


def _listed(row: type, rows: Sequence[object]) -> list[object]:
    """Rows as ``_values`` numbers its parameters, one row after the other."""
    values_of, arrays = attrgetter(*_names(row)), _arrays(row)
    listed = [value for one in rows for value in values_of(one)]
    for i in arrays:
        for at in range(i, len(listed), len(_names(row))):
            listed[at] = _array_literal(listed[at])
    return listed


def columns_of(row: type, rows: Sequence[object]) -> list[object]:
    """Rows as the arrays that ``unnest`` takes, in the order of the fields."""
    columns = [[getattr(r, name) for r in rows] for name in _names(row)]
    for i in _arrays(row):
        columns[i] = list(map(_array_literal, columns[i]))
    return list(columns)


@cache
def _arrays(row: type) -> list[int]:
    """Which of a row's fields are arrays."""
    return [i for i, f in enumerate(fields(row)) if str(f.type).startswith("tuple[")]


async def append_alone(
    database: Database, tenant: UUID, append: Append, work: Sequence[NewWork], once: IdempotentResponse | None
) -> bool:
    """Store an append by itself, in one round trip. False if it was decided on a version that is past."""
    sql = append_sql(StatementShape.of(append, work, once))
    return await database.write_row(sql, *_arguments(tenant, append, work, once)) is not None


MEMORIES_AT_ONCE = 1_000
"""Passages that one statement stores: some seconds' worth of a statement's time on a slow machine."""


async def append_within(
    connection: Connection, tenant: UUID, append: Append, work: Sequence[NewWork], once: IdempotentResponse | None
) -> bool:
    """The same inside a transaction that holds the conversation's lock, for any number of memories."""
    at_once = len(append.memories) <= MEMORIES_AT_ONCE
    rest = () if at_once else append.memories
    first = append if at_once else replace(append, memories=())
    sql = append_sql(StatementShape.of(first, work, once))
    if await connection.fetchrow(sql, *_arguments(tenant, first, work, once)) is None:
        return False
    embeds = append.follow_up.embeds is not None
    await remember(connection, tenant, rest, append.conversation.updated_at, embeds=embeds)
    return True


INSERT_MEMORIES = f"""
WITH s AS (
  INSERT INTO memories (tenant_id, created_at, {", ".join(_names(NewMemory))})
  SELECT $1, $2, {_select("m", _names(NewMemory))} FROM {_unnest(NewMemory, 4, "m")}
  RETURNING owner, id
)
INSERT INTO unembedded (tenant_id, owner, memory_id) SELECT $1, s.owner, s.id FROM s WHERE $3::boolean
"""


async def remember(
    connection: Connection, tenant: UUID, memories: Sequence[NewMemory], created_at: datetime, *, embeds: bool
) -> None:
    """Let search find passages of messages or archives that are stored already.

    ``embeds`` marks them for the embedding job; enqueueing it is the caller's.
    """
    for at in range(0, len(memories), MEMORIES_AT_ONCE):
        some = memories[at : at + MEMORIES_AT_ONCE]
        await connection.execute(INSERT_MEMORIES, tenant, created_at, embeds, *columns_of(NewMemory, some))


# Client ids of a request that the conversation has already.
TAKEN_CLIENT_IDS = """
SELECT client_id, seq FROM messages
 WHERE tenant_id = $1 AND conversation_id = $2 AND client_id = ANY ($3::text[])
"""


async def taken_client_ids(
    connection: Connection, tenant: UUID, conversation_id: str, client_ids: Sequence[str]
) -> dict[str, int]:
    rows = await connection.fetch(TAKEN_CLIENT_IDS, tenant, conversation_id, client_ids)
    return {row["client_id"]: row["seq"] for row in rows}


MESSAGE_FIELDS = """m.seq, m.id, m.client_id, m.page, m.kind, m.role, m.body, m.view, m.full_tokens, m.loaded_tokens,
 m.line, m.archive_ids, m.created_at"""

# A stretch of the history, oldest first or newest first.
HISTORY = f"""
SELECT {MESSAGE_FIELDS} FROM messages m
 WHERE m.tenant_id = $1 AND m.conversation_id = $2 AND m.seq > $3 ORDER BY m.seq LIMIT $4
"""
HISTORY_BACK = f"""
SELECT {MESSAGE_FIELDS} FROM messages m
 WHERE m.tenant_id = $1 AND m.conversation_id = $2 AND m.seq < $3 ORDER BY m.seq DESC LIMIT $4
"""


async def history(
    connection: Connection, tenant: UUID, conversation_id: str, after: int, limit: int, *, newest_first: bool
) -> Sequence[Record]:
    return await connection.fetch(HISTORY_BACK if newest_first else HISTORY, tenant, conversation_id, after, limit)


# The messages of one page: those from its first on to the next page's. (Outside the subquery, coalesce would keep
# the index from being searched by it: see windows._zone.)
PAGE_MESSAGES = f"""
SELECT {MESSAGE_FIELDS} FROM messages m
 WHERE m.tenant_id = $1 AND m.conversation_id = $2
   AND m.seq >= (SELECT first_seq FROM pages
                  WHERE tenant_id = $1 AND conversation_id = $2 AND page = $3)
   AND m.seq < (SELECT coalesce(min(first_seq), 2147483647) FROM pages
                 WHERE tenant_id = $1 AND conversation_id = $2 AND page = $3::bigint + 1)
 ORDER BY m.seq
"""


async def page_messages(connection: Connection, tenant: UUID, conversation_id: str, page: int) -> Sequence[Record]:
    """The messages of a page, in order; none if there is no such page."""
    return await connection.fetch(PAGE_MESSAGES, tenant, conversation_id, page)


# The chains after some messages.
CHAINS = """
SELECT seq, chain FROM messages WHERE tenant_id = $1 AND conversation_id = $2 AND seq = ANY ($3::int[])
"""
# The digests of the newest messages after one that callers know of, newest first. An empty digest: see core.sync.INNER.
NEWEST_DIGESTS = """
SELECT seq, role, digest FROM messages
 WHERE tenant_id = $1 AND conversation_id = $2 AND seq > $3 AND digest IS DISTINCT FROM ''
 ORDER BY seq DESC LIMIT $4
"""
# The newest message up to one that callers know of.
LAST_TOLD = """
SELECT seq FROM messages
 WHERE tenant_id = $1 AND conversation_id = $2 AND seq <= $3 AND digest IS DISTINCT FROM '' ORDER BY seq DESC LIMIT 1
"""
# The digests of the leading system messages, in order.
PROMPT_DIGESTS = """
SELECT digest FROM messages WHERE tenant_id = $1 AND conversation_id = $2 AND seq <= $3 ORDER BY seq
"""


async def chains(
    connection: Connection, tenant: UUID, conversation_id: str, seqs: Sequence[int]
) -> dict[int, bytes | None]:
    rows = await connection.fetch(CHAINS, tenant, conversation_id, seqs)
    return {row["seq"]: row["chain"] for row in rows}


@dataclass(frozen=True, slots=True)
class Told:
    """A stored message as callers' lists know it."""

    seq: int
    role: str
    digest: bytes
    """Zeros where it has none yet, which is like no other."""


async def newest_told(connection: Connection, tenant: UUID, conversation_id: str, after: int, limit: int) -> list[Told]:
    """Oldest first."""
    rows = await connection.fetch(NEWEST_DIGESTS, tenant, conversation_id, after, limit)
    return [Told(row["seq"], row["role"], row["digest"] or bytes(DIGEST_BYTES)) for row in reversed(rows)]


async def last_told(connection: Connection, tenant: UUID, conversation_id: str, through: int) -> int:
    """0 if there is none."""
    return int(await connection.fetchval(LAST_TOLD, tenant, conversation_id, through) or 0)


async def prompt_digests(connection: Connection, tenant: UUID, conversation_id: str, through: int) -> list[bytes]:
    rows = await connection.fetch(PROMPT_DIGESTS, tenant, conversation_id, through)
    return [row["digest"] or bytes(DIGEST_BYTES) for row in rows]


# Digests and chains of messages that were stored before there were any.
SET_CHAINS = """
UPDATE messages m SET digest = s.digest, chain = s.chain
  FROM unnest($3::int[], $4::bytea[], $5::bytea[]) AS s (seq, digest, chain)
 WHERE m.tenant_id = $1 AND m.conversation_id = $2 AND m.seq = s.seq
"""
# The conversation's own, once all its messages have theirs.
SET_CHAIN = """
UPDATE conversations SET chain = $3, version = version + 1 WHERE tenant_id = $1 AND id = $2
"""


async def set_chains(
    connection: Connection, tenant: UUID, conversation_id: str, found: Sequence[tuple[int, bytes, bytes]]
) -> None:
    columns = [list(column) for column in zip(*found, strict=True)]
    await connection.execute(SET_CHAINS, tenant, conversation_id, *columns)


async def set_chain(connection: Connection, tenant: UUID, conversation_id: str, chain: bytes) -> None:
    await connection.execute(SET_CHAIN, tenant, conversation_id, chain)


# A message with its place, for indexing it.
WHOLE = f"""
SELECT {MESSAGE_FIELDS}, m.conversation_id, c.uid, c.user_id
  FROM messages m JOIN conversations c ON c.tenant_id = m.tenant_id AND c.id = m.conversation_id
 WHERE m.tenant_id = $1 AND m.conversation_id = $2 AND c.uid = $3 AND m.seq = $4
"""


async def whole(
    connection: Connection, tenant: UUID, conversation_id: str, uid: UUID, seq: int, *, locked: bool
) -> Record | None:
    sql = f"{WHOLE} FOR UPDATE OF m" if locked else WHOLE
    return await connection.fetchrow(sql, tenant, conversation_id, uid, seq)


# The full texts of archived results, as they were sent.
ARCHIVED_TEXTS = """
SELECT a.id, t.content, t.nul_offsets FROM archives a
  JOIN archive_contents t ON t.tenant_id = a.tenant_id AND t.scope = a.scope AND t.digest = a.digest
 WHERE a.tenant_id = $1 AND a.id = ANY ($2::uuid[])
"""


async def archived_texts(connection: Connection, tenant: UUID, ids: Sequence[UUID]) -> dict[UUID, str]:
    rows = await connection.fetch(ARCHIVED_TEXTS, tenant, ids)
    size = sum(len(row["nul_offsets"]) for row in rows)
    return await run_in_thread_if_large(
        size, lambda: {row["id"]: with_nul(row["content"], row["nul_offsets"]) for row in rows}
    )


# Pages with what is known of their recalls.
_PAGES = """
SELECT p.page, p.title, p.first_seq,
       coalesce((SELECT first_seq - 1 FROM pages
                  WHERE tenant_id = $1 AND conversation_id = $2 AND page > p.page
                  ORDER BY page LIMIT 1), c.last_seq) AS last_seq,
       coalesce(r.count, 0) AS recall_count, r.at_page AS last_recalled_page, p.created_at
  FROM pages p
  JOIN conversations c ON c.tenant_id = p.tenant_id AND c.id = p.conversation_id
  LEFT JOIN LATERAL (
    SELECT count, at_page FROM recalls
     WHERE tenant_id = $1 AND conversation_id = $2 AND page = p.page
     ORDER BY count DESC LIMIT 1) r ON true
 WHERE p.tenant_id = $1 AND p.conversation_id = $2 AND """
PAGES = f"{_PAGES} p.page > $3 ORDER BY p.page LIMIT $4"
SOME_PAGES = f"{_PAGES} p.page = ANY ($3::int[]) ORDER BY p.page"


async def pages(
    connection: Connection,
    tenant: UUID,
    conversation_id: str,
    *,
    some: Sequence[int] | None = None,
    after: int = 0,
    limit: int = 1000,
) -> Sequence[Record]:
    """Pages in order: all after one, or ``some``."""
    if some is not None:
        return await connection.fetch(SOME_PAGES, tenant, conversation_id, some)
    return await connection.fetch(PAGES, tenant, conversation_id, after, limit)


# One recall more of a page; nothing if there is no such page.
RECALL = """
WITH c AS (
  UPDATE conversations SET revision = revision + 1, version = version + 1
   WHERE tenant_id = $1 AND id = $2 AND EXISTS (
     SELECT FROM pages WHERE tenant_id = $1 AND conversation_id = $2 AND page = $3)
  RETURNING revision, last_page
)
INSERT INTO recalls (tenant_id, conversation_id, page, count, at_page, revision)
SELECT $1, $2, $3,
       1 + coalesce((SELECT max(count) FROM recalls
                      WHERE tenant_id = $1 AND conversation_id = $2 AND page = $3), 0),
       c.last_page, c.revision
  FROM c
RETURNING count
"""


async def count_recall(connection: Connection, tenant: UUID, conversation_id: str, page: int) -> bool:
    """Whether the page is there. The conversation must be locked, so that counts follow each other."""
    return await connection.fetchrow(RECALL, tenant, conversation_id, page) is not None


# Messages by conversation and seq.
BY_PLACE = f"""
SELECT m.conversation_id, {MESSAGE_FIELDS}
  FROM unnest($2::text[], $3::int[]) AS p (conversation_id, seq)
  JOIN messages m ON m.tenant_id = $1 AND m.conversation_id = p.conversation_id AND m.seq = p.seq
"""


async def by_place(connection: Connection, tenant: UUID, places: Sequence[tuple[str, int]]) -> Sequence[Record]:
    if not places:
        return []
    return await connection.fetch(BY_PLACE, tenant, [p[0] for p in places], [p[1] for p in places])
