"""Served windows: their rows with receipts, and texts that no message row has.

A row holds a few consecutive windows, so that each takes a line's space. Texts are stored once for each conversation,
by digest, with what they quote, and Quire's own words once for each tenant.

Receipts are assembled from the record; a row adds what no line has, as bytes that do not compress. It has only the
hashes of parts that a window's base lacks, so each is stored once.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Any, TypeAlias
from uuid import UUID

from app.concurrency import run_in_thread_if_large
from app.core.canonical import dumps
from app.core.conversation import Conversation
from app.core.model import INTEGER_MAX, Cut, Format, Item
from app.core.window.served import KeptText, Part, Parts, Sealed, Served, ServedFrame, changed, pack, unpack
from app.postgres.database import Database
from app.postgres.statements import SqlFile
from app.postgres.transactions import ReadTx, Tx
from app.store import windows
from app.store.windows import ITEM, items_of
from quire_verify import issuer
from quire_verify.verifier import b64, digest_of, raw

Json = dict[str, Any]
_ENTRIES = "\x1e"
ROWS_SEARCHED = 256
"""Rows that are looked through for the window that was served when a message was the last."""
SEQ, HASH, SEAL = 4, 32, 64
"""Bytes of a message's ``seq``, of a hash and of a signature."""
ROW_WINDOWS = 4
"""Windows from which on a row is full. More take less room (16: a tenth), but each write writes the row anew: an agent
that waits between its calls then writes 7 kB a turn instead of 3."""


@dataclass(frozen=True)
class Row:
    first: int
    """The number of its first window."""
    before: bytes
    """The hash of the receipt before its first."""
    last: bytes
    """That of its last, or of the one before it."""
    frames: str = ""
    """A line for each frame."""
    entries: str = ""
    """A line for each window."""
    erasures: str = ""
    """A signed line for each erasure."""
    seals: bytes = b""
    """The signature of each window; zeros where there is none."""
    parts: bytes = b""
    """The ``seq`` and the hash of each part that a window has and its base has not."""

    @staticmethod
    def begin(uid: UUID) -> Row:
        """Return the first row of a conversation's records, which begins a chain."""
        genesis = sha256(uid.bytes).digest()
        return Row(1, genesis, genesis)

    @staticmethod
    def read(first: int, body: bytes) -> Row:
        at = 4 + int.from_bytes(body[:4], "big")
        frames, entries, erasures = zlib.decompress(body[4:at]).decode().split(_ENTRIES)
        seals = at + 2 * HASH + entries.count("\n") * SEAL
        return Row(
            first, body[at : at + HASH], body[at + HASH : at + 2 * HASH], frames, entries, erasures,
            body[at + 2 * HASH : seals], body[seals:],
        )  # fmt: skip

    @cached_property
    def body(self) -> bytes:
        """Return its compressed lines, followed by bytes that do not compress."""
        lines = zlib.compress(_ENTRIES.join((self.frames, self.entries, self.erasures)).encode(), 9)
        return b"".join((len(lines).to_bytes(4, "big"), lines, self.before, self.last, self.seals, self.parts))

    @property
    def following(self) -> Row:
        """Return the next row."""
        return Row(self.next, self.last, self.last)

    @property
    def next(self) -> int:
        """Return the number of the next window."""
        return self.first + self.entries.count("\n")

    @property
    def windows(self) -> list[tuple[int, ServedFrame, Served]]:
        frames = [ServedFrame.read(line) for line in self.frames.splitlines()]
        entries = [Served.read(line) for line in self.entries.splitlines()]
        return [(self.first + at, frames[one.frame], one) for at, one in enumerate(entries)]

    def with_last(self, times: int, last_at: int) -> Row:
        lines = self.entries.splitlines()
        lines[-1] = Served.read(lines[-1])._replace(times=times, last_at=last_at).line()
        return replace(self, entries="".join(f"{line}\n" for line in lines))

    @property
    def is_full(self) -> bool:
        return self.next - self.first >= ROW_WINDOWS

    def added(self, frame: ServedFrame, served: Served, came: Parts, receipt: Json) -> Row:
        """Return the row with another window, the parts that its base lacks, and its receipt."""
        frames = self.frames.splitlines()
        line = frame.line()
        if line not in frames:
            frames.append(line)
        entry = served._replace(frame=frames.index(line)).line()
        seal = raw(receipt["sig"], SEAL) if frame.key else bytes(SEAL)
        return replace(
            self, last=raw(digest_of(receipt), HASH) if frame.key else self.last, frames="\n".join(frames),
            entries=f"{self.entries}{entry}\n", seals=self.seals + seal,
            parts=b"".join((self.parts, *(seq.to_bytes(SEQ, "big") + part for seq, part in came))),
        )  # fmt: skip

    def erased(self, entry: Json) -> Row:
        """Return the row with a chain entry about an erasure."""
        return replace(self, last=raw(digest_of(entry), HASH), erasures=f"{self.erasures}{dumps(entry)}\n")

    def receipts(self, conversation_id: str) -> Iterator[Json]:
        """Yield the signed entries of its windows and erasures in order."""
        erasures, before = [json.loads(line) for line in self.erasures.splitlines()], self.before
        for number, frame, served in [(self.first - 1, None, None), *self.windows]:
            if frame is not None and served is not None and frame.key:
                at = (number - self.first) * SEAL
                entry = statement(conversation_id, number, frame, served, before)
                entry["sig"] = b64(self.seals[at : at + SEAL])
                yield entry
                before = raw(digest_of(entry), HASH)
            for erasure in erasures:
                if erasure["number"] == number:
                    yield erasure
                    before = raw(digest_of(erasure), HASH)

    def came(self, number: int) -> tuple[Served, Parts]:
        """Return the record of a window and the parts that its base lacks."""
        at = 0
        for own, _, served in self.windows:
            end = at + (SEQ + HASH) * served.came
            if own == number:
                ones = [self.parts[i : i + SEQ + HASH] for i in range(at, end, SEQ + HASH)]
                return served, [(int.from_bytes(one[:SEQ], "big"), one[SEQ:]) for one in ones]
            at = end
        raise LookupError(number)


def statement(conversation_id: str, number: int, frame: ServedFrame, served: Served, before: bytes) -> Json:
    """Return a window's unsigned receipt."""
    return {
        "at": served.at, "before": b64(before), "budget": frame.budget, "key": frame.key, "number": number,
        "conversation": issuer.short_name(conversation_id), "root": served.root, "type": "window",
        "model": issuer.short_name(frame.model, issuer.MODEL_BYTES_MAX),
    }  # fmt: skip


def sealed(part: Part, salt: bytes, text: str) -> Sealed:
    author = "caller" if part in ("system", "tools", "query") else "quire"
    return Sealed(part, salt, issuer.sealed(part, author, salt, sha256(text.encode()).digest()))


_SQL = SqlFile(__file__, item=ITEM)
CHANGE = _SQL.statement("change")
CHANGE_ALONE = _SQL.statement("change_alone")
BEGIN_ROW = _SQL.statement("begin_row")
KEEP = _SQL.statement("keep")
FORGET_QUOTED = _SQL.statement("forget_quoted")
ITEMS = _SQL.statement("items")


NewRow: TypeAlias = tuple[str, UUID, Row]
"""A conversation's id and ``uid``, and a row of it."""


async def change(tx: Tx, rows: Sequence[NewRow], sizes: Sequence[int]) -> set[str]:
    """Replace rows of conversations whose present size is as given. Return these conversations."""
    return {row["conversation_id"] for row in await tx.fetch(CHANGE, sizes=sizes, **_columns(rows))}


async def change_alone(database: Database, tenant: UUID, rows: Sequence[NewRow], sizes: Sequence[int]) -> set[str]:
    """Do as ``change``, with one statement."""
    if database.is_sharded:
        async with database.begin(tenant) as tx:
            return await change(tx, rows, sizes)
    row = await database.write_row(CHANGE_ALONE, str(tenant), sizes=sizes, **_columns(rows))
    return set(row["conversations"] or ()) if row is not None else set()


def _columns(rows: Sequence[NewRow]) -> dict[str, list[Any]]:
    return {
        "conversations": [name for name, _, _ in rows],
        "uids": [uid for _, uid, _ in rows],
        "firsts": [row.first for _, _, row in rows],
        "bodies": [row.body for _, _, row in rows],
    }


LAST = """
SELECT first, body FROM served_windows
 WHERE tenant_id = $1 AND conversation_id = $2 ORDER BY first DESC LIMIT 1 FOR UPDATE
"""


async def last(tx: Tx, conversation_id: str) -> Row | None:
    row = await tx.fetchrow(LAST, conversation_id)
    return Row.read(*row) if row else None


async def parts(tx: ReadTx, conversation_id: str, number: int) -> Parts:
    """Return the parts of a served window, by following the windows that it builds on."""
    steps: list[tuple[Served, Parts]] = []
    row: Row | None = None
    while number:
        if row is None or number < row.first:
            (row,) = await browse(tx, conversation_id, number + 1, 1)
        steps.append(row.came(number))
        number = steps[-1][0].base
    found: Parts = ()
    for served, came in reversed(steps):
        found = changed(found, served.gone, came)
    return found


async def begin(tx: Tx, new: NewRow) -> bool:
    """Begin a row. Return False if another process has begun it."""
    name, uid, row = new
    return await tx.fetchrow(BEGIN_ROW, conversation=name, uid=uid, first=row.first, body=row.body) is not None


# --- Texts ---------------------------------------------------------------------------------------------

COLUMNS = ("digests", "salts", "parts", "throughs", "bodies", "sources")
KEEP_OWN = """
INSERT INTO own_texts (tenant_id, digest, body) SELECT $1, * FROM unnest($2::bytea[], $3::bytea[])
ON CONFLICT DO NOTHING
"""


async def keep(tx: Tx, conversation_id: str, uid: UUID, then: tuple[int, int], texts: Mapping[str, KeptText]) -> None:
    """Store texts by digest, in a transaction that shares the owner and holds the conversation.

    ``then``: the numbers of erasures and withdrawals at the time of serving.
    """
    size = sum(len(kept.text) for kept in texts.values())
    packed = await run_in_thread_if_large(size, lambda: [pack(kept.text) for kept in texts.values()])
    own, theirs = list[tuple[object, ...]](), list[tuple[object, ...]]()
    for (digest, kept), body in zip(texts.items(), packed, strict=True):
        if kept.part == "own":
            own.append((bytes.fromhex(digest), body))
        else:
            sources = "{" + ",".join(map(str, kept.sources)) + "}"
            theirs.append((bytes.fromhex(digest), kept.salt, kept.part, kept.through, body, sources))
    if own:
        await tx.execute(KEEP_OWN, *zip(*own, strict=True))
    if theirs:
        columns = dict(zip(COLUMNS, zip(*theirs, strict=True), strict=True))
        place = {"conversation": conversation_id, "uid": uid, "erasures": then[0], "withdrawn": then[1]}
        await tx.execute(KEEP, **place, **columns)


# Texts of windows; without those that quote sensitive memories unless these are asked for too ($4).
TEXTS = """
SELECT t.digest, t.body, t.part, t.salt FROM served_texts t
 WHERE t.tenant_id = $1 AND t.conversation_id = $2 AND t.digest = ANY ($3::bytea[])
   AND ($4 OR NOT EXISTS (SELECT FROM memories m
                           WHERE m.tenant_id = $1 AND m.id = ANY (t.sources) AND m.sensitive))
"""
OWN_TEXTS = """
SELECT digest, body, 'own' AS part, decode(repeat('00', 16), 'hex') AS salt FROM own_texts
 WHERE tenant_id = $1 AND digest = ANY ($2::bytea[])
"""


async def texts(
    tx: ReadTx, conversation_id: str, digests: Collection[str], *, sensitive: bool
) -> tuple[dict[str, str], dict[str, Sealed]]:
    """Return the texts that still exist by digest, and their names in receipts."""
    wanted = [bytes.fromhex(digest) for digest in digests if digest]
    rows = [*await tx.fetch(TEXTS, conversation_id, wanted, sensitive), *await tx.fetch(OWN_TEXTS, wanted)]
    found = {row["digest"].hex(): unpack(row["body"]) for row in rows}
    return found, {row["digest"].hex(): sealed(row["part"], row["salt"], unpack(row["body"])) for row in rows}


# Texts that can quote messages from one on, but for what a caller sends along with each request.
FORGET_SINCE = """
DELETE FROM served_texts
 WHERE tenant_id = $1 AND conversation_id = $2 AND through >= $3 AND part IN ('head', 'tail', 'query', 'recalled')
"""
# Texts of any conversation that quote something.
FORGET_QUOTING = """
DELETE FROM served_texts
 WHERE tenant_id = $1 AND cardinality(sources) > 0 AND sources && $2::uuid[]
"""
# What a user, or a conversation without one, searched for, and what windows recalled by themselves: it may repeat
# anything that is erased.
FORGET_ASKED = """
DELETE FROM served_texts t USING conversations c
 WHERE t.tenant_id = $1 AND t.part IN ('query', 'recalled') AND c.tenant_id = $1 AND c.id = t.conversation_id
   AND c.scopes @> ARRAY[$2::uuid]
"""


async def forget_since(tx: Tx, conversation_id: str, seq: int) -> int:
    """Erase the texts that can quote messages from one on."""
    return await tx.execute(FORGET_SINCE, conversation_id, seq)


async def forget_quoting(tx: Tx, sources: Collection[UUID]) -> int:
    """Erase the texts that quote memories or archives."""
    return await tx.execute(FORGET_QUOTING, list(sources)) if sources else 0


async def forget_quoted(tx: Tx, conversation_id: str) -> int:
    """Erase other conversations' texts that quote a conversation which is about to be erased."""
    return await tx.execute(FORGET_QUOTED, conversation=conversation_id)


async def forget_memories(tx: Tx, ids: Sequence[UUID]) -> int:
    """Erase the texts that quote erased memories."""
    await windows.forget_quoting(tx, ids)
    return await forget_quoting(tx, ids)


async def forget_asked(tx: Tx, owner: UUID) -> int:
    """Erase the queries of an owner's windows, and their unasked recalls."""
    return await tx.execute(FORGET_ASKED, owner)


# --- Reading -------------------------------------------------------------------------------------------

BROWSE = """
SELECT first, body FROM served_windows
 WHERE tenant_id = $1 AND conversation_id = $2 AND first < $3 ORDER BY first DESC LIMIT $4
"""


async def browse(tx: ReadTx, conversation_id: str, before: int, limit: int) -> list[Row]:
    """Return the rows that begin before a window, newest first."""
    return [Row.read(*row) for row in await tx.fetch(BROWSE, conversation_id, before, limit)]


async def find(tx: ReadTx, conversation_id: str, number: int) -> tuple[ServedFrame, Served] | None:
    for row in await browse(tx, conversation_id, number + 1, 1):
        for own, frame, served in row.windows:
            if own == number:
                return frame, served
    return None


async def number_of(tx: ReadTx, conversation_id: str, root: str) -> int | None:
    """Return the newest window with a root among the last ROWS_SEARCHED rows, else None."""
    rows = await browse(tx, conversation_id, INTEGER_MAX, ROWS_SEARCHED)
    return next((number for row in rows for number, _, one in reversed(row.windows) if one.root == root), None)


ROWS = """
SELECT first, body FROM served_windows
 WHERE tenant_id = $1 AND conversation_id = $2 AND first > $3 ORDER BY first LIMIT $4
"""


async def rows_after(tx: ReadTx, conversation_id: str, first: int, limit: int) -> list[Row]:
    """Return the rows that begin after a window, oldest first."""
    return [Row.read(*row) for row in await tx.fetch(ROWS, conversation_id, first, limit)]


async def number_at(tx: ReadTx, conversation_id: str, seq: int, budget: int, form: Format) -> int | None:
    """Return the newest window with these properties and no tail among the last ROWS_SEARCHED rows, else None."""
    for row in await browse(tx, conversation_id, INTEGER_MAX, ROWS_SEARCHED):
        for number, frame, one in reversed(row.windows):
            if (one.last_seq, frame.budget, frame.format) == (seq, budget, form) and not one.tail:
                return number
    return None


async def items(
    tx: ReadTx, conversation: Conversation, cut: Cut, last: tuple[int, int], *, anthropic: bool
) -> list[Item]:
    """Return a window's messages in the forms of their zones. ``last``: its last message and page."""
    prompt_through = min(conversation.end.prompt_through, last[0])
    rows = await tx.fetch(
        ITEMS, conversation=conversation.id, condensed_from=cut.condensed_from, verbatim_from=cut.verbatim_from,
        pinned=cut.pinned, last_seq=last[0], last_page=last[1], prompt_through=prompt_through, anthropic=anthropic,
    )  # fmt: skip
    return items_of(rows)
