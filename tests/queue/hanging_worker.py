"""A worker process whose jobs never end: `python -m tests.queue.hanging_worker DSN FOLDER`."""

import asyncio
import sys
from pathlib import Path

from app.assembly import runtime_of
from app.queue.loop import Pace
from app.queue.table import Claimed
from app.runtime import Runtime
from app.settings import Settings
from app.worker import run


async def hang(runtime: Runtime, claimed: Claimed) -> None:
    print("claimed", flush=True)  # noqa: T201 - it is waited for
    await asyncio.Event().wait()


async def main(dsn: str, folder: str) -> None:
    settings = Settings(quire_data_dir=Path(folder))
    async with runtime_of(settings, dsn) as runtime:
        await run(runtime, asyncio.Event(), handlers={"page": hang}, pace=Pace(lease=1.0, poll=0.02))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
