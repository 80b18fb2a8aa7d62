"""`quire worker`."""

from __future__ import annotations

import asyncio

import click

from app import heap
from app import worker as jobs
from app.assembly import runtime_of
from app.cli.shared import database_of, errors_in_words, read_settings, warn_of_misspelt_settings
from app.settings import Settings
from app.signals import Stopping, stop_on_signals

WORKER_UP = "The worker is up. Ctrl-C stops it."
STATE = " Its state: {url}/healthz, {url}/readyz, {url}/metrics"


@click.command()
def worker() -> None:
    """Do the background jobs only. Any number of workers can run beside `quire serve`, anywhere.

    With QUIRE_WORKER_PORT it answers /healthz, /readyz and /metrics there.
    """
    heap.share()
    settings = read_settings()
    warn_of_misspelt_settings()
    with stop_on_signals() as stopping:
        if settings.quire_worker_port is None:
            with database_of(settings, stopping) as dsn, errors_in_words():
                stopping.run(_work(settings, dsn, stopping))
            return
        from app.cli.worker_port import work_and_serve

        work_and_serve(settings, settings.quire_worker_port, f"{WORKER_UP}{STATE}", stopping)


async def _work(settings: Settings, dsn: str, stopping: Stopping) -> None:
    stop = asyncio.Event()
    async with runtime_of(settings, dsn) as runtime:
        heap.freeze()
        click.echo(WORKER_UP)
        loop = asyncio.get_running_loop()
        with stopping.telling(lambda: loop.call_soon_threadsafe(stop.set)):
            await jobs.run(runtime, stop)
