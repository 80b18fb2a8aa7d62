"""`quire tenants`."""

from __future__ import annotations

import click

from app.cli.shared import OfTenant, on_database, tenant_of
from app.core.edge.limits import KINDS, LIMIT_MAX
from app.ids import uuid7
from app.postgres.database import Database
from app.postgres.statements import values_of
from app.queue import outbox
from app.services.limits import count_tenant
from app.store import keys as stored_keys
from app.store.keys import Tenant
from app.store.operators import limits
from quire_command.service import AsJson, show

DEFAULT = -1
"""The limit of the settings."""


@click.group()
def tenants() -> None:
    """Manage tenants of the database here, fully isolated from one another. A key belongs to one tenant."""


@tenants.command(name="create")
@click.argument("name")
def create_tenant(name: str) -> None:
    """Make a tenant and print its id."""

    async def work(database: Database) -> None:
        if not name.strip() or not name.isprintable() or len(name) > 200:
            raise click.ClickException("A tenant's name is 1 to 200 characters that can be printed.")
        if any(row.name == name for row in await stored_keys.all_tenants(database)):
            raise click.ClickException("There is a tenant of this name already.")
        tenant = uuid7()
        async with database.begin(tenant) as tx:
            await stored_keys.create_tenant(tx, name)
        click.echo(str(tenant))

    on_database(work, makes=True)


@tenants.command(name="list")
@AsJson
def list_tenants(*, as_json: bool) -> None:
    """List every tenant: its id, its name, the time of its first key, and its own limits."""
    rows = on_database(stored_keys.all_tenants)
    told = [{**values_of(one), **one.limits} for one in rows]
    for one in told:
        del one["limits"]
    show(told, map(_line, rows), as_json=as_json)


def _line(one: Tenant) -> str:
    since = f"  keys since {one.keyed_at:%Y-%m-%d}" if one.keyed_at else ""
    own = "".join(f"  {kind}={limit}" for kind, limit in one.limits.items() if limit is not None)
    return f"{one.tenant_id}  {one.name}{since}{own}"


def _limit(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    if value is None or value == "default":
        return None if value is None else DEFAULT
    if not (value.isascii() and value.isdecimal() and int(value) <= LIMIT_MAX):
        raise click.BadParameter(f"{value!r} is neither a number up to {LIMIT_MAX} nor `default`.", ctx, param)
    return int(value)


@tenants.command(name="limit")
@OfTenant
@click.option("--requests-per-minute", callback=_limit, metavar="N", help="Requests over all processes.")
@click.option("--background-tokens-per-day", callback=_limit, metavar="N", help="Tokens of Quire's own LLM calls.")
@click.option("--storage-bytes", callback=_limit, metavar="N", help="Bytes of messages, archived results and memories.")
@click.option("--user-storage-bytes", callback=_limit, metavar="N", help="The same, of each user.")
def limit_tenant(tenant: str | None, **given: int | None) -> None:
    """Set limits of a tenant; N is 0 for no limit, or `default` for that of the settings. They hold at once.

    Prints the limits that the tenant then has of its own.
    """

    async def work(database: Database) -> None:
        tenant_id = await tenant_of(database, tenant)
        own = dict((await limits.quota(database, tenant_id))[0])
        own |= {kind: None if limit == DEFAULT else limit for kind, limit in given.items() if limit is not None}
        async with database.begin(tenant_id) as tx:
            await limits.set_quota(tx, own)
        if own.get("storage_bytes") or own.get("user_storage_bytes"):
            await count_tenant(database, tenant_id)
        for kind in KINDS:
            click.echo(f"{kind}: {'default' if own.get(kind) is None else own[kind] or 'no limit'}")

    on_database(work)


@tenants.command(name="events")
@click.argument("state", type=click.Choice(("on", "off")))
@OfTenant
def switch_events(state: str, tenant: str | None) -> None:
    """Turn a tenant's events on or off."""

    async def work(database: Database) -> None:
        async with database.begin(await tenant_of(database, tenant)) as tx:
            await outbox.switch(tx, on=state == "on")

    on_database(work)
