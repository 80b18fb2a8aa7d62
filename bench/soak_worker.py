"""The worker of `bench.soak`: Quire's own, which says when it is up."""

import asyncio

from app import logs
from app.main import services_of
from app.settings import Settings
from app.worker import run


async def main() -> None:
    settings = Settings()
    logs.set_up("error", "text")
    assert settings.database_url is not None
    async with services_of(settings, settings.database_url) as services:
        print("up", flush=True)  # noqa: T201 - it is waited for
        await run(services, asyncio.Event())


if __name__ == "__main__":
    asyncio.run(main())
