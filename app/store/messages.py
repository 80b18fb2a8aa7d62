"""Messages and pages, chains and recalls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.concurrency import run_in_thread_if_large
from app.core.history.rows import HistoryMessage, IndexedText
from app.core.history.sync import DIGEST_BYTES
from app.core.neutral import with_nul
from app.core.scope import Scope, scope_of
from app.postgres.statements import SqlFile
from app.postgres.transactions import ReadTx, Tx

# Client ids of a request that the conversation has already.
TAKEN_CLIENT_IDS = """
SELECT client_id, seq FROM messages
 WHERE tenant_id = $1 AND conversation_id = $2 AND client_id = ANY ($3::text[])
"""


async def taken_client_ids(tx: ReadTx, conversation_id: str, client_ids: Sequence[str]) -> dict[str, int]:
    rows = await tx.fetch(TAKEN_CLIENT_IDS, conversation_id, client_ids)
    return {row["client_id"]: row["seq"] for row in rows}


_SQL = SqlFile(__file__)
PAGES = _SQL.statement("pages")
SOME_PAGES = _SQL.statement("some_pages")
RECALL = _SQL.statement("recall")

# What a message loaded, not what was recalled for it.
MESSAGE_FIELDS = """m.conversation_id, m.seq, m.id, m.client_id, m.page, m.kind, m.role, m.author, m.body, m.view,
 m.full_tokens, CASE WHEN m.loaded IS NOT NULL THEN m.loaded_tokens ELSE 0 END AS loaded_tokens,
 m.line, m.archive_ids, m.created_at, m.said_at, m.said_offset"""

# Whether a model's API refused a message of a conversation ($2) for good; null is false.
_REFUSED = """m.kind = 'refused' OR m.seq >= (
  SELECT asked_from FROM conversations WHERE tenant_id = $1 AND id = $2 AND refused) AS refused"""

# A stretch of the history, oldest first or newest first.
HISTORY = f"""
SELECT {MESSAGE_FIELDS}, {_REFUSED} FROM messages m
 WHERE m.tenant_id = $1 AND m.conversation_id = $2 AND m.seq > $3 ORDER BY m.seq LIMIT $4
"""
HISTORY_BACK = f"""
SELECT {MESSAGE_FIELDS}, {_REFUSED} FROM messages m
 WHERE m.tenant_id = $1 AND m.conversation_id = $2 AND m.seq < $3 ORDER BY m.seq DESC LIMIT $4
"""


async def history(
    tx: ReadTx, conversation_id: str, after: int, limit: int, *, newest_first: bool
) -> list[HistoryMessage]:
    rows = await tx.fetch(HISTORY_BACK if newest_first else HISTORY, conversation_id, after, limit)
    return [HistoryMessage(*row) for row in rows]


# The messages of one page: those from its first on to the next page's. (Outside the subquery, coalesce would keep
# the index from being searched by it: see windows._zone.)
SHOWN = "SELECT coalesce(view, body) FROM messages WHERE tenant_id = $1 AND conversation_id = $2 AND seq = $3"


async def shown(tx: ReadTx, conversation_id: str, seq: int) -> str | None:
    found: str | None = await tx.fetchval(SHOWN, conversation_id, seq)
    return found


PAGE_MESSAGES = f"""
SELECT {MESSAGE_FIELDS}, {_REFUSED} FROM messages m
 WHERE m.tenant_id = $1 AND m.conversation_id = $2
   AND m.seq >= (SELECT first_seq FROM pages
                  WHERE tenant_id = $1 AND conversation_id = $2 AND page = $3)
   AND m.seq < (SELECT coalesce(min(first_seq), 2147483647) FROM pages
                 WHERE tenant_id = $1 AND conversation_id = $2 AND page = $3::bigint + 1)
 ORDER BY m.seq
"""


async def page_messages(tx: ReadTx, conversation_id: str, page: int) -> list[HistoryMessage]:
    """Return the messages of a page in order; none if the page does not exist."""
    return [HistoryMessage(*row) for row in await tx.fetch(PAGE_MESSAGES, conversation_id, page)]


# The chains after some messages.
CHAINS = """
SELECT seq, chain FROM messages WHERE tenant_id = $1 AND conversation_id = $2 AND seq = ANY ($3::int[])
"""
# The digests of the newest messages after one that callers know of, newest first. An empty digest: see sync.INNER.
NEWEST_DIGESTS = """
SELECT seq, role, digest, created_at FROM messages
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


async def chains(tx: ReadTx, conversation_id: str, seqs: Sequence[int]) -> dict[int, bytes | None]:
    return {row["seq"]: row["chain"] for row in await tx.fetch(CHAINS, conversation_id, seqs)}


@dataclass(frozen=True, slots=True)
class ToldMessage:
    """The facts of a stored message that are compared with callers' lists."""

    seq: int
    role: str
    digest: bytes
    """Zeros if it has none yet, which equals no digest."""
    created_at: datetime


async def newest_told(tx: ReadTx, conversation_id: str, after: int, limit: int) -> list[ToldMessage]:
    """Return the newest messages of callers' lists after ``after``, oldest first."""
    rows = await tx.fetch(NEWEST_DIGESTS, conversation_id, after, limit)
    return [
        ToldMessage(row["seq"], row["role"], row["digest"] or bytes(DIGEST_BYTES), row["created_at"])
        for row in reversed(rows)
    ]


async def last_told(tx: ReadTx, conversation_id: str, through: int) -> int:
    """Return the seq of the last message of callers' lists; 0 if there is none."""
    return int(await tx.fetchval(LAST_TOLD, conversation_id, through) or 0)


async def prompt_digests(tx: ReadTx, conversation_id: str, through: int) -> list[bytes]:
    rows = await tx.fetch(PROMPT_DIGESTS, conversation_id, through)
    return [row["digest"] or bytes(DIGEST_BYTES) for row in rows]


# A message with its place, for indexing it.
WHOLE = f"""
SELECT c.uid, c.user_id, c.space_id, c.is_apart, coalesce(c.trunk, c.id) AS trunk, {MESSAGE_FIELDS}
  FROM messages m JOIN conversations c ON c.tenant_id = m.tenant_id AND c.id = m.conversation_id
 WHERE m.tenant_id = $1 AND m.conversation_id = $2 AND c.uid = $3 AND m.seq = $4
"""


async def whole(tx: ReadTx, conversation_id: str, uid: UUID, seq: int, *, locked: bool) -> IndexedText | None:
    sql = f"{WHOLE} FOR UPDATE OF m" if locked else WHOLE
    row = await tx.fetchrow(sql, conversation_id, uid, seq)
    if row is None:
        return None
    _, user_id, space_id, is_apart, trunk, *fields = row
    of = HistoryMessage(*fields)
    scope = Scope("conversation", trunk) if is_apart else scope_of(user_id, trunk, space_id)
    return IndexedText(scope, of.conversation_id, uid, of.seq, of.page, of.created_at, of.said_at, of)


# The full texts of archived results, as they were sent.
ARCHIVED_TEXTS = """
SELECT a.id, t.content, t.nul_offsets FROM archives a
  JOIN archive_contents t ON t.tenant_id = a.tenant_id AND t.scope = a.scope AND t.digest = a.digest
 WHERE a.tenant_id = $1 AND a.id = ANY ($2::uuid[])
"""


async def archived_texts(tx: ReadTx, ids: Sequence[UUID]) -> dict[UUID, str]:
    rows = await tx.fetch(ARCHIVED_TEXTS, ids)
    size = sum(len(row["nul_offsets"]) for row in rows)
    return await run_in_thread_if_large(
        size, lambda: {row["id"]: with_nul(row["content"], row["nul_offsets"]) for row in rows}
    )


@dataclass(frozen=True, slots=True)
class ListedPage:
    page: int
    title: str
    first_seq: int
    last_seq: int
    recall_count: int
    last_recalled_page: int | None
    created_at: datetime


async def pages(
    tx: ReadTx, conversation_id: str, *, some: Sequence[int] | None = None, after: int = 0, limit: int = 1000
) -> list[ListedPage]:
    """Return pages in order: those after a page, or ``some`` by number."""
    if some is not None:
        rows = await tx.fetch(SOME_PAGES, conversation=conversation_id, pages=some)
    else:
        rows = await tx.fetch(PAGES, conversation=conversation_id, after=after, limit=limit)
    return [ListedPage(*row) for row in rows]


async def count_recall(
    tx: Tx,
    conversation_id: str,
    first_page: int,
    last_page: int,
    at: datetime | None = None,
    at_page: int | None = None,
) -> bool:
    """Count a recall of pages. Return whether any of them exists. The conversation must be locked, so that counts do
    not overtake each other. ``at``, ``at_page``: time and current page of the recall; None: now.
    """
    tx.changes.conversations.add(conversation_id)
    place = {
        "conversation": conversation_id,
        "first_page": first_page,
        "last_page": last_page,
        "at": at,
        "at_page": at_page,
    }
    return bool(await tx.fetch(RECALL, **place))


# Messages by conversation and seq.
BY_PLACE = f"""
SELECT {MESSAGE_FIELDS}
  FROM unnest($2::text[], $3::int[]) AS p (conversation_id, seq)
  JOIN messages m ON m.tenant_id = $1 AND m.conversation_id = p.conversation_id AND m.seq = p.seq
"""


async def by_place(tx: ReadTx, places: Sequence[tuple[str, int]]) -> list[HistoryMessage]:
    rows = await tx.fetch(BY_PLACE, [p[0] for p in places], [p[1] for p in places]) if places else []
    return [HistoryMessage(*row) for row in rows]


LINES_THROUGH = """
SELECT CASE WHEN role = 'user' AND author NOT IN ('person', 'participant') THEN 'tool' ELSE role END AS role, line
  FROM messages
 WHERE tenant_id = $1 AND conversation_id = $2 AND seq <= $3 AND kind IN ('message', 'call', 'result')
 ORDER BY seq DESC LIMIT $4
"""


async def lines_through(tx: ReadTx, conversation_id: str, seq: int, limit: int) -> list[tuple[str, str]]:
    """Return role and line of the newest messages up to a seq, oldest first."""
    return [(row["role"], row["line"]) for row in reversed(await tx.fetch(LINES_THROUGH, conversation_id, seq, limit))]
