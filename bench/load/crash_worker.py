"""The worker of `bench.load.crash_work`: Quire's own, with stand-ins for the kinds of job that have no handler yet.

A stand-in inserts its results without ON CONFLICT, so that a job that runs twice fails.
"""

import asyncio
from random import random

from app.assembly import runtime_of
from app.jobs import Handler
from app.queue import table
from app.queue.table import Claimed
from app.runtime import Runtime
from app.settings import Settings
from app.telemetry import logs
from app.worker import HANDLERS, run

INSERT = """
INSERT INTO page_index (tenant_id, conversation_id, page, source) VALUES ($1, $2, $3, 'extractive')
"""


async def index_page(runtime: Runtime, claimed: Claimed) -> None:
    await asyncio.sleep(random() * 0.4)  # as long as a model takes
    async with runtime.database.begin(claimed.tenant) as tx:
        await tx.execute(INSERT, claimed.conversation_id, claimed.args["page"])
        await asyncio.sleep(random() * 0.02)  # keeps the transaction open for a while
        await table.finish(tx, claimed)


STAND_INS: dict[str, Handler] = {"page": index_page}


async def main() -> None:
    settings = Settings()
    logs.set_up("info", "text")
    assert settings.database_url is not None
    async with runtime_of(settings, settings.database_url) as runtime:
        print("up", flush=True)  # noqa: T201 - it is waited for
        await run(runtime, asyncio.Event(), handlers={**STAND_INS, **HANDLERS})


if __name__ == "__main__":
    asyncio.run(main())
