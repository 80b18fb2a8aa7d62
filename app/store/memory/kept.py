"""Memories with a scope: pinned memories, their versions and proposals."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

from asyncpg import Record

from app.core.encoded import marked
from app.core.line import Line
from app.core.model import INTEGER_MAX
from app.core.scope import Scope
from app.core.window.kept import KEPT_READ_MAX, KeptLine, Status, StoredMemory
from app.postgres.statements import SqlFile
from app.postgres.transactions import ReadTx, Tx
from app.store import locks
from app.text.bm25 import DIMENSIONS

NO_TERMS = f"{{}}/{DIMENSIONS}"
"""The terms of memories that search must not find: quotations, whose message is found, and former values."""
PINNED_READ_MAX = 1_000
"""The number of a scope's newest pinned memories that are read to find the valid ones."""

FIELDS = """m.id, m.owner, m.holder, m.type, m.scope, m.key, m.pinned, m.status, m.content, m.nul_offsets, m.tokens,
       m.source, m.sensitive, m.conversation_id, m.seq, m.page, m.quote, m.keywords, m.metadata, m.valid_from, {until},
       m.learnt_at, m.created_at, m.expires_at, m.length"""
"""The columns of a memory m that ``read`` takes."""

_SQL = SqlFile(__file__, fields=FIELDS, kept_read_max=KEPT_READ_MAX, pinned_read_max=PINNED_READ_MAX, no_terms=NO_TERMS)

# The condition of a wish (n) whose scope already holds the same words, without a key that could have changed since, or
# that a person refused.
REPEATED = """SELECT FROM memories o
             WHERE o.tenant_id = $1::uuid AND o.holder = n.holder AND o.pinned AND NOT o.former
               AND o.content = n.content AND (n.status = 'proposed' AND o.status = 'refused'
                    OR o.key IS NULL AND o.valid_to IS NULL AND o.status IN ('held', n.status))"""


def withdrawing(source: str) -> str:
    """Return the SQL that counts a withdrawal from the view of owners, so that every window that could show the memory
    begins a new epoch. ``source`` selects tenant, owner, 1 and the time.
    """
    return f"""INSERT INTO withdrawals AS d (tenant_id, owner, "count", "at") {source}
          ON CONFLICT (tenant_id, owner)
          DO UPDATE SET "count" = d."count" + excluded."count", "at" = greatest(d."at", excluded."at")"""


WITHDRAW = withdrawing("SELECT $1, owner, 1, $3::timestamptz FROM unnest($2::uuid[]) AS o (owner) ORDER BY owner")


async def withdraw(tx: Tx, owners: Collection[UUID]) -> None:
    """Make the next window of every conversation that can show memories of these owners begin a new epoch."""
    if owners:
        await tx.execute(WITHDRAW, sorted(set(owners)), datetime.now(UTC))


# A value that was stated before the beginning of its validity waits for it.
_TRUE = {"from": "greatest(t.time, m.learnt_at)", "to": "t.time"}


def in_mind(*, before: str) -> str:
    """Return the named SQL that selects the pinned memories of a conversation ``c`` as arrays. See ``kept.sql``."""
    return _SQL.piece("in_mind", before=before, known="now()", only="true", **_TRUE)


def read_kept(row: Record) -> list[KeptLine]:
    columns = (row[name] or () for name in ("kept_ids", "kept_texts", "kept_tokens", "kept_since", "kept_written"))
    return [KeptLine(id_, marked(text), *more) for id_, text, *more in zip(*columns, strict=True)]


OF_SPEAKER = _SQL.statement(
    "of_speaker", kept=_SQL.piece("in_mind", before="1", known="now()", only="NOT v.sensitive", **_TRUE)
)
_THEN = {"known": "coalesce(:known_at, now())", "from": "coalesce(:as_of, now())", "to": "coalesce(:as_of, now())"}
THEN = _SQL.statement("then", kept=_SQL.piece("in_mind", before=":before", only="true", **_THEN))


async def then(
    tx: ReadTx, conversation_id: str, before: int, as_of: datetime | None, known_at: datetime | None
) -> list[KeptLine]:
    """Return a conversation's pinned memories as of another time, except those stated from message ``before`` on."""
    row = await tx.fetchrow(THEN, conversation=conversation_id, before=before, as_of=as_of, known_at=known_at)
    return read_kept(row) if row is not None else []


async def of_speaker(tx: ReadTx, conversation_id: str, speaker: UUID) -> list[KeptLine]:
    row = await tx.fetchrow(OF_SPEAKER, conversation=conversation_id, speaker=speaker)
    return read_kept(row) if row is not None else []


OF_CONVERSATION = _SQL.statement("of_conversation")


async def of_conversation(tx: ReadTx, conversation_id: str) -> list[StoredMemory]:
    return [read(row) for row in await tx.fetch(OF_CONVERSATION, conversation=conversation_id)]


def read(row: Iterable[Any]) -> StoredMemory:
    """Return the memory of a row that has the columns of FIELDS."""
    id_, owner, holder, type_, scope, *rest = row
    return StoredMemory(id_, owner, holder, type_, Scope.read(scope), *rest)


# Ends the validity of a memory that a person takes back.
END = """
UPDATE memories SET valid_to = greatest(valid_from, $4::timestamptz)
 WHERE tenant_id = $1 AND holder = $2 AND id = $3 AND (valid_to IS NULL OR valid_to > $4) RETURNING conversation_id
"""


async def end(tx: Tx, holder: UUID, memory: UUID, time: datetime) -> None:
    """End a memory's validity, and remove it from all windows."""
    await tx.execute(END, holder, memory, time)
    await withdraw(tx, [holder])


END_EARLIER = _SQL.statement("end_earlier")


class Gone(NamedTuple):
    """An erased memory, or a passage of one."""

    id: UUID
    holder: UUID | None
    key: str | None
    pinned: bool
    status: Status
    valid_from: datetime | None


GONE = ", ".join(Gone._fields)


async def settle(tx: Tx, gone: Sequence[Gone | StoredMemory]) -> None:
    """Complete the erasure of memories: values that they replaced stay ended, and windows do not show them any more."""
    scoped = [memory for memory in gone if memory.holder is not None]
    if keyed := [memory for memory in scoped if memory.key is not None and memory.status != "withdrawn"]:
        holders, keys = [memory.holder for memory in keyed], [memory.key for memory in keyed]
        await tx.execute(END_EARLIER, holders=holders, keys=keys, since=[memory.valid_from for memory in keyed])
        await decide(tx, [(m.holder, m.key) for m in keyed if m.holder is not None and m.status == "held"])
    await withdraw(tx, {m.holder for m in scoped if m.holder is not None and m.pinned and m.status == "held"})


FOLLOW = _SQL.statement("follow")
HOLD_AGAIN = """
UPDATE memories SET valid_to = NULL
 WHERE tenant_id = $1 AND holder = $2 AND id = $3 AND valid_to = greatest(valid_from, $4::timestamptz)
"""


async def follow(tx: Tx, before: Line, after: Line) -> None:
    """Withdraw the memories that come only from the line shown ``before``, and restore those of the line shown after
    it. The same applies to memories that these lines ended.
    """
    places: dict[str, object] = {}
    for name, line in (("before", before), ("after", after)):
        places[f"{name}_ids"] = [*(stretch.id for stretch in line.stretches), line.own]
        places[f"{name}_seqs"] = [*(stretch.seq for stretch in line.stretches), INTEGER_MAX]
    changed = await tx.fetch(FOLLOW, **places)
    await decide(tx, [(row["holder"], row["key"]) for row in changed])
    for row in changed:
        ended = json.loads(row["metadata"]).get("ends") if row["source"] == "rule" else None
        if ended is not None and row["status"] in ("held", "withdrawn"):
            sql = END if row["status"] == "held" else HOLD_AGAIN
            await tx.execute(sql, row["holder"], UUID(ended), row["valid_to"])
    await withdraw(tx, [row["holder"] for row in changed])


# The memories that a conversation gave to a wider scope.
CARRIED_BY = f"""
SELECT {GONE} FROM memories
 WHERE tenant_id = $1 AND conversation_id = $2 AND scope NOT LIKE 'c:%' AND (pinned OR key IS NOT NULL)
"""
LEAVE = """
UPDATE memories SET conversation_id = NULL, conversation_uid = NULL, seq = NULL, page = NULL
 WHERE tenant_id = $1 AND conversation_id = $2 AND scope NOT LIKE 'c:%' AND (pinned OR key IS NOT NULL)
"""
FORGET_WITHDRAWALS = "DELETE FROM withdrawals WHERE tenant_id = $1 AND owner = $2"


async def carried_by(tx: ReadTx, conversation_id: str) -> list[Gone]:
    return [Gone(*row) for row in await tx.fetch(CARRIED_BY, conversation_id)]


async def leave(tx: Tx, conversation_id: str) -> int:
    """Detach the memories that a conversation gave to wider scopes, so that they survive it. Return their number."""
    return await tx.execute(LEAVE, conversation_id)


async def forget_withdrawals(tx: Tx, owner: UUID) -> None:
    await tx.execute(FORGET_WITHDRAWALS, owner)


VERSIONS = _SQL.statement("versions", until=_SQL.piece("replaced"))


async def versions(tx: ReadTx, memory: UUID, before: tuple[datetime, UUID] | None, limit: int) -> list[StoredMemory]:
    """List the values of a memory's key over time, the latest first."""
    time, version = before or (None, None)
    rows = await tx.fetch(VERSIONS, memory=memory, before=time, before_id=version, limit=limit)
    return [read(row) for row in rows]


ONE = _SQL.statement("one")


async def one(tx: ReadTx, memory: UUID) -> StoredMemory | None:
    row = await tx.fetchrow(ONE, memory=memory)
    return read(row) if row is not None else None


STATUS_OF = _SQL.statement("status_of")
VALUE = """
SELECT source = 'person' OR pinned, pinned FROM memories
 WHERE tenant_id = $1 AND holder = $2 AND key = $3 AND status = 'held' AND NOT former
"""


async def status_of(tx: ReadTx, holder: UUID, key: str | None, content: str) -> Status | None:
    """Return the status of an earlier memory of a scope with the same text and key, if there is one."""
    status: Status | None = await tx.fetchval(STATUS_OF, holder=holder, key=key, content=content)
    return status


async def value(tx: ReadTx, holder: UUID, key: str) -> tuple[bool, bool]:
    """Return whether a person wrote or pinned the current value of a key, and whether it is pinned."""
    is_set, is_pinned = await tx.fetchrow(VALUE, holder, key) or (False, False)
    return is_set, is_pinned


DECIDE = _SQL.statement("decide")


async def decide(tx: Tx, keys: Iterable[tuple[UUID, str | None]]) -> None:
    """Decide again which memory is the current value of each (holder, key), after a write that can have changed it."""
    changed = sorted({(holder, key) for holder, key in keys if key is not None})
    for holder, key in changed:
        await locks.lock_key(tx, holder, key)
    if changed:
        await tx.execute(DECIDE, holders=[holder for holder, _ in changed], keys=[key for _, key in changed])


KEEP_VERSION = _SQL.statement("keep_version")


async def keep_version(tx: Tx, memory: UUID, version: UUID) -> None:
    await tx.execute(KEEP_VERSION, memory=memory, version=version)


CHANGE = _SQL.statement("change")


async def change(tx: Tx, to: StoredMemory) -> None:
    """Store changes to a memory. Everything but its text can change."""
    await tx.execute(CHANGE, **{name: getattr(to, name) for name in CHANGE.names if name != "memory"}, memory=to.id)


# Whether a value is pinned is a property of its key, not of a single version.
PIN_KEY = "UPDATE memories SET pinned = $4 WHERE tenant_id = $1 AND holder = $2 AND key = $3 AND pinned <> $4"


async def pin_key(tx: Tx, holder: UUID, key: str, *, pinned: bool) -> None:
    await tx.execute(PIN_KEY, holder, key, pinned)
