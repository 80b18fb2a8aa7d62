"""Conversations: the rows that everything else belongs to."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime
from itertools import starmap
from uuid import UUID

from asyncpg import Record

from app.core.canonical import dumps
from app.core.conversation import Conversation, ConversationEnd, OpenCall
from app.core.edge.caller import Caller
from app.core.line import CallersId, Line, Stretch
from app.core.model import Anchored, FileWeight, Totals
from app.core.scope import space_of_keys
from app.core.times import local
from app.errors import Conflict, Forbidden, existing
from app.postgres.database import Database
from app.postgres.sight import widen
from app.postgres.statements import SqlFile
from app.postgres.transactions import ReadTx, Tx
from app.queue import outbox
from app.store import spaces
from app.store.spaces import Right

CONVERSATION_FIELDS = """c.id, c.uid, c.user_id, c.space_id, c.parent, c.is_apart, c.title,
 c.system, c.model, c.budget, c.policy, c.metadata,
 c.created_at, c.updated_at, c.version, c.last_seq, c.last_page, c.user_seq, c.prompt_through, c.open_group,
 c.open_calls, c.full_total, c.short_total, c.history_total, c.prompt_tokens, c.system_tokens, c.learned_percent,
 c.file_percents, c.file_weights,
 c.language, c.generation, c.epoch, c.indexed_through, c.chaptered_through, c.summary_through, c.chain,
 c.asked, c.answered, c.said_at, c.said_offset, c.asked_from, c.refused, c.erasures, c.has_earlier, c.scopes,
 c.recalled_seq, c.recalled, c.recalled_tokens, c.parent_id, c.line, c.is_forked, c.shown,
 coalesce((SELECT sum(d.count) FROM withdrawals d
            WHERE d.tenant_id = $1::uuid AND d.owner = ANY (c.scopes)), 0)::bigint AS withdrawn"""

_SQL = SqlFile(__file__)
CREATE = _SQL.statement("create")
CHANGE = _SQL.statement("change")
ANCHOR, ANCHOR_NOTHING = _SQL.statement("anchor"), _SQL.statement("anchor_nothing")

FIND = f"SELECT {CONVERSATION_FIELDS} FROM conversations c WHERE c.tenant_id = $1 AND c.id = $2"


_PLAIN = (
    "uid", "user_id", "space_id", "parent", "is_apart", "title", "system", "model", "budget", "policy", "metadata",
    "created_at", "updated_at", "version", "learned_percent", "prompt_tokens", "system_tokens", "language", "epoch",
    "indexed_through", "chaptered_through", "summary_through", "asked", "answered", "asked_from", "refused", "erasures",
    "has_earlier", "withdrawn", "parent_id", "shown",
)  # fmt: skip
"""Columns that a ``Conversation`` takes over unchanged."""


def read_conversation(row: Record) -> Conversation:
    open_calls = tuple(starmap(OpenCall, json.loads(calls))) if (calls := row["open_calls"]) != "[]" else ()
    last_seq, last_page = row["last_seq"], row["last_page"]
    end = ConversationEnd(
        last_seq, last_page, row["user_seq"], row["prompt_through"], row["open_group"], open_calls=open_calls
    )
    generation = row["generation"] + row["withdrawn"]
    totals = Totals(last_seq, last_page, row["full_total"], row["short_total"], row["history_total"], generation)
    said_at = local(row["said_at"], row["said_offset"]) if row["said_at"] is not None else None
    anchored = Anchored(row["recalled_seq"], row["recalled"], row["recalled_tokens"]) if row["recalled_seq"] else None
    return Conversation(
        **{name: row[name] for name in _PLAIN},
        file_percents=tuple(json.loads(known).items()) if (known := row["file_percents"]) != "{}" else (),
        file_weights=tuple(starmap(FileWeight, json.loads(kept))) if (kept := row["file_weights"]) != "[]" else (),
        id=line_of(row), reads=tuple(row["scopes"]), end=end, totals=totals, chain=row["chain"] or b"",
        said_at=said_at, anchored=anchored,
    )  # fmt: skip


def line_of(row: Record) -> Line:
    """Return the line of a conversation by its ``id``, ``line`` and ``is_forked``."""
    stretches = (
        Stretch(id_, UUID(uid), seq, page, datetime.fromisoformat(at))
        for id_, uid, seq, page, at in (json.loads(row["line"]) if row["line"] != "[]" else ())
    )
    return Line(row["id"], stretches, is_forked=row["is_forked"])


def anothers() -> Conflict:
    said = "The conversation belongs to another user."
    return Conflict.at(["body", "user_id"], "is not the conversation's user", said)


def seen(conversation: Conversation | None, bound_to: str | None) -> Conversation | None:
    """Return the conversation if the caller, possibly bound to a user, can see it. Spaces are not considered."""
    return None if conversation is None or bound_to not in (None, conversation.user_id) else conversation


async def admitted(
    tx: ReadTx, conversation: Conversation | None, bound_to: str | None, *, right: Right = "read"
) -> Conversation | None:
    """Return the conversation if the caller, possibly bound to a user, can see it. Every read follows this rule.

    Raises Forbidden for a member of its space who wants to write but can only read.
    """
    if conversation is None or conversation.space_id is None or bound_to is None:
        found = seen(conversation, bound_to)
    else:
        member = await spaces.find_member(tx, conversation.space_id, bound_to)
        if member is not None and right == "write" and member.rights != "write":
            raise Forbidden("You can read the conversations of this space, not write to them.")
        found = conversation if member is not None else None
    if found is not None and found.is_apart:
        await widen(tx, found.scope)
    return found


async def find(tx: ReadTx, conversation_id: str, *, bound_to: str | None = None) -> Conversation | None:
    """Return a conversation, or None. ``bound_to``: the only user whose conversations are visible."""
    return await _read(tx, conversation_id, bound_to, FIND, "read")


async def _read(tx: ReadTx, conversation_id: str, bound_to: str | None, sql: str, right: Right) -> Conversation | None:
    """Return a conversation. An id from a caller stands for the branch that it shows."""
    row = await tx.fetchrow(sql, conversation_id)
    known = await admitted(tx, read_conversation(row), bound_to, right=right) if row else None
    if known is None or not isinstance(conversation_id, CallersId):
        return known
    wanted = conversation_id.branch or known.shown
    if wanted is None or wanted == known.id:
        return known
    row = await tx.fetchrow(sql, str(wanted))
    branch = await admitted(tx, read_conversation(row), bound_to, right=right) if row else None
    if branch is not None and branch.line.root == known.line.root:
        return branch
    return None if conversation_id.branch else known


@asynccontextmanager
async def snapshot(
    database: Database, caller: Caller, conversation_id: str
) -> AsyncIterator[tuple[ReadTx, Conversation]]:
    """Open a snapshot with a conversation that the caller may see. Raises NotFound."""
    async with database.snapshot(caller.tenant) as tx:
        yield tx, await get(tx, conversation_id, bound_to=caller.user_id)


async def get(tx: ReadTx, conversation_id: str, *, bound_to: str | None = None) -> Conversation:
    """Return a conversation as ``find`` does, or raise NotFound."""
    return existing(await find(tx, conversation_id, bound_to=bound_to), "conversation")


async def lock(tx: Tx, conversation_id: str, *, bound_to: str | None = None) -> Conversation | None:
    """Return a conversation as ``find`` does, locked until the transaction ends and read after the lock is held."""
    return await _read(tx, conversation_id, bound_to, f"{FIND} FOR UPDATE OF c", "write")


async def hold(tx: ReadTx, conversation_id: str, *, bound_to: str | None = None) -> Conversation | None:
    """Return a conversation as ``find`` does, protected from erasure until the transaction ends.

    Hold it before you write what belongs to it and before you lock anything else. Appends are still possible.
    """
    return await _read(tx, conversation_id, bound_to, f"{FIND} FOR KEY SHARE OF c", "write")


async def is_still(tx: ReadTx, conversation: Conversation) -> bool:
    """Return whether a conversation read earlier still exists, and not another one under its id."""
    current = await find(tx, conversation.id)
    return current is not None and current.uid == conversation.uid


@dataclass(frozen=True, slots=True)
class NewConversation:
    id: str
    uid: UUID
    user_id: str | None = None
    title: str | None = None
    system: str | None = None
    system_tokens: int = 0
    model: str | None = None
    budget: int | None = None
    policy: str = "{}"
    metadata: str = "{}"
    has_earlier: bool | None = None
    """What an import says; None: what its user has tells."""
    space_id: str | None = None
    parent: str | None = None
    is_apart: bool = False
    reads: tuple[UUID, ...] = ()


async def tell(tx: Tx, conversation_id: str) -> None:
    """Write the event that a conversation was created or changed, except by messages."""
    tx.changes.conversations.add(conversation_id)
    await outbox.tell(tx, outbox.event("conversation.changed", conversation_id=conversation_id))


async def create(tx: Tx, new: NewConversation) -> bool:
    """Return whether it was made; False if the id is taken."""
    if (space_id := space_of_keys(new.user_id)) is not None:
        new = replace(new, user_id=None, space_id=space_id)
    has_earlier = new.has_earlier if new.has_earlier is not None else await has_any(tx, new.user_id)
    now = datetime.now(UTC)
    made = Conversation(
        new.id, new.uid, now, now, user_id=new.user_id, space_id=new.space_id, is_apart=new.is_apart, reads=new.reads
    )
    row = await tx.fetchrow(
        CREATE, id=new.id, uid=new.uid, user_id=new.user_id, title=new.title, system=new.system,
        system_tokens=new.system_tokens, model=new.model, budget=new.budget, policy=new.policy,
        metadata=new.metadata, has_earlier=has_earlier, scopes=made.scopes, space_id=new.space_id,
        parent=new.parent, is_apart=new.is_apart,
    )  # fmt: skip
    if row is not None:
        await tell(tx, new.id)
    return row is not None


# Whether a user has a conversation in which something was said. The order makes the planner use the user's index.
HAS_ANY = """
SELECT FROM conversations WHERE tenant_id = $1 AND user_id = $2 AND last_seq > 0 ORDER BY updated_at DESC LIMIT 1
"""


async def has_any(tx: ReadTx, user_id: str | None) -> bool:
    """Return whether a user has conversations with messages; False without a user."""
    return user_id is not None and await tx.fetchrow(HAS_ANY, user_id) is not None


def unchanged(conversation: Conversation) -> NewConversation:
    """Return a conversation's own values, as a base for a change."""
    return NewConversation(
        id=conversation.id, uid=conversation.uid, title=conversation.title, system=conversation.system,
        system_tokens=conversation.system_tokens, model=conversation.model, budget=conversation.budget,
        policy=conversation.policy, metadata=conversation.metadata,
    )  # fmt: skip


async def change(tx: Tx, locked: Conversation, new: NewConversation) -> None:
    await tell(tx, locked.id)
    moves_zones = (new.system, new.model, new.budget, new.policy) != (
        locked.system, locked.model, locked.budget, locked.policy,
    )  # fmt: skip
    await tx.execute(
        CHANGE, conversation=locked.id, title=new.title, system=new.system, system_tokens=new.system_tokens,
        model=new.model, budget=new.budget, policy=new.policy, metadata=new.metadata, moves_zones=int(moves_zones),
    )  # fmt: skip


BEGIN_GENERATION = """
UPDATE conversations SET generation = generation + last_seq + 1, erasures = erasures + $3, version = version + 1
 WHERE tenant_id = $1 AND id = $2
"""
CALIBRATE = """
UPDATE conversations SET learned_percent = $3, version = version + 1 WHERE tenant_id = $1 AND id = $2
"""
FORGET_CUTS = "DELETE FROM cuts WHERE tenant_id = $1 AND conversation_id = $2"


# A late result joins the group of its call, and with it all that came between them.
JOIN = """
UPDATE messages SET call_group = $3
 WHERE tenant_id = $1 AND conversation_id = $2 AND seq > $3 AND call_group > $3
"""


async def join_group(tx: Tx, conversation_id: str, group: int) -> None:
    await tx.execute(JOIN, conversation_id, group)


async def begin_generation(tx: Tx, conversation_id: str, *, is_erased: bool = False) -> int:
    """Begin a generation: no earlier cut is shown again. Return the number of stored ones."""
    tx.changes.conversations.add(conversation_id)
    await tx.execute(BEGIN_GENERATION, conversation_id, int(is_erased))
    return await tx.execute(FORGET_CUTS, conversation_id)


async def anchor(tx: Tx, conversation: Conversation, chosen: Anchored, sources: Sequence[UUID]) -> bool:
    """Store the text recalled for a user message, which all its windows show. The transaction shares the owner.

    Return False if another call was faster, or if one of the ``sources``, the memories it was chosen from, is gone.
    """
    kept = await tx.fetchval(
        ANCHOR if chosen.text else ANCHOR_NOTHING, conversation=conversation.id, uid=conversation.uid, seq=chosen.seq,
        text=chosen.text, tokens=chosen.tokens, sources=sources, generation=conversation.own_generation,
    )  # fmt: skip
    return kept is not None


ANCHORED = """
SELECT id FROM conversations WHERE tenant_id = $1 AND recalled IS NOT NULL AND $2::uuid = ANY (scopes)
 ORDER BY id FOR UPDATE
"""
FORGET_ANCHORED = """
UPDATE conversations SET recalled = NULL, generation = generation + last_seq + 1, version = version + 1
 WHERE tenant_id = $1 AND id = ANY ($2::text[])
"""


async def forget_anchored(tx: Tx, owner: UUID) -> None:
    """Remove the recalled text from every window that can show memories of an owner."""
    if found := [row["id"] for row in await tx.fetch(ANCHORED, owner)]:
        tx.changes.conversations.update(found)
        await tx.execute(FORGET_ANCHORED, found)


async def calibrate(tx: Tx, conversation_id: str, learned_percent: int) -> None:
    tx.changes.conversations.add(conversation_id)
    await tx.execute(CALIBRATE, conversation_id, learned_percent)


# Rows a conversation has in each table, counted before they go with it.
_HANGING = (
    "messages", "pages", "cuts", "recalls", "archives", "memories", "page_index",
    "chapter_names", "summaries", "work", "spending", "proxied_requests", "served_windows", "served_texts",
)  # fmt: skip
_COUNTED = ",\n       ".join(
    f"(SELECT count(*) FROM {table} WHERE tenant_id = $1 AND conversation_id = $2) AS {table}" for table in _HANGING
)
COUNT_ROWS = f"SELECT {_COUNTED}"
DELETE_ARCHIVES = """
DELETE FROM archives WHERE tenant_id = $1 AND conversation_id = $2 RETURNING scope, digest
"""
# Waits for transactions that make other archives of the contents, and blocks further ones.
LOCK_ALL_CONTENTS = """
SELECT 1 FROM archive_contents t
  JOIN (SELECT DISTINCT scope, digest FROM archives WHERE tenant_id = $1 AND conversation_id = $2) d
    ON t.scope = d.scope AND t.digest = d.digest
 WHERE t.tenant_id = $1 ORDER BY t.scope, t.digest FOR UPDATE OF t
"""
# Contents that no archive refers to any more.
DELETE_CONTENTS = """
DELETE FROM archive_contents t
 USING (SELECT DISTINCT scope, digest FROM unnest($2::text[], $3::bytea[]) AS d (scope, digest)) d
 WHERE t.tenant_id = $1 AND t.scope = d.scope AND t.digest = d.digest
   AND NOT EXISTS (SELECT FROM archives a
                    WHERE a.tenant_id = $1 AND a.scope = t.scope AND a.digest = t.digest)
"""
DELETE = "DELETE FROM conversations WHERE tenant_id = $1 AND id = $2"

# Tables that may have very many rows of a conversation: each statement deletes the rows of a range of messages or
# pages. No statement may take longer than a few seconds, so one transaction deletes range after range.
AT_ONCE = 2000
_LONG = {
    "memories": "seq", "archives": "seq", "recalls": "page", "page_index": "page",
    "pages": "page", "messages": "seq",
}  # fmt: skip
DELETE_STRETCH = {
    table: f"""
DELETE FROM {table} WHERE tenant_id = $1 AND conversation_id = $2 AND ctid = ANY (ARRAY(
  SELECT ctid FROM {table}
   WHERE tenant_id = $1 AND conversation_id = $2 AND {place} BETWEEN $3 AND $4 LIMIT {AT_ONCE}))
{"RETURNING scope, digest" if table == "archives" else "RETURNING 1"}
"""
    for table, place in _LONG.items()
}


async def erase(tx: Tx, conversation: Conversation) -> dict[str, int]:
    """Delete a locked conversation and its dependents; of a branch, its own rows. Return rows by table."""
    counts: Counter[str] = Counter()
    own = conversation.line.own
    tx.changes.conversations.add(own)
    await tx.execute(LOCK_ALL_CONTENTS, own)
    for table, sql in DELETE_STRETCH.items():
        last = conversation.totals.last_seq if _LONG[table] == "seq" else conversation.totals.last_page
        for first in range(1, last + 1, AT_ONCE):
            while True:
                gone = await tx.fetch(sql, own, first, first + AT_ONCE - 1)
                if table == "archives":
                    await _erase_contents(tx, gone)
                counts[table] += len(gone)
                if len(gone) < AT_ONCE:
                    break
    counts.update(dict(await tx.fetchrow(COUNT_ROWS, own) or {}))
    await _erase_contents(tx, await tx.fetch(DELETE_ARCHIVES, own))
    await tx.execute(DELETE, own)
    return {"conversations": 1, **counts}


async def _erase_contents(tx: Tx, gone: Sequence[Record]) -> None:
    """Delete the contents of deleted archives, unless other archives share them."""
    scopes, digests = [g["scope"] for g in gone], [g["digest"] for g in gone]
    if gone:
        await tx.execute(DELETE_CONTENTS, scopes, digests)


def calls_text(end: ConversationEnd) -> str:
    return dumps([astuple(call) for call in end.open_calls])
