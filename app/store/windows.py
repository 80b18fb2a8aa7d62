"""Read the parts of a window in as few round trips as possible."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any
from uuid import UUID

from asyncpg import Record

from app.core.canonical import dumps
from app.core.conversation import Conversation
from app.core.groups import shrunk
from app.core.kept import KeptLine
from app.core.line import Line
from app.core.model import Day, Entry, Epoch, Head, Item, Layout, Totals
from app.core.window.contents import ContentsLine
from app.postgres.along import along
from app.postgres.database import Database
from app.postgres.transactions import ReadTx, Tx
from app.store.conversations import (
    CONVERSATION_FIELDS,
    EPOCH_FIELDS,
    LAYOUT_COLUMNS,
    read_conversation,
)
from app.store.memory.kept import in_mind, known_at, read_kept

ITEM_COLUMNS = {
    "seq": "m.seq",
    "page": "m.page",
    "call_group": "m.call_group",
    "kind": "m.kind",
    "role": "m.role",
    "text": "coalesce(CASE WHEN m.seq < z.verbatim_from AND m.seq <> z.pinned THEN m.short END, m.view, m.body)",
    "tokens": "CASE WHEN m.seq < z.verbatim_from AND m.seq <> z.pinned THEN m.short_tokens ELSE m.full_tokens END",
    "parts": "m.parts",
    "calls": "m.calls",
    "results": "m.results",
    "full_after": "m.full_before + m.full_tokens",
    "loaded": "CASE WHEN m.page = c.last_page AND m.seq >= z.verbatim_from THEN m.loaded END",
    "loaded_tokens": "m.loaded_tokens",
    "short": "CASE WHEN m.seq >= z.verbatim_from THEN m.short END",
    "short_tokens": "m.short_tokens",
    "anthropic": "CASE WHEN $7 AND m.seq >= z.verbatim_from THEN m.anthropic END",
    "archives": "nullif(m.archive_ids::text, '{}')",
    "fresh": "nullif(m.fresh_tokens::text, '{}')",
}
_AGGREGATES = ",\n         ".join(f"array_agg({sql} ORDER BY m.seq) AS m_{name}" for name, sql in ITEM_COLUMNS.items())
_SOURCE = "FROM messages m WHERE m.tenant_id = $1::uuid AND m.conversation_id = $2"
_ONE_ROW_OF_THE_TENANT = "LIMIT length(set_config('app.tenant', $1::text, true)) / 36"

# A conversation, the head of its own epoch, and the messages of a window's body: the prompt, the pinned user
# message, and all from the condensed zone on. The zones are the caller's ($3 to $5), or its own epoch's ($3 null);
# no message is read if the caller's epoch ended before the conversation's totals ($6, $8 to $11). Without an epoch of
# its own, also what it keeps in mind while the history is whole.
#
# What bounds ``seq`` are scalar subqueries of their own: under row-level security a bound that holds COALESCE, LEAST
# or arithmetic on a column counts as leaky and is applied only after every message of the conversation was read.
WINDOW = f"""
WITH c AS MATERIALIZED (
  SELECT {CONVERSATION_FIELDS} FROM conversations c WHERE c.tenant_id = $1::uuid AND c.id = $2
), e AS MATERIALIZED (
  SELECT e.* FROM epochs e
   WHERE e.tenant_id = $1::uuid AND e.conversation_id = $2 AND e.number = (SELECT epoch FROM c)
), z AS MATERIALIZED (
  SELECT coalesce($3::int, e.condensed_from, 1) AS condensed_from,
         coalesce($4::int, e.verbatim_from, 1) AS verbatim_from,
         coalesce($5::int, e.pinned, 0) AS pinned,
         c.prompt_through
    FROM c LEFT JOIN e ON true
)
SELECT c.*, {EPOCH_FIELDS}, e.head AS e_head, w.*, k.*
  FROM c
  CROSS JOIN z
  LEFT JOIN e ON true
  LEFT JOIN LATERAL (
    SELECT {_AGGREGATES}
      FROM (
        SELECT m.* {_SOURCE} AND m.seq <= (SELECT least(prompt_through, condensed_from - 1) FROM z)
        UNION ALL
        SELECT m.* {_SOURCE}
           AND m.seq = (SELECT pinned FROM z WHERE pinned > prompt_through AND pinned < condensed_from)
        UNION ALL
        SELECT m.* {_SOURCE} AND m.seq >= (SELECT condensed_from FROM z)
      ) m
     WHERE $3::int IS NULL
        OR (c.uid = $6::uuid AND c.full_total <= $8::bigint AND c.last_page <= $9::int
            AND c.generation + c.withdrawn = $10::bigint AND c.short_total <= $11::bigint)
  ) w ON true
  LEFT JOIN LATERAL ({in_mind(before="1", known=known_at(opened="c.created_at /*began*/"))}
     WHERE (SELECT number FROM e) IS NULL
  ) k ON true
 {_ONE_ROW_OF_THE_TENANT}
"""

_NEWER_COLUMNS = ", ".join(f"{sql} AS m_{name}" for name, sql in ITEM_COLUMNS.items())

# A conversation, and the messages after the last one that is known ($3) of a window whose zones are known too ($4), a
# row for each; one row if there are none.
#
# The upper bound on ``seq`` keeps out nothing: it makes the planner expect few rows whatever $3 is, so that it keeps
# its plan. Planning takes three times as long as executing here.
NEWER = f"""
SELECT {CONVERSATION_FIELDS}, NULL::int AS e_made_for,
       {_NEWER_COLUMNS.replace("$7", "$5::boolean").replace("z.verbatim_from", "$4::int").replace("z.pinned", "0")}
  FROM conversations c
  LEFT JOIN messages m ON m.tenant_id = $1::uuid AND m.conversation_id = $2
   AND m.seq > $3::int AND m.seq <= 2147483647
 WHERE c.tenant_id = $1::uuid AND c.id = $2
 ORDER BY m.seq
 LIMIT length(set_config('app.tenant', $1::text, true)) * 10000000
"""


@dataclass(frozen=True, slots=True)
class WindowParts:
    conversation: Conversation
    own_epoch: Epoch | None
    """The stored epoch of the conversation's own budget."""
    prompt: tuple[Item, ...]
    items: tuple[Item, ...]
    """Empty when the epoch that was asked with has ended."""
    kept: Sequence[KeptLine] | None = None
    """What it keeps in mind while the history is whole; None: not read."""

    def continued(self, conversation: Conversation, newer: Sequence[Item]) -> WindowParts:
        """Return the parts with what was appended since, as they are read from the store."""
        earlier: Iterable[Item] = self.items
        if conversation.totals.last_page != self.conversation.totals.last_page:
            earlier = shrunk(earlier)
        prompt = (*self.prompt, *(item for item in newer if item.kind == "prompt"))
        items = (*earlier, *(item for item in newer if item.kind != "prompt"))
        if (found := conversation.anchored) is not None and found != self.conversation.anchored and found.tokens:
            items = tuple(
                item._replace(loaded_tokens=item.tokens + found.tokens) if item.seq == found.seq else item
                for item in items
            )
        return WindowParts(conversation, None, prompt, items)


async def load(
    database: Database | ReadTx,
    tenant: UUID,
    conversation_id: str,
    layout_of: tuple[UUID, Layout] | None,
    *,
    anthropic: bool,
) -> WindowParts | None:
    """Load all parts of a window with one statement; None if there is no such conversation.

    ``layout_of`` is the layout to read the body by, with the ``uid`` of the conversation it was made for; by default
    the stored epoch's layout (or the initial one) is used.
    """
    uid, layout = layout_of or (None, None)
    zones = (
        layout and layout.condensed_from,
        layout and layout.verbatim_from,
        layout and layout.pinned,
        uid,
        anthropic,
        layout and layout.full_until,
        layout and layout.pages_until,
        layout and layout.generation,
        layout and layout.short_until,
    )
    return await _load(database, tenant, conversation_id, zones)


async def _load(
    database: Database | ReadTx, tenant: UUID, conversation_id: str, zones: tuple[object, ...]
) -> WindowParts | None:
    sql, stretches = along(WINDOW, conversation_id)
    arguments = (str(tenant), conversation_id, *zones, *stretches)
    if isinstance(database, Database):
        row = await database.read_row(sql, *arguments)
    else:
        row = await database.connection.fetchrow(sql, *arguments)
    parts = _parts(row)
    if parts is None or is_read_along(parts.conversation.line, conversation_id):
        return parts
    return await _load(database, tenant, parts.conversation.id, zones)


def is_read_along(line: Line, conversation_id: str) -> bool:
    """Return whether a statement that was given an id, perhaps a line, read along the line."""
    read = conversation_id if isinstance(conversation_id, Line) else Line(conversation_id)
    return (read.stretches, read.is_in_tree) == (line.stretches, line.is_in_tree)


async def without_body(database: Database, tenant: UUID, conversation_id: str) -> WindowParts | None:
    """Load a conversation and its own epoch, but no messages; None if there is no such conversation."""
    return await _load(database, tenant, conversation_id, (0, 0, 0, None, False, None, None, None, None))


def _parts(row: Record | None) -> WindowParts | None:
    if row is None:
        return None
    conversation = read_conversation(row)
    own_epoch = None
    if conversation.own is not None:
        own_epoch = Epoch(conversation.own[1], read_head(row["e_head"]))
    items = _items(row)
    return WindowParts(
        conversation,
        own_epoch,
        tuple(item for item in items if item.kind == "prompt"),
        tuple(item for item in items if item.kind != "prompt"),
        None if own_epoch else read_kept(row),
    )


async def newer(
    database: Database, tenant: UUID, conversation_id: str, last_seq: int, layout: Layout, *, anthropic: bool
) -> tuple[Conversation, list[Item]] | None:
    """Return the conversation, without its own epoch, and the messages after ``last_seq`` in the layout's form."""
    arguments = (str(tenant), conversation_id, last_seq, layout.verbatim_from, anthropic)
    rows = await database.fetch_all(NEWER, *arguments)
    if not rows:
        return None
    return read_conversation(rows[0]), items_of(row for row in rows if row["m_seq"] is not None)


def items_of(rows: Iterable[Record]) -> list[Item]:
    """Return the items of messages, a row each."""
    names = [f"m_{name}" for name in ITEM_COLUMNS]
    return [_item([row[name] for name in names]) for row in rows]


def _items(row: Record) -> list[Item]:
    if row["m_seq"] is None:
        return []
    columns = [row[f"m_{name}"] for name in ITEM_COLUMNS]
    return [_item(values) for values in zip(*columns, strict=True)]


def _item(values: Sequence[Any]) -> Item:
    """Return the item of a message; ``values`` in the order of ITEM_COLUMNS."""
    (
        seq, page, group, kind, role, text, tokens, parts, calls, results, full_after, loaded, loaded_tokens, short,
        short_tokens, anthropic, archives, fresh,
    ) = values  # fmt: skip
    return Item(
        seq=seq,
        page=page,
        group=group,
        kind=kind,
        role="tool" if kind == "result" else role,
        text=text,
        parts=parts,
        tokens=tokens,
        calls=calls,
        results=results,
        full_after=full_after,
        loaded_text=loaded,
        loaded_tokens=loaded_tokens,
        short_text=short,
        short_tokens=short_tokens,
        anthropic=anthropic,
        archive_ids=tuple(archives[1:-1].split(",")) if archives else (),
        fresh=tuple(map(int, fresh[1:-1].split(","))) if fresh else (),
    )


def read_head(text: str) -> Head:
    values = json.loads(text)
    values["listed"] = tuple(values["listed"])
    values["chapters"] = tuple(tuple(chapter) for chapter in values["chapters"])
    values["days"] = tuple(Day(*day) for day in values["days"])
    return Head(**values)


# The newest messages up to one ($4) without their texts, back to a condensed offset and on to the start of a call
# group, and the user message that opened the page they begin in (which a late result can be on a page after).
ENTRIES = """
WITH e AS (
  SELECT call_group, user_seq FROM messages
   WHERE tenant_id = $1 AND conversation_id = $2 AND short_before <= $3
   ORDER BY short_before DESC, seq DESC LIMIT 1
), s AS (
  SELECT e.call_group, least(e.user_seq, m.user_seq) AS user_seq
    FROM e LEFT JOIN LATERAL (SELECT user_seq FROM messages
                               WHERE tenant_id = $1 AND conversation_id = $2 AND seq = e.call_group LIMIT 1) m ON true
)
SELECT m.seq, m.page, m.call_group, m.kind, m.full_tokens, m.short_tokens, m.full_before, m.short_before,
       m.user_seq, m.revision, m.fresh_tokens, m.loaded_tokens
  FROM messages m
 WHERE m.tenant_id = $1 AND m.conversation_id = $2 AND m.seq >= (SELECT call_group FROM s) AND m.seq <= $4
UNION ALL
SELECT m.seq, m.page, m.call_group, m.kind, m.full_tokens, m.short_tokens, m.full_before, m.short_before,
       m.user_seq, m.revision, m.fresh_tokens, m.loaded_tokens
  FROM messages m
 WHERE m.tenant_id = $1 AND m.conversation_id = $2 AND m.seq = (SELECT user_seq FROM s WHERE user_seq < call_group)
 ORDER BY seq
"""


async def entries(tx: ReadTx, conversation: Conversation, short_from: int) -> list[Entry]:
    """Return the entries from a condensed offset on, as ``paging.layout`` needs them."""
    rows = await tx.fetch(ENTRIES, conversation.id, short_from, conversation.totals.last_seq)
    return [_entry(*row) for row in rows]


def _entry(*values: Any) -> Entry:
    *place, fresh, loaded = values
    entry = Entry(*place)
    if not fresh and not loaded:
        return entry
    return entry._replace(fresh=tuple(fresh), loaded=max(0, loaded - entry.full) if loaded else 0)


LINES_PER_PAGE = 30

# The contents-page lines of some pages, as far as the pages are archived.
LINES = """
SELECT p.page, m.seq, m.role, m.kind, m.line, m.line_tokens
  FROM pages p
  CROSS JOIN LATERAL (
    SELECT min(n.first_seq) AS seq FROM (
      (SELECT first_seq FROM pages
        WHERE tenant_id = $1 AND conversation_id = $2 AND page > p.page ORDER BY page LIMIT 1)
      UNION ALL SELECT $4) n) until
  CROSS JOIN LATERAL (
    SELECT seq, role, kind, line, line_tokens FROM messages
     WHERE tenant_id = $1 AND conversation_id = $2 AND seq >= p.first_seq AND seq < until.seq
     ORDER BY seq LIMIT $5) m
 WHERE p.tenant_id = $1 AND p.conversation_id = $2 AND p.page = ANY ($3::int[])
 ORDER BY m.seq
"""


async def lines(tx: ReadTx, conversation_id: str, pages: Sequence[int], before: int) -> dict[int, list[ContentsLine]]:
    """Return at most LINES_PER_PAGE lines for each page; messages without a line are left out."""
    by_page: dict[int, list[ContentsLine]] = {}
    if not pages:
        return by_page
    rows = await tx.fetch(LINES, conversation_id, pages, before, LINES_PER_PAGE)
    for row in rows:
        if row["line"] and row["kind"] != "prompt":
            role = "tool" if row["kind"] == "result" else row["role"]
            by_page.setdefault(row["page"], []).append(ContentsLine(row["seq"], role, row["line"], row["line_tokens"]))
    return by_page


# An epoch, which its conversation is in from now on. Epochs with larger numbers were made by other rules: under other
# settings.
STORE_EPOCH = f"""
WITH c AS (
  UPDATE conversations SET epoch = $3::bigint WHERE tenant_id = $1 AND id = $2 RETURNING id
), later AS (
  DELETE FROM epochs WHERE tenant_id = $1 AND conversation_id = $2 AND number > $3
)
INSERT INTO epochs (tenant_id, conversation_id, number, made_for, head, {", ".join(LAYOUT_COLUMNS)})
SELECT $1, c.id, $3, $4::int, $5::text, {", ".join(f"${6 + i}::bigint" for i in range(len(LAYOUT_COLUMNS)))} FROM c
ON CONFLICT (tenant_id, conversation_id, number) DO UPDATE
   SET made_for = excluded.made_for, head = excluded.head,
       {", ".join(f"{name} = excluded.{name}" for name in LAYOUT_COLUMNS)}
"""


async def store_epoch(tx: Tx, conversation_id: str, made_for: int, epoch: Epoch) -> None:
    """Keep an epoch of the conversation's own budget. (A number is met twice only after the budget changed.)"""
    layout = epoch.layout
    columns = [getattr(layout, name) for name in LAYOUT_COLUMNS]
    head = dumps(asdict(epoch.head))
    await tx.execute(STORE_EPOCH, conversation_id, layout.number, made_for, head, *columns)


SUMS = """
SELECT page, user_seq, full_before + full_tokens AS full, short_before + short_tokens AS short FROM messages
 WHERE tenant_id = $1 AND conversation_id = $2 AND seq = $3
"""


async def as_of(tx: ReadTx, conversation: Conversation, seq: int) -> Conversation | None:
    """Return a conversation as it was when a message was its last, with the settings of today; None if there is none.

    Its history is counted with placeholders in place of what was archived.
    """
    row = await tx.fetchrow(SUMS, conversation.id, seq)
    if row is None:
        return None
    page, user_seq, full, short = row
    known = conversation.totals
    history = known.history if seq == known.last_seq else full + conversation.prompt_tokens
    end = conversation.end
    return replace(
        conversation,
        totals=Totals(seq, page, full, short, history, known.generation),
        end=replace(end, last_seq=seq, last_page=page, user_seq=user_seq, prompt_through=min(end.prompt_through, seq)),
        indexed_through=min(conversation.indexed_through, page),
        summary_through=min(conversation.summary_through, seq),
        own=None,
    )


STORED_HEAD = "SELECT head FROM epochs WHERE tenant_id = $1 AND conversation_id = $2 AND number = $3"


async def stored_head(tx: ReadTx, conversation_id: str, number: int) -> Head:
    row = await tx.fetchrow(STORED_HEAD, conversation_id, number)
    return read_head(row["head"]) if row else Head()
