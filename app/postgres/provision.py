"""The database to serve from: a configured one, or an embedded one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app import errors
from app.postgres import embedded, migrate
from app.postgres.migrate import Run
from app.postgres.programs import EmbeddedPostgresError, hint


@contextmanager
def provided(database_url: str | None, data_dir: Path, run: Run = asyncio.run) -> Iterator[str]:
    """Yield the DSN: ``database_url`` unchanged, else that of an embedded, migrated server, left at the end.

    Blocks. Of several processes the first one starts the server and the last one stops it. Raises StorageUnavailable.
    """
    if database_url is not None:
        yield database_url
        return
    try:
        postgres = embedded.start(data_dir)
    except (EmbeddedPostgresError, OSError) as error:
        fix = hint(error, f"See {data_dir / 'postgres' / 'log'}.")
        raise errors.StorageUnavailable(f"The embedded PostgreSQL could not be started: {error} {fix}") from error
    try:
        migrate.upgrade(postgres.owner_dsn, run)
        yield postgres.app_dsn
    finally:
        postgres.stop()
