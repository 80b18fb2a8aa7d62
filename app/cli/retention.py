"""`quire retention`."""

from __future__ import annotations

import json
from collections import Counter

import click

from app.assembly import runtime_of
from app.cli.shared import database_of, errors_in_words, read_settings
from app.postgres.tenants import tenants
from app.services.lifecycle.retention import retain
from app.settings import Settings
from app.signals import stop_on_signals


@click.command()
@click.option("--dry-run", is_flag=True, help="Only count.")
def retention(*, dry_run: bool) -> None:
    """Erase and prune what the settings say is past its time. The worker does it every minute."""
    settings = read_settings()
    with stop_on_signals() as stopping, database_of(settings, stopping) as dsn, errors_in_words():
        click.echo(json.dumps(stopping.run(_retain(settings, dsn, dry_run=dry_run)), sort_keys=True))


async def _retain(settings: Settings, dsn: str, *, dry_run: bool) -> dict[str, int]:
    done: Counter[str] = Counter(conversations=0, pruned=0)
    async with runtime_of(settings, dsn) as runtime:
        for tenant in await tenants(runtime.database):
            done.update(await retain(runtime, tenant, dry_run=dry_run))
    return dict(done)
