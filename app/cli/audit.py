"""`quire audit`."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import click

from app.cli.shared import OfTenant, on_database, tenant_of
from app.core.canonical import dumps
from app.postgres.database import Database
from app.services.audit import view
from app.store.operators import audit as stored

AT_ONCE = 1000


@click.group()
def audit() -> None:
    """Export the log of reads and erasures from the database here."""


@audit.command()
@click.option("--since", type=click.DateTime(), default="2000-01-01", help="Entries from this time (UTC) on.")
@OfTenant
def export(since: datetime, tenant: str | None) -> None:
    """Print a tenant's log as JSON lines, the oldest entry first."""

    async def work(database: Database) -> None:
        tenant_id, after = await tenant_of(database, tenant), UUID(int=0)
        while True:
            async with database.snapshot(tenant_id) as tx:
                rows = await stored.browse(tx, after, since.replace(tzinfo=UTC), None, None, AT_ONCE)
            for row in rows:
                click.echo(dumps(view(*row)))
            if len(rows) < AT_ONCE:
                return
            after = rows[-1][0]

    on_database(work)
