"""`quire migrate`."""

from __future__ import annotations

import click

from app.cli.shared import database_of, errors_in_words, read_settings
from app.postgres.migrate import HEAD, upgrade
from app.signals import stop_on_signals


@click.command()
def migrate() -> None:
    """Bring the schema to the newest version, as the role in MIGRATION_DATABASE_URL."""
    settings = read_settings()
    dsn = settings.migration_database_url or settings.database_url
    with stop_on_signals() as stopping, errors_in_words():
        if dsn is not None:
            upgrade(dsn, stopping.run)
        else:
            with database_of(settings, stopping):
                pass
    click.echo(f"The schema is at {HEAD}.")
