"""Memories with a scope: what is kept in mind, its versions and proposals."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from asyncpg import Record

from app.core.kept import KEPT_READ_MAX, KeptLine, Status
from app.postgres.transactions import ReadTx, Tx
from app.text.bm25 import DIMENSIONS

NO_TERMS = f"{{}}/{DIMENSIONS}"
"""Of what search does not find: a quotation is found by its message, and a former value not at all."""
PINNED_READ_MAX = 1_000
"""Pinned memories of a scope that are read to find those that hold, the newest first."""

# A wish (n) that its scope holds already in the same words, without a key that could have changed since; or that a
# person refused.
REPEATED = """SELECT FROM memories o
             WHERE o.tenant_id = $1::uuid AND o.holder = n.holder AND o.pinned AND o.content = n.content
               AND (n.status = 'proposed' AND o.status = 'refused'
                    OR o.key IS NULL AND o.valid_to IS NULL AND o.status IN ('held', n.status))"""


def withdrawing(source: str) -> str:
    """Return the SQL that counts that something in view of owners was taken back: every window that
    could show it begins a new epoch. ``source`` selects tenant, owner, 1 and the time.
    """
    return f"""INSERT INTO withdrawals AS d (tenant_id, owner, "count", "at") {source}
          ON CONFLICT (tenant_id, owner)
          DO UPDATE SET "count" = d."count" + excluded."count", "at" = greatest(d."at", excluded."at")"""


WITHDRAW = withdrawing("SELECT $1, owner, 1, $3::timestamptz FROM unnest($2::uuid[]) AS o (owner) ORDER BY owner")


async def withdraw(tx: Tx, owners: Collection[UUID]) -> None:
    """Let the next window of every conversation in whose view a scope is begin a new epoch."""
    if owners:
        await tx.execute(WITHDRAW, sorted(set(owners)), datetime.now(UTC))


def known_at(*, opened: str) -> str:
    """Return the SQL of the time up to which a head knows memories from elsewhere: when its epoch's page was opened, or
    later when something was taken back. ``c`` is the conversation.
    """
    return f"""greatest({opened}, (SELECT max(d."at") FROM withdrawals d
                          WHERE d.tenant_id = $1::uuid AND d.owner = ANY (c.scopes)))"""


def in_mind(*, before: str, known: str, only: str = "true") -> str:
    """Return the SQL of the arrays of what a conversation ``c`` keeps in mind, the widest scope and the newest first.

    ``before``: the first message in view: what is said in it or after it is there to read. ``known``: a time; what was
    learnt later is left out, but for the conversation's own. ``only``: a condition on the value that holds.
    """
    return f"""
    SELECT array_agg(k.id) AS kept_ids, array_agg(k.content) AS kept_texts, array_agg(k.tokens) AS kept_tokens,
           array_agg(k.valid_from) AS kept_since
      FROM (
        SELECT v.id, v.content, v.tokens, v.valid_from
          FROM (SELECT {known} AS time) t
          CROSS JOIN LATERAL unnest(c.scopes) WITH ORDINALITY AS s (owner, place)
          CROSS JOIN LATERAL (
            SELECT DISTINCT ON (coalesce(p.key, p.id::text)) p.id, p.content, p.tokens, p.valid_from, p.valid_to,
                   p.sensitive
              FROM (
                SELECT m.id, m.key, m.content, m.tokens, m.valid_from, m.valid_to, m.learnt_at, m.sensitive
                  FROM memories /*in mind*/ m
                 WHERE m.tenant_id = $1::uuid AND m.holder = s.owner AND m.pinned AND m.status = 'held'
                   AND (m.expires_at IS NULL OR m.expires_at > t.time)
                   AND (m.conversation_id IS DISTINCT FROM $2 OR m.seq IS NULL OR m.seq < {before})
                   AND (m.learnt_at <= t.time
                        OR m.conversation_id = $2 AND (m.source = 'rule' OR m.seq IS NULL AND m.scope LIKE 'c:%'))
                 ORDER BY m.valid_from DESC LIMIT {PINNED_READ_MAX}) p
             ORDER BY coalesce(p.key, p.id::text), p.valid_from DESC, p.learnt_at DESC, p.id DESC) v
         WHERE (v.valid_to IS NULL OR v.valid_to > t.time) AND {only}
         ORDER BY s.place, v.valid_from DESC, v.id DESC LIMIT {KEPT_READ_MAX}) k"""


def read_kept(row: Record) -> list[KeptLine]:
    columns = (row[name] or () for name in ("kept_ids", "kept_texts", "kept_tokens", "kept_since"))
    return [KeptLine(*one) for one in zip(*columns, strict=True)]


# What a person ($3, the owner of their scope) keeps in mind, for a group ($2) to which they speak: nothing sensitive.
OF_SPEAKER = f"""
SELECT k.* FROM (SELECT ARRAY[$3::uuid] AS scopes) c
 CROSS JOIN LATERAL ({in_mind(before="1", known="now()", only="NOT v.sensitive")}) k
 WHERE k.kept_ids IS NOT NULL
"""


async def of_speaker(tx: ReadTx, conversation_id: str, speaker: UUID) -> list[KeptLine]:
    row = await tx.fetchrow(OF_SPEAKER, conversation_id, speaker)
    return read_kept(row) if row is not None else []


FIELDS = """m.id, m.owner, m.holder, m.type, m.scope, m.key, m.pinned, m.status, m.content, m.tokens, m.source,
 m.sensitive, m.seq, m.page, m.conversation_id, m.quote, m.keywords, m.metadata,
 m.valid_from, m.valid_to, m.learnt_at, m.created_at,
 m.expires_at, m.nul_offsets, m.length"""

# The pinned memories that a conversation holds or was told of, those that people wrote first.
OF_CONVERSATION = f"""
SELECT {FIELDS} FROM memories /*line*/ m
 WHERE m.tenant_id = $1 AND m.conversation_id = $2 AND m.pinned AND m.status = 'held'
   AND (m.valid_to IS NULL OR m.valid_to > m.valid_from)
 ORDER BY m.seq NULLS FIRST, m.id
"""


async def of_conversation(tx: ReadTx, conversation_id: str) -> Sequence[Record]:
    return await tx.fetch(OF_CONVERSATION, conversation_id)


# Everything after the current value of a key, which an erased value must not bring back: it was replaced.
END_EARLIER = """
UPDATE memories m SET valid_to = greatest(m.valid_from, e.valid_from)
  FROM unnest($2::uuid[], $3::text[], $4::timestamptz[]) AS e (holder, key, valid_from)
 WHERE m.tenant_id = $1 AND m.holder = e.holder AND m.key = e.key AND m.valid_from <= e.valid_from
   AND (m.valid_to IS NULL OR m.valid_to > e.valid_from)
"""


async def settle(tx: Tx, gone: Sequence[Record]) -> None:
    """Follow the erasure of memories: what they replaced stays ended, and windows show them no longer.

    ``gone``: holder, scope, key, pinned, status and valid_from of each.
    """
    keyed = [(row["holder"], row["key"], row["valid_from"]) for row in gone if row["key"] is not None]
    if keyed:
        await tx.execute(END_EARLIER, *map(list, zip(*keyed, strict=True)))
    await withdraw(tx, {row["holder"] for row in gone if row["pinned"] and row["status"] == "held"})


# A conversation's pinned memory in a person's words: it no longer quotes its message.
REWORD = f"""
UPDATE memories m SET content = $4, tokens = $5, source = 'person', status = 'held', seq = NULL, page = NULL,
       quote = NULL, learnt_at = now()
 WHERE m.tenant_id = $1 AND m.conversation_id = $2 AND m.id = $3 AND m.pinned AND m.status = 'held'
RETURNING {FIELDS}
"""
DELETE_OF_CONVERSATION = """
DELETE FROM memories WHERE tenant_id = $1 AND conversation_id = $2 AND id = $3 AND pinned
RETURNING id, content, owner, holder, scope, key, pinned, status, valid_from
"""


async def reword(tx: Tx, conversation_id: str, memory: UUID, text: str, tokens: int) -> Record | None:
    return await tx.fetchrow(REWORD, conversation_id, memory, text, tokens)


async def delete_of_conversation(tx: Tx, conversation_id: str, memory: UUID) -> Record | None:
    return await tx.fetchrow(DELETE_OF_CONVERSATION, conversation_id, memory)


# The memories that a conversation gave to a wider scope.
CARRIED_BY = """
SELECT id, content, owner, holder, scope, key, pinned, status, valid_from FROM memories
 WHERE tenant_id = $1 AND conversation_id = $2 AND scope NOT LIKE 'c:%' AND (pinned OR key IS NOT NULL)
"""
LEAVE = """
UPDATE memories SET conversation_id = NULL, conversation_uid = NULL, seq = NULL, page = NULL
 WHERE tenant_id = $1 AND conversation_id = $2 AND scope NOT LIKE 'c:%' AND (pinned OR key IS NOT NULL)
"""
FORGET_WITHDRAWALS = "DELETE FROM withdrawals WHERE tenant_id = $1 AND owner = $2"


async def carried_by(tx: ReadTx, conversation_id: str) -> Sequence[Record]:
    return await tx.fetch(CARRIED_BY, conversation_id)


async def leave(tx: Tx, conversation_id: str) -> int:
    """Let what a conversation gave to a wider scope stay without it; return how many memories that are."""
    return int((await tx.execute(LEAVE, conversation_id)).rsplit(" ", 1)[-1])


async def forget_withdrawals(tx: Tx, owner: UUID) -> None:
    await tx.execute(FORGET_WITHDRAWALS, owner)


# The rows of a memory's key, the latest value first; of one without a key itself alone.
VERSIONS = f"""
SELECT {FIELDS} FROM memories o
  JOIN memories m ON m.tenant_id = $1 AND (m.id = o.id OR m.holder = o.holder AND m.key = o.key)
 WHERE o.tenant_id = $1 AND o.id = $2 AND o.scope IS NOT NULL AND m.scope IS NOT NULL
   AND ($3::timestamptz IS NULL OR (m.valid_from, m.id) < ($3, $4::uuid))
 ORDER BY m.valid_from DESC, m.id DESC LIMIT $5
"""


async def versions(tx: ReadTx, memory: UUID, before: tuple[datetime, UUID] | None, limit: int) -> Sequence[Record]:
    """List what a memory's key said over time, the latest first."""
    return await tx.fetch(VERSIONS, memory, *(before or (None, None)), limit)


ONE = f"""
SELECT {FIELDS}, c.user_id, c.space_id FROM memories m
  LEFT JOIN conversations c ON c.tenant_id = $1 AND c.id = m.conversation_id
 WHERE m.tenant_id = $1 AND m.id = $2 AND m.scope IS NOT NULL
"""


async def one(tx: ReadTx, memory: UUID) -> Record | None:
    """Return a memory that has a scope, with the user of its conversation."""
    return await tx.fetchrow(ONE, memory)


# A value of a key that a later one replaces is history: search finds it no more.
RETIRE = f"""
WITH old AS (
  SELECT m.id FROM memories m
   WHERE m.tenant_id = $1 AND m.holder = $2 AND m.key = $3 AND m.length > 0 AND m.part_of IS NULL
     AND EXISTS (SELECT FROM memories n WHERE n.tenant_id = $1 AND n.holder = $2 AND n.key = $3 AND n.status = 'held'
                    AND (n.valid_from, n.learnt_at, n.id) > (m.valid_from, m.learnt_at, m.id))
), vectors AS (
  DELETE FROM embeddings WHERE tenant_id = $1 AND memory_id IN (SELECT id FROM old)
), waiting AS (
  DELETE FROM unembedded WHERE tenant_id = $1 AND memory_id IN (SELECT id FROM old)
), parts AS (
  DELETE FROM memories WHERE tenant_id = $1 AND part_of IN (SELECT id FROM old)
)
UPDATE memories SET start = 0, length = 0, terms = '{NO_TERMS}'::sparsevec
 WHERE tenant_id = $1 AND id IN (SELECT id FROM old)
"""


async def retire(tx: Tx, holder: UUID, key: str) -> None:
    """Let search find only the current value of a key. The owner of its holder must be locked."""
    await tx.execute(RETIRE, holder, key)


# A memory as it was, under an id of its own, before it is changed.
KEEP_VERSION = f"""
INSERT INTO memories (tenant_id, id, owner, type, conversation_id, conversation_uid, seq, page, start, length, terms,
                      content, nul_offsets, keywords, metadata, source, sensitive, created_at, scope, holder, key,
                      pinned, status, tokens, quote, valid_from, valid_to, learnt_at)
SELECT tenant_id, $3, owner, type, conversation_id, conversation_uid, seq, page, 0, 0, '{NO_TERMS}'::sparsevec,
       content, nul_offsets, keywords, metadata, source, sensitive, created_at, scope, holder, key, pinned, status,
       tokens, quote, valid_from, valid_to, learnt_at FROM memories WHERE tenant_id = $1 AND id = $2
"""


async def keep_version(tx: Tx, memory: UUID, version: UUID) -> None:
    await tx.execute(KEEP_VERSION, memory, version)


CHANGE = """
UPDATE memories SET pinned = $3, status = $4, valid_from = $5, valid_to = $6, sensitive = $7, tokens = $8,
       learnt_at = $9
 WHERE tenant_id = $1 AND id = $2
"""


@dataclass(frozen=True, slots=True)
class Standing:
    """What a memory says of itself besides its text."""

    pinned: bool
    status: Status
    valid_from: datetime
    valid_to: datetime | None
    sensitive: bool
    tokens: int
    learnt_at: datetime


async def change(tx: Tx, memory: UUID, to: Standing) -> None:
    await tx.execute(
        CHANGE, memory, to.pinned, to.status, to.valid_from, to.valid_to, to.sensitive, to.tokens, to.learnt_at
    )


# Whether a value is kept in view is a matter of its key, not of one of its versions.
PIN_KEY = "UPDATE memories SET pinned = $4 WHERE tenant_id = $1 AND holder = $2 AND key = $3 AND pinned <> $4"
IS_PINNED = "SELECT pinned FROM memories WHERE tenant_id = $1 AND holder = $2 AND key = $3 AND pinned LIMIT 1"


async def pin_key(tx: Tx, holder: UUID, key: str, *, pinned: bool) -> None:
    await tx.execute(PIN_KEY, holder, key, pinned)


async def is_pinned(tx: ReadTx, holder: UUID, key: str) -> bool:
    return bool(await tx.fetchval(IS_PINNED, holder, key))
