"""`quire backup`, `quire restore` and `quire unfollow`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Literal

import click

from app.cli.shared import read_settings
from app.postgres import backup as backups
from app.postgres.programs import EmbeddedPostgresError
from app.settings import Settings
from app.signals import stop_on_signals

Folder = click.argument("folder", type=click.Path(path_type=Path))


@click.command()
@Folder
@click.option("--follow", is_flag=True, help="Copy every later write into FOLDER/wal, too, within about a minute.")
def backup(folder: Path, follow: bool) -> None:
    """Copy the embedded database to FOLDER, while Quire runs or not.

    With --follow FOLDER can be restored to any later moment, until another backup is followed.
    """
    settings = _embedded_settings("pg_basebackup or pg_dump")
    with stop_on_signals(), _in_words():
        size = backups.back_up(settings.quire_data_dir, folder, follows=follow)
    click.echo(
        f"{folder} is a complete, checked backup ({size / 1e6:,.0f} MB). Restore it with `quire restore {folder}`."
    )
    if follow:
        click.echo(f"Later writes are copied to {folder / 'wal'} until `quire unfollow` or the next --follow.")


@click.command()
def unfollow() -> None:
    """Copy no more writes into the backup that is followed."""
    settings = _embedded_settings("archive_command")
    with stop_on_signals(), _in_words():
        folder = backups.unfollow(settings.quire_data_dir)
    click.echo("No backup was followed." if folder is None else f"{folder} is followed no more.")


@click.command()
@Folder
@click.option(
    "--to",
    metavar="TIME",
    help="Moment after the backup, such as 2026-11-24T06:00:00Z, or `latest`; needs a backup that was followed.",
)
def restore(folder: Path, to: str | None) -> None:
    """Put the backup in FOLDER into QUIRE_DATA_DIR, which must hold no database."""
    settings = _embedded_settings("the tools that made the backup")
    with stop_on_signals(), _in_words():
        backups.restore(settings.quire_data_dir, folder, _moment(to))
    click.echo(f"Restored to {settings.quire_data_dir}. Start Quire, then check it with `quire doctor --deep`.")


def _moment(to: str | None) -> datetime | Literal["latest"] | None:
    if to is None or to == "latest":
        return "latest" if to else None
    try:
        moment = datetime.fromisoformat(to)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise click.UsageError(f"--to must be a time with an offset, such as 2026-11-24T06:00:00Z, or latest: {to}")
    return moment


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
        raise click.ClickException(str(error)) from error
