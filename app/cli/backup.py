"""`quire backup` and `quire restore`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from app.cli.shared import read_settings
from app.postgres import backup as backups
from app.postgres.programs import EmbeddedPostgresError, hint
from app.settings import Settings
from app.signals import stop_on_signals

Folder = click.argument("folder", type=click.Path(path_type=Path))


@click.command()
@Folder
def backup(folder: Path) -> None:
    """Copy the embedded database to FOLDER, while Quire runs or not."""
    settings = _embedded_settings("pg_basebackup or pg_dump")
    with stop_on_signals(), _in_words():
        size = backups.back_up(settings.quire_data_dir, folder)
    click.echo(
        f"{folder} is a complete, checked backup ({size / 1e6:,.0f} MB). Restore it with `quire restore {folder}`."
    )


@click.command()
@Folder
def restore(folder: Path) -> None:
    """Put the backup in FOLDER into QUIRE_DATA_DIR, which must hold no database."""
    settings = _embedded_settings("the tools that made the backup")
    with stop_on_signals(), _in_words():
        messages, last_at = backups.restore(settings.quire_data_dir, folder)
    last = f", the last of {last_at}" if last_at else ""
    click.echo(
        f"Restored to {settings.quire_data_dir}: {messages} messages{last}. Start Quire, then check it with"
        " `quire doctor --deep`."
    )


def _embedded_settings(instead: str) -> Settings:
    settings = read_settings()
    if settings.database_url is not None:
        raise click.ClickException(
            f"This works on the embedded database only, and DATABASE_URL names another. Use {instead} there."
        )
    return settings


@contextmanager
def _in_words() -> Iterator[None]:
    try:
        yield
    except (EmbeddedPostgresError, OSError) as error:
        raise click.ClickException(f"{error} {hint(error)}".strip()) from error
