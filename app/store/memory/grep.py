"""Read messages and archived results that can match a `grep`, and match lines with PostgreSQL's regular expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg

from app.core.history.rows import HistoryMessage
from app.core.scope import Scope
from app.core.search.forms import OTHER_FORMS
from app.core.search.grep import MATCHES_EVERYTHING, MessageSpan, Pattern, RefusedPattern
from app.core.wording import Wording
from app.postgres.statements import SqlFile
from app.postgres.transactions import ReadTx
from app.store.messages import MESSAGE_FIELDS

ROWS = 200
"""The most messages that a statement returns."""
CONVERSATIONS_MAX = ARCHIVES_MAX = 10_000

WRONG = Wording("this: {reason}", "以下写法：{reason}")


_SQL = SqlFile(__file__, message_fields=MESSAGE_FIELDS)
MESSAGES = _SQL.statement("messages")
RESULTS = _SQL.statement("results")


@dataclass(frozen=True, slots=True)
class GreppedResult:
    """An archive that can match, with U+FFFD in place of NUL."""

    id: UUID
    tool_name: str
    conversation_id: str | None
    page: int | None
    created_at: datetime
    said_at: datetime | None
    said_offset: int | None
    content: str


class GrepTooSlow(Exception):  # noqa: N818 - it is no error of ours
    """A statement exceeded its time limit."""


# The conversations of a user or a space, most recently active first.
_SPANS = """
SELECT id, last_seq FROM conversations
 WHERE tenant_id = $1 AND {of} = $2 ORDER BY updated_at DESC, uid DESC LIMIT $3
"""
SPANS, SPANS_OF_SPACE = _SPANS.format(of="user_id"), _SPANS.format(of="space_id")


async def spans(tx: ReadTx, user_id: str | None = None, *, space_id: str | None = None) -> list[MessageSpan]:
    sql, whose = (SPANS, user_id) if space_id is None else (SPANS_OF_SPACE, space_id)
    rows = await tx.fetch(sql, whose, CONVERSATIONS_MAX)
    return [MessageSpan(row["id"], 1, row["last_seq"]) for row in rows]


async def messages(
    tx: ReadTx, within: Sequence[MessageSpan], needles: Sequence[str], since: datetime | None, until: datetime | None
) -> list[HistoryMessage]:
    """Return at most ROWS messages that can match. Raises GrepTooSlow."""
    ids = [span.conversation_id for span in within]
    firsts, lasts = [span.first for span in within], [span.last for span in within]
    arguments = MESSAGES.arguments({
        "conversations": ids, "firsts": firsts, "lasts": lasts, "since": since, "until": until, "needles": needles,
        "expression": OTHER_FORMS, "limit": ROWS,
    })  # fmt: skip
    return [HistoryMessage(*row) for row in await _fetch(tx, MESSAGES.text, tx.tenant, *arguments)]


# The archives of a scope or of some of its conversations, the newest first; ids are UUIDv7.
ARCHIVES_OF = """
SELECT id, digest, conversation_id, seq, created_at FROM archives
 WHERE tenant_id = $1 AND scope = $2 AND ($3::text[] IS NULL OR conversation_id = ANY ($3))
   AND (expires_at IS NULL OR expires_at > now())
 ORDER BY id DESC LIMIT $4
"""


async def archives(
    tx: ReadTx, scope: Scope, within: Sequence[str] | None, shows: Callable[[str | None, int | None, datetime], bool]
) -> list[UUID]:
    """Return archives with different contents, newest first, of the conversations ``within`` (None: all). ``shows``
    decides by conversation, message and time.
    """
    rows = await tx.fetch(ARCHIVES_OF, scope.text, within, ARCHIVES_MAX)
    newest: dict[bytes, UUID] = {}
    for id_, digest, *place in rows:
        if shows(*place):
            newest.setdefault(digest, id_)
    return list(newest.values())


async def results(
    tx: ReadTx, ids: Sequence[UUID], needles: Sequence[str], since: datetime | None, until: datetime | None
) -> list[GreppedResult]:
    """Return the archives that can match, among some. Raises GrepTooSlow."""
    named = {"ids": ids, "since": since, "until": until, "needles": needles, "expression": OTHER_FORMS}
    return [GreppedResult(*row) for row in await _fetch(tx, RESULTS.text, tx.tenant, *RESULTS.arguments(named))]


# The matching lines with the first match of each, as arrays: one row per line would take the event loop ten times as
# long. PostgreSQL's engine can be interrupted, and runs outside of the serving process. No table is read.
_MATCHES = """
SELECT coalesce(array_agg(l.n::int - 1 ORDER BY l.n), '{}') AS places,
       coalesce(array_agg(regexp_instr(l.line, $2, 1, 1, 0, 'i') - 1 ORDER BY l.n), '{}') AS starts,
       coalesce(array_agg(regexp_instr(l.line, $2, 1, 1, 1, 'i') - 1 ORDER BY l.n), '{}') AS stops
  FROM unnest($1::text[]) WITH ORDINALITY AS l (line, n)
 WHERE l.line ~* $2
"""
_MATCHES_EMPTY = "SELECT '' ~* $1::text"


async def check(tx: ReadTx, expression: str) -> None:
    """Raise RefusedPattern for an invalid expression or one that matches every line. Raises also GrepTooSlow."""
    try:
        rows = await _fetch(tx, _MATCHES_EMPTY, expression)
    except (asyncpg.InvalidRegularExpressionError, asyncpg.ProgramLimitExceededError) as error:
        reason = str(error).removeprefix("invalid regular expression: ")
        raise RefusedPattern(Wording(*(text.format(reason=reason) for text in WRONG))) from error
    if rows[0][0]:
        raise RefusedPattern(MATCHES_EVERYTHING)


async def matches(tx: ReadTx, lines: Sequence[str], pattern: Pattern) -> list[tuple[int, int, int]]:
    """Return index, start and end of the first match in each matching line. Raises GrepTooSlow."""
    (row,) = await _fetch(tx, _MATCHES, lines, pattern.expression)
    return list(zip(row["places"], row["starts"], row["stops"], strict=True))


async def limit(tx: ReadTx, seconds: float) -> None:
    """Limit the time of each of the transaction's next statements."""
    await tx.connection.execute(f"SET LOCAL statement_timeout = {max(1, int(seconds * 1000))}")


async def _fetch(tx: ReadTx, sql: str, *args: object) -> Sequence[Any]:
    try:
        return await tx.connection.fetch(sql, *args)
    except asyncpg.QueryCanceledError as error:
        raise GrepTooSlow from error
