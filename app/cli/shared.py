"""What the commands share: settings, the database, and errors as sentences."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar
from uuid import UUID

import click

from app import errors
from app.postgres.database import Database
from app.postgres.provision import provided
from app.postgres.tenants import DEFAULT_TENANT
from app.settings import InvalidSettingsError, Settings, read
from app.signals import Stopping, stop_on_signals
from app.store import keys as stored_keys
from app.telemetry import logs

T = TypeVar("T")

OfTenant = click.option("--tenant", default=None, help="Name or id of the tenant; the default one if left out.")


def read_settings(**given: Any) -> Settings:
    """The settings, options of the command first. Logs are written from here on."""
    try:
        settings = read(**given)
    except InvalidSettingsError as error:
        raise click.ClickException(str(error)) from None
    logs.set_up(settings.quire_log_level, settings.quire_log_format)
    return settings


@contextmanager
def errors_in_words() -> Iterator[None]:
    try:
        yield
    except errors.QuireError as error:
        more = "".join(f"\n  {'.'.join(str(p) for p in e['loc'] if p != 'body')}: {e['msg']}" for e in error.errors)
        raise click.ClickException(error.detail + more) from error


@contextmanager
def database_of(settings: Settings, stopping: Stopping) -> Iterator[str]:
    """The DSN to work on: DATABASE_URL as it is, or that of an embedded server, up to date, left at the end."""
    with errors_in_words(), provided(settings.database_url, settings.quire_data_dir, stopping.run) as dsn:
        yield dsn


@asynccontextmanager
async def connected(settings: Settings, dsn: str) -> AsyncIterator[Database]:
    """A connection for a command. Raises UnsafeDatabase or StorageUnavailable."""
    database = await Database.connect(dsn, pool_size=1, statement_cache=settings.quire_statement_cache)
    try:
        await database.assert_role_is_safe()
        yield database
    finally:
        await database.close()


def on_database(work: Callable[[Database], Awaitable[T]]) -> T:
    """Do something on the database that the settings name, beside a service or without one."""
    settings = read_settings()

    async def run(dsn: str) -> T:
        async with connected(settings, dsn) as database:
            return await work(database)

    with stop_on_signals() as stopping, database_of(settings, stopping) as dsn:
        return stopping.run(run(dsn))


async def tenant_of(database: Database, wanted: str | None) -> UUID:
    """A tenant by its name or id. Raises ClickException unless there is exactly one."""
    if wanted is None:
        return DEFAULT_TENANT
    rows = await stored_keys.all_tenants(database)
    found: set[UUID] = {row["tenant_id"] for row in rows if wanted in (row["name"], str(row["tenant_id"]))}
    if len(found) != 1:
        raise click.ClickException(f"{len(found)} tenants are called {wanted!r}; `quire tenants list` shows them all.")
    return found.pop()
