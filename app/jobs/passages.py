"""Continue the index of a text that was too long for its append."""

from __future__ import annotations

from uuid import UUID

from app.queue import table
from app.queue.table import Claimed
from app.runtime import Runtime
from app.services.memory.indexing import Text, index_rest


async def index_passages(runtime: Runtime, claimed: Claimed) -> None:
    """Index the rest of a text. Each step commits its own result, so an interrupted job resumes after the last one."""
    if "archive" in claimed.args:
        text = Text(archive=UUID(claimed.args["archive"]))
    else:
        uid = UUID(claimed.subject.split(":")[0])
        text = Text(conversation_id=claimed.conversation_id or "", uid=uid, seq=claimed.args["seq"])
    await index_rest(runtime, claimed.tenant, text)
    async with runtime.database.begin(claimed.tenant) as tx:
        await table.finish(tx, claimed)
