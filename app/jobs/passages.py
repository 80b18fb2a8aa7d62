"""Going on with the index of a text that was too long for its append."""

from __future__ import annotations

from uuid import UUID

from app.queue import table
from app.queue.table import Claimed
from app.runtime import Runtime
from app.services.memory.indexing import Text, index_rest


async def index_passages(runtime: Runtime, claimed: Claimed) -> None:
    """Each step keeps its own result; a job that is cut off goes on where the last one came to."""
    if "archive" in claimed.args:
        text = Text(archive=UUID(claimed.args["archive"]))
    else:
        uid = UUID(claimed.subject.split(":")[0])
        text = Text(conversation_id=claimed.conversation_id or "", uid=uid, seq=claimed.args["seq"])
    await index_rest(runtime, claimed.tenant, text)
    async with runtime.database.begin(claimed.tenant) as connection:
        await table.finish(connection, claimed)
    if runtime.embedder is not None:
        runtime.work_came.set()
