"""The progress of background work: for people, for readiness and for metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from app.core.conversation import Conversation
from app.core.times import time_text
from app.errors import StorageUnavailable
from app.postgres import damage
from app.postgres.database import Database
from app.postgres.transactions import ReadTx
from app.providers.successes import CALLS_WATCHED
from app.queue import depths, table
from app.queue.depths import Depth
from app.queue.table import ListedJob
from app.runtime import Runtime
from app.store import spending, unindexed
from app.store.spending import Spent


async def jobs_view(runtime: Runtime, tx: ReadTx) -> dict[str, Any]:
    lanes = await depths.by_lane(runtime.database, [tx.tenant])
    count, more = await unindexed.count(tx)
    return {
        **_numbers(lanes.values()), "unindexed": count, "unindexed_at_least": more,
        "lanes": {lane: {**asdict(depth), "stopped": runtime.lanes_stopped.get(lane)} for lane, depth in lanes.items()},
        "spent": _spent(await spending.totals(tx)),
    }  # fmt: skip


async def status_view(tx: ReadTx, conversation: Conversation) -> dict[str, Any]:
    depth, pages = await depths.of_conversation(tx, conversation.id)
    owner = conversation.scope.owner
    return {
        **_numbers([depth]),
        "unindexed": pages + await unindexed.without_vector(tx, owner, conversation.id),
        "spent": _spent(await spending.totals_of(tx, conversation.id)),
    }


def _numbers(lanes: Iterable[Depth]) -> dict[str, Any]:
    whole = sum(lanes, start=Depth())
    age = whole.oldest_pending_seconds
    return {
        "pending": whole.pending, "running": whole.running, "dead": whole.dead,
        "oldest_pending_seconds": None if age is None else round(age, 3),
    }  # fmt: skip


def _spent(kinds: Mapping[str, Spent]) -> dict[str, Any]:
    return {kind: asdict(spent) for kind, spent in kinds.items()}


def job_view(row: ListedJob) -> dict[str, Any]:
    return {
        "id": str(row.id), "kind": row.kind, "lane": row.lane, "state": row.state,
        "conversation_id": row.conversation_id, "attempts": row.attempts, "error": row.error,
        "created_at": time_text(row.created_at),
        "failed_at": time_text(row.failed_at) if row.failed_at else None,
    }  # fmt: skip


async def work_warnings(runtime: Runtime) -> list[dict[str, str]]:
    """Return warnings for the operator. The API works nevertheless, because windows use what exists."""
    warnings = {
        lane: {"code": "lane_stopped", "detail": f"the provider of the lane {lane} does not take us: {words}"}
        for lane, words in runtime.lanes_stopped.items()
    }
    for kind, words in runtime.successes.missing().items():
        said = f"none of the last {CALLS_WATCHED} model calls for {kind} jobs gave anything usable; the newest: {words}"
        warnings[kind] = {"code": "calls_fail", "detail": said}
    for code, words in runtime.database.faults.items():
        warnings[code] = {"code": code, "detail": await _storage_fault(runtime.database, code, words)}
    busy = await table.busy(runtime.database)
    for lane, error in (await depths.neglected(runtime.database, busy)).items():
        failed = f"; its last attempt: {error}" if error else ""
        detail = f"work of the lane {lane} could be claimed for over a minute and was not{failed}"
        warnings.setdefault(lane, {"code": "work_unclaimed", "detail": detail})
    return list(warnings.values())


async def _storage_fault(database: Database, code: str, words: str) -> str:
    if code == "storage_full":
        return f"No space left on the database's disk: {words}"
    said = await damage.described(database, words)
    return f"stored data is damaged: {said}. The rest can be read; `quire doctor --deep` says what"


async def measure(runtime: Runtime) -> None:
    """Set the gauges that are computed per scrape: the work of all tenants, and this process's connections."""
    metrics = runtime.metrics
    for gauge in (metrics.jobs, metrics.unclaimed, metrics.oldest, metrics.stopped):
        gauge.clear()
    for lane in runtime.lanes_stopped:
        metrics.stopped.labels(lane).set(1)
    in_use, idle = runtime.database.connections()
    metrics.pool.labels("in use").set(in_use)
    metrics.pool.labels("idle").set(idle)
    try:
        lanes = await depths.by_lane(runtime.database, await table.busy(runtime.database))
    except StorageUnavailable:
        metrics.up.set(0)
        return
    metrics.up.set(1)
    for lane, depth in lanes.items():
        for state in ("pending", "running", "dead"):
            metrics.jobs.labels(lane, state).set(getattr(depth, state))
        metrics.unclaimed.labels(lane).set(depth.unclaimed)
        metrics.oldest.labels(lane).set(depth.oldest_pending_seconds or 0)
