"""The tool that writes: MCP clients store memories with it. Windows do not offer it."""

from __future__ import annotations

import hashlib
from typing import Any
from uuid import UUID

import anyio.to_thread

from app.core import wording
from app.core.canonical import dumps
from app.core.edge.caller import Caller
from app.core.neutral import replace_nul
from app.core.window.kept import key_problem
from app.extractive.own_words import own_words
from app.postgres.transactions import Tx
from app.recall import tools
from app.recall.arguments import Mistake, read
from app.runtime import Runtime
from app.services.idempotency import IdempotencyKey, StoredResponse, run_idempotently
from app.services.memory import recalling, remembering
from app.services.memory.remembering import MemoryRequest
from app.services.tools.tool_calls import Answer, Asker
from app.store import messages

KEYWORD_MAX = 100
MESSAGES_READ = 200
"""Of a conversation's messages, to find a person's words in."""


async def remember(
    runtime: Runtime, tenant: UUID, asking: Asker, given: dict[str, Any], *, bound_to: str | None = None
) -> Answer:
    """Store a memory of the user, or of the conversation where no user is known. The same one, said again within a
    day, is stored once.

    It is held where a person said it in the conversation; else it is proposed, and a person accepts or refuses it.
    """
    language = asking.language(given)
    try:
        arguments = read(tools.REMEMBER, given, language)
    except Mistake as mistake:
        return Answer(str(mistake), is_error=True)
    if (key := arguments.get("key")) is not None and (problem := key_problem(key)) is not None:
        return Answer(f"`key` {problem}.", is_error=True)
    request = MemoryRequest(
        content=arguments["content"],
        memory_type=arguments.get("memory_type", "general"),
        user_id=asking.user_id,
        conversation_id=asking.conversation.id if asking.conversation and asking.user_id is None else None,
        source="tool",
        key=key,
        status="held" if await _is_said(runtime, tenant, asking, arguments["content"]) else "proposed",
        bound_to=bound_to,
        space_id=asking.conversation.space_id if asking.conversation else None,
        keywords=tuple(replace_nul(word)[:KEYWORD_MAX] for word in arguments.get("keywords", ())),
    )

    async def work(tx: Tx) -> StoredResponse:
        await remembering.remember(runtime, tx, request)
        return StoredResponse.about('"remembered"', asking.conversation, asking.user_id)

    digest = hashlib.sha256(dumps([asking.scope, arguments]).encode()).hexdigest()
    idempotency = IdempotencyKey.of(Caller(tenant), f"remember:{digest}", "TOOL", tools.REMEMBER.name, arguments)
    await run_idempotently(runtime.database, tenant, idempotency, work)
    return Answer(wording.REMEMBERED.say(language))


async def _is_said(runtime: Runtime, tenant: UUID, asking: Asker, content: str) -> bool:
    """Return whether a person said it, in these words, among the conversation's newest messages."""
    if asking.conversation is None or asking.conversation.parent is not None:
        return False
    async with runtime.database.snapshot(tenant) as tx:
        rows = await messages.history(tx, asking.conversation.id, 2**31 - 1, MESSAGES_READ, newest_first=True)
    said = [recalling.said_text(row) for row in rows if row["role"] == "user"]
    return await anyio.to_thread.run_sync(lambda: any(own_words(content, text) for text in said))
