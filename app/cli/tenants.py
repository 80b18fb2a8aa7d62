"""`quire tenants`."""

from __future__ import annotations

import click

from app.cli.shared import on_database
from app.ids import uuid7
from app.postgres.database import Database
from app.store import keys as stored_keys


@click.group()
def tenants() -> None:
    """Manage tenants, fully isolated from one another. A key belongs to one tenant."""


@tenants.command(name="create")
@click.argument("name")
def create_tenant(name: str) -> None:
    """Make a tenant and print its id."""

    async def work(database: Database) -> None:
        if not name.strip() or not name.isprintable() or len(name) > 200:
            raise click.ClickException("A tenant's name is 1 to 200 characters that can be printed.")
        if any(row["name"] == name for row in await stored_keys.all_tenants(database)):
            raise click.ClickException("There is a tenant of this name already.")
        tenant = uuid7()
        async with database.begin(tenant) as tx:
            await stored_keys.create_tenant(tx, name)
        click.echo(str(tenant))

    on_database(work)


@tenants.command(name="list")
def list_tenants() -> None:
    """List every tenant: its id, its name and the time of its first key."""

    async def work(database: Database) -> None:
        for row in await stored_keys.all_tenants(database):
            since = f"  keys since {row['keyed_at']:%Y-%m-%d}" if row["keyed_at"] else ""
            click.echo(f"{row['tenant_id']}  {row['name']}{since}")

    on_database(work)
