"""The tool that writes: MCP clients store memories with it. Windows do not offer it."""

from __future__ import annotations

import hashlib
from typing import Any
from uuid import UUID

from app.core import wording
from app.core.canonical import dumps
from app.core.edge.caller import Caller
from app.core.neutral import replace_nul
from app.postgres.transactions import Tx
from app.recall import tools
from app.recall.arguments import Mistake, read
from app.runtime import Runtime
from app.services.idempotency import IdempotencyKey, StoredResponse, run_idempotently
from app.services.memory import remembering
from app.services.memory.remembering import MemoryRequest
from app.services.tools.tool_calls import Answer, Asker

KEYWORD_MAX = 100


async def remember(runtime: Runtime, tenant: UUID, asking: Asker, given: dict[str, Any]) -> Answer:
    """Store a memory of the user, or of the conversation where no user is known. The same one, said again within a
    day, is stored once.
    """
    language = asking.language(given)
    try:
        arguments = read(tools.REMEMBER, given, language)
    except Mistake as mistake:
        return Answer(str(mistake), is_error=True)
    request = MemoryRequest(
        content=arguments["content"],
        memory_type=arguments.get("memory_type", "general"),
        user_id=asking.user_id,
        conversation_id=asking.conversation.id if asking.conversation and asking.user_id is None else None,
        source="tool",
        keywords=tuple(replace_nul(word)[:KEYWORD_MAX] for word in arguments.get("keywords", ())),
    )

    async def work(tx: Tx) -> StoredResponse:
        await remembering.remember(runtime, tx, request)
        return StoredResponse.about('"remembered"', asking.conversation, asking.user_id)

    digest = hashlib.sha256(dumps([asking.scope, arguments]).encode()).hexdigest()
    idempotency = IdempotencyKey.of(Caller(tenant), f"remember:{digest}", "TOOL", tools.REMEMBER.name, arguments)
    await run_idempotently(runtime.database, tenant, idempotency, work)
    return Answer(wording.REMEMBERED.say(language))
