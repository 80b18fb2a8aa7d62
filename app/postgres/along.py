"""Rewrite statements that read a conversation's history to read it along a line.

Each names the conversation as ``$2``. For a branch, a table of its history becomes the union of its own rows and its
ancestors' rows up to the fork. Without ancestors a statement stays unchanged. Tables are found by name, because a
forgotten one among two hundred marks would silently hide messages.

All ancestors are read at once, so that plans are small at any depth. Rows in an order up to a limit are read separately
in that order: PostgreSQL merges them and stops at the limit.
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
    reach: str = "true"
    """What holds of all shared rows, by the places in ``last``: a bound for the index."""


_BY_MESSAGE = "CASE WHEN seq IS NULL THEN created_at <= {at} ELSE seq <= {seq} END"
TABLES = {
    "messages": _Table(
        "seq id client_id page user_seq call_group kind role author body view short loaded anthropic parts calls "
        "results full_tokens short_tokens loaded_tokens full_before short_before history_before line line_tokens words "
        "archive_ids fresh_tokens marks created_at digest chain said_at said_offset salt",
        "seq <= {seq}",
        "seq <= {seq}",
    ),
    "pages": _Table("page first_seq title title_tokens created_at", "first_seq <= {seq}", "page <= {page}"),
    "cuts": _Table(
        "number budget step condensed_from verbatim_from pinned room half_mark full_total last_seq last_page "
        "generation is_squeezed forms head sources created_at",
        "last_seq <= {seq}",
    ),
    "recalls": _Table("page count at_page created_at", "page <= {page} AND created_at <= {at}", "page <= {page}"),
    "page_index": _Table(
        "page source model title title_tokens topics seqs lines line_tokens error created_at",
        "page < {page} AND created_at <= {at}",
        "page < {page}",
    ),
    "chapters": _Table(
        "level first_page last_page at_page terms day created_at",
        "first_page < {page} AND at_page <= {page}",
        "first_page < {page}",
    ),
    "chapter_names": _Table(
        "first_page last_page model title created_at",
        "first_page < {page} AND created_at <= {at}",
        "first_page < {page}",
    ),
    "summaries": _Table(
        "version through_seq text tokens model created_at", "through_seq <= {seq} AND created_at <= {at}"
    ),
    "archives": _Table(
        "id scope digest user_id seq tool_name tool_input query_summary result_summary key_terms sources placeholder "
        "language expires_at created_at parts",
        _BY_MESSAGE,
    ),
    "memories": _Table(
        "id owner type conversation_uid seq page archive_id start length terms content nul_offsets keywords metadata "
        "source sensitive refused part_of expires_at created_at scope holder key pinned status tokens quote valid_from "
        "valid_to learnt_at former",
        _BY_MESSAGE,
    ),
}
"""The tables of a history, with their columns besides tenant and conversation. Memories only where a statement says
``memories /*line*/``: most statements read them by their owner.
"""
_NAMES = "|".join(name for name in TABLES if name != "memories")
_READ = re.compile(rf"(?<!DELETE )\b(FROM|JOIN)\s+(?:(memories) /\*line\*/|({_NAMES})\b)(\s+(?:AS\s+)?[a-z_]+\b)?")
_IN_MIND = re.compile(r"\bmemories /\*in mind\*/ (\w+)")
_BEGAN = re.compile(r"\b\w+\.created_at /\*began\*/")
_CLAUSE = re.compile(r"[()]|ORDER BY|\bUNION\b")
_LIMITED = re.compile(r"((?:\s*[\w.]+(?: DESC| ASC)?\s*,)*\s*[\w.]+(?: DESC| ASC)?)\s+LIMIT")
_NARROW = re.compile(r"\b(?:seq|page) (?:= |BETWEEN)|\bseq >=? [^)]*\bseq <=? ")
"""Of a range that holds few rows, whatever its order."""
_PLACES = {"id": "text", "seq": "int", "page": "int", "at": "timestamptz"}


def along(sql: str, line: str) -> tuple[str, tuple[object, ...]]:
    """Return a statement that reads along a line, and its further arguments."""
    if not isinstance(line, Line) or not line.is_in_tree:
        return sql, ()
    text, names = _rewritten(sql, len(line.stretches))
    return text, tuple([getattr(one, name) for one in line.stretches] for name in names)


@lru_cache(1024)
def _rewritten(sql: str, ancestors: int) -> tuple[str, tuple[str, ...]]:
    """Return the statement for a number of ancestors, and the members of stretches that it takes as arrays."""
    rewriting = _Rewriting(sql)
    text = _READ.sub(lambda found: rewriting.read(found, ancestors), sql) if ancestors else sql
    text = _IN_MIND.sub(lambda found: rewriting.in_mind(found[1], ancestors), text)
    text = _BEGAN.sub(lambda _: rewriting.began(), text) if ancestors else text
    return text, tuple(rewriting.names)


class _Rewriting:
    """A statement being rewritten, with the arrays that it takes so far."""

    def __init__(self, sql: str) -> None:
        self._sql = sql
        self._first = max(int(number) for number in re.findall(r"\$(\d+)", sql)) + 1
        self._words = set(re.findall(r"\w+", sql))
        self.names: list[str] = []

    def _array(self, name: str) -> str:
        if name not in self.names:
            self.names.append(name)
        return f"(${self._first + self.names.index(name)}::{_PLACES[name]}[])"

    def _at(self, condition: str, ancestor: int | str) -> str:
        return re.sub(r"\{(\w+)\}", lambda found: f"{self._array(found[1])}[{ancestor}]", condition)

    def _of_row(self, condition: str) -> str:
        """Return a condition in terms of the ancestor to which a row belongs."""
        return self._at(condition, f"array_position({self._array('id')}, conversation_id)")

    def read(self, found: re.Match[str], ancestors: int) -> str:
        name = found[2] or found[3]
        table = TABLES[name]
        columns = [column for column in table.columns.split() if column in self._words]
        of = f'SELECT tenant_id, $2::text COLLATE "C" AS conversation_id, {", ".join(columns)} FROM {name}'
        of = f"{of} WHERE tenant_id = $1::uuid AND conversation_id"
        if order := _order(self._sql[found.end() :], table.columns.split()):
            each = [f"{of} = {self._at('{id}', i)} AND {self._at(table.shared, i)}" for i in range(1, ancestors + 1)]
        else:
            bounds = f"{self._at(table.reach, ancestors)} AND {self._of_row(table.shared)}"
            each = [f"{of} = ANY ({self._array('id')}) AND {bounds}"]
        union = " UNION ALL ".join(f"({part}{order})" for part in (*each, f"{of} = $2"))
        return f"{found[1]} ({union}){found[4] or f' {name}'}"

    def in_mind(self, alias: str, ancestors: int) -> str:
        """Return the memories that the line can see in its tree, with shared ones as its own."""
        by_message = _BY_MESSAGE.replace("created_at", "learnt_at")
        is_shared, root = "false", "$2"
        if ancestors:
            ids = self._array("id")
            is_shared, root = f"(conversation_id = ANY ({ids}) AND {self._of_row(by_message)})", f"{ids}[1]"
        columns = ", ".join(column for column in TABLES["memories"].columns.split() if column in self._words)
        return f"""(SELECT tenant_id, {columns}, CASE WHEN {is_shared} THEN $2 ELSE conversation_id END
             AS conversation_id FROM memories x
      WHERE conversation_id IS NULL OR conversation_id = $2 OR {is_shared}
         OR NOT EXISTS (SELECT FROM conversations f WHERE f.tenant_id = $1::uuid AND f.id = x.conversation_id
                           AND (f.id = {root} OR f.trunk = {root}))) {alias}"""

    def began(self) -> str:
        root = f"{self._array('id')}[1]"
        return f"(SELECT b.created_at FROM conversations b WHERE b.tenant_id = $1::uuid AND b.id = {root})"


def _order(rest: str, columns: list[str]) -> str:
    """Return the ORDER BY in ``rest`` if it has a LIMIT and names only the table's own columns, else ""."""
    depth = 0
    for found in _CLAUSE.finditer(rest):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if depth < 0 or (depth == 0 and found[0] == "UNION"):
            return ""
        if depth == 0 and found[0] == "ORDER BY":
            limited = _LIMITED.match(rest, found.end())
            keys = [re.sub(r"^\w+\.", "", key.strip()) for key in limited[1].split(",")] if limited else []
            is_own = all(key.split()[0] in columns for key in keys)
            is_long = not _NARROW.search(rest[: found.start()])
            return f" ORDER BY {', '.join(keys)}" if keys and is_own and is_long else ""
    return ""
