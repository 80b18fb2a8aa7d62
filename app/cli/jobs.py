"""`quire jobs`."""

from __future__ import annotations

from uuid import UUID

import click

from app.cli.shared import on_database
from app.postgres.database import Database
from app.postgres.tenants import tenants
from app.queue import table

RETRIED_AT_ONCE = 1000


@click.group()
def jobs() -> None:
    """List background jobs, and retry the dead ones."""


@jobs.command(name="list")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1000), help="Dead jobs to show.")
def list_jobs(limit: int) -> None:
    """Count the jobs, and list the dead ones."""
    click.echo(on_database(lambda database: _listed(database, limit)))


@jobs.command(name="retry")
@click.argument("job", required=False, type=click.UUID)
@click.option("--all-dead", is_flag=True, help="Every dead job.")
def retry_jobs(job: UUID | None, *, all_dead: bool) -> None:
    """Retry the dead JOB, or all of them."""
    if (job is None) != all_dead:
        raise click.UsageError("Name a job, or say --all-dead.")
    count = on_database(lambda database: _revived(database, job))
    if job is not None and not count:
        raise click.ClickException("There is no such dead letter.")
    click.echo(f"{count} to be tried again.")


async def _listed(database: Database, limit: int) -> str:
    lines = []
    for tenant in await tenants(database):
        async with database.snapshot(tenant) as connection:
            lanes = await table.depth(connection, tenant)
            dead = await table.dead_letters(connection, tenant, None, limit)
        lines += [f"{lane}: {d.pending} pending, {d.running} running, {d.dead} dead" for lane, d in lanes.items()]
        lines += [
            f"{row['id']}  {row['kind']}  {row['conversation_id'] or '-'}  attempt {row['attempts']}  {row['error']}"
            for row in dead
        ]
    return "\n".join(lines) or "There is no work."


async def _revived(database: Database, job: UUID | None) -> int:
    """How many dead jobs were brought back: one, or all in steps of a thousand."""
    total = 0
    for tenant in await tenants(database):
        some = 1
        while some:
            async with database.begin(tenant) as connection:
                some = await (
                    table.retry_some(connection, tenant, RETRIED_AT_ONCE)
                    if job is None
                    else table.revive(connection, tenant, job)
                )
            total += some
    return total
