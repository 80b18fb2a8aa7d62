"""Branches: their rows, a conversation's state at a message, and the tree."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.core.canonical import dumps
from app.core.history.fork import Forked
from app.core.line import Line, line_text
from app.core.model import Kind
from app.postgres.statements import SqlFile
from app.postgres.transactions import ReadTx, Tx
from app.store import conversations
from app.store.conversations import calls_text

# A message with what follows it, and what was known of the conversation when it was the newest.
PLACE = """
SELECT m.page, m.user_seq, m.call_group, m.kind, m.full_before + m.full_tokens AS full_total,
       m.short_before + m.short_tokens AS short_total, m.chain, m.said_at, m.said_offset,
       n.created_at, n.history_before AS history_total
  FROM messages m
  LEFT JOIN LATERAL (SELECT created_at, history_before FROM messages
                      WHERE tenant_id = $1 AND conversation_id = $2 AND seq > $3 ORDER BY seq LIMIT 1) n ON true
 WHERE m.tenant_id = $1 AND m.conversation_id = $2 AND m.seq = $3
"""
SEQ_OF = "SELECT seq FROM messages WHERE tenant_id = $1 AND conversation_id = $2 AND (id = $3 OR client_id = $4)"
# What windows show of a call group's messages up to one.
GROUP = """
SELECT coalesce(view, body) AS shown FROM messages
 WHERE tenant_id = $1 AND conversation_id = $2 AND seq >= $3 AND seq <= $4 AND kind IN ('call', 'result') ORDER BY seq
"""
FIRST_ANSWER = """
SELECT chain FROM messages
 WHERE tenant_id = $1 AND conversation_id = $2 AND seq <= $3 AND role = 'assistant' ORDER BY seq LIMIT 1
"""
# How far chapters and the summary had come.
CHAPTERED = """
SELECT last_page FROM chapters
 WHERE tenant_id = $1 AND conversation_id = $2 AND level = 1 AND first_page < $3 AND at_page <= $3
 ORDER BY first_page DESC LIMIT 1
"""
SUMMARISED = """
SELECT through_seq FROM summaries
 WHERE tenant_id = $1 AND conversation_id = $2 AND through_seq <= $3 AND created_at <= $4 ORDER BY version DESC LIMIT 1
"""
# The titles of the pages that can give a conversation its title.
TITLES = """
SELECT page, title FROM pages WHERE tenant_id = $1 AND conversation_id = $2 AND page <= 20 ORDER BY page
"""
# Pages in a range that a line has no index of.
UNINDEXED = """
SELECT p.page FROM pages p
 WHERE p.tenant_id = $1 AND p.conversation_id = $2 AND p.page >= $3 AND p.page < $4
   AND NOT EXISTS (SELECT FROM page_index i WHERE i.tenant_id = $1 AND i.conversation_id = $2 AND i.page = p.page)
 ORDER BY p.page
"""


@dataclass(frozen=True, slots=True)
class BranchPoint:
    """A message after which a branch can begin, and the conversation's state when it was the newest."""

    page: int
    user_seq: int
    call_group: int
    kind: Kind
    full_total: int
    short_total: int
    chain: bytes | None
    said_at: datetime | None
    said_offset: int
    created_at: datetime | None
    """When what follows it came; None at the end."""
    history_total: int | None


async def place(tx: ReadTx, line: str, seq: int) -> BranchPoint | None:
    row = await tx.fetchrow(PLACE, line, seq)
    return BranchPoint(*row) if row is not None else None


async def seq_of(tx: ReadTx, line: str, message: UUID | None, client_id: str) -> int | None:
    seq: int | None = await tx.fetchval(SEQ_OF, line, message, client_id)
    return seq


async def group(tx: ReadTx, line: str, first: int, last: int) -> list[str]:
    return [row["shown"] for row in await tx.fetch(GROUP, line, first, last)]


async def first_answer(tx: ReadTx, line: str, through: int) -> bytes | None:
    chain: bytes | None = await tx.fetchval(FIRST_ANSWER, line, through)
    return chain


async def chaptered(tx: ReadTx, line: str, page: int) -> int:
    return int(await tx.fetchval(CHAPTERED, line, page) or 0)


async def summarised(tx: ReadTx, line: str, seq: int, at: datetime) -> int:
    return int(await tx.fetchval(SUMMARISED, line, seq, at) or 0)


async def is_titled_later(tx: ReadTx, line: str, page: int, title: str) -> bool:
    """Return whether a conversation got its title from a page after some page."""
    pages = [row["page"] for row in await tx.fetch(TITLES, line) if row["title"] == title]
    return bool(pages) and pages[0] > page


async def unindexed(tx: ReadTx, line: str, first: int, end: int) -> list[int]:
    return [row["page"] for row in await tx.fetch(UNINDEXED, line, first, end)]


_SQL = SqlFile(__file__)
INSERT = _SQL.statement("insert")
MARK = "UPDATE conversations SET is_forked = true WHERE tenant_id = $1 AND id = ANY ($2::text[]) AND NOT is_forked"


async def insert(tx: Tx, of: str, fork: Forked) -> bool:
    """Insert a branch. Return False if its id is taken."""
    after = fork.branch
    end, totals = after.end, after.totals
    made = await tx.fetchrow(
        INSERT, of=str(of), id=str(after.id), uid=after.uid, title=after.title, parent_id=fork.stretches[-1].id,
        line=line_text(fork.stretches), trunk=fork.stretches[0].id, scopes=after.scopes, last_seq=end.last_seq,
        last_page=end.last_page, user_seq=end.user_seq, prompt_through=end.prompt_through, open_group=end.group,
        open_calls=calls_text(end), full_total=totals.full, short_total=totals.short, history_total=totals.history,
        language=after.language, indexed_through=after.indexed_through,
        chaptered_through=after.chaptered_through, summary_through=after.summary_through, chain=after.chain,
        answered=after.answered, said_at=after.said_at, said_offset=fork.said_offset, asked=after.asked,
        asked_from=after.asked_from, parent=after.parent, is_apart=after.is_apart,
        file_weights=dumps(after.file_weights),
    )  # fmt: skip
    if made is not None:
        await conversations.tell(tx, after.id)
        names = [one.id for one in fork.stretches]
        tx.changes.conversations.update(names)
        await tx.execute(MARK, names)
    return made is not None


# The branches of a tree, the last active first, after a cursor's (time, uid).
LIST = """
SELECT id, line, is_forked, uid, parent_id, title, last_seq, last_page, created_at, updated_at FROM conversations
 WHERE tenant_id = $1 AND trunk = $2 AND ($3::timestamptz IS NULL OR (updated_at, uid) < ($3, $4::uuid))
 ORDER BY updated_at DESC, uid DESC LIMIT $5
"""
FAMILY = "SELECT id, uid FROM conversations WHERE tenant_id = $1 AND (id = $2 OR trunk = $2)"
# All that branch off from some conversations, and from these, those with most ancestors first.
DESCENDANTS = """
WITH RECURSIVE d AS (
  SELECT id, 1 AS depth FROM conversations WHERE tenant_id = $1 AND parent_id = ANY ($2::text[])
  UNION ALL
  SELECT c.id, d.depth + 1 FROM d JOIN conversations c ON c.tenant_id = $1 AND c.parent_id = d.id
)
SELECT id FROM d GROUP BY id ORDER BY max(depth) DESC, id
"""
# The conversations of a tree that end with one of a list's prefixes, or whose last question is the whole list.
CONTINUED = """
SELECT id, chain, asked FROM conversations
 WHERE tenant_id = $1 AND (id = $2 OR trunk = $2) AND (chain = ANY ($3::bytea[]) OR asked = $4)
 ORDER BY updated_at DESC LIMIT 20
"""
# The conversations of a tree that begin as a list does.
BEGUN = """
SELECT c.id FROM conversations c
  JOIN messages m ON m.tenant_id = $1 AND m.conversation_id = c.id AND m.seq = c.prompt_through + 1 AND m.chain = $3
 WHERE c.tenant_id = $1 AND (c.id = $2 OR c.trunk = $2) ORDER BY c.updated_at DESC LIMIT 1
"""
# An id shows a branch, and its trunk's does if it showed the same.
SHOW = """
UPDATE conversations c SET shown = $4, version = c.version + 1
  FROM conversations n
 WHERE n.tenant_id = $1 AND n.id = $2 AND c.tenant_id = $1
   AND (c.id = n.id OR (c.id = $3 AND c.shown = coalesce(n.shown, n.id)))
"""
UNSHOW = """
UPDATE conversations SET shown = NULL, version = version + 1
 WHERE tenant_id = $1 AND (id = $2 OR trunk = $2) AND shown = $3
"""


@dataclass(frozen=True, slots=True)
class ListedBranch:
    line: Line
    uid: UUID
    parent_id: str | None
    title: str | None
    last_seq: int
    last_page: int
    created_at: datetime
    updated_at: datetime


async def browse(tx: ReadTx, root: str, after: tuple[object, UUID] | None, limit: int) -> list[ListedBranch]:
    when, uid = after or (None, None)
    rows = await tx.fetch(LIST, str(root), when, uid, limit)
    return [ListedBranch(conversations.line_of(row), *row[3:]) for row in rows]


async def family(tx: ReadTx, root: str) -> dict[str, UUID]:
    """Return every conversation of a tree by its id."""
    return {row["id"]: row["uid"] for row in await tx.fetch(FAMILY, str(root))}


async def descendants(tx: ReadTx, names: Collection[str]) -> list[str]:
    """Return the branches of some conversations, and theirs: each branch after its own branches."""
    return [row["id"] for row in await tx.fetch(DESCENDANTS, list(map(str, names)))]


async def continued(tx: ReadTx, root: str, chains: Sequence[bytes], after: int) -> str | None:
    """Return the conversation of a tree that shares the longest beginning with a list, longer than ``after`` messages.
    ``chains``: before the list's first message and after each.
    """
    place = {chain: index for index, chain in enumerate(chains)}
    rows = await tx.fetch(CONTINUED, str(root), chains[after + 1 :], chains[-1])
    if not rows and not after:
        name: str | None = await tx.fetchval(BEGUN, str(root), chains[1])
        return name
    reached = [(place.get(row["chain"], -1), row["asked"] == chains[-1], -i) for i, row in enumerate(rows)]
    return str(rows[-max(reached)[2]]["id"]) if reached else None


async def show(tx: Tx, named: str, root: str, branch: str) -> None:
    """Let an id of a tree show a branch, or itself again. The trunk's id follows if it showed the same."""
    tx.changes.conversations |= {str(named), str(root)}
    await tx.execute(SHOW, str(named), str(root), branch)


async def unshow(tx: Tx, root: str, branch: str) -> None:
    """Let no id of a tree show a branch any more: each shows itself again."""
    tx.changes.conversations.add(str(root))
    await tx.execute(UNSHOW, str(root), str(branch))
