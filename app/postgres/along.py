"""Statements that read a conversation's history, rewritten to read it along a line.

Each names the conversation as ``$2``. For a branch, a table of its history is read as the union of its own rows and of
its ancestors' up to where it branched off: PostgreSQL plans each part by its own index, keeps their order, and stops at
a limit. The statement of a conversation without ancestors is left as it is.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from app.core.line import Line


class _Table(NamedTuple):
    columns: str
    shared: str
    """Which rows of an ancestor a branch shares. ``{seq}`` and the like: see ``core.line.Stretch``."""


_BY_MESSAGE = "CASE WHEN seq IS NULL THEN created_at <= {at} ELSE seq <= {seq} END"
TABLES = {
    "messages": _Table(
        "seq, id, client_id, page, user_seq, call_group, kind, role, body, view, short, loaded, anthropic, parts, "
        "calls, results, full_tokens, short_tokens, loaded_tokens, full_before, short_before, history_before, line, "
        "line_tokens, words, archive_ids, fresh_tokens, revision, created_at, digest, chain, said_at, said_offset",
        "seq <= {seq}",
    ),
    "pages": _Table("page, first_seq, title, title_tokens, revision, created_at", "first_seq <= {seq}"),
    "recalls": _Table("page, count, at_page, revision, created_at", "page <= {page} AND revision <= {revision}"),
    "page_index": _Table(
        "page, revision, source, model, title, title_tokens, topics, seqs, lines, line_tokens, error, created_at",
        "page < {page} AND revision <= {revision}",
    ),
    "chapters": _Table(
        "level, first_page, last_page, at_page, terms, line, line_tokens, sentence, sentence_tokens, first_day, "
        "last_day, created_at",
        "first_page < {page} AND at_page <= {page}",
    ),
    "topic_mentions": _Table("topic, count, page, revision, created_at", "page < {page} AND revision <= {revision}"),
    "summaries": _Table(
        "version, through_seq, revision, text, tokens, model, created_at",
        "through_seq <= {seq} AND revision <= {revision}",
    ),
    "archives": _Table(
        "id, scope, digest, user_id, seq, tool_name, tool_input, query_summary, result_summary, key_terms, sources, "
        "placeholder, language, expires_at, created_at, parts",
        _BY_MESSAGE,
    ),
    "memories": _Table(
        "id, owner, type, conversation_uid, seq, page, archive_id, start, length, terms, content, nul_offsets, "
        "keywords, metadata, source, sensitive, refused, part_of, expires_at, created_at, scope, key, pinned, status, "
        "tokens, quote, valid_from, valid_to, learnt_at",
        _BY_MESSAGE,
    ),
}
"""The tables of a history, with their columns besides tenant and conversation. Memories only where a statement says
``memories /*line*/``: most statements read them by their owner.
"""
_NAMES = "|".join(name for name in TABLES if name != "memories")
_READ = re.compile(rf"(?<!DELETE )\b(FROM|JOIN)\s+(?:(memories) /\*line\*/|({_NAMES})\b)(\s+(?:AS\s+)?[a-z_]+\b)?")
_IN_MIND = re.compile(r"\bmemories /\*in mind\*/ (\w+)")
_BEGAN = re.compile(r"\b(\w+)\.created_at /\*began\*/")
_PLACES = {"id": "text", "seq": "int", "page": "int", "revision": "int", "at": "timestamptz"}


def along(sql: str, line: str) -> tuple[str, tuple[object, ...]]:
    """Return a statement as it reads along a line, and its further arguments."""
    if not isinstance(line, Line) or not line.is_in_tree:
        return sql, ()
    text, names = _rewritten(sql, len(line.stretches))
    return text, tuple([getattr(one, name) for one in line.stretches] for name in names)


@lru_cache(1024)
def _rewritten(sql: str, ancestors: int) -> tuple[str, tuple[str, ...]]:
    """Return the statement for so many ancestors, and what of each stretch it takes, as arrays."""
    first = max(int(number) for number in re.findall(r"\$(\d+)", sql)) + 1
    names: list[str] = []

    def place(name: str, ancestor: int) -> str:
        if name not in names:
            names.append(name)
        return f"(${first + names.index(name)}::{_PLACES[name]}[])[{ancestor}]"

    def shared(condition: str, ancestor: int) -> str:
        return re.sub(r"\{(\w+)\}", lambda found: place(found[1], ancestor), condition)

    def read(found: re.Match[str]) -> str:
        table = found[2] or found[3]
        columns, condition = TABLES[table]
        select = f'SELECT tenant_id, $2::text COLLATE "C" AS conversation_id, {columns} FROM {table}'
        own = f"{select} WHERE tenant_id = $1::uuid AND conversation_id = $2"
        parts = [
            f"{select} WHERE tenant_id = $1::uuid AND conversation_id = {place('id', i)} AND {shared(condition, i)}"
            for i in range(1, ancestors + 1)
        ]
        return f"{found[1]} ({' UNION ALL '.join([*parts, own])}){found[4] or f' {table}'}"

    def in_mind(found: re.Match[str]) -> str:
        of_shared = " OR ".join(
            f"conversation_id = {place('id', i)} AND {shared(_BY_MESSAGE.replace('created_at', 'learnt_at'), i)}"
            for i in range(1, ancestors + 1)
        )
        root = place("id", 1) if ancestors else "$2"
        columns = TABLES["memories"].columns
        return f"""(SELECT tenant_id, {columns}, CASE WHEN {of_shared or "false"} THEN $2 ELSE conversation_id END
             AS conversation_id FROM memories x
      WHERE conversation_id IS NULL OR conversation_id = $2 OR {of_shared or "false"}
         OR NOT EXISTS (SELECT FROM conversations f WHERE f.tenant_id = $1::uuid AND f.id = x.conversation_id
                           AND (f.id = {root} OR f.trunk = {root}))) {found[1]}"""

    def began(_: re.Match[str]) -> str:
        return f"(SELECT b.created_at FROM conversations b WHERE b.tenant_id = $1::uuid AND b.id = {place('id', 1)})"

    text = _READ.sub(read, sql) if ancestors else sql
    text = _IN_MIND.sub(in_mind, text)
    text = _BEGAN.sub(began, text) if ancestors else text
    return text, tuple(names)
