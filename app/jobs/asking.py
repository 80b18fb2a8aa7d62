"""What the jobs that ask a model share: how much of a conversation fits a prompt, and what it has cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from asyncpg import Record

from app.core.excerpts import Excerpt
from app.flows.recalling import said_text
from app.providers import Chat
from app.services import Services
from app.store import spending
from app.store.spending import Spent

PROMPT_TOKENS_MAX = 6_000
"""Of a conversation that go into one prompt: more would cost more than it is worth."""
PROMPT_SHARE = 0.5
"""Of the model's context window, which holds the instructions and the reply too."""
MESSAGE_CHARACTERS_MAX = 100_000
MESSAGE_FRAME = 6
"""Tokens around each message in a prompt."""


def prompt_room(chat: Chat) -> int:
    """Tokens that messages may take of a prompt."""
    return min(PROMPT_TOKENS_MAX, int(chat.context_window * PROMPT_SHARE))


def excerpts_of(rows: Sequence[Record]) -> list[Excerpt]:
    """Messages as a model sees them, without what no model sees and what a recall tool brought in; not weighed yet."""
    found = [
        Excerpt(row["seq"], "tool" if row["kind"] == "result" else row["role"], text[:MESSAGE_CHARACTERS_MAX], 0)
        for row in rows
        if row["kind"] not in ("prompt", "orphan") and not row["loaded_tokens"] and (text := said_text(row))
    ]
    return [e for e in found if e.text.strip()]


async def weighed(services: Services, excerpts: Sequence[Excerpt]) -> list[Excerpt]:
    tokens = await services.tokens.count_many([e.text for e in excerpts])
    return [replace(e, tokens=t) for e, t in zip(excerpts, tokens, strict=True)]


async def spend(services: Services, tenant: UUID, conversation_id: str, kind: str, spent: Spent) -> None:
    """Count what replies have cost that led to nothing."""
    if spent.calls:
        async with services.database.begin(tenant) as connection:
            await spending.add(connection, tenant, conversation_id, kind, spent)
