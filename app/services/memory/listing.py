"""List memories that people stored or a model found worth keeping, the newest first."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from asyncpg import Record

from app.core.scope import owner_of, scope_of
from app.core.search.narrowing import Narrowing
from app.core.times import time_text
from app.postgres.transactions import ReadTx
from app.services.memory.previewing import PREVIEW_CHARACTERS, preview
from app.store import conversations
from app.store.memory import remembered

BEGINNING_CHARACTERS = 4 * PREVIEW_CHARACTERS
"""Read of each content: a preview shows runs of blanks as one."""


async def browse(
    tx: ReadTx,
    user_id: str | None,
    conversation_id: str | None,
    among: Narrowing,
    *,
    sensitive: bool,
    after: UUID | None,
    limit: int,
) -> Sequence[Record]:
    """Return memories of a user or a conversation, newest first. ``after``: the last of the page before.

    Raises NotFound for a conversation that is unknown or not the user's.
    """
    scope, uid = scope_of(user_id, None), None
    if conversation_id is not None:
        conversation = await conversations.get(tx, conversation_id)
        if user_id is not None and conversation.user_id != user_id:
            raise conversations.unknown()
        scope, uid = conversation.scope, conversation.uid
    return await remembered.browse(
        tx, owner_of(scope), among, sensitive=sensitive, conversation_uid=uid, after=after,
        limit=limit, characters=BEGINNING_CHARACTERS,
    )  # fmt: skip


def view(row: Record) -> dict[str, Any]:
    """Return a memory as a list shows it."""
    return {
        "memory_key": str(row["id"]),
        "memory_type": row["type"],
        "content_preview": preview(row["beginning"], ""),
        "keywords": list(row["keywords"]),
        "metadata": json.loads(row["metadata"]),
        "conversation_id": row["conversation_id"],
        "sensitivity": "sensitive" if row["sensitive"] else "normal",
        "source": row["source"],
        "created_at": time_text(row["created_at"]),
        "expires_at": time_text(row["expires_at"]) if row["expires_at"] else None,
    }
