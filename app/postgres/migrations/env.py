"""Runs the migrations. The DSN comes from `app.postgres.migrate`, or from the settings when alembic is run by hand."""

import asyncio

import asyncpg
from alembic import context
from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from app import errors
from app.postgres import distribution
from app.postgres.migrate import MIGRATE
from app.settings import Settings

# Any number that nothing else on this database uses.
MIGRATION_LOCK = 7_823_419_500
TRIES = 10
"""Requests lock tables in another order than a migration changes them: a deadlock ends one of the two."""


def run(connection: Connection) -> None:
    """Run all missing migrations in one transaction, one process at a time."""
    context.configure(connection=connection)
    with context.begin_transaction():
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": MIGRATION_LOCK})
        context.run_migrations()
        if connection.scalar(text(distribution.IS_CITUS)):
            distribute(connection)


def distribute(connection: Connection) -> None:
    found = {row.name: row.is_by_tenant for row in connection.execute(text(distribution.FOUND))}
    in_order = inspect(connection).get_sorted_table_and_fkc_names()  # each after those that it references
    tables = [name for name, _ in in_order if name is not None and name != "alembic_version"]
    for table, statements in distribution.distributing(tables, found):
        has_rows = connection.scalar(text(distribution.HAS_ROWS.format(table=table)))
        if has_rows and table != "alembic_version":
            raise errors.StorageUnavailable(
                f"The table {table} is not distributed and can hold rows, which stay hidden from its owner."
                " Export them, then run `quire migrate` in a new database with Citus, and import them."
            )
        for statement in statements:
            connection.execute(text(statement))


async def main(dsn: str, tries: int = TRIES) -> None:
    """Connect through asyncpg, so that the DSN means the same here as in the service.

    Raises StorageUnavailable, without the statement, where the database refuses one.
    """
    engine = create_async_engine(
        "postgresql+asyncpg://", async_creator=lambda: asyncpg.connect(dsn, timeout=10), poolclass=NullPool
    )
    try:
        async with engine.connect() as connection:
            await connection.run_sync(run)
    except DBAPIError as error:
        said = error.driver_exception
        if tries > 1 and isinstance(said, asyncpg.DeadlockDetectedError):
            return await main(dsn, tries - 1)
        raise errors.StorageUnavailable(
            f"The database refused, and the schema is as it was: {said}. {MIGRATE}"
        ) from error
    finally:
        await engine.dispose()


def dsn_from_settings() -> str:
    """Return the DSN for commands of Alembic that are run by hand."""
    settings = Settings()
    dsn = settings.migration_database_url or settings.database_url
    if dsn is None:
        raise SystemExit("Set MIGRATION_DATABASE_URL or DATABASE_URL.")
    return dsn


run_on_a_loop = context.config.attributes.get("run", asyncio.run)
run_on_a_loop(main(context.config.attributes.get("dsn") or dsn_from_settings()))
