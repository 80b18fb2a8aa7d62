"""The worker of `bench.load.soak`: Quire's own, which prints a word when it is up."""

import asyncio

from app.assembly import runtime_of
from app.settings import Settings
from app.telemetry import logs
from app.worker import run


async def main() -> None:
    settings = Settings()
    logs.set_up("error", "text")
    assert settings.database_url is not None
    async with runtime_of(settings, settings.database_url) as runtime:
        print("up", flush=True)  # noqa: T201 - it is waited for
        await run(runtime, asyncio.Event())


if __name__ == "__main__":
    asyncio.run(main())
