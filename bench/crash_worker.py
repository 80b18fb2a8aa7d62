"""The worker of `bench.crash_work`: Quire's own, with stand-ins for the kinds of job that have no handler yet.

A stand-in inserts what it makes without ON CONFLICT, so that a job that was done twice fails.
"""

import asyncio
from random import random

from app import logs
from app.jobs import Handler
from app.main import services_of
from app.services import Services
from app.settings import Settings
from app.work import table
from app.work.table import Claimed
from app.worker import HANDLERS, run

INSERT = """
INSERT INTO page_index (tenant_id, conversation_id, page, revision, source) VALUES ($1, $2, $3, 0, 'extractive')
"""


async def index_page(services: Services, claimed: Claimed) -> None:
    await asyncio.sleep(random() * 0.4)  # a model takes its time
    async with services.database.begin(claimed.tenant) as connection:
        await connection.execute(INSERT, claimed.tenant, claimed.conversation_id, claimed.args["page"])
        await asyncio.sleep(random() * 0.02)  # and the transaction is open for a while
        await table.finish(connection, claimed)


STAND_INS: dict[str, Handler] = {"page": index_page}


async def main() -> None:
    settings = Settings()
    logs.set_up("info", "text")
    assert settings.database_url is not None
    async with services_of(settings, settings.database_url) as services:
        print("up", flush=True)  # noqa: T201 - it is waited for
        await run(services, asyncio.Event(), handlers={**STAND_INS, **HANDLERS})


if __name__ == "__main__":
    asyncio.run(main())
