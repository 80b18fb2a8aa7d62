"""Finding what left the window, and showing it again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from app import bm25
from app.core.model import Language
from app.core.quote import moment_text
from app.db import Connection
from app.flows.recalling import said_text
from app.store import archives, memories, messages
from app.store.conversations import Conversation
from app.store.memories import Hit


@dataclass(frozen=True, slots=True)
class Moment:
    """A passage that was found, with its text."""

    hit: Hit
    role: str
    text: str

    def framed(self, conversation: Conversation, language: Language) -> str:
        """As a window shows it."""
        elsewhere = None if self.hit.conversation_id == conversation.id else self.hit.conversation_id
        return moment_text(self.hit.page or 0, self.role, self.text, self.hit.created_at, elsewhere, language)


def scope_of(conversation: Conversation) -> str:
    """Whose archives and memories a conversation may use: its user's, or its own where no user is known."""
    return f"u:{conversation.user_id}" if conversation.user_id is not None else f"c:{conversation.id}"


async def find(connection: Connection, tenant: UUID, scope: str, query: str, limit: int) -> list[Hit]:
    """The best passages for a query, the best first."""
    hits, _ = await memories.search(connection, tenant, memories.owner_of(scope), bm25.query(query), limit=limit)
    return hits


async def moments(connection: Connection, tenant: UUID, hits: Sequence[Hit]) -> list[Moment]:
    """The hits with their texts, in the same order; without those that are gone since."""
    said = {
        (row["conversation_id"], row["seq"]): row
        for row in await messages.by_place(
            connection, tenant, [(h.conversation_id, h.seq) for h in hits if h.conversation_id and h.seq]
        )
    }
    passages = await archives.passages(
        connection, tenant, [(h.archive_id, h.start, h.length) for h in hits if h.archive_id is not None]
    )
    found = []
    for hit in hits:
        if hit.archive_id is not None:
            passage = passages.get((hit.archive_id, hit.start))
            if passage is not None:
                found.append(Moment(hit, f"tool {passage[0]}", passage[1]))
        elif (row := said.get((hit.conversation_id, hit.seq))) is not None:
            text = said_text(row)[hit.start : hit.start + hit.length]
            found.append(Moment(hit, row["role"], text))
    return found
