"""Append: one statement that stores messages with everything that belongs to them, or nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, lru_cache, partial
from itertools import chain
from operator import attrgetter
from uuid import UUID

from app.core.canonical import dumps
from app.core.conversation import Conversation
from app.core.history.append import Append
from app.core.history.rows import ClosedPage, NewArchive, NewMemory, NewMessage, NewPage, NewWish
from app.core.times import offset_of
from app.core.window.contents import Chapter
from app.postgres import admission
from app.postgres.database import Database, wake_at_commit
from app.postgres.sharding import Routed, routed
from app.postgres.transactions import Changes, Tx
from app.queue import enqueue, outbox
from app.queue.enqueue import NewWork
from app.queue.outbox import NewEvent
from app.store import conversations
from app.store.conversations import calls_text
from app.store.memory import embeddings, kept


@dataclass(frozen=True, slots=True)
class IdempotentResponse:
    """The response to a request with an Idempotency-Key, returned again when the request is repeated."""

    key: str
    digest: bytes
    response: str
    owner: UUID


def array_literal(values: Sequence[object]) -> str:
    """Return a PostgreSQL array as text, so that the driver need not encode each element."""
    # PostgreSQL stores no text with NUL.
    quoted = "\0".join(map(str, values)).replace("\\", "\\\\").replace('"', '\\"').replace("\0", '","')
    return f'{{"{quoted}"}}' if values else "{}"


_TYPES = {
    **dict.fromkeys(("Author", "Kind", "Role", "Lane", "EventType", "Language", "Terms", "str"), "text"),
    "int": "int", "bool": "boolean", "UUID": "uuid", "bytes": "bytea", "datetime": "timestamptz",
    "tuple[str, ...]": "text[]", "tuple[int, ...]": "int[]", "tuple[UUID, ...]": "uuid[]",
}  # fmt: skip
STATEMENTS_KEPT = 256
"""Texts of statements that are kept: some dozens serve nearly all appends, though shapes there are thousands of."""
FEW = 4
"""Rows of a table that are written out in a statement, a parameter for each value. Unnesting arrays costs the server a
function scan and a store per column, and the driver a pass over each element: half the cost of an append of two
messages. More rows are passed as arrays, so that the number of statements stays small.
"""


@cache
def _names(row: type) -> list[str]:
    return [f.name for f in fields(row)]


@cache
def _types(row: type) -> list[str]:
    return [_TYPES[str(f.type).removesuffix(" | None")] for f in fields(row)]


@cache
def _fields_of(row: type) -> Callable[[object], tuple[object, ...]]:
    return attrgetter(*_names(row))


def _values(row: type, count: int, first: int, alias: str) -> tuple[str, int]:
    """Return a FROM item of ``count`` rows, and the number of the next parameter."""
    names, types = _names(row), _types(row)
    if count > FEW:
        return _unnest(row, first, alias), first + len(names)
    starts = range(first, first + count * len(names), len(names))
    casts = [f"text::{one}" if "[]" in one else one for one in types]
    rows = (", ".join(f"${at + i}::{cast}" for i, cast in enumerate(casts)) for at in starts)
    listed = ", ".join(f"({one})" for one in rows)
    return f"(VALUES {listed}) AS {alias} ({', '.join(names)})", first + count * len(names)


def _unnest(row: type, first: int, alias: str) -> str:
    types = ("text" if "[]" in one else one for one in _types(row))
    parameters = ", ".join(f"${i}::{one}[]" for i, one in enumerate(types, first))
    return f"unnest({parameters}) AS {alias} ({', '.join(_names(row))})"


_CONTENT_COLUMNS = ("scope", "digest", "content", "nul_offsets", "length", "tokens")


def _select(alias: str, row: type) -> str:
    casts = ("sparsevec" if f.type == "Terms" else one for f, one in zip(fields(row), _types(row), strict=True))
    return ", ".join(f"{alias}.{name}::{cast}" for name, cast in zip(_names(row), casts, strict=True))


# What both kinds of append leave in the conversation's row.
_STATE = (
    "last_seq", "last_page", "user_seq", "prompt_through", "open_group", "open_calls", "full_total", "short_total",
    "history_total", "prompt_tokens", "language", "updated_at", "chain", "asked",
    "answered", "said_at", "said_offset", "asked_from", "refused", "title", "file_percents",
    "file_weights", "learned_percent", "chaptered_through",
)  # fmt: skip
_FIRST = 6
OWN = ("", "", "", "", "::uuid[]", "")
"""Casts of the columns that only a new conversation's row is given."""


ROWS = (NewMessage, NewPage, ClosedPage, Chapter, NewMemory, NewWish, NewArchive, NewEvent, NewWork)
"""The kinds of rows of an append, in the order of their parameters."""
Rows = Sequence[tuple[type, Sequence[object]]]
"""Rows by their kinds, of which each has some."""


def _rows_of(append: Append, work: Sequence[NewWork], events: Sequence[NewEvent]) -> Rows:
    found = (
        append.messages, append.pages, append.indexes, append.chapters, append.memories, append.wishes,
        append.archives, events, work,
    )  # fmt: skip
    return [(row, some) for row, some in zip(ROWS, found, strict=True) if some]


@dataclass(frozen=True)
class StatementShape:
    """The properties that an append's statement depends on."""

    new: bool
    rows: tuple[tuple[type, int], ...]
    """How many of each kind: up to FEW, or more."""
    ends: bool
    embeds: bool
    once: bool
    notices: bool = False
    proves: bool = False
    """It stores nothing unless its caller is still let in: see ``app.postgres.admission``."""

    @staticmethod
    def of(append: Append, rows: Rows, once: IdempotentResponse | None, *, proves: bool = False) -> StatementShape:
        return StatementShape(
            new=append.is_new,
            rows=tuple([(row, min(len(some), FEW + 1)) for row, some in rows]),
            ends=any(wish.valid_to for wish in append.wishes),
            embeds=append.follow_up.embeds is not None,
            once=once is not None,
            notices=append.follow_up.notices,
            proves=proves,
        )


@lru_cache(STATEMENTS_KEPT)
def append_sql(shape: StatementShape) -> str:
    """Return one statement that stores an append entirely or not at all. On success it returns the last page up to
    which all are indexed.

    It stores nothing if the conversation is no longer at the version that the append was decided on. A client id or an
    Idempotency-Key that already exists raises UniqueViolationError, and then nothing is stored either.
    """
    parts, last = _parts(shape)
    # PostgreSQL reads c first and then runs the others from the last to the first: work and the key are locked last.
    ordered = [parts[0], *reversed(last), *parts[1:]]
    with_parts = ",\n     ".join(part.within() for part in ordered)
    sees = "length(set_config('app.tenant', $1::text || '*', true)) / 36"
    return f"WITH {with_parts}\nSELECT indexed_through FROM c LIMIT {sees}"


@lru_cache(STATEMENTS_KEPT)
def routed_sql(shape: StatementShape) -> tuple[Routed, ...]:
    """Return the statements of one transaction that do the same on Citus. The first returns a row on success.

    Archives come before memories, work and the key last.
    """
    parts, last = _parts(shape)
    sources = {part.alias: part.source for part in parts if part.source}
    order = sorted(parts[1:], key=lambda part: part.table in MEMORIES)
    return tuple(routed(part.alone(sources)) for part in [parts[0], *order, *last] if part.writes)


def _parts(shape: StatementShape) -> tuple[list[_Part], list[_Part]]:
    """Return the parts that an append writes, the conversation first, and the parts that it locks last."""
    indexes = any(row is ClosedPage for row, _ in shape.rows)
    conversation, at = _conversation(is_new=shape.new, proves=shape.proves, indexes=indexes)
    parts = [_Part("c", "conversations", conversation, _CONVERSATION)]
    last: list[_Part] = []
    for row, count in shape.rows:
        target = _TARGETS.get(row)
        source, at = _values(row, count, at, target.alias if target else "a")
        written = [target.write(source, row)] if target else _write_archives(source)
        (last if row is NewWork else parts).extend(written)
        if row is NewMemory and shape.embeds:
            parts.append(_unembedded(is_said=shape.notices))
        if row is NewWish and shape.ends:
            parts.append(_WITHDRAWN)
    if shape.once:
        key = f"""INSERT INTO idempotency (tenant_id, key, digest, response, owner)
          SELECT c.tenant_id, ${at}, ${at + 1}::bytea, ${at + 2}, ${at + 3}::uuid FROM {{c}}"""
        last.append(_Part("o", "idempotency", key))
    return parts, last


@dataclass(frozen=True, slots=True)
class _Part:
    """One part of an append. ``{c}`` in its SQL stands for the part with that alias, in a FROM."""

    alias: str
    table: str
    sql: str
    source: str = ""
    """The rows that other parts read of it, as a FROM item that needs none of them but ``c``."""
    writes: bool = True

    def within(self) -> str:
        """Return the part as a query of a WITH."""
        return f"{self.alias} AS ({_ALIAS.sub(lambda found: found[1], self.sql)})"

    def alone(self, sources: Mapping[str, str]) -> str:
        """Return the part as a statement of its own, which reads the parameters of the parts that it depends on."""
        sql = self.sql.partition(" RETURNING ")[0] if self.alias != "c" else self.sql
        while _ALIAS.search(sql):
            sql = _ALIAS.sub(lambda found: sources[found[1]], sql)
        return sql


_ALIAS = re.compile(r"\{(\w)\}")
_CONVERSATION = "(SELECT tenant_id, id FROM conversations WHERE tenant_id = $1::uuid AND id = $2) AS c"
MEMORIES = ("memories", "unembedded", "withdrawals")


def _conversation(*, is_new: bool, proves: bool, indexes: bool) -> tuple[str, int]:
    """Return the statement that writes the conversation's row, and the number of the next parameter."""
    state = {name: f"${_FIRST + i}" for i, name in enumerate(_STATE)}
    at = _FIRST + len(_STATE)
    if is_new:
        columns, own = ", ".join(state), ", ".join(f"${at + i}{cast}" for i, cast in enumerate(OWN))
        sql = f"""INSERT INTO conversations
            (tenant_id, id, uid, version, user_id, system, system_tokens, has_earlier, scopes, space_id, created_at,
             {columns})
          VALUES ($1::uuid, $2, $3::uuid, $4::int + 2, {own}, $5, {", ".join(state.values())})
          ON CONFLICT (tenant_id, id) DO NOTHING RETURNING tenant_id, id, indexed_through"""
        return sql, at + len(OWN)
    unchanged = ""
    if proves:
        unchanged = f"AND {admission.UNCHANGED.replace(':key', f'${at}').replace(':known', f'${at + 1}')}"
        at += 2
    if indexes:
        state["indexed_through"] = f"greatest(indexed_through, ${at}::int)"
        at += 1
    sets = ", ".join(f"{name} = {value}" for name, value in state.items())
    sql = f"""UPDATE conversations SET version = version + 1, {sets}
          WHERE tenant_id = $1::uuid AND id = $2 AND uid = $3 AND version = $4 AND $5::timestamptz IS NOT NULL
          {unchanged}
          RETURNING tenant_id, id, indexed_through"""
    return sql, at


_TAKEN_BACK = "SELECT DISTINCT n.tenant_id, n.holder, 1, $5::timestamptz FROM {n} WHERE n.valid_to IS NOT NULL"
_WITHDRAWN = _Part("d", "withdrawals", kept.withdrawing(_TAKEN_BACK))


def _unembedded(*, is_said: bool) -> _Part:
    sql = f"""INSERT INTO unembedded (tenant_id, owner, memory_id, is_said)
          SELECT s.tenant_id, s.owner, s.id, {str(is_said).lower()} FROM {{s}}"""
    return _Part("u", "unembedded", sql)


@dataclass(frozen=True, slots=True)
class _Target:
    """A table to insert rows into: its columns that the statement itself fills, and the clause that follows."""

    alias: str
    table: str
    given: Mapping[str, str]
    after: str = ""

    def write(self, source: str, row: type) -> _Part:
        columns = ", ".join(["tenant_id", *self.given, *_names(row)])
        values = ", ".join(["c.tenant_id", *self.given.values(), _select(self.alias, row)])
        sql = f"""INSERT INTO {self.table} ({columns})
          SELECT {values} FROM {{c}}, {source} {self.after}"""
        rows = f"(SELECT c.tenant_id, {self.alias}.* FROM {{c}}, {source}) AS {self.alias}"
        return _Part(self.alias, self.table, sql, rows)


_OF_CONVERSATION = {"conversation_id": "c.id", "created_at": "$5::timestamptz"}
_OF_WISH = {
    "conversation_id": "c.id", "conversation_uid": "$3::uuid", "source": "'rule'", "type": "'preference'",
    "pinned": "true", "start": "0", "length": "0", "terms": f"'{kept.NO_TERMS}'::sparsevec",
    "created_at": "n.valid_from", "learnt_at": "$5::timestamptz", "former": "n.key IS NOT NULL AND n.status = 'held'",
}  # fmt: skip
_TARGETS = {
    NewMessage: _Target("m", "messages", _OF_CONVERSATION),
    NewPage: _Target("p", "pages", _OF_CONVERSATION),
    ClosedPage: _Target("i", "page_index", {**_OF_CONVERSATION, "source": "'extractive'"}, "ON CONFLICT DO NOTHING"),
    Chapter: _Target("h", "chapters", _OF_CONVERSATION),
    NewMemory: _Target("s", "memories", {}, "RETURNING tenant_id, owner, id"),
    # What a scope holds already, and what a person refused, is left out.
    NewWish: _Target(
        "n", "memories", _OF_WISH, f"WHERE NOT EXISTS ({kept.REPEATED}) RETURNING tenant_id, holder, valid_to"
    ),
    NewEvent: _Target("v", "events", {}),
    NewWork: _Target("w", "work", {}, enqueue.AGAIN),
}


def _write_archives(source: str) -> list[_Part]:
    plain = [n for n in _names(NewArchive) if n not in _CONTENT_COLUMNS[2:]]
    rows = f"SELECT c.tenant_id, {_select('a', NewArchive)} FROM {{c}}, {source}"
    # A content that is there is locked: see store.archives.INSERT_CONTENT.
    contents = f"""INSERT INTO archive_contents AS t (tenant_id, {", ".join(_CONTENT_COLUMNS)})
          SELECT DISTINCT ON (tenant_id, scope, digest) tenant_id, {", ".join(_CONTENT_COLUMNS)} FROM {{a}}
          ON CONFLICT (tenant_id, scope, digest) DO UPDATE SET length = t.length"""
    cards = f"""INSERT INTO archives (tenant_id, created_at, {", ".join(plain)})
          SELECT tenant_id, $5::timestamptz, {", ".join(plain)} FROM {{a}}"""
    return [
        _Part("a", "", rows, f"({rows}) AS a", writes=False),
        _Part("ac", "archive_contents", contents),
        _Part("ar", "archives", cards),
    ]


def _arguments(
    tenant: UUID, append: Append, rows: Rows, once: IdempotentResponse | None, proof: Sequence[object] = ()
) -> list[object]:
    after, created_at = append.conversation, append.conversation.updated_at
    end, totals = after.end, after.totals
    version = -1 if append.is_new else after.version - 1
    arguments: list[object] = [str(tenant), after.id, after.uid, version, created_at]
    arguments += [end.last_seq, end.last_page, end.user_seq, end.prompt_through, end.group, calls_text(end)]
    arguments += [totals.full, totals.short, totals.history, after.prompt_tokens, after.language, created_at]
    arguments += [after.chain, after.asked, after.answered, after.said_at, offset_of(after.said_at)]
    arguments += [after.asked_from, after.refused, after.title]
    arguments += [dumps(dict(after.file_percents)), dumps(after.file_weights), after.learned_percent]
    arguments += [after.chaptered_through]
    if append.is_new:
        arguments += [after.user_id, after.system, after.system_tokens, after.has_earlier, after.scopes, after.space_id]
    arguments += proof
    arguments += [index.page for index in append.indexes]
    for row, some in rows:
        values = chain.from_iterable(map(_fields_of(row), some)) if len(some) <= FEW else columns_of(row, some)
        arguments += [array_literal(value) if type(value) is tuple else value for value in values]
    if once:
        arguments += [once.key, once.digest, once.response, once.owner]
    return arguments


def columns_of(row: type, rows: Sequence[object]) -> list[object]:
    """Return rows as arrays for ``unnest``, in the order of the fields."""
    columns = zip(*map(_fields_of(row), rows), strict=True)
    typed = zip(columns, _types(row), strict=True)
    return [[*map(array_literal, column)] if "[]" in type_ else [*column] for column, type_ in typed]


async def append_alone(
    database: Database,
    tenant: UUID,
    append: Append,
    work: Sequence[NewWork],
    once: IdempotentResponse | None,
    events: Sequence[NewEvent] = (),
) -> int | None:
    """Store an append by itself, in one round trip. Return the last page of those indexed without a gap; None if the
    append was decided on a version that is past, or by what its caller was let in by before.
    """
    if database.is_sharded:
        async with database.begin(tenant) as tx:
            return await _write(tx, append, work, once, events)
    rows = _rows_of(append, work, events)
    sql = append_sql(StatementShape.of(append, rows, once, proves=not append.is_new))
    given = partial(_arguments, tenant, append, rows, once)
    if append.is_new:
        row = await database.write_row(sql, *given())
    else:
        row = await admission.proven(lambda *proof: database.write_row(sql, *given(proof)))
    if row is None:
        return None
    database.follow(tenant, Changes(stored=[_texts(append)]))
    if work:
        database.work_came.set()
    return int(row["indexed_through"])


def _texts(append: Append) -> tuple[str | None, Iterable[str]]:
    """Return the texts that count as storage, and their user."""
    bodies = (message.body for message in append.messages)
    return append.conversation.user_id, chain(bodies, (archive.content for archive in append.archives))


async def _write(
    tx: Tx, append: Append, work: Sequence[NewWork], once: IdempotentResponse | None, events: Sequence[NewEvent]
) -> int | None:
    rows = _rows_of(append, work, events)
    shape, arguments = StatementShape.of(append, rows, once), _arguments(tx.tenant, append, rows, once)
    first, *others = routed_sql(shape) if tx.is_sharded else (None,)
    if first is None:
        row = await tx.connection.fetchrow(append_sql(shape), *arguments)
    else:
        row = await first.fetchrow(tx, arguments[1:])
    if row is None:
        return None
    tx.changes.stored.append(_texts(append))
    if work:
        wake_at_commit(tx)
    for one in others:
        await one.fetch(tx, arguments[1:])
    return int(row["indexed_through"])


MEMORIES_AT_ONCE = 1_000
"""Passages that one statement stores: some seconds' worth of a statement's time on a slow machine."""


async def append_within(
    tx: Tx,
    append: Append,
    work: Sequence[NewWork],
    once: IdempotentResponse | None,
    events: Sequence[NewEvent] = (),
) -> int | None:
    """Do as ``append_alone`` in a transaction that holds the conversation's lock, with any number of memories."""
    at_once = len(append.memories) <= MEMORIES_AT_ONCE
    rest = () if at_once else append.memories
    first = append if at_once else replace(append, memories=())
    if (indexed_through := await _write(tx, first, work, once, events)) is None:
        return None
    await kept.decide(tx, keys_of(append.wishes))
    await remember(tx, rest, embeds=append.follow_up.embeds is not None)
    return indexed_through


def keys_of(wishes: Sequence[NewWish]) -> list[tuple[UUID, str]]:
    """Return the keys that wishes set, each with its holder."""
    return [(wish.holder, wish.key) for wish in wishes if wish.key is not None and wish.status == "held"]


INSERT_WISHES = f"""
INSERT INTO memories (tenant_id, conversation_id, conversation_uid, source, type, pinned, start, length, terms,
                      created_at, learnt_at, former, {", ".join(_names(NewWish))})
SELECT $1, $2, $3, $4, 'preference', true, 0, 0, '{kept.NO_TERMS}'::sparsevec, n.valid_from, now(),
       {_OF_WISH["former"]},
       {_select("n", NewWish)} FROM {_unnest(NewWish, 5, "n")}
 WHERE NOT EXISTS ({kept.REPEATED}) RETURNING id
"""
# What is held now need not be accepted any more.
DROP_PROPOSALS = """
DELETE FROM memories o USING unnest($2::uuid[], $3::text[]) AS n (holder, content)
 WHERE o.tenant_id = $1 AND o.holder = n.holder AND o.pinned AND NOT o.former AND o.content = n.content
   AND o.status = 'proposed'
"""


async def keep_wishes(tx: Tx, conversation: Conversation, wishes: Sequence[NewWish], source: str) -> None:
    """Store wishes found in a conversation's messages after these were stored, by a `rule` or an `llm`."""
    if not wishes:
        return
    await tx.execute(INSERT_WISHES, conversation.id, conversation.uid, source, *columns_of(NewWish, wishes))
    await outbox.tell(tx, *(outbox.of_memory(wish.id, wish.status, conversation.id) for wish in wishes))
    await kept.decide(tx, keys_of(wishes))
    if held := [wish for wish in wishes if wish.status == "held" and wish.valid_to is None]:
        await tx.execute(DROP_PROPOSALS, [wish.holder for wish in held], [wish.content for wish in held])
    now = await conversations.find(tx, str(conversation.id))
    shown = await conversations.find(tx, now.shown) if now is not None and now.shown else None
    if now is not None and shown is not None and shown.uid != now.uid:  # its messages were edited away meanwhile
        await kept.follow(tx, now.line, shown.line)


_INSERT_MEMORIES = f"""INSERT INTO memories (tenant_id, {", ".join(_names(NewMemory))})
  SELECT $1, {_select("m", NewMemory)} FROM {_unnest(NewMemory, 3, "m")}
  RETURNING owner, id"""
INSERT_MEMORIES_ALONE = routed(_INSERT_MEMORIES)
INSERT_MEMORIES = f"""
WITH s AS ({_INSERT_MEMORIES})
INSERT INTO unembedded (tenant_id, owner, memory_id) SELECT $1, s.owner, s.id FROM s WHERE $2::boolean
"""


async def remember(tx: Tx, memories: Sequence[NewMemory], *, embeds: bool) -> None:
    """Make passages of stored messages or archives searchable.

    ``embeds`` marks them for the embedding job, which the caller enqueues.
    """
    for at in range(0, len(memories), MEMORIES_AT_ONCE):
        some = memories[at : at + MEMORIES_AT_ONCE]
        values = (embeds, *columns_of(NewMemory, some))
        if not tx.is_sharded:
            await tx.execute(INSERT_MEMORIES, *values)
            continue
        stored = await INSERT_MEMORIES_ALONE.fetch(tx, values)
        if embeds:
            await embeddings.want(tx, stored)
