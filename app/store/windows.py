"""Read the parts of a window in as few round trips as possible."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any
from uuid import UUID

from asyncpg import Record

from app.core.canonical import dumps
from app.core.conversation import Conversation
from app.core.groups import shrunk
from app.core.line import Line
from app.core.model import Day, Entry, Epoch, Head, Item, Layout, Totals
from app.core.window.contents import LINES_PER_PAGE, ContentsLine
from app.core.window.kept import KeptLine
from app.postgres.along import along
from app.postgres.database import Database
from app.postgres.statements import SqlFile
from app.postgres.transactions import ReadTx, Tx
from app.store.conversations import (
    CONVERSATION_FIELDS,
    EPOCH_FIELDS,
    read_conversation,
)
from app.store.memory.kept import in_mind, read_kept

_SQL = SqlFile(
    __file__,
    conversation_fields=CONVERSATION_FIELDS,
    epoch_fields=EPOCH_FIELDS,
    kept_whole=in_mind(before="1", opened="c.created_at /*began*/"),
)
ITEM = _SQL.piece("item")
_ITEM_NAMES = re.findall(r" AS (m_\w+)", ITEM)
WINDOW = _SQL.statement("window", item_arrays=", ".join(f"array_agg({n} ORDER BY m_seq) AS {n}" for n in _ITEM_NAMES))
NEWER = _SQL.statement("newer")
ENTRIES = _SQL.statement("entries")
LINES = _SQL.statement("lines")
STORE_EPOCH = _SQL.statement("store_epoch")
SUMS = """
SELECT page, user_seq, full_before + full_tokens AS full, short_before + short_tokens AS short FROM messages
 WHERE tenant_id = $1 AND conversation_id = $2 AND seq = $3
"""
STORED_HEAD = "SELECT head FROM epochs WHERE tenant_id = $1 AND conversation_id = $2 AND number = $3"


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


_ZONES = ("condensed_from", "verbatim_from", "pinned", "full_until", "pages_until", "generation", "short_until")


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
    zones = {name: layout and getattr(layout, name) for name in _ZONES}
    return await _load(database, tenant, conversation_id, {**zones, "uid": uid, "anthropic": anthropic})


async def _load(
    database: Database | ReadTx, tenant: UUID, conversation_id: str, zones: Mapping[str, object]
) -> WindowParts | None:
    sql, stretches = along(WINDOW.text, conversation_id)
    arguments = (str(tenant), *WINDOW.arguments({"conversation": conversation_id, **zones}), *stretches)
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
    nothing = {**dict.fromkeys(_ZONES), "condensed_from": 0, "verbatim_from": 0, "pinned": 0}
    return await _load(database, tenant, conversation_id, {**nothing, "uid": None, "anthropic": False})


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
    rows = await database.fetch_all(
        NEWER, str(tenant), conversation=conversation_id, last_seq=last_seq, verbatim_from=layout.verbatim_from,
        anthropic=anthropic,
    )  # fmt: skip
    if not rows:
        return None
    return read_conversation(rows[0]), items_of(row for row in rows if row["m_seq"] is not None)


def items_of(rows: Iterable[Record]) -> list[Item]:
    return [_item([row[name] for name in _ITEM_NAMES]) for row in rows]


def _items(row: Record) -> list[Item]:
    if row["m_seq"] is None:
        return []
    columns = [row[name] for name in _ITEM_NAMES]
    return [_item(values) for values in zip(*columns, strict=True)]


def _item(values: Sequence[Any]) -> Item:
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


async def entries(tx: ReadTx, conversation: Conversation, short_from: int) -> list[Entry]:
    """Return the entries from a condensed offset on, as ``paging.layout`` needs them."""
    rows = await tx.fetch(
        ENTRIES, conversation=conversation.id, short_from=short_from, last_seq=conversation.totals.last_seq
    )
    return [_entry(*row) for row in rows]


def _entry(*values: Any) -> Entry:
    *place, fresh, loaded = values
    entry = Entry(*place)
    if not fresh and not loaded:
        return entry
    return entry._replace(fresh=tuple(fresh), loaded=max(0, loaded - entry.full) if loaded else 0)


async def lines(tx: ReadTx, conversation_id: str, pages: Sequence[int], before: int) -> dict[int, list[ContentsLine]]:
    """Return at most LINES_PER_PAGE lines for each page; messages without a line are left out."""
    by_page: dict[int, list[ContentsLine]] = {}
    if not pages:
        return by_page
    rows = await tx.fetch(LINES, conversation=conversation_id, pages=pages, before=before, lines_max=LINES_PER_PAGE)
    for row in rows:
        if row["line"] and row["kind"] != "prompt":
            role = "tool" if row["kind"] == "result" else row["role"]
            by_page.setdefault(row["page"], []).append(ContentsLine(row["seq"], role, row["line"], row["line_tokens"]))
    return by_page


async def store_epoch(tx: Tx, conversation_id: str, made_for: int, epoch: Epoch) -> None:
    """Keep an epoch of the conversation's own budget. (A number is met twice only after the budget changed.)"""
    head = dumps(asdict(epoch.head))
    await tx.execute(STORE_EPOCH, conversation=conversation_id, made_for=made_for, head=head, **asdict(epoch.layout))


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


async def stored_head(tx: ReadTx, conversation_id: str, number: int) -> Head:
    row = await tx.fetchrow(STORED_HEAD, conversation_id, number)
    return read_head(row["head"]) if row else Head()
