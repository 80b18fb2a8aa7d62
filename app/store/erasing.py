"""Erase messages with everything that depends on them or repeats them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.core.history.erasure import CALL_NAME
from app.core.history.erasure_plan import Marked, MarkLine, Place, StoredMessage, Unasked
from app.core.history.rows import ArchiveSpot
from app.core.scope import Scope
from app.postgres.transactions import ReadTx, Tx
from app.queue.enqueue import EMBED, PASSAGES, SEARCH_INDEX
from app.store import served
from app.store.archives import SPOT
from app.store.memory import kept
from app.store.memory.kept import GONE, Gone

_MESSAGES = """
SELECT m.conversation_id, m.seq, m.id, m.page, m.kind, m.body, m.view, m.short, m.anthropic, m.archive_ids,
       m.loaded IS NOT NULL AS is_loaded, coalesce(c.language, 'en') AS language
  FROM messages m JOIN conversations c ON c.tenant_id = m.tenant_id AND c.id = m.conversation_id
 WHERE m.tenant_id = $1 AND m.conversation_id = $2 AND """
# The messages that are named by their seqs.
ROWS = f"{_MESSAGES} m.seq = ANY ($3::int[]) ORDER BY m.seq"
# The results that answer calls, which are in order.
RESULTS = f"{_MESSAGES} m.kind = 'result' AND m.call_group = ANY ($3::int[]) AND m.seq > ($3::int[])[1] ORDER BY m.seq"


async def stored(tx: ReadTx, conversation_id: str, seqs: Sequence[int]) -> list[StoredMessage]:
    return [StoredMessage(**row) for row in await tx.fetch(ROWS, conversation_id, seqs)]


async def results(tx: ReadTx, conversation_id: str, calls: Sequence[int]) -> list[StoredMessage]:
    rows = await tx.fetch(RESULTS, conversation_id, calls) if calls else []
    return [StoredMessage(**row) for row in rows]


SEQ_OF = "SELECT seq FROM messages WHERE tenant_id = $1 AND conversation_id = $2 AND id = $3"


async def seq_of(tx: ReadTx, conversation_id: str, message: UUID) -> int | None:
    seq: int | None = await tx.fetchval(SEQ_OF, conversation_id, message)
    return seq


SEQS_BEFORE = """
SELECT seq FROM messages
 WHERE tenant_id = $1 AND conversation_id = $2 AND seq BETWEEN $3 AND $4 AND created_at <= $5 ORDER BY seq
"""


async def seqs_before(tx: ReadTx, conversation_id: str, seqs: tuple[int, int], at: datetime) -> list[int]:
    """Return the messages of a range that existed at a time."""
    return [row["seq"] for row in await tx.fetch(SEQS_BEFORE, conversation_id, *seqs, at)]


STILL_THERE = "SELECT id FROM archives WHERE tenant_id = $1 AND id = ANY ($2::uuid[])"


async def still_there(tx: ReadTx, ids: Sequence[UUID]) -> set[UUID]:
    return {row["id"] for row in await tx.fetch(STILL_THERE, ids)}


# An archive, and what stands for it in its message, without what its call said.
UNASK_ARCHIVE = """
UPDATE archives SET tool_name = $3, tool_input = '{}', query_summary = '', placeholder = $4
 WHERE tenant_id = $1 AND id = $2
"""
UNASK = """
UPDATE messages SET body = $4, view = $5, short = $6, anthropic = $7, line = $8, line_tokens = $9, words = '',
       salt = DEFAULT
 WHERE tenant_id = $1 AND conversation_id = $2 AND seq = $3
"""


async def unask(tx: Tx, result: Unasked) -> None:
    for archive, placeholder in result.placeholders.items():
        await tx.execute(UNASK_ARCHIVE, archive, CALL_NAME, placeholder)
    await tx.execute(UNASK, *result.place, *result.texts, *(result.line.text, result.line.tokens))


# The archives that messages were put in, also those that have expired.
ARCHIVES = f"""
SELECT {SPOT} FROM archives a
 WHERE a.tenant_id = $1 AND a.conversation_id = $2 AND a.seq = ANY ($3::int[]) ORDER BY a.id
"""


async def archives_of(tx: ReadTx, conversation_id: str, seqs: Sequence[int]) -> list[ArchiveSpot]:
    return [ArchiveSpot.from_row(row) for row in await tx.fetch(ARCHIVES, conversation_id, seqs)]


# A message's forms, its line and its time. Its offsets stay, since others build on them, and its weights never shrink.
REPLACE = """
UPDATE messages
   SET body = $4, view = $5, short = NULL, anthropic = $6, loaded = NULL, loaded_tokens = 0, salt = DEFAULT,
       line = $7, line_tokens = $8, words = '', archive_ids = '{}', fresh_tokens = '{}', marks = '{}', said_at = NULL,
       full_tokens = CASE WHEN full_tokens < $9 THEN $9 ELSE full_tokens END,
       short_tokens = CASE WHEN short_tokens < $9 THEN $9 ELSE short_tokens END
 WHERE tenant_id = $1 AND conversation_id = $2 AND seq = $3
"""


async def put_mark(tx: Tx, message: Marked) -> None:
    forms, line = message.forms, message.line
    await tx.execute(
        REPLACE, *message.place, forms.body, forms.view, forms.anthropic, line.text, line.tokens, message.tokens
    )


# What search knows of messages, and what a model made of their pages or proposed there; their passages and vectors go
# with them.
FORGET = f"""
DELETE FROM memories
 WHERE tenant_id = $1 AND conversation_id = $2
   AND (seq = ANY ($3::int[]) OR (page = ANY ($4::int[]) AND (
     source = 'llm' OR source = 'tool' AND status = 'proposed' AND seq IS NULL)))
RETURNING {GONE}
"""
# Vectors of the following message and of answers were made from the erased text too, and are made again.
UNEMBED = """
WITH old AS (
  DELETE FROM embeddings e USING memories m
   WHERE m.tenant_id = $1 AND m.conversation_id = $2 AND m.seq = ANY ($3::int[])
     AND e.tenant_id = $1 AND e.memory_id = m.id
  RETURNING e.owner, e.memory_id
)
INSERT INTO unembedded (tenant_id, owner, memory_id) SELECT $1, owner, memory_id FROM old ON CONFLICT DO NOTHING
"""
DROP_INDEX = "DELETE FROM page_index WHERE tenant_id = $1 AND conversation_id = $2 AND page = ANY ($3::int[])"
DROP_CHAPTER_NAMES = """
DELETE FROM chapter_names c USING unnest($3::int[]) AS gone (page)
 WHERE tenant_id = $1 AND conversation_id = $2 AND gone.page BETWEEN c.first_page AND c.last_page
"""
DROP_SUMMARIES = "DELETE FROM summaries WHERE tenant_id = $1 AND conversation_id = $2 AND through_seq >= $3"
DROP_PASSAGES = f"""
DELETE FROM work WHERE tenant_id = $1 AND kind = '{PASSAGES.name}'
   AND conversation_id = $2 AND subject = ANY ($3::text[])
"""
RENAME = """
UPDATE pages SET title = $5, title_tokens = $6
 WHERE tenant_id = $1 AND conversation_id = $2 AND page = ANY ($3::int[]) AND title = ANY ($4::text[])
"""
# How far the index and the summary reach after that; the title, if it was that of a message.
SETTLE = """
UPDATE conversations
   SET indexed_through = CASE WHEN indexed_through >= $3 THEN $3 - 1 ELSE indexed_through END,
       summary_through = coalesce((SELECT max(through_seq) FROM summaries
                                    WHERE tenant_id = $1 AND conversation_id = $2), 0),
       title = CASE WHEN title = ANY ($4::text[]) THEN $5 ELSE title END,
       prompt_tokens = prompt_tokens + $6, open_calls = $7
 WHERE tenant_id = $1 AND id = $2
"""


@dataclass(frozen=True, slots=True)
class Derived:
    """The derived data to erase with messages and pages of a conversation."""

    conversation_id: str
    uid: UUID
    seqs: Sequence[int]
    """Messages that are erased."""
    pages: Sequence[int]
    near: Sequence[int]
    """Messages whose vectors go too."""
    titles: Sequence[str] = ()
    """Those that the messages gave."""
    is_erased: bool = True
    """False: the messages stay in the history, and in the windows that showed them."""


async def drop_derived(tx: Tx, of: Derived) -> dict[str, int]:
    """Delete everything derived from messages and their pages. Return rows by table."""
    conversation_id, seqs, pages, near = of.conversation_id, of.seqs, of.pages, of.near
    memories = [Gone(*row) for row in await tx.fetch(FORGET, conversation_id, seqs, pages)]
    await kept.settle(tx, memories)
    gone = {"memories": len(memories)}
    if of.is_erased:
        texts = await served.forget_since(tx, conversation_id, min(seqs or near))
        if texts := texts + await served.forget_memories(tx, [one.id for one in memories]):
            gone["served_texts"] = texts
    await tx.execute(UNEMBED, conversation_id, near)
    gone["page_index"] = await tx.execute(DROP_INDEX, conversation_id, pages)
    gone["chapter_names"] = await tx.execute(DROP_CHAPTER_NAMES, conversation_id, pages)
    gone["summaries"] = await tx.execute(DROP_SUMMARIES, conversation_id, min(seqs or near))
    await tx.execute(DROP_PASSAGES, conversation_id, [f"{of.uid}:{seq}" for seq in seqs])
    return gone


# The first page begins with a prompt and is titled after what the user says first.
TITLES = """
SELECT title FROM pages WHERE tenant_id = $1 AND conversation_id = $2
   AND (first_seq = ANY ($3::int[]) OR page = 1 AND (
          SELECT seq FROM messages WHERE tenant_id = $1 AND conversation_id = $2 AND role = 'user'
           ORDER BY seq LIMIT 1) = ANY ($3::int[]))
"""


async def titles(tx: ReadTx, conversation_id: str, seqs: Sequence[int]) -> list[str]:
    """Return the titles that messages gave their pages and their conversation."""
    return [row["title"] for row in await tx.fetch(TITLES, conversation_id, seqs)]


async def settle(tx: Tx, of: Derived, mark: MarkLine, *, prompt_tokens: int, open_calls: str) -> None:
    """Replace titles taken from the messages by ``mark``, and move the bounds of derived data."""
    await tx.execute(RENAME, of.conversation_id, of.pages, of.titles, mark.text, mark.tokens)
    await tx.execute(SETTLE, of.conversation_id, of.pages[0], of.titles, mark.text, prompt_tokens, open_calls)


# --- Repetitions --------------------------------------------------------------------------------------

# A batch of what recall tools loaded into conversations that read a scope ($2, null: any).
LOADED = """
SELECT m.conversation_id, m.seq, m.loaded FROM messages m
  JOIN conversations c ON c.tenant_id = m.tenant_id AND c.id = m.conversation_id
 WHERE m.tenant_id = $1 AND m.loaded IS NOT NULL AND ($2::uuid IS NULL OR $2 = ANY (c.scopes))
   AND (m.conversation_id, m.seq) > ($3, $4::int)
 ORDER BY m.conversation_id, m.seq LIMIT $5
"""


async def loaded(tx: ReadTx, scope: Scope | UUID, after: tuple[str, int], limit: int) -> dict[Place, str]:
    """Return the next loaded messages, in order of conversation and seq.

    For a space, search all scopes, because a former member keeps what was loaded before.
    """
    owner = scope if isinstance(scope, UUID) else None if scope.space_id else scope.owner
    rows = await tx.fetch(LOADED, owner, *after, limit)
    return {(row["conversation_id"], row["seq"]): row["loaded"] for row in rows}


# A stretch of a conversation's messages, as sent, with the contents of their archives.
TEXTS = """
SELECT m.seq, m.kind, m.body, m.view, ARRAY(
         SELECT t.content FROM archives a
           JOIN archive_contents t ON t.tenant_id = a.tenant_id AND t.scope = a.scope AND t.digest = a.digest
          WHERE a.tenant_id = $1 AND a.conversation_id = $2 AND a.seq = m.seq) AS archived
  FROM messages m
 WHERE m.tenant_id = $1 AND m.conversation_id = $2 AND m.seq > $3 ORDER BY m.seq LIMIT $4
"""


@dataclass(frozen=True, slots=True)
class WholeText:
    """A message as sent, with the contents of its archives."""

    seq: int
    kind: str
    body: str
    view: str | None
    archived: Sequence[str]


async def texts(tx: ReadTx, conversation_id: str, after: int, limit: int) -> list[WholeText]:
    return [WholeText(*row) for row in await tx.fetch(TEXTS, conversation_id, after, limit)]


# --- A user -------------------------------------------------------------------------------------------

# A conversation of a user or a space that was there at a time.
_CONVERSATION_OF = """
SELECT id FROM conversations WHERE tenant_id = $1 AND {of} = $2 AND created_at <= $3 LIMIT 1
"""
CONVERSATION_OF, CONVERSATION_OF_SPACE = (_CONVERSATION_OF.format(of=of) for of in ("user_id", "space_id"))
ARCHIVES_OF = "SELECT id FROM archives WHERE tenant_id = $1 AND scope = $2 ORDER BY id LIMIT $3"
FORGET_OWNED = """
DELETE FROM memories WHERE tenant_id = $1 AND id IN (
  SELECT id FROM memories WHERE tenant_id = $1 AND owner = $2 LIMIT $3)
RETURNING id
"""
DROP_EMBEDDING = f"""
DELETE FROM work WHERE tenant_id = $1 AND kind IN ('{EMBED.name}', '{SEARCH_INDEX.name}') AND subject = $2
"""


async def conversation_of(tx: ReadTx, scope: Scope, since: datetime) -> str | None:
    name: str | None = await tx.fetchval(
        CONVERSATION_OF if scope.space_id is None else CONVERSATION_OF_SPACE, scope.id, since
    )
    return name


async def archives_in(tx: ReadTx, scope: Scope, limit: int) -> list[UUID]:
    return [row["id"] for row in await tx.fetch(ARCHIVES_OF, scope.text, limit)]


async def forget_owned(tx: Tx, owner: UUID, limit: int) -> list[UUID]:
    """Delete some memories of an owner and return their ids. If none was left, delete their embedding job."""
    gone = [row["id"] for row in await tx.fetch(FORGET_OWNED, owner, limit)]
    if not gone:
        await tx.execute(DROP_EMBEDDING, str(owner))
    return gone
