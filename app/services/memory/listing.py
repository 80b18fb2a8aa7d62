"""List memories that people stored or a model found worth keeping, newest first."""

from __future__ import annotations

import json
from typing import Any, NamedTuple
from uuid import UUID

from app.core.encoded import files_of, marked
from app.core.line import named
from app.core.scope import SPACE, Scope, scope_of
from app.core.search.narrowing import Narrowing
from app.core.times import time_text
from app.core.window.kept import StoredMemory
from app.postgres.transactions import ReadTx
from app.services.memory import views
from app.services.memory.previewing import PREVIEW_CHARACTERS, preview
from app.store import conversations, spaces
from app.store.memory import remembered
from app.store.memory.remembered import Held, MemoryShelf

_TIMES = ("valid_from", "valid_to", "learnt_at")
BEGINNING_CHARACTERS = 4 * PREVIEW_CHARACTERS
"""Read of each content: a preview shows runs of blanks as one."""
CUT_LINE_MAX = 100
"""A line of a file and what breaks it: one that is cut can look like a word after the file."""


class Holder(NamedTuple):
    """The holder of listed memories: a user, with the spaces they read, or a conversation."""

    user_id: str | None
    conversation_id: str | None = None
    scope: str | None = None
    """Only what holds there."""


async def browse(
    tx: ReadTx, holder: Holder, among: Narrowing, held: Held, *, sensitive: bool, after: UUID | None, limit: int
) -> list[tuple[StoredMemory, str]]:
    """Return a holder's memories, newest first, with the beginning of their content. ``after``: the last one of the
    previous page.

    Raises NotFound for a conversation or a space that the user cannot see.
    """
    rows = await remembered.browse(
        tx, await _shelf(tx, *holder), among, held,
        sensitive=sensitive, after=after, limit=limit, characters=BEGINNING_CHARACTERS,
    )  # fmt: skip
    return [(one, marked(await _beginning(tx, one, sensitive=sensitive))) for one in rows]


async def _shelf(tx: ReadTx, user_id: str | None, conversation_id: str | None, scope: str | None) -> MemoryShelf:
    conversation, uid, line = None, None, None
    if conversation_id is not None:
        conversation = await conversations.get(tx, named(conversation_id), bound_to=user_id)
    if scope is not None and scope.startswith(SPACE):
        space_id = scope.removeprefix(SPACE)
        await spaces.get(tx, space_id, user_id)
        owners, only = [Scope("space", space_id).owner], [Scope("space", space_id)]
    elif conversation is not None:
        owners, uid, only = [conversation.scope.owner], conversation.uid, None
        line = await views.on_line(tx, conversation)
        if scope is not None:
            own = scope_of(conversation.user_id, conversation.line.root)
            only = [own if scope == "user" else Scope("conversation", conversation.id)]
    else:
        only = [scope_of(user_id, None)] if scope == "user" else [*(await views.of_user(tx, user_id or "")).values()]
        owners = [one.owner for one in only]
    return MemoryShelf(owners, only, uid, line)


async def _beginning(tx: ReadTx, row: StoredMemory, *, sensitive: bool) -> str:
    """Return the beginning of a content, or all of it if an encoded file goes beyond: its mark tells its size."""
    if all(found.end < BEGINNING_CHARACTERS - CUT_LINE_MAX for found in files_of(row.content)):
        return row.content
    return (await remembered.contents(tx, [row.id], sensitive=sensitive))[row.id].content


def view(row: StoredMemory, shown: str) -> dict[str, Any]:
    return {
        "memory_key": str(row.id), "memory_type": row.type, "content_preview": preview(shown, ""),
        "keywords": list(row.keywords), "metadata": json.loads(row.metadata),
        "conversation_id": row.conversation_id, "sensitivity": "sensitive" if row.sensitive else "normal",
        "source": row.source, "created_at": time_text(row.created_at),
        "expires_at": time_text(row.expires_at) if row.expires_at else None, **standing(row, row.content),
    }  # fmt: skip


def version(memory: StoredMemory) -> dict[str, Any]:
    told = standing(memory, memory.text)
    return {
        "memory_key": str(memory.id), "content": memory.text, "source": memory.source,
        "conversation_id": memory.conversation_id, **{name: told[name] for name in ("status", "quote", *_TIMES)},
    }  # fmt: skip


def standing(row: StoredMemory | None, content: str) -> dict[str, Any]:
    """Return a memory's scope, key, status, quotation and times; all of them empty for a passage."""
    if row is None:
        return {"scope": None, "key": None, "pinned": False, "status": "held", "quote": None, **dict.fromkeys(_TIMES)}
    is_quotation = row.seq is not None and row.length == 0
    quote = row.quote if row.quote is not None else content if is_quotation else None
    return {
        "scope": row.scope.name, "key": row.key, "pinned": row.pinned, "status": row.status,
        "quote": {"text": quote, "seq": row.seq} if quote is not None and row.seq is not None else None,
        **{name: time_text(time) if (time := getattr(row, name)) else None for name in _TIMES},
    }  # fmt: skip
