"""Memories with content of their own: posted ones, and those that a model found worth keeping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from asyncpg import Record

from app.core.kept import Status
from app.core.scope import owner_of
from app.core.search.narrowing import OWN_TYPES, Narrowing
from app.postgres.transactions import ReadTx, Tx
from app.store import served
from app.store.memory import kept
from app.store.memory.memories import OnLine
from app.store.memory.narrowing import comparable, jsonb
from app.store.memory.search_statement import on_line


@dataclass(frozen=True, slots=True)
class Remembered:
    """A memory and its passages; ``passages`` are start, length and terms of each, the first one's the row's own."""

    id: UUID
    scope: str
    """Where it holds."""
    type: str
    content: str
    """Without NUL; ``nul_offsets`` tells where it was."""
    nul_offsets: str
    keywords: Sequence[str]
    metadata: str
    source: str
    sensitive: bool
    expires_at: datetime | None
    created_at: datetime
    passages: Sequence[tuple[UUID, int, int, str]]
    conversation_id: str | None = None
    conversation_uid: UUID | None = None
    seq: int | None = None
    page: int | None = None
    key: str | None = None
    pinned: bool = False
    status: Status = "held"
    tokens: int = 0
    quote: str | None = None
    valid_from: datetime | None = None
    """None: since it was created."""
    valid_to: datetime | None = None
    learnt_at: datetime | None = None
    """None: now."""
    found_in: str | None = None
    """The wider scope that finds what holds in a conversation alone; None: its own."""

    @property
    def owner(self) -> UUID:
        """Return the owner that finds it."""
        return owner_of(self.scope if self.found_in is None else self.found_in)

    @property
    def is_found(self) -> bool:
        """Return whether search can find it."""
        return self.passages[0][2] > 0


# The memory is the passage that begins its content; where it has more, each is a row that points to it.
INSERT = """
WITH s AS (
  INSERT INTO memories (tenant_id, id, owner, type, conversation_id, conversation_uid, seq, page, start, length, terms,
                        content, nul_offsets, keywords, metadata, source, sensitive, expires_at, created_at, part_of)
  SELECT $1, p.id, $2, $3, $4, $5::uuid, $6, $7, p.start, p.length, p.terms::sparsevec,
         CASE WHEN p.id = $8 THEN $9 END, CASE WHEN p.id = $8 THEN $10::text::int[] ELSE '{}' END, $11::text[],
         CASE WHEN p.id = $8 THEN $12 ELSE '{}' END, $13, $14, $15, $16, CASE WHEN p.id <> $8 THEN $8::uuid END
    FROM unnest($17::uuid[], $18::int[], $19::int[], $20::text[]) AS p (id, start, length, terms)
  RETURNING owner, id
)
INSERT INTO unembedded (tenant_id, owner, memory_id) SELECT $1, s.owner, s.id FROM s WHERE $21::boolean
"""


HOLD = """
UPDATE memories SET scope = $3, key = $4, pinned = $5, status = $6, tokens = $7, quote = $8, valid_from = $9,
       valid_to = $10, learnt_at = $11, holder = $12
 WHERE tenant_id = $1 AND id = $2
"""


async def insert(tx: Tx, new: Remembered, *, embeds: bool) -> None:
    """Insert a memory. ``embeds`` marks it for the embedding job, which the caller enqueues."""
    ids, starts, lengths, terms = zip(*new.passages, strict=True)
    await tx.execute(
        INSERT, new.owner, new.type, new.conversation_id, new.conversation_uid, new.seq, new.page, new.id,
        new.content, new.nul_offsets, new.keywords, new.metadata, new.source, new.sensitive, new.expires_at,
        new.created_at, ids, starts, lengths, terms, embeds and new.is_found,
    )  # fmt: skip
    await tx.execute(
        HOLD, new.id, new.scope, new.key, new.pinned, new.status, new.tokens, new.quote,
        new.valid_from or new.created_at, new.valid_to, new.learnt_at or datetime.now(UTC),
        owner_of(new.scope),
    )  # fmt: skip


# The memories of passages, unless expired, or sensitive while $3 is false. The content of the whole memory is in only
# one of its rows, because it may be long and the rows many.
CONTENTS = """
SELECT m.id, w.id AS key, (row_number() OVER whole) = 1 AS is_whole,
       CASE WHEN row_number() OVER whole = 1 THEN w.content END AS content,
       CASE WHEN row_number() OVER whole = 1 THEN w.nul_offsets END AS nul_offsets,
       w.keywords, w.metadata, w.source, w.sensitive, w.expires_at, w.scope, w.key AS named, w.pinned, w.status,
       w.quote, w.seq, w.length, w.valid_from, w.valid_to, w.learnt_at
  FROM memories m
  JOIN memories w ON w.tenant_id = m.tenant_id AND w.id = CASE WHEN m.part_of IS NULL THEN m.id ELSE m.part_of END
 WHERE m.tenant_id = $1 AND m.id = ANY ($2::uuid[]) AND w.content IS NOT NULL
   AND (w.expires_at IS NULL OR w.expires_at > now()) AND ($3 OR NOT w.sensitive)
WINDOW whole AS (PARTITION BY w.id ORDER BY m.id)
"""


async def contents(tx: ReadTx, ids: Sequence[UUID], *, sensitive: bool) -> dict[UUID, Record]:
    """Return the memories that some passages belong to, by passage."""
    if not ids:
        return {}
    rows = await tx.fetch(CONTENTS, ids, sensitive)
    wholes = {row["key"]: row for row in rows if row["is_whole"]}
    return {row["id"]: wholes[row["key"]] for row in rows}


@dataclass(frozen=True, slots=True)
class Held:
    """The memories that are listed, of those of a scope."""

    status: Status = "held"
    key: str | None = None
    pinned: bool | None = None
    as_of: datetime | None = None
    """When they held; None: now."""
    known_at: datetime | None = None
    """Up to when they were learnt; None: now."""


HELD_NOW = Held()

# A page of owners' memories, newest first, after a cursor's id. The ids come from the covering index, because an
# owner has many more passages of messages. Topics match in any letter case.
IN_CONVERSATION = "($5::uuid IS NULL OR conversation_uid = $5)"
LIST = f"""
SELECT m.id, m.type, m.conversation_id, left(m.content, $9) AS beginning, m.keywords, m.metadata, m.source, m.sensitive,
       m.expires_at, m.created_at, m.scope, m.key AS named, m.pinned, m.status, m.quote, m.seq, m.page, m.length,
       m.valid_from, m.valid_to, m.learnt_at
  FROM (SELECT id FROM memories
         WHERE tenant_id = $1 AND owner = ANY ($2::uuid[]) AND type = ANY ($3) AND ($4 OR NOT sensitive)
           AND (expires_at IS NULL OR expires_at > now()) AND {IN_CONVERSATION}
           AND ($10::uuid IS NULL OR id < $10) ORDER BY id DESC OFFSET 0) k
  JOIN memories m ON m.tenant_id = $1 AND m.id = k.id
  LEFT JOIN conversations c ON c.tenant_id = $1 AND c.id = m.conversation_id
 WHERE m.content IS NOT NULL AND m.status = $11
   AND ($16::text[] IS NULL OR m.scope = ANY ($16)) AND ($12::text IS NULL OR m.key = $12)
   AND ($13::boolean IS NULL OR m.pinned = $13)
   AND m.valid_from <= coalesce($14, now()) AND m.learnt_at <= coalesce($15, now())
   AND (m.valid_to IS NULL OR m.valid_to > coalesce($14, now()))
   AND (m.key IS NULL OR m.status <> 'held' OR m.id = (
     SELECT n.id FROM memories n
      WHERE n.tenant_id = $1 AND n.holder = m.holder AND n.key = m.key AND n.status = 'held'
        AND n.valid_from <= coalesce($14, now()) AND n.learnt_at <= coalesce($15, now())
      ORDER BY n.valid_from DESC, n.learnt_at DESC, n.id DESC LIMIT 1))
   AND (cardinality($6::text[]) = 0
        OR EXISTS (SELECT FROM unnest(m.keywords) AS t (topic) WHERE lower(t.topic) = ANY ($6))
        OR EXISTS (SELECT FROM page_index i, unnest(i.topics) AS t (topic)
                    WHERE i.tenant_id = $1 AND i.conversation_id = m.conversation_id AND i.page = m.page
                      AND lower(t.topic) = ANY ($6)))
   AND ($7::text = '{{}}' OR {jsonb("m.metadata")} @> $7::jsonb OR {jsonb("c.metadata")} @> $7::jsonb)
 ORDER BY m.id DESC LIMIT $8
"""


LIST_ON_LINE = LIST.replace(IN_CONVERSATION, on_line(17).replace("$4::uuid", "$5::uuid"))


async def browse(
    tx: ReadTx,
    owners: Sequence[UUID],
    among: Narrowing,
    *,
    sensitive: bool,
    conversation_uid: UUID | None = None,
    line: OnLine | None = None,
    after: UUID | None = None,
    limit: int,
    characters: int,
    held: Held = HELD_NOW,
    scopes: Sequence[str] | None = None,
) -> Sequence[Record]:
    """List owners' memories that hold, newest first, and ``characters`` of each; with scopes, only what holds in them.

    Roles do not apply to them.
    """
    types = among.types or OWN_TYPES
    topics = comparable(among.topics)
    return await tx.fetch(
        LIST if line is None else LIST_ON_LINE,
        owners,
        types,
        sensitive,
        conversation_uid,
        topics,
        among.metadata,
        limit,
        characters,
        after,
        held.status,
        held.key,
        held.pinned,
        held.as_of,
        held.known_at,
        scopes,
        *(line or ()),
    )


OWNER = "SELECT owner FROM memories WHERE tenant_id = $1 AND id = $2 AND part_of IS NULL"


async def owner(tx: ReadTx, memory: UUID) -> UUID | None:
    owner_id: UUID | None = await tx.fetchval(OWNER, memory)
    return owner_id


DELETE = """
DELETE FROM memories
 WHERE tenant_id = $1 AND id = $2 AND part_of IS NULL AND ($3 OR NOT sensitive)
RETURNING id, content, owner, holder, scope, key, pinned, status, valid_from
"""


PARTS = "SELECT id FROM memories WHERE tenant_id = $1 AND part_of = $2"


async def parts(tx: ReadTx, memory: UUID) -> list[UUID]:
    """Return the passages of a memory."""
    return [row["id"] for row in await tx.fetch(PARTS, memory)]


async def delete(tx: Tx, memory: UUID, *, sensitive: bool) -> Record | None:
    """Delete a memory with its passages and vectors and return it, or None if it is not there."""
    return await tx.fetchrow(DELETE, memory, sensitive)


DELETE_EXPIRED = """
DELETE FROM memories WHERE tenant_id = $1 AND id IN (
  SELECT id FROM memories
   WHERE tenant_id = $1 AND owner = $2 AND expires_at <= now() AND part_of IS NULL LIMIT 500)
RETURNING id, content, owner, holder, scope, key, pinned, status, valid_from
"""
# Some owners of memories that are past their time.
OWNERS_OF_EXPIRED = """
SELECT DISTINCT owner FROM (
  SELECT owner FROM memories WHERE tenant_id = $1 AND expires_at <= now() AND part_of IS NULL LIMIT 500) m
"""


async def owners_of_expired(tx: ReadTx) -> list[UUID]:
    return [row["owner"] for row in await tx.fetch(OWNERS_OF_EXPIRED)]


async def delete_expired(tx: Tx, owner: UUID) -> int:
    """Delete some of an owner's expired memories and return how many. The owner must be locked."""
    gone = await tx.fetch(DELETE_EXPIRED, owner)
    await kept.settle(tx, gone)
    await served.forget_memories(tx, gone)
    return len(gone)
