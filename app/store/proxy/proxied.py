"""Conversations held through the proxy, found by their content."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import takewhile

from asyncpg import Record

from app.core.canonical import dumps
from app.core.dialects.proxy import Candidate
from app.core.history.rows import HistoryMessage
from app.postgres.statements import SqlFile
from app.postgres.transactions import ReadTx, Tx
from app.store.conversations import line_of
from app.store.messages import MESSAGE_FIELDS

CANDIDATES_MAX = 20
BEFORE_MAX = 1_000
"""Messages before an answer, among which its question is."""

_FIELDS = "id, line, is_forked, chain, asked, answered, system, updated_at"
_SQL = SqlFile(__file__, fields=_FIELDS, candidates_max=CANDIDATES_MAX)
FIND = _SQL.statement("find", user="user_id = :user")
FIND_NOBODYS = _SQL.statement("find", user="user_id IS NULL AND :user::text IS NULL")


# The latest of a user's conversations whose first answer is in a list.
_BEGUN = f"""
SELECT id FROM conversations
 WHERE tenant_id = $1 AND {{user}} AND octet_length(answered) > 0 AND answered = ANY ($3::bytea[])
 ORDER BY updated_at DESC LIMIT {CANDIDATES_MAX // 4}
"""
BEGUN = _BEGUN.format(user="user_id = $2")
BEGUN_BY_NOBODY = _BEGUN.format(user="user_id IS NULL AND $2::text IS NULL")


async def begun(tx: ReadTx, user_id: str | None, prefixes: Sequence[bytes]) -> list[str]:
    """Return the conversations of which a list can be an edited version, latest first."""
    sql = BEGUN if user_id is not None else BEGUN_BY_NOBODY
    return [row["id"] for row in await tx.fetch(sql, user_id, prefixes)]


async def candidates(tx: ReadTx, user_id: str | None, ends: Sequence[bytes], last_question: bytes) -> list[Candidate]:
    """Return the conversations that a question can continue, latest first."""
    sql = FIND if user_id is not None else FIND_NOBODYS
    return [_candidate(row) for row in await tx.fetch(sql, user=user_id, ends=ends, asked=last_question)]


def _candidate(row: Record) -> Candidate:
    return Candidate(line_of(row), row["chain"] or b"", row["asked"] or b"", row["answered"], row["system"])


# An answer by the id that a client of Responses knows. (The pattern lets the index of such ids be used.)
FIND_RESPONSE = """
SELECT conversation_id, seq FROM messages
 WHERE tenant_id = $1 AND client_id = $2 AND client_id LIKE 'resp\\_%' ORDER BY conversation_id LIMIT 1
"""
LOCK_ANSWER = """
SELECT body FROM messages WHERE tenant_id = $1 AND conversation_id = $2 AND seq = $3 AND client_id = $4 FOR UPDATE
"""
FORGET_RESPONSE = """
UPDATE messages SET client_id = NULL, body = $4 WHERE tenant_id = $1 AND conversation_id = $2 AND seq = $3
"""


async def response_place(tx: ReadTx, response_id: str) -> tuple[str, int] | None:
    row = await tx.fetchrow(FIND_RESPONSE, response_id)
    return (row["conversation_id"], row["seq"]) if row else None


async def forget_response(tx: Tx, conversation_id: str, seq: int, response_id: str) -> bool:
    """Remove an answer's id from its message. Return whether the message had it."""
    body = await tx.fetchval(LOCK_ANSWER, conversation_id, seq, response_id)
    if body is None:
        return False
    left = {name: value for name, value in json.loads(body).items() if value != response_id}
    await tx.execute(FORGET_RESPONSE, conversation_id, seq, dumps(left))
    return True


# What callers know of a conversation, newest first. An empty digest: see core.history.sync.INNER.
TOLD_BEFORE = f"""
SELECT m.digest, {MESSAGE_FIELDS} FROM messages m
 WHERE m.tenant_id = $1 AND m.conversation_id = $2 AND m.digest IS DISTINCT FROM '' AND m.seq < $3
 ORDER BY m.seq DESC LIMIT $4
"""


async def question_before(tx: ReadTx, conversation_id: str, seq: int) -> list[tuple[HistoryMessage, bytes | None]]:
    """Return the question's messages before an answer, newest first, each with its digest."""
    rows = await tx.fetch(TOLD_BEFORE, conversation_id, seq, BEFORE_MAX)
    told = [(HistoryMessage(*fields), digest) for digest, *fields in rows]
    return list(takewhile(lambda one: one[0].role != "assistant", told))
