"""Read messages and archived results that can match for `grep`, and match lines by PostgreSQL's expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from uuid import UUID

import asyncpg
from asyncpg import Record

from app.core.search.forms import OTHER_FORMS
from app.core.search.grep import MATCHES_EVERYTHING, MessageSpan, Pattern, RefusedPattern
from app.core.wording import Wording
from app.postgres.transactions import ReadTx

ROWS = 200
"""Messages that a statement returns."""
CONVERSATIONS_MAX = ARCHIVES_MAX = 10_000

WRONG = Wording("this: {reason}", "以下写法：{reason}")


class GrepTooSlow(Exception):  # noqa: N818 - it is no error of ours
    """A statement took longer than it was given."""


# The conversations of a user or a space, the last active first.
_SPANS = """
SELECT id, last_seq FROM conversations
 WHERE tenant_id = $1 AND {of} = $2 ORDER BY updated_at DESC, uid DESC LIMIT $3
"""
SPANS, SPANS_OF_SPACE = _SPANS.format(of="user_id"), _SPANS.format(of="space_id")


async def spans(tx: ReadTx, user_id: str | None = None, *, space_id: str | None = None) -> list[MessageSpan]:
    sql, whose = (SPANS, user_id) if space_id is None else (SPANS_OF_SPACE, space_id)
    rows = await tx.fetch(sql, whose, CONVERSATIONS_MAX)
    return [MessageSpan(row["id"], 1, row["last_seq"]) for row in rows]


# Messages in some stretches that can match, the newest of each first: what search finds too, so neither prompts, nor
# what was refused, nor what a recall tool brought back. "C" knows only the case of ASCII, but is twice as fast.
MESSAGES = """
SELECT m.conversation_id, m.seq, m.id, m.page, m.kind, m.role, m.body, m.view, m.archive_ids, m.created_at, m.said_at,
       m.said_offset
  FROM unnest($2::text[], $3::int[], $4::int[]) WITH ORDINALITY AS s (id, first, last, place)
  JOIN messages m ON m.tenant_id = $1 AND m.conversation_id = s.id AND m.seq BETWEEN s.first AND s.last
 WHERE m.kind NOT IN ('prompt', 'refused') AND m.loaded IS NULL
   AND ($5::timestamptz IS NULL OR coalesce(m.said_at, m.created_at) >= $5)
   AND ($6::timestamptz IS NULL OR coalesce(m.said_at, m.created_at) < $6)
   AND (cardinality($7::text[]) = 0
        OR lower(CASE WHEN m.kind = 'orphan' THEN m.body ELSE coalesce(m.view, m.body) END COLLATE "C") LIKE ANY ($7)
        OR CASE WHEN m.kind = 'orphan' THEN m.body ELSE coalesce(m.view, m.body) END COLLATE "C" ~ $9)
 ORDER BY s.place, m.seq DESC LIMIT $8
"""


async def messages(
    tx: ReadTx,
    within: Sequence[MessageSpan],
    needles: Sequence[str],
    since: datetime | None,
    until: datetime | None,
) -> Sequence[Record]:
    """Return at most ROWS messages that can match. Raises TooSlow."""
    ids = [span.conversation_id for span in within]
    firsts, lasts = [span.first for span in within], [span.last for span in within]
    return await _fetch(tx, MESSAGES, tx.tenant, ids, firsts, lasts, since, until, needles, ROWS, OTHER_FORMS)


# The archives of a scope or of some of its conversations, the newest first; ids are UUIDv7.
ARCHIVES_OF = """
SELECT id, digest, conversation_id, seq, created_at FROM archives
 WHERE tenant_id = $1 AND scope = $2 AND ($3::text[] IS NULL OR conversation_id = ANY ($3))
   AND (expires_at IS NULL OR expires_at > now())
 ORDER BY id DESC LIMIT $4
"""


async def archives(tx: ReadTx, scope: str, within: Sequence[str] | None, shows: Callable[[Record], bool]) -> list[UUID]:
    """Return archives with different contents, newest first: of some conversations (None: all), if shown."""
    rows = await tx.fetch(ARCHIVES_OF, scope, within, ARCHIVES_MAX)
    newest: dict[bytes, UUID] = {}
    for row in filter(shows, rows):
        newest.setdefault(row["digest"], row["id"])
    return list(newest.values())


# The archives among some that can match, with their content; NUL stands as U+FFFD.
RESULTS = """
SELECT a.id, a.tool_name, a.conversation_id, m.page, a.created_at, m.said_at, m.said_offset, t.content
  FROM archives a
  JOIN archive_contents t ON t.tenant_id = a.tenant_id AND t.scope = a.scope AND t.digest = a.digest
  LEFT JOIN messages m ON m.tenant_id = a.tenant_id AND m.conversation_id = a.conversation_id AND m.seq = a.seq
 WHERE a.tenant_id = $1 AND a.id = ANY ($2::uuid[]) AND (a.expires_at IS NULL OR a.expires_at > now())
   AND ($3::timestamptz IS NULL OR coalesce(m.said_at, a.created_at) >= $3)
   AND ($4::timestamptz IS NULL OR coalesce(m.said_at, a.created_at) < $4)
   AND (cardinality($5::text[]) = 0 OR lower(t.content COLLATE "C") LIKE ANY ($5)
        OR t.content COLLATE "C" ~ $6)
 ORDER BY a.id DESC
"""


async def results(
    tx: ReadTx,
    ids: Sequence[UUID],
    needles: Sequence[str],
    since: datetime | None,
    until: datetime | None,
) -> Sequence[Record]:
    """Return those of some archives that can match. Raises TooSlow."""
    return await _fetch(tx, RESULTS, tx.tenant, ids, since, until, needles, OTHER_FORMS)


# The lines that match, with the first match of each. PostgreSQL's engine can be interrupted, and runs outside of the
# process that serves requests. No table is read.
_MATCHES = """
SELECT l.n::int - 1 AS place, regexp_instr(l.line, $2, 1, 1, 0, 'i') - 1 AS start,
       regexp_instr(l.line, $2, 1, 1, 1, 'i') - 1 AS stop
  FROM unnest($1::text[]) WITH ORDINALITY AS l (line, n)
 WHERE l.line ~* $2 ORDER BY l.n
"""
_MATCHES_EMPTY = "SELECT '' ~* $1::text"


async def check(tx: ReadTx, expression: str) -> None:
    """Raise Refused for an expression that PostgreSQL does not take, or that every line matches; or TooSlow."""
    try:
        rows = await _fetch(tx, _MATCHES_EMPTY, expression)
    except (asyncpg.InvalidRegularExpressionError, asyncpg.ProgramLimitExceededError) as error:
        reason = str(error).removeprefix("invalid regular expression: ")
        raise RefusedPattern(Wording(*(text.format(reason=reason) for text in WRONG))) from error
    if rows[0][0]:
        raise RefusedPattern(MATCHES_EVERYTHING)


async def matches(tx: ReadTx, lines: Sequence[str], pattern: Pattern) -> list[tuple[int, int, int]]:
    """Return place, start and end of the first match of each line that matches. Raises TooSlow."""
    rows = await _fetch(tx, _MATCHES, lines, pattern.expression)
    return [(row["place"], row["start"], row["stop"]) for row in rows]


async def limit(tx: ReadTx, seconds: float) -> None:
    """Limit the time of the transaction's next statements, each."""
    await tx.connection.execute(f"SET LOCAL statement_timeout = {max(1, int(seconds * 1000))}")


async def _fetch(tx: ReadTx, sql: str, *args: object) -> Sequence[Record]:
    try:
        return await tx.connection.fetch(sql, *args)
    except asyncpg.QueryCanceledError as error:
        raise GrepTooSlow from error
