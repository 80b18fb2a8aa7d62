"""`quire keys`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import click

from app.api.http.body import parse_model
from app.api.operators.keys import checked
from app.api.schemas.keys import KeyBody
from app.cli.shared import OfTenant, on_database, tenant_of
from app.core.edge.caller import SCOPES, Caller
from app.core.edge.limits import LIMIT_MAX
from app.postgres.database import Database
from app.postgres.tenants import is_keyed
from app.services.keys import OPEN_SECONDS, make, revoke, view
from app.store import keys as stored_keys
from quire_command.service import AsJson, show

KEY_TIMES = (("expires", "expires_at"), ("revoked", "revoked_at"), ("last used", "last_used_at"))
LISTED_AT_ONCE = 200


@click.group()
def keys() -> None:
    """Create, list and revoke API keys in the database here, whether or not the service is running."""


@keys.command(name="create")
@click.option("--name", default="key", show_default=True, help="To tell it from others.")
@click.option(
    "--scope", "scopes", multiple=True, default=("read", "write"), show_default=True, type=click.Choice(SCOPES)
)
@click.option("--user", "user_id", default=None, help="The only user it can see; all users if left out.")
@click.option("--space", "space_id", default=None, help="The only space it can see, as a member that writes.")
@click.option("--days", type=click.IntRange(1, 36_500), default=None, help="Days until it expires; never if left out.")
@click.option("--requests-per-minute", type=click.IntRange(0, LIMIT_MAX), help="0: unlimited.")
@OfTenant
def create_key(tenant: str | None, days: int | None, **given: Any) -> None:
    """Make a key and print it. It cannot be shown again.

    From the first key on, the service asks every caller for one.
    """
    until = datetime.now(UTC) + timedelta(days=days) if days else None

    async def work(database: Database) -> None:
        body = parse_model(KeyBody, {**given, "scopes": list(given["scopes"]), "expires_at": until})
        caller = Caller(await tenant_of(database, tenant))
        first = not await is_keyed(database)
        async with database.begin(caller.tenant) as tx:
            _, made = await make(tx, caller, checked(body))
        if first:
            await asyncio.sleep(OPEN_SECONDS)
        click.echo(made.reveal())

    on_database(work, makes=True)


@keys.command(name="list")
@OfTenant
@AsJson
def list_keys(tenant: str | None, *, as_json: bool) -> None:
    """List every key of a tenant, the newest first."""

    async def work(database: Database) -> list[dict[str, Any]]:
        tenant_id = await tenant_of(database, tenant)
        found: list[dict[str, Any]] = []
        after: UUID | None = None
        while True:
            async with database.snapshot(tenant_id) as tx:
                rows = await stored_keys.browse(tx, None, after, LISTED_AT_ONCE)
            found += map(view, rows)
            if len(rows) < LISTED_AT_ONCE:
                return found
            after = rows[-1].id

    found = on_database(work)
    show(found, map(_line, found), as_json=as_json)


def _line(key: Mapping[str, Any]) -> str:
    times = [f"{what} {key[at]}" for what, at in KEY_TIMES if key[at]]
    whose = f"user {key['user_id']}" if key["user_id"] is not None else "all users"
    return "  ".join([key["prefix"], key["name"], ",".join(key["scopes"]), whose, *times])


@keys.command(name="revoke")
@click.argument("key")
def revoke_key(key: str) -> None:
    """Revoke KEY: what `quire keys list` shows first, or the whole key."""

    async def work(database: Database) -> None:
        parts = key.split("_")
        try:
            tenant, key_id = UUID(hex=parts[1]), UUID(hex=parts[2])
        except (IndexError, ValueError):
            raise click.ClickException("KEY begins with qk_, as `quire keys list` shows it.") from None
        async with database.begin(tenant) as tx:
            shown = await revoke(tx, Caller(tenant), key_id)
        click.echo(f"{shown['prefix']} lets nobody in since {shown['revoked_at']}.")

    on_database(work)
