"""Shared by the commands: settings, the database, and readable errors."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import UUID

import click

from app import errors
from app.postgres import embedded, migrate
from app.postgres.database import Database
from app.postgres.programs import EmbeddedPostgresError, hint
from app.postgres.provision import provided
from app.postgres.tenants import DEFAULT_TENANT
from app.settings import MISSPELT, InvalidSettingsError, Settings, misspelt, read
from app.signals import Stopping, stop_on_signals
from app.store import keys as stored_keys
from app.telemetry import logs

T = TypeVar("T")
_logger = logging.getLogger(__name__)

LOOK_SECONDS: Final = 1.0
"""Between two looks at the embedded PostgreSQL."""
STARTS_MAX: Final = 3
"""A full disk or a lack of memory can pass; a supervisor sees what does not by the end of the process."""

OfTenant = click.option("--tenant", default=None, help="Name or id of the tenant; the default one if left out.")


def read_settings(**given: Any) -> Settings:
    """Read the settings; options of the command take precedence. Sets up logging."""
    try:
        settings = read(**given)
    except InvalidSettingsError as error:
        raise click.ClickException(str(error)) from None
    logs.set_up(settings.quire_log_level, settings.quire_log_format)
    return settings


def warn_of_misspelt_settings() -> None:
    """Log a warning for each variable of the environment that is probably a misspelt setting."""
    for name, nearest in misspelt(os.environ).items():
        _logger.warning(MISSPELT, name, nearest)


@contextmanager
def errors_in_words() -> Iterator[None]:
    try:
        yield
    except errors.QuireError as error:
        more = "".join(f"\n  {'.'.join(str(p) for p in e['loc'] if p != 'body')}: {e['msg']}" for e in error.errors)
        raise click.ClickException(error.detail + more) from error


@contextmanager
def database_of(settings: Settings, stopping: Stopping) -> Iterator[str]:
    """Yield the DSN: DATABASE_URL as it is, or that of an embedded server, migrated, and stopped at the end.

    The embedded server is started again whenever it is down; where it cannot be, the process ends with 1.
    """
    with errors_in_words(), provided(settings.database_url, settings.quire_data_dir, stopping.run) as dsn:
        if settings.database_url is not None:
            yield dsn
            return
        over = threading.Event()
        threading.Thread(target=_keep_up, args=(settings.quire_data_dir, stopping, over), daemon=True).start()
        try:
            yield dsn
        finally:
            over.set()
        if stopping.exit_code:
            raise SystemExit(stopping.exit_code)


def _keep_up(data_dir: Path, stopping: Stopping, over: threading.Event) -> None:
    """Start PostgreSQL again whenever it is down: no one else watches the embedded server."""
    failures = 0
    while not over.wait(LOOK_SECONDS):
        try:
            if embedded.is_down(data_dir) and embedded.revive(data_dir):
                _logger.error("PostgreSQL crashed or was stopped, and was started again")
            failures = 0
        except (EmbeddedPostgresError, OSError) as error:
            failures += 1
            _logger.critical(
                "PostgreSQL is down and cannot be started (attempt %d): %s %s", failures, error, hint(error)
            )
            if failures == STARTS_MAX:
                stopping.tell(exit_code=1)
                return


@asynccontextmanager
async def connected(settings: Settings, dsn: str) -> AsyncIterator[Database]:
    """Yield a connection for a command. Raises UnsafeDatabase or StorageUnavailable."""
    database = await Database.connect(dsn, pool_size=1, statement_cache=settings.quire_statement_cache)
    try:
        await database.assert_role_is_safe()
        migrate.require(await database.schema_revision())
        yield database
    finally:
        await database.close()


def on_database(work: Callable[[Database], Awaitable[T]], *, makes: bool = False) -> T:
    """Run an action on the configured database, whether or not a service is running; refuse if QUIRE_URL names one.

    ``makes``: where there is no database yet, the action has one made.
    """
    settings = read_settings()
    if (url := os.environ.get("QUIRE_URL")) and not settings.database_url:
        raise click.ClickException(
            f"This command works on a database, and QUIRE_URL names a service, {url}. Run it on that service's machine,"
            " set DATABASE_URL to its database, or unset QUIRE_URL to use the database here."
        )

    if not (makes or settings.database_url or (settings.quire_data_dir.expanduser() / "postgres" / "cluster").exists()):
        raise click.ClickException(
            f"There is no database in {settings.quire_data_dir} yet: `quire serve` makes it. Set QUIRE_DATA_DIR or"
            " DATABASE_URL if it is elsewhere."
        )

    async def run(dsn: str) -> T:
        async with connected(settings, dsn) as database:
            return await work(database)

    with stop_on_signals() as stopping, database_of(settings, stopping) as dsn:
        return stopping.run(run(dsn))


async def tenant_of(database: Database, name: str | None) -> UUID:
    """Return the tenant with a name or id. Raises ClickException unless there is exactly one."""
    if name is None:
        return DEFAULT_TENANT
    rows = await stored_keys.all_tenants(database)
    matches: set[UUID] = {row.tenant_id for row in rows if name in (row.name, str(row.tenant_id))}
    if len(matches) != 1:
        raise click.ClickException(f"{len(matches)} tenants are called {name!r}; `quire tenants list` shows them all.")
    return matches.pop()
