"""Memories with content of their own: posted ones, and those that rules or models found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import NamedTuple
from uuid import UUID

from app.core.scope import Scope
from app.core.search.narrowing import OWN_TYPES, Narrowing
from app.core.window.kept import CLOSED_KEYS, Status, StoredMemory, Then
from app.postgres.statements import SqlFile, values_of
from app.postgres.transactions import ReadTx, Tx
from app.store.memory import embeddings, kept
from app.store.memory.kept import Gone
from app.store.memory.memories import OnLine
from app.store.memory.narrowing import IS_OWN, comparable, jsonb
from app.store.memory.search_statement import IN_CONVERSATION, ON_LINE


@dataclass(frozen=True, slots=True)
class Remembered:
    """A memory to insert. ``passages`` holds id, start, length and terms of each; the first is the memory's own row."""

    id: UUID
    scope: Scope
    """The scope in which it applies."""
    type: str
    content: str
    """The text without NULs, which were at ``nul_offsets``."""
    nul_offsets: str
    keywords: Sequence[str]
    metadata: str
    source: str
    sensitive: bool
    expires_at: datetime | None
    created_at: datetime
    passages: Sequence[tuple[UUID, int, int, str]]
    conversation_id: str | None = None
    conversation_uid: UUID | None = None
    seq: int | None = None
    page: int | None = None
    key: str | None = None
    words: Sequence[int] | None = None
    """The terms of a key's value, by which searches of the past find it when it is no longer the current one."""
    pinned: bool = False
    status: Status = "held"
    tokens: int = 0
    quote: str | None = None
    valid_from: datetime | None = None
    """The start of its validity; None: its creation."""
    valid_to: datetime | None = None
    learnt_at: datetime | None = None
    """When Quire learned it; None: now."""
    found_in: Scope | None = None
    """The wider scope whose searches find a memory of a single conversation; None: its own scope."""

    @property
    def finder(self) -> Scope:
        """Return the scope whose searches find it, and to whose quota it counts."""
        return self.scope if self.found_in is None else self.found_in

    @property
    def is_found(self) -> bool:
        return self.passages[0][2] > 0


_SQL = SqlFile(__file__, is_own=IS_OWN, metadata_of_m=jsonb("m.metadata"), metadata_of_c=jsonb("c.metadata"))
INSERT = _SQL.statement("insert")
INSERT_ALONE = _SQL.statement("insert_alone")
CONTENTS = _SQL.statement("contents")
HELD_AT = _SQL.statement("held_at")
REPLACED = _SQL.statement("replaced")
VALUES_MAX = 200
"""The most values of keys that a search of the past reads, the best ones."""
LIST = _SQL.statement("list", on_place=IN_CONVERSATION)
LIST_ON_LINE = _SQL.statement("list", on_place=ON_LINE)


async def insert(tx: Tx, new: Remembered, *, embeds: bool) -> None:
    """Insert a memory. ``embeds`` marks it for the embedding job, which the caller enqueues."""
    ids, starts, lengths, terms = zip(*new.passages, strict=True)
    tx.changes.stored.append((new.finder.user_id, [new.content]))
    values = {
        **values_of(new), "owner": new.finder.owner, "scope": new.scope.text, "holder": new.scope.owner,
        "valid_from": new.valid_from or new.created_at, "learnt_at": new.learnt_at or datetime.now(UTC), "ids": ids,
        "starts": starts, "lengths": lengths, "terms": terms,
    }  # fmt: skip
    del values["passages"], values["found_in"]
    is_wanted = embeds and new.is_found
    if not tx.is_sharded:
        await tx.execute(INSERT, **values, embeds=is_wanted)
    elif stored := await tx.fetch(INSERT_ALONE, **values):
        await embeddings.want(tx, stored if is_wanted else ())
    if new.status == "held":
        await kept.decide(tx, [(new.scope.owner, new.key)])


async def contents(tx: ReadTx, ids: Sequence[UUID], *, sensitive: bool) -> dict[UUID, StoredMemory]:
    """Return the memories to which some passages belong, by passage."""
    rows = await tx.fetch(CONTENTS, ids=ids, sensitive=sensitive) if ids else []
    wholes = {row["id"]: kept.read(row[2:]) for row in rows if row["is_whole"]}
    return {row["passage"]: wholes[row["id"]] for row in rows}


@dataclass(frozen=True, slots=True)
class HeldValue:
    id: UUID
    type: str
    conversation_id: str | None
    page: int | None
    holder: UUID
    length: int
    created_at: datetime
    share: float
    """The share of the query's terms that it has."""
    content: str | None
    """The text, if its terms are not stored."""


@dataclass(frozen=True, slots=True)
class ReplacedValue:
    id: UUID
    content: str
    """The beginning of the text."""
    valid_from: datetime
    valid_to: datetime


async def held_at(
    tx: ReadTx, holders: Sequence[UUID], then: Then, terms: Sequence[int], share_min: float, *, sensitive: bool
) -> list[HeldValue]:
    """List the values of keys that were valid at a time and share at least ``share_min`` of a query's terms."""
    rows = await tx.fetch(
        HELD_AT, holders=holders, as_of=then.as_of, known_at=then.known_at, sensitive=sensitive, terms=terms,
        share_min=share_min, limit=VALUES_MAX + len(holders) * len(CLOSED_KEYS),
    )  # fmt: skip
    return [HeldValue(*row) for row in rows]


async def replaced(tx: ReadTx, ids: Sequence[UUID], *, sensitive: bool) -> dict[UUID, ReplacedValue]:
    """Return the former value of each of some values of keys, by the later one's id."""
    rows = await tx.fetch(REPLACED, ids=ids, sensitive=sensitive)
    return {by: ReplacedValue(*value) for by, *value in rows}


@dataclass(frozen=True, slots=True)
class Held:
    """The conditions on the listed memories."""

    status: Status = "held"
    key: str | None = None
    pinned: bool | None = None
    as_of: datetime | None = None
    """The time at which they were valid; None: now."""
    known_at: datetime | None = None
    """The time until which they were learned; None: now."""


class MemoryShelf(NamedTuple):
    """The memories from which a list is made."""

    owners: Sequence[UUID]
    scopes: Sequence[Scope] | None
    """The scopes in which they apply; None: any."""
    conversation_uid: UUID | None = None
    line: OnLine | None = None
    """Limits them to the part of the conversation that a branch sees."""


async def browse(
    tx: ReadTx,
    shelf: MemoryShelf,
    among: Narrowing,
    held: Held,
    *,
    sensitive: bool,
    after: UUID | None,
    limit: int,
    characters: int,
) -> list[StoredMemory]:
    """List memories, newest first, with the first ``characters`` of each. The narrowing's roles are ignored."""
    owners, scopes, conversation_uid, line = shelf
    rows = await tx.fetch(
        LIST if line is None else LIST_ON_LINE,
        owners=owners,
        types=among.types or OWN_TYPES,
        sensitive=sensitive,
        conversation_uid=conversation_uid,
        topics=comparable(among.topics),
        metadata=among.metadata,
        limit=limit,
        characters=characters,
        after=after,
        scopes=None if scopes is None else [scope.text for scope in scopes],
        **asdict(held),
        **(line._asdict() if line else {}),
    )
    return [kept.read(row) for row in rows]


OWNER = "SELECT owner FROM memories WHERE tenant_id = $1 AND id = $2"


async def owner(tx: ReadTx, memory: UUID) -> UUID | None:
    owner_id: UUID | None = await tx.fetchval(OWNER, memory)
    return owner_id


DELETE = f"""
DELETE FROM memories WHERE tenant_id = $1 AND id = $2 AND part_of IS NULL AND ($3 OR NOT sensitive)
RETURNING {kept.GONE}
"""


PARTS = "SELECT id FROM memories WHERE tenant_id = $1 AND part_of = $2"


async def parts(tx: ReadTx, memory: UUID) -> list[UUID]:
    return [row["id"] for row in await tx.fetch(PARTS, memory)]


async def delete(tx: Tx, memory: UUID, *, sensitive: bool) -> Gone | None:
    """Delete a memory with its passages and vectors and return it, or None if it is not there."""
    row = await tx.fetchrow(DELETE, memory, sensitive)
    return Gone(*row) if row is not None else None


# Some expired memories, of one owner or, if $2 is null, of any.
EXPIRED = """
SELECT id, owner FROM memories
 WHERE tenant_id = $1 AND expires_at <= now() AND part_of IS NULL AND ($2::uuid IS NULL OR owner = $2) LIMIT 100
"""


async def expired(tx: ReadTx, owner: UUID | None = None) -> list[tuple[UUID, UUID]]:
    """Return some expired memories, each with its owner."""
    return [(row["id"], row["owner"]) for row in await tx.fetch(EXPIRED, owner)]
