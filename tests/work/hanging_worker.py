"""A worker process whose jobs never end: `python -m tests.work.hanging_worker DSN FOLDER`."""

import asyncio
import sys
from pathlib import Path

from app.main import services_of
from app.services import Services
from app.settings import Settings
from app.work.loop import Pace
from app.work.table import Claimed
from app.worker import run


async def hang(services: Services, claimed: Claimed) -> None:
    print("claimed", flush=True)  # noqa: T201 - it is waited for
    await asyncio.Event().wait()


async def main(dsn: str, folder: str) -> None:
    settings = Settings(quire_data_dir=Path(folder))
    async with services_of(settings, dsn) as services:
        await run(services, asyncio.Event(), handlers={"page": hang}, pace=Pace(lease=1.0, poll=0.02))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
