"""`quire jobs`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from uuid import UUID

import click

from app.cli.shared import on_database
from app.postgres.database import Database
from app.queue import depths, table
from app.queue.depths import Depth
from app.queue.table import ListedJob
from quire_command.service import AsJson, show

RETRIED_AT_ONCE = 1000


@click.group()
def jobs() -> None:
    """List background jobs of the database here, and retry the dead ones."""


@jobs.command(name="list")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1000), help="Dead jobs to show.")
@AsJson
def list_jobs(limit: int, *, as_json: bool) -> None:
    """Count the jobs, and list the dead ones."""
    lanes, dead = on_database(lambda database: _listed(database, limit))
    lines = [_lane(lane, depth) for lane, depth in lanes.items()]
    lines += [
        f"{job.id}  {job.kind}  {job.conversation_id or '-'}  attempt {job.attempts}  {job.error}" for job in dead
    ]
    counts = {lane: asdict(depth) for lane, depth in lanes.items()}
    show({"lanes": counts, "dead": list(map(asdict, dead))}, lines or ["There is no work."], as_json=as_json)


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


async def _listed(database: Database, limit: int) -> tuple[Mapping[str, Depth], list[ListedJob]]:
    busy = await table.busy(database)
    dead: list[ListedJob] = []
    for tenant in busy:
        async with database.snapshot(tenant) as tx:
            dead += await table.dead_letters(tx, None, limit)
    return await depths.by_lane(database, busy), dead


def _lane(lane: str, depth: Depth) -> str:
    error = f"; last error: {depth.error}" if depth.error else ""
    return f"{lane}: {depth.pending} pending, {depth.running} running, {depth.dead} dead{error}"


async def _revived(database: Database, job: UUID | None) -> int:
    total = 0
    for tenant in await table.busy(database):
        some = 1
        while some:
            async with database.begin(tenant) as tx:
                some = await (table.retry_some(tx, RETRIED_AT_ONCE) if job is None else table.revive(tx, job))
            total += some
    return total
