"""Going on with the index of a text that was too long for its append."""

from __future__ import annotations

from uuid import UUID

from app.flows.indexing import Text, index_rest
from app.services import Services
from app.work import table
from app.work.table import Claimed


async def index_passages(services: Services, claimed: Claimed) -> None:
    """Each step keeps its own result; a job that is cut off goes on where the last one came to."""
    if "archive" in claimed.args:
        text = Text(archive=UUID(claimed.args["archive"]))
    else:
        uid = UUID(claimed.subject.split(":")[0])
        text = Text(conversation_id=claimed.conversation_id or "", uid=uid, seq=claimed.args["seq"])
    await index_rest(services, claimed.tenant, text)
    async with services.database.begin(claimed.tenant) as connection:
        await table.finish(connection, claimed)
    if services.embedder is not None:
        services.work_came.set()
