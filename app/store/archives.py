"""Archived tool results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any
from uuid import UUID

from app.core.canonical import dumps
from app.core.encoded import marked
from app.core.history.erasure import without_archive
from app.core.history.rows import ArchiveSpot, IndexedText, NewArchive, StoredArchive
from app.core.scope import Scope
from app.core.window.fresh import FreshResult, read_parts
from app.postgres.statements import SqlFile
from app.postgres.transactions import ReadTx, Tx

ALIVE = "(a.expires_at IS NULL OR a.expires_at > now())"

SPOT = "a.id, a.scope, a.conversation_id, a.seq, a.language, a.digest"
CARD_FIELDS = f"""{SPOT}, a.user_id, a.tool_name, a.tool_input, a.query_summary, a.result_summary, a.key_terms,
 a.sources, a.placeholder, a.expires_at, a.created_at, t.length, t.tokens"""
JOINED = """archives a
  JOIN archive_contents t ON t.tenant_id = a.tenant_id AND t.scope = a.scope AND t.digest = a.digest"""


@dataclass(frozen=True, slots=True)
class ShowingMessage:
    conversation_id: str
    uid: UUID
    seq: int
    page: int
    body: str
    view: str | None
    short: str | None
    anthropic: str | None
    created_at: datetime
    said_at: datetime | None


_SQL = SqlFile(__file__, card_fields=CARD_FIELDS, joined=JOINED, alive=ALIVE)
LIST = _SQL.statement("list")
INSERT = _SQL.statement("insert")
SHOWING = _SQL.statement("showing")
REPLACE = _SQL.statement("replace")

# A range of characters of an archive's content ($4 on, $5 of them; none at all if $5 is 0), if it is in the scope
# (any scope of the tenant's if $2 is null) and has not expired.
READ = f"""
SELECT {CARD_FIELDS}, substr(t.content, $4::int + 1, $5::int) AS text, t.nul_offsets
  FROM {JOINED}
 WHERE a.tenant_id = $1 AND ($2::text IS NULL OR a.scope = $2) AND a.id = $3 AND {ALIVE}
"""


async def read(tx: ReadTx, scope: Scope | None, uuid: UUID, offset: int, length: int) -> StoredArchive | None:
    row = await tx.fetchrow(READ, scope.text if scope is not None else None, uuid, offset, length)
    return StoredArchive.from_row(row) if row is not None else None


# Archives, expired ones included, in the order in which they are named.
KNOWN = f"""
SELECT {CARD_FIELDS} FROM {JOINED}
 WHERE a.tenant_id = $1 AND a.id = ANY ($2::uuid[]) ORDER BY array_position($2::uuid[], a.id)
"""


async def known(tx: ReadTx, ids: Sequence[UUID]) -> list[StoredArchive]:
    return [StoredArchive.from_row(row) for row in await tx.fetch(KNOWN, ids)] if ids else []


GAP_MAX = 20_000
"""Characters between two ranges that are read as one: they cost less than unpacking the content again."""

# Ranges of several archives.
PASSAGES = f"""
SELECT a.id, p.start, a.tool_name, substr(t.content, p.start + 1, p.length) AS text
  FROM unnest($2::uuid[], $3::int[], $4::int[]) AS p (id, start, length), {JOINED}
 WHERE a.tenant_id = $1 AND a.id = p.id AND {ALIVE}
"""


# Archives of a conversation ($2) with their parts, and in full those that weigh no more than $4 tokens, unless a long
# file is in them; NUL stands as U+FFFD.
FRESH = f"""
SELECT a.id, CASE WHEN t.tokens <= $4 AND t.length <= 1000000 + 8 * t.tokens THEN t.content END AS content, t.tokens,
       a.parts
  FROM {JOINED}
 WHERE a.tenant_id = $1 AND a.conversation_id = $2 AND a.id = ANY ($3::uuid[]) AND {ALIVE}
"""


async def fresh(tx: ReadTx, conversation_id: str, uuids: Sequence[UUID], tokens_max: int) -> list[FreshResult]:
    """Return those of the given archives that have at most ``tokens_max`` tokens, in full."""
    rows = await tx.fetch(FRESH, conversation_id, uuids, tokens_max)
    return [FreshResult(row["id"], row["content"], row["tokens"], read_parts(row["parts"])) for row in rows]


async def passages(tx: ReadTx, places: Sequence[tuple[UUID, int, int]]) -> dict[tuple[UUID, int], tuple[str, str]]:
    """Return the passages at ``places`` (archive, start, length) as tool name and text, by archive and start."""
    if not places:
        return {}
    ranges = joined_ranges(places)
    columns = [list(column) for column in zip(*ranges, strict=True)]
    read = {(row["id"], row["start"]): row for row in await tx.fetch(PASSAGES, *columns)}
    found: dict[tuple[UUID, int], tuple[str, str]] = {}
    for (uuid, first, _), inside in ranges.items():
        if (row := read.get((uuid, first))) is not None:
            text, name = row["text"], row["tool_name"]
            found |= {(uuid, at): (name, marked(text[at - first : at - first + length])) for at, length in inside}
    return found


def joined_ranges(places: Sequence[tuple[UUID, int, int]]) -> dict[tuple[UUID, int, int], list[tuple[int, int]]]:
    """Join ranges of an archive that are close together. Each joined range has the starts and lengths inside it.

    PostgreSQL decompresses a content up to a range's end for every range it returns, so reading the passages of a long
    content one by one would cost the square of its length.
    """
    joined: dict[tuple[UUID, int, int], list[tuple[int, int]]] = {}
    for uuid, group in groupby(sorted(places), key=itemgetter(0)):
        inside, end = list[tuple[int, int]](), 0
        for _, start, length in group:
            if inside and start > end + GAP_MAX:
                joined[uuid, inside[0][0], end - inside[0][0]] = inside
                inside, end = [], 0
            inside.append((start, length))
            end = max(end, start + length)
        joined[uuid, inside[0][0], end - inside[0][0]] = inside
    return joined


# An archive with its place, for indexing it.
WHOLE = """
SELECT a.scope, a.conversation_id, c.uid, a.seq, m.page, a.created_at, m.said_at, a.digest
  FROM archives a
  LEFT JOIN conversations c ON c.tenant_id = a.tenant_id AND c.id = a.conversation_id
  LEFT JOIN messages m ON m.tenant_id = a.tenant_id AND m.conversation_id = a.conversation_id AND m.seq = a.seq
 WHERE a.tenant_id = $1 AND a.id = $2
"""
CONTENT = "SELECT content FROM archive_contents WHERE tenant_id = $1 AND scope = $2 AND digest = $3"


async def whole(tx: ReadTx, uuid: UUID, *, locked: bool) -> IndexedText | None:
    row = await tx.fetchrow(f"{WHOLE} FOR UPDATE OF a" if locked else WHOLE, uuid)
    return IndexedText(Scope.read(row[0]), *row[1:]) if row is not None else None


async def content(tx: ReadTx, scope: Scope, digest: bytes) -> str:
    """Return the texts of archives, with U+FFFD in place of NUL."""
    return str(await tx.fetchval(CONTENT, scope.text, digest))


@dataclass(frozen=True, slots=True)
class ArchiveFilter:
    """The archives of a list; None: any."""

    conversation_id: str | None = None
    user_id: str | None = None
    tool_name: str | None = None
    since: datetime | None = None
    until: datetime | None = None


async def browse(tx: ReadTx, where: ArchiveFilter, *, after: UUID | None = None, limit: int) -> list[StoredArchive]:
    """List archives, newest first, without their content."""
    rows = await tx.fetch(
        LIST, conversation=where.conversation_id, user=where.user_id, tool=where.tool_name, since=where.since,
        until=where.until, after=after, limit=limit,
    )  # fmt: skip
    return [StoredArchive.from_row(row) for row in rows]


# Lock an existing content, so that a transaction that erases its last other archive cannot delete it meanwhile.
INSERT_CONTENT = """
INSERT INTO archive_contents AS t (tenant_id, scope, digest, content, nul_offsets, length, tokens)
VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (tenant_id, scope, digest) DO UPDATE SET length = t.length
"""


async def insert(tx: Tx, new: NewArchive, created_at: datetime) -> None:
    """Insert an archive, and its content unless the scope has it already.

    ``created_at`` is the time in its placeholder, so that an import makes the same placeholder.
    """
    tx.changes.stored.append((Scope.read(new.scope).user_id, [new.content]))
    await tx.execute(INSERT_CONTENT, new.scope, new.digest, new.content, new.nul_offsets, new.length, new.tokens)
    values = {name: getattr(new, name) for name in INSERT.names if name != "created_at"}
    await tx.execute(INSERT, **values, created_at=created_at)


async def showing(tx: ReadTx, of: ArchiveSpot) -> list[ShowingMessage]:
    """Return the messages that show an archive, ordered by conversation."""
    owner = None if of.scope.space_id else of.scope.owner  # who has left a space keeps what was loaded
    rows = await tx.fetch(SHOWING, id=str(of.id), conversation=of.conversation_id, seq=of.seq, owner=owner)
    return [ShowingMessage(*row) for row in rows]


FORGET_MOMENT = """
DELETE FROM memories WHERE tenant_id = $1 AND conversation_id = $2 AND seq = $3 AND type = 'episode' RETURNING id
"""


async def replace_shown(tx: Tx, message: ShowingMessage, uuid: UUID, replacement: str, tokens: int) -> str | None:
    """Put ``replacement`` wherever a message shows the archive, and delete the message's search entries. Return its new
    view; None if it had no search entries.
    """
    place = (message.conversation_id, message.seq)
    seen = message.view or message.body
    shown = [(m["tool_call_id"], _shows(m["content"], uuid)) for m in json.loads(f"[{seen}]") if m["role"] == "tool"]
    body = dumps(_without_results(json.loads(message.body), shown, uuid, replacement))
    view, short, anthropic = (
        None if text is None else dumps(without_archive(json.loads(f"[{text}]"), str(uuid), replacement))[1:-1]
        for text in (seen, message.short, message.anthropic)
    )
    await tx.execute(
        REPLACE, conversation=place[0], seq=place[1], body=body, view=view, short=short, anthropic=anthropic,
        line=replacement, line_tokens=tokens, archive=uuid,
    )  # fmt: skip
    return view if await tx.fetch(FORGET_MOMENT, *place) else None


def _shows(value: Any, uuid: UUID) -> bool:
    return isinstance(value, str) and str(uuid) in value


def _without_results(
    body: dict[str, Any], shown: Sequence[tuple[str, bool]], uuid: UUID, replacement: str
) -> dict[str, Any]:
    """Return a message as sent, without the results that show the archive. ``shown``: for each result in its view its
    call, and whether it shows the archive. A view lacks results that answer no call; otherwise the order is the same.

    A result that was archived becomes a reference; a text that was loaded says that it is gone.
    """
    blocks = [body] if body["role"] == "tool" else body["content"]
    at = [place for place, block in enumerate(blocks) if body["role"] == "tool" or block["type"] == "tool_result"]
    named = {call for call, shows in shown if shows}
    ids = (blocks[place].get("tool_use_id") or blocks[place].get("tool_call_id") for place in at)
    gone = [shows for _, shows in shown] if len(shown) == len(at) else [id_ in named for id_ in ids]
    for place in (place for place, is_gone in zip(at, gone, strict=True) if is_gone):
        if not _shows(blocks[place].get("content"), uuid):
            blocks[place] = {**blocks[place], "content": {"archive": str(uuid)}}
    kept = without_archive(blocks, str(uuid), replacement)
    return kept[0] if body["role"] == "tool" else {**body, "content": kept}


DELETE = "DELETE FROM archives WHERE tenant_id = $1 AND id = $2 RETURNING digest"
DELETE_PASSAGES = "DELETE FROM memories WHERE tenant_id = $1 AND archive_id = $2"
# Waits for a transaction that makes another archive of the content, and blocks further ones.
LOCK_CONTENT = """
SELECT 1 FROM archive_contents WHERE tenant_id = $1 AND scope = $2 AND digest = $3 FOR UPDATE
"""
# The same for several archives, in the order of app.store.locks.
LOCK_CONTENTS = """
SELECT 1 FROM archive_contents t
  JOIN (SELECT DISTINCT scope, digest FROM archives WHERE tenant_id = $1 AND id = ANY ($2::uuid[])) d
    ON t.scope = d.scope AND t.digest = d.digest
 WHERE t.tenant_id = $1 ORDER BY t.scope, t.digest FOR UPDATE OF t
"""
# The content goes when no other archive has it.
DELETE_CONTENT = """
DELETE FROM archive_contents t
 WHERE t.tenant_id = $1 AND t.scope = $2 AND t.digest = $3
   AND NOT EXISTS (SELECT FROM archives a WHERE a.tenant_id = $1 AND a.scope = $2 AND a.digest = $3)
"""


async def lock_contents(tx: Tx, archives: Sequence[UUID]) -> None:
    """Lock the contents of archives before deleting several of them in one transaction."""
    await tx.execute(LOCK_CONTENTS, archives)


async def delete(tx: Tx, uuid: UUID, scope: Scope) -> dict[str, int]:
    passages = await tx.execute(DELETE_PASSAGES, uuid)
    row = await tx.fetchrow(DELETE, uuid)
    contents = 0
    if row is not None:
        await tx.execute(LOCK_CONTENT, scope.text, row["digest"])
        contents = await tx.execute(DELETE_CONTENT, scope.text, row["digest"])
    return {"memories": passages, "archive_contents": contents}


EXPIRED = f"""
SELECT {SPOT} FROM archives a
 WHERE a.tenant_id = $1 AND a.expires_at <= now() ORDER BY a.expires_at LIMIT 100
"""


async def expired(tx: ReadTx) -> list[ArchiveSpot]:
    return [ArchiveSpot.from_row(row) for row in await tx.fetch(EXPIRED)]
