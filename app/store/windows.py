"""Read the parts of a window in as few round trips as possible."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from asyncpg import Record

from app.core.canonical import dumps
from app.core.conversation import Conversation
from app.core.groups import shrunk
from app.core.line import Line
from app.core.model import Cut, Day, Entry, FreshForm, Head, Item, Salt, Totals
from app.core.window.assemble import Body
from app.postgres import admission
from app.postgres.along import along
from app.postgres.database import Database
from app.postgres.statements import SqlFile, values_of
from app.postgres.transactions import ReadTx, Tx
from app.store.conversations import CONVERSATION_FIELDS, read_conversation

CUTS_KEPT, BUDGETS_KEPT = 8, 64
"""Cuts of a conversation that are kept: the newest, and the newest of each of so many budgets."""
UNREAD_MOST = 2
"""Tokens of a history that are read, in budgets: no model makes fewer than half as many of a text as our tokenizer."""
CUT_COLUMNS = {
    "number": "bigint", "budget": "int", "step": "int", "condensed_from": "int", "verbatim_from": "int",
    "pinned": "int", "room": "int", "half_mark": "bigint", "full_total": "bigint", "last_seq": "int",
    "last_page": "int", "generation": "bigint", "is_squeezed": "boolean", "forms": "text",
    "head": "text", "sources": "uuid[]",
}  # fmt: skip
CUT_FIELDS = ", ".join(f"e.{name} AS e_{name}" for name in CUT_COLUMNS)

_SQL = SqlFile(
    __file__,
    conversation_fields=CONVERSATION_FIELDS,
    cut_fields=CUT_FIELDS,
    cut_columns=", ".join(CUT_COLUMNS),
    cut_values=", ".join(f":{name}::{kind}" for name, kind in CUT_COLUMNS.items()),
    kept=CUTS_KEPT,
    budgets=BUDGETS_KEPT,
    most=UNREAD_MOST,
    unchanged=admission.UNCHANGED,
)
ITEM = _SQL.piece("item")
_ITEM_NAMES = re.findall(r" AS (m_\w+)", ITEM)
WINDOW = _SQL.statement("window", item_arrays=", ".join(f"array_agg({n} ORDER BY m_seq) AS {n}" for n in _ITEM_NAMES))
NEWER = _SQL.statement("newer")
ENTRIES = _SQL.statement("entries")
STORE_CUT = _SQL.statement("store_cut")
PUT_CUT = _SQL.statement("put_cut")
NEWEST_CUT = _SQL.statement("newest_cut")
SUMS = """
SELECT page, user_seq, full_before + full_tokens AS full, short_before + short_tokens AS short FROM messages
 WHERE tenant_id = $1 AND conversation_id = $2 AND seq = $3
"""
PARTED = """
SELECT seq FROM messages
 WHERE tenant_id = $1 AND conversation_id = $2 AND seq = ANY ($3::int[]) AND call_group <> seq LIMIT 1
"""
FORGET_QUOTING = "DELETE FROM cuts WHERE tenant_id = $1 AND cardinality(sources) > 0 AND sources && $2::uuid[]"


@dataclass(frozen=True, slots=True)
class WindowParts:
    """The parts of a window: a conversation, the newest cut of a budget, and the messages of its zones."""

    conversation: Conversation
    cut: Cut | None
    """None: there is none yet."""
    prompt: tuple[Item, ...] = ()
    items: tuple[Item, ...] = ()
    is_read: bool = True
    """False: so much came since the cut that no messages were read."""
    budget: int = 0
    """The budget whose cut was read."""
    settled: Body = field(default_factory=Body)
    """What the window before it found settled of its messages …"""
    body: Body = field(default_factory=Body)
    """… and that window's body."""

    def laid_out(self, settled: Body, body: Body) -> WindowParts:
        """Return the parts with the window's body, for the next one."""
        own = self.conversation, self.cut, self.prompt, self.items, self.is_read, self.budget
        return WindowParts(*own, settled, body)

    def continued(self, conversation: Conversation, newer: Sequence[Item]) -> WindowParts:
        """Return the parts with the messages appended since."""
        later: Iterable[Item] = self.items[len(self.settled.items) :]
        if conversation.totals.last_page != self.conversation.totals.last_page:
            later = shrunk(later)
        prompt = (*self.prompt, *(item for item in newer if item.kind == "prompt"))
        items = (*self.settled.items, *later, *(item for item in newer if item.kind != "prompt"))
        return WindowParts(conversation, self.cut, prompt, items, True, self.budget, self.settled, self.body)

    def cut_again(self, cut: Cut) -> WindowParts | None:
        """Return the parts by the next cut; None if it shows messages that these lack."""
        last, end = self.cut or Cut(0, self.budget), self.conversation.end.prompt_through
        goes_on = cut.condensed_from >= last.condensed_from and cut.verbatim_from >= last.verbatim_from
        if not (self.is_read and goes_on) or (0 < cut.pinned < last.verbatim_from and cut.pinned != last.pinned):
            return None
        prompt = tuple([_in_zone(item, cut) for item in self.prompt])
        left = range(end + 1, cut.condensed_from)
        items = tuple([_in_zone(one, cut) for one in self.items if one.seq not in left or one.seq == cut.pinned])
        return WindowParts(replace(self.conversation, epoch=cut.number), cut, prompt, items, budget=cut.budget)


def _in_zone(item: Item, cut: Cut) -> Item:
    """Return an item in the form of its zone in a cut."""
    if item.seq >= cut.verbatim_from:
        return item
    if item.seq == cut.pinned:
        return item._replace(loaded_text=None, anthropic=None)
    text = item.text if item.short_text is None else item.short_text
    return item._replace(text=text, tokens=item.short_tokens, loaded_text=None, short_text=None, anthropic=None)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The window to read: of a budget, by default the conversation's own or the deployment's."""

    budget: int | None
    usual: int
    step: int
    anthropic: bool


async def load(database: Database | ReadTx, tenant: UUID, conversation_id: str, wanted: Wanted) -> WindowParts | None:
    """Load all parts of a window with one statement; None if the conversation does not exist."""
    sql, stretches = along(WINDOW.text, conversation_id)
    sees = await database.sees(tenant) if isinstance(database, Database) else database.sees
    named = {"conversation": conversation_id, "sees": sees, **values_of(wanted)}
    arguments = (str(tenant), *WINDOW.arguments(named), *stretches)
    if isinstance(database, Database):
        row = await database.fetch_row(sql, *arguments)
    else:
        row = await database.connection.fetchrow(sql, *arguments)
    parts = _parts(row)
    if parts is None or is_read_along(parts.conversation.line, conversation_id):
        return parts
    return await load(database, tenant, parts.conversation.id, wanted)


def is_read_along(line: Line, conversation_id: str) -> bool:
    """Return whether a statement that was given an id read along its line."""
    read = conversation_id if isinstance(conversation_id, Line) else Line(conversation_id)
    return (read.stretches, read.is_in_tree) == (line.stretches, line.is_in_tree)


def _parts(row: Record | None) -> WindowParts | None:
    if row is None:
        return None
    items = _items(row)
    return WindowParts(
        read_conversation(row),
        read_cut(row) if row["e_number"] is not None else None,
        tuple(item for item in items if item.kind == "prompt"),
        tuple(item for item in items if item.kind != "prompt"),
        bool(row["is_read"]),
        row["read_budget"],
    )


def read_cut(row: Record) -> Cut:
    values = {name: row[f"e_{name}"] for name in CUT_COLUMNS}
    forms = tuple(FreshForm(*form) for form in json.loads(values.pop("forms")))
    return Cut(**values | {"forms": forms, "head": read_head(values["head"]), "sources": tuple(values["sources"])})


async def newer(
    database: Database, tenant: UUID, conversation_id: str, last_seq: int, cut: Cut, *, anthropic: bool
) -> tuple[Conversation, int, list[Item]] | None:
    """Return the conversation, the number of the budget's newest cut, and the messages after ``last_seq`` in their
    zones' forms.
    """
    sees = await database.sees(tenant)
    read = partial(
        database.fetch_all, NEWER, str(tenant), conversation=conversation_id, last_seq=last_seq,
        verbatim_from=cut.verbatim_from, anthropic=anthropic, budget=cut.budget, step=cut.step, sees=sees,
    )  # fmt: skip
    rows = await admission.proven(lambda key, known: read(key=key, known=known)) or await read(key=None, known=None)
    if not rows:
        return None
    items = items_of(row for row in rows if row["m_seq"] is not None)
    return read_conversation(rows[0]), rows[0]["cut"] or 0, items


def items_of(rows: Iterable[Record]) -> list[Item]:
    return [_item([row[name] for name in _ITEM_NAMES]) for row in rows]


def _items(row: Record) -> list[Item]:
    if row["m_seq"] is None:
        return []
    columns = [row[name] for name in _ITEM_NAMES]
    return [_item(values) for values in zip(*columns, strict=True)]


def _item(values: Sequence[Any]) -> Item:
    *shown, archives, fresh, marks, salt, author = values
    numbers = (tuple(map(int, found[1:-1].split(","))) if found else () for found in (fresh, marks))
    uuids = tuple(archives[1:-1].split(",")) if archives else ()
    return Item._make((*shown, uuids, *numbers, False, Salt(salt, author)))


def read_head(text: str) -> Head:
    values = json.loads(text)
    values["listed"] = tuple(values["listed"])
    values["days"] = tuple(Day(*day) for day in values["days"])
    return Head(**{name: value for name, value in values.items() if name in Head.__slots__})  # once it had more


async def entries(tx: ReadTx, conversation: Conversation, short_from: int) -> list[Entry]:
    """Return the entries from a condensed offset on, for ``paging.places``."""
    rows = await tx.fetch(
        ENTRIES, conversation=conversation.id, short_from=short_from, last_seq=conversation.totals.last_seq
    )
    return [tuple.__new__(Entry, row) for row in rows]  # half the calls: they are hundreds


async def store_cut(tx: Tx, conversation: Conversation, cut: Cut) -> bool:
    """Store a cut in a transaction that shares the owners of what it quotes. Return False if another was faster."""
    number = await tx.fetchval(
        STORE_CUT, conversation=conversation.line.own, uid=conversation.uid,
        own_generation=conversation.own_generation, **_cut_values(cut),
    )  # fmt: skip
    return number is not None


async def parts_a_group(tx: ReadTx, conversation: Conversation, cut: Cut) -> bool:
    """Return whether a zone of a cut begins within a call group."""
    return await tx.fetchrow(PARTED, conversation.id, cut.zones) is not None


async def put_cut(tx: Tx, conversation: Conversation, cut: Cut, at: datetime) -> bool:
    """Store an imported cut of a locked conversation. Return False if its number is used."""
    number = await tx.fetchval(PUT_CUT, conversation=conversation.line.own, at=at, **_cut_values(cut))
    return number is not None


def _cut_values(cut: Cut) -> dict[str, Any]:
    values = {name: getattr(cut, name) for name in CUT_COLUMNS}
    return values | {"forms": dumps(cut.forms), "head": dumps(values_of(cut.head)), "sources": list(cut.sources)}


async def newest_cut(tx: ReadTx, conversation: Conversation, budget: int) -> Cut | None:
    row = await tx.fetchrow(
        NEWEST_CUT, conversation=conversation.id, budget=budget, generation=conversation.totals.generation
    )
    return read_cut(row) if row is not None else None


async def forget_quoting(tx: Tx, memories: Collection[UUID]) -> int:
    """Erase the cuts whose heads quote memories. Return their number."""
    return await tx.execute(FORGET_QUOTING, list(memories)) if memories else 0


async def as_of(tx: ReadTx, conversation: Conversation, seq: int) -> Conversation | None:
    """Return a conversation as it was when a message was its last, with today's settings; None without that message.

    Its history is counted with placeholders instead of archived results.
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
    )
