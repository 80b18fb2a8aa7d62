"""Erasing messages: what hangs from them, what repeats them, and the answers that were kept of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from uuid import UUID

from asyncpg import Record

from app.core.erasure import Forms
from app.core.scope import user_of
from app.postgres.database import Connection
from app.store.idempotency import UNKNOWN

# The messages that are named by their seqs.
ROWS = """
SELECT seq, id, page, kind, role, body, view, anthropic, loaded, archive_ids FROM messages
 WHERE tenant_id = $1 AND conversation_id = $2 AND seq = ANY ($3::int[]) ORDER BY seq
"""


async def rows(connection: Connection, tenant: UUID, conversation_id: str, seqs: Sequence[int]) -> Sequence[Record]:
    return await connection.fetch(ROWS, tenant, conversation_id, seqs)


SEQ_OF = "SELECT seq FROM messages WHERE tenant_id = $1 AND conversation_id = $2 AND id = $3"


async def seq_of(connection: Connection, tenant: UUID, conversation_id: str, message: UUID) -> int | None:
    """The place of a message by its id."""
    found: int | None = await connection.fetchval(SEQ_OF, tenant, conversation_id, message)
    return found


# The results that answer a call.
RESULTS = """
SELECT seq, id, page, kind, role, body, view, anthropic, loaded, archive_ids, short, line FROM messages
 WHERE tenant_id = $1 AND conversation_id = $2 AND seq > $3 AND call_group = $3 AND kind = 'result' ORDER BY seq
"""


async def results(connection: Connection, tenant: UUID, conversation_id: str, call: int) -> Sequence[Record]:
    return await connection.fetch(RESULTS, tenant, conversation_id, call)


# An archive, and what stands for it in its message, without what its call said.
UNASK_ARCHIVE = """
UPDATE archives SET tool_name = $3, tool_input = '{}', query_summary = '', placeholder = $4
 WHERE tenant_id = $1 AND id = $2
"""
UNASK = """
UPDATE messages SET body = $4, view = $5, short = $6, anthropic = $7, line = $8, line_tokens = $9
 WHERE tenant_id = $1 AND conversation_id = $2 AND seq = $3
"""


async def unask_archive(connection: Connection, tenant: UUID, uuid: UUID, tool_name: str, placeholder: str) -> None:
    await connection.execute(UNASK_ARCHIVE, tenant, uuid, tool_name, placeholder)


async def unask(
    connection: Connection, tenant: UUID, place: tuple[str, int], texts: Sequence[str | None], line: tuple[str, int]
) -> None:
    """``texts`` are body, view, short and the Anthropic form."""
    await connection.execute(UNASK, tenant, *place, *texts, *line)


# The cards of archives, also of those that have expired.
CARDS = """
SELECT a.id, a.tool_name, a.result_summary, a.key_terms, a.sources, a.placeholder, a.language, a.created_at, t.length
  FROM archives a
  JOIN archive_contents t ON t.tenant_id = a.tenant_id AND t.scope = a.scope AND t.digest = a.digest
 WHERE a.tenant_id = $1 AND a.id = ANY ($2::uuid[])
"""


async def cards(connection: Connection, tenant: UUID, ids: Sequence[UUID]) -> Sequence[Record]:
    return await connection.fetch(CARDS, tenant, ids)


# The archives that messages were put in, also those that have expired.
ARCHIVES = """
SELECT id, scope, conversation_id, seq, placeholder, language FROM archives
 WHERE tenant_id = $1 AND conversation_id = $2 AND seq = ANY ($3::int[]) ORDER BY id
"""


async def archives_of(
    connection: Connection, tenant: UUID, conversation_id: str, seqs: Sequence[int]
) -> Sequence[Record]:
    return await connection.fetch(ARCHIVES, tenant, conversation_id, seqs)


# A message's forms and line. Its offsets stay, since others build on them, and its weights never shrink.
REPLACE = """
UPDATE messages
   SET body = $4, view = $5, short = NULL, anthropic = $6, loaded = NULL, loaded_tokens = 0,
       line = $7, line_tokens = $8, archive_ids = '{}',
       full_tokens = CASE WHEN full_tokens < $9 THEN $9 ELSE full_tokens END,
       short_tokens = CASE WHEN short_tokens < $9 THEN $9 ELSE short_tokens END
 WHERE tenant_id = $1 AND conversation_id = $2 AND seq = $3
"""


async def replace(
    connection: Connection,
    tenant: UUID,
    place: tuple[str, int],
    forms: Forms,
    line: tuple[str, int],
    tokens: int,
) -> None:
    """``line`` and its tokens; ``tokens`` are what the new forms weigh."""
    await connection.execute(REPLACE, tenant, *place, forms.body, forms.view, forms.anthropic, *line, tokens)


# What search knows of messages, and what a model made of their pages; their passages and vectors go with them.
FORGET = """
DELETE FROM memories
 WHERE tenant_id = $1 AND conversation_id = $2
   AND (seq = ANY ($3::int[]) OR (page = ANY ($4::int[]) AND source = 'llm'))
RETURNING id
"""
# The vectors of what was said next, or answered it, were made from it too: they are made again.
UNEMBED = """
WITH old AS (
  DELETE FROM embeddings e USING memories m
   WHERE m.tenant_id = $1 AND m.conversation_id = $2 AND m.seq = ANY ($3::int[])
     AND e.tenant_id = $1 AND e.memory_id = m.id
  RETURNING e.owner, e.memory_id
)
INSERT INTO unembedded (tenant_id, owner, memory_id) SELECT $1, owner, memory_id FROM old ON CONFLICT DO NOTHING
"""
# Notes that were found in messages, or by a model on their pages. What people wrote is theirs.
DROP_NOTES = """
DELETE FROM notes n
 WHERE n.tenant_id = $1 AND n.conversation_id = $2 AND n.source <> 'person'
   AND (n.seq = ANY ($3::int[]) OR (n.source = 'llm' AND EXISTS (
     SELECT FROM messages m WHERE m.tenant_id = $1 AND m.conversation_id = $2 AND m.seq = n.seq
                              AND m.page = ANY ($4::int[]))))
RETURNING n.revision
"""
RESTORE_NOTES = """
UPDATE notes SET replaced = NULL WHERE tenant_id = $1 AND conversation_id = $2 AND replaced = ANY ($3::int[])
"""
DROP_INDEX = "DELETE FROM page_index WHERE tenant_id = $1 AND conversation_id = $2 AND page = ANY ($3::int[])"
DROP_TOPICS = "DELETE FROM topic_mentions WHERE tenant_id = $1 AND conversation_id = $2 AND page = ANY ($3::int[])"
DROP_SUMMARIES = "DELETE FROM summaries WHERE tenant_id = $1 AND conversation_id = $2 AND through_seq >= $3"
DROP_PASSAGES = """
DELETE FROM work WHERE tenant_id = $1 AND kind = 'passages' AND conversation_id = $2 AND subject = ANY ($3::text[])
"""
RENAME = """
UPDATE pages SET title = $4, title_tokens = $5
 WHERE tenant_id = $1 AND conversation_id = $2 AND first_seq = ANY ($3::int[])
"""
# How far the index and the summary reach after that; the title, if it was the first message's.
SETTLE = """
UPDATE conversations
   SET indexed_through = CASE WHEN indexed_through >= $3 THEN $3 - 1 ELSE indexed_through END,
       summary_through = coalesce((SELECT max(through_seq) FROM summaries
                                    WHERE tenant_id = $1 AND conversation_id = $2), 0),
       title = CASE WHEN title = $4 THEN $5 ELSE title END,
       prompt_tokens = prompt_tokens + $6, open_calls = $7
 WHERE tenant_id = $1 AND id = $2
"""


async def drop_derived(
    connection: Connection,
    tenant: UUID,
    conversation_id: str,
    uid: UUID,
    seqs: Sequence[int],
    pages: Sequence[int],
    near: Sequence[int],
) -> dict[str, int]:
    """Delete all that was made of messages and of their pages; rows by table. Vectors of those ``near`` go too."""
    place = (tenant, conversation_id)
    gone = {"memories": len(await connection.fetch(FORGET, *place, seqs, pages))}
    await connection.execute(UNEMBED, *place, near)
    revisions = [row["revision"] for row in await connection.fetch(DROP_NOTES, *place, seqs, pages)]
    await connection.execute(RESTORE_NOTES, *place, [r for r in revisions if r])
    gone["notes"] = len(revisions)
    gone["page_index"] = _count(await connection.execute(DROP_INDEX, *place, pages))
    gone["topic_mentions"] = _count(await connection.execute(DROP_TOPICS, *place, pages))
    gone["summaries"] = _count(await connection.execute(DROP_SUMMARIES, *place, min(seqs or near)))
    await connection.execute(DROP_PASSAGES, *place, [f"{uid}:{seq}" for seq in seqs])
    return gone


TITLE = "SELECT title FROM pages WHERE tenant_id = $1 AND conversation_id = $2 AND first_seq = $3"


async def settle(
    connection: Connection,
    tenant: UUID,
    conversation_id: str,
    seqs: Sequence[int],
    *,
    first_page: int,
    said: tuple[str, int],
    prompt_tokens: int,
    open_calls: str,
) -> None:
    """Titles that were made of the messages, and how far everything reaches. ``said`` is the mark and its tokens."""
    old = await connection.fetchval(TITLE, tenant, conversation_id, 1) if 1 in seqs else None
    await connection.execute(RENAME, tenant, conversation_id, seqs, *said)
    await connection.execute(SETTLE, tenant, conversation_id, first_page, old, said[0], prompt_tokens, open_calls)


# --- What repeats them --------------------------------------------------------------------------------

# What recall tools brought into conversations, some at once: those of a user ($3), or one ($4), or any.
LOADED = """
SELECT m.conversation_id, m.seq, m.loaded, c.user_id FROM messages m
  JOIN conversations c ON c.tenant_id = m.tenant_id AND c.id = m.conversation_id
 WHERE m.tenant_id = $1 AND m.loaded IS NOT NULL AND ($2::boolean OR c.user_id = $3 OR ($3 IS NULL AND c.id = $4))
   AND (m.conversation_id, m.seq) > ($5, $6::int)
 ORDER BY m.conversation_id, m.seq LIMIT $7
"""


async def loaded(
    connection: Connection, tenant: UUID, scope: str | UUID, after: tuple[str, int], limit: int
) -> Sequence[Record]:
    """In order of conversation and seq. Of a scope that is known by its hash only, those of any."""
    any_scope = isinstance(scope, UUID)
    user, own = (None, None) if isinstance(scope, UUID) else (user_of(scope), scope[2:])
    return await connection.fetch(LOADED, tenant, any_scope, user, own, *after, limit)


# A stretch of a conversation's messages, as sent, with the contents of their archives.
TEXTS = """
SELECT m.seq, m.kind, m.body, m.view, ARRAY(
         SELECT t.content FROM archives a
           JOIN archive_contents t ON t.tenant_id = a.tenant_id AND t.scope = a.scope AND t.digest = a.digest
          WHERE a.tenant_id = $1 AND a.conversation_id = $2 AND a.seq = m.seq) AS archived
  FROM messages m
 WHERE m.tenant_id = $1 AND m.conversation_id = $2 AND m.seq > $3 ORDER BY m.seq LIMIT $4
"""


async def texts(connection: Connection, tenant: UUID, conversation_id: str, after: int, limit: int) -> Sequence[Record]:
    return await connection.fetch(TEXTS, tenant, conversation_id, after, limit)


# --- Answers that were kept ---------------------------------------------------------------------------

UUIDS = "'\"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\"'"
ANSWERS_AT_ONCE = 1000
"""Looked at in one statement: an owner may have a day's, and of long texts."""
FEW_IDS = 8
"""So many are looked for one after the other; for more it is quicker to find every id of a text first."""


def _naming(found: str) -> str:
    """Some answers of an owner in order of key; the text of those in which one of the ids is found."""
    return f"""
SELECT key, CASE WHEN EXISTS ({found}) THEN response END AS response
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
# Those that name a conversation, or what is in it.
ANSWERS_OF = f"""
WITH batch AS MATERIALIZED (
  SELECT key, response FROM idempotency
   WHERE tenant_id = $1 AND owner = $4 AND key > $5 ORDER BY key LIMIT {ANSWERS_AT_ONCE}
), named AS (
  SELECT DISTINCT b.key, g.found[1]::uuid AS id FROM batch b, regexp_matches(b.response, {UUIDS}, 'g') AS g (found)
), ours AS (
  SELECT key FROM named
   WHERE id IN (SELECT id FROM messages WHERE tenant_id = $1 AND conversation_id = $2)
      OR id IN (SELECT id FROM notes WHERE tenant_id = $1 AND conversation_id = $2)
      OR id IN (SELECT id FROM archives WHERE tenant_id = $1 AND conversation_id = $2)
      OR id IN (SELECT id FROM memories WHERE tenant_id = $1 AND conversation_id = $2 AND content IS NOT NULL)
)
SELECT key, CASE WHEN position('"id":' || $3::text IN response) > 0
                   OR position('"conversation_id":' || $3::text IN response) > 0
                   OR key IN (SELECT key FROM ours) THEN response END AS response
  FROM batch ORDER BY key
"""
# Those that name nothing: what recall tools said.
ANSWERS_SAID = f"""
SELECT key, CASE WHEN response NOT LIKE '{{"messages":%' AND position('"is_error":' IN response) > 0
            THEN response END AS response
  FROM (SELECT key, response FROM idempotency
         WHERE tenant_id = $1 AND owner = $2 AND key > $3 ORDER BY key LIMIT {ANSWERS_AT_ONCE}) i
 ORDER BY key
"""
CORRECT = "UPDATE idempotency SET response = $3 WHERE tenant_id = $1 AND key = $2"


async def answers_naming(
    connection: Connection, tenant: UUID, owner: UUID, ids: Sequence[UUID]
) -> AsyncIterator[Record]:
    sql = ANSWERS_NAMING_FEW if len(ids) <= FEW_IDS else ANSWERS_NAMING
    async for answer in _answers(connection, owner, sql, tenant, ids):
        yield answer


async def answers_of(
    connection: Connection, tenant: UUID, owner: UUID, conversation_id: str, quoted: str
) -> AsyncIterator[Record]:
    """``quoted`` is the conversation's id as JSON."""
    async for answer in _answers(connection, owner, ANSWERS_OF, tenant, conversation_id, quoted):
        yield answer


async def answers_said(connection: Connection, tenant: UUID, owner: UUID) -> AsyncIterator[Record]:
    async for answer in _answers(connection, owner, ANSWERS_SAID, tenant):
        yield answer


async def _answers(connection: Connection, owner: UUID, sql: str, *arguments: object) -> AsyncIterator[Record]:
    """Those that were found among the owner's, and among those of which nobody knows whose they are; looking at some
    after others.
    """
    for whose in (owner, UNKNOWN):
        after = ""
        while rows := await connection.fetch(sql, *arguments, whose, after):
            for row in rows:
                if row["response"] is not None:
                    yield row
            after = rows[-1]["key"]
            if len(rows) < ANSWERS_AT_ONCE:
                break


async def correct(connection: Connection, tenant: UUID, key: str, response: str) -> None:
    await connection.execute(CORRECT, tenant, key, response)


# --- A user -------------------------------------------------------------------------------------------

# A conversation of a user's that was there at a time.
CONVERSATION_OF = """
SELECT id FROM conversations WHERE tenant_id = $1 AND user_id = $2 AND created_at <= $3 LIMIT 1
"""
ARCHIVES_OF = "SELECT id, scope FROM archives WHERE tenant_id = $1 AND scope = $2 ORDER BY id LIMIT $3"
FORGET_OWNED = """
DELETE FROM memories WHERE tenant_id = $1 AND id IN (
  SELECT id FROM memories WHERE tenant_id = $1 AND owner = $2 LIMIT $3)
RETURNING id
"""
DROP_EMBEDDING = "DELETE FROM work WHERE tenant_id = $1 AND kind = 'embed' AND subject = $2"


def _count(status: str) -> int:
    return int(status.rsplit(" ", 1)[-1])
