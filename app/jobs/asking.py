"""What the jobs that ask a model share: how much of a conversation fits a prompt, and what it has cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from asyncpg import Record

from app.core.excerpts import Excerpt
from app.providers import Chat, ProviderError, Reply
from app.queue.table import Claimed
from app.runtime import Runtime
from app.services.memory.recalling import said_text
from app.store import spending

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


async def weighed(runtime: Runtime, excerpts: Sequence[Excerpt]) -> list[Excerpt]:
    tokens = await runtime.tokens.count_many([e.text for e in excerpts])
    return [replace(e, tokens=t) for e, t in zip(excerpts, tokens, strict=True)]


async def ask(
    runtime: Runtime,
    claimed: Claimed,
    request: Sequence[Mapping[str, Any]],
    *,
    max_tokens: int,
    json_object: bool = False,
) -> Reply:
    """The model's reply; what it has cost is counted, whatever comes of it. Raises a ProviderError."""
    assert runtime.chat is not None
    try:
        with runtime.tracing.span("chat", kind="CLIENT", model=runtime.chat.model, job_kind=claimed.kind):
            reply = await runtime.chat.complete(request, max_tokens=max_tokens, json_object=json_object)
    except ProviderError as error:
        await _count(runtime, claimed, type(error).__name__, error.spent)
        raise
    await _count(runtime, claimed, "ok", (reply.prompt_tokens, reply.completion_tokens))
    return reply


async def _count(runtime: Runtime, claimed: Claimed, outcome: str, spent: tuple[int, int] | None) -> None:
    runtime.metrics.provider_call(claimed.kind, outcome, *(spent or ()))
    if spent is not None:
        await spending.record(runtime.database, claimed.tenant, claimed.conversation_id, claimed.kind, *spent)
