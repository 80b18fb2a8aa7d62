"""Hold callers to their limits, which all processes share.

A process takes a second's worth of a rate at once, adds up what it stores for two seconds, and reads a tenant's own
limits with the key of each request (for callers without one, once a second). So no request waits for a row that others
write, and a limit that was changed holds from the next request on.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from uuid import UUID

from app import errors
from app.core.edge.caller import Caller
from app.core.edge.limits import Quota, ReachedLimit, seconds_of_day_left, storage_reached
from app.core.edge.rate import Share, TakenTokens, wanted
from app.core.times import time_text
from app.postgres.database import Database
from app.postgres.transactions import Tx
from app.providers import TemporaryError
from app.runtime import Runtime, StorageLedger
from app.store import spending
from app.store.operators import limits

LEDGER_SECONDS = 2.0
"""How long a process adds up what it stores before it tells the others."""
COUNTED_SECONDS = 60
"""Retry-After of a full storage: by then an erasure has been counted, and nothing else makes room."""
USERS_AT_ONCE = 200


async def quota_of(runtime: Runtime, tenant: UUID) -> Quota:
    """Return the limits that hold for a tenant, at most a second old."""
    try:
        return runtime.meters.quotas[tenant]
    except KeyError:
        own, tells = await limits.quota(runtime.database, tenant)
        return know(runtime, tenant, own, tells=tells)


def know(runtime: Runtime, tenant: UUID, own: Mapping[str, int | None], *, tells: bool) -> Quota:
    """Remember a tenant's own limits, and whether its events are on, for a second. Return the limits that hold."""
    (runtime.meters.telling.add if tells else runtime.meters.telling.discard)(tenant)
    found = runtime.meters.quotas[tenant] = runtime.quota.own(own)
    return found


def know_again(runtime: Runtime, tenant: UUID, own: Mapping[str, int | None], *, tells: bool) -> None:
    """Remember a tenant's limits for another second if they have expired. The request's own statement confirms them."""
    if tenant not in runtime.meters.quotas:
        know(runtime, tenant, own, tells=tells)


def are_none(runtime: Runtime, quota: Quota, per_minute: int | None = None) -> bool:
    """Return whether neither the tenant nor the key has a limit that could refuse a request."""
    of_key = runtime.access.requests_per_minute if per_minute is None else per_minute
    return not of_key and quota == Quota()


# --- Requests ---------------------------------------------------------------------------------------


async def spend(runtime: Runtime, caller: Caller) -> TakenTokens | None:
    """Count a request against the limits of the caller's key and tenant. Return the key's state; None without a limit.

    Callers without a key share one rate. Raises TooManyRequests. While the database is away, rates are not enforced.
    """
    try:
        quota = await quota_of(runtime, caller.tenant)
        of_key = runtime.access.requests_per_minute if caller.per_minute is None else caller.per_minute
        of_tenant = quota.requests_per_minute
        taken = await _take(runtime, caller.tenant, caller.key or UUID(int=0), of_key) if of_key else None
        if taken is not None and not taken.allowed:
            raise _refusal(ReachedLimit("requests_per_minute", "key", of_key), taken.retry_seconds, rate_headers(taken))
        if of_tenant:
            shared = await _take(runtime, caller.tenant, caller.tenant, of_tenant)
            if not shared.allowed:
                raise _refusal(ReachedLimit("requests_per_minute", "tenant", of_tenant), shared.retry_seconds)
    except errors.StorageUnavailable:
        return None
    return taken


async def _take(runtime: Runtime, tenant: UUID, subject: UUID, per_minute: int) -> TakenTokens:
    shares, name = runtime.meters.shares, (tenant, subject)
    async with runtime.meters.lock(name):
        share: Share | None = shares.get(name)
        spent = share.spend(time.monotonic(), per_minute) if share is not None else None
        if spent is None:
            async with runtime.database.begin(tenant) as tx:
                taken = await limits.take_shared(tx, subject, per_minute, wanted(per_minute))
            now = time.monotonic()
            share = Share(taken, taken.granted, now)
            spent = share.spend(now, per_minute) or (share, taken)
        shares[name], taken = spent
        return taken


def rate_headers(taken: TakenTokens) -> dict[str, str]:
    return {
        "RateLimit-Limit": str(taken.limit),
        "RateLimit-Remaining": str(taken.remaining),
        "RateLimit-Reset": str(taken.reset_seconds),
    }


_WORDS = {
    "requests_per_minute": "The {of} has reached its limit of {maximum} requests a minute.",
    "storage_bytes": "The {of} has reached its limit of {maximum} bytes of storage. Erase something, or raise it.",
    "user_storage_bytes": "The {of} has reached the limit of {maximum} bytes of storage. Erase something, or raise it.",
}


def _refusal(reached: ReachedLimit, seconds: int, headers: dict[str, str] | None = None) -> errors.TooManyRequests:
    until = datetime.now(UTC) + timedelta(seconds=seconds)
    detail = _WORDS[reached.limit].format(of=reached.of, maximum=reached.maximum)
    extra = {"limit": reached.limit, "of": reached.of, "maximum": reached.maximum, "until": time_text(until)}
    return errors.TooManyRequests(detail, extra=extra, headers={"Retry-After": str(seconds), **(headers or {})})


# --- Tokens of background work ----------------------------------------------------------------------


async def require_tokens(runtime: Runtime, tenant: UUID) -> None:
    """Raise TemporaryError if Quire's own model calls have used up today's tokens."""
    maximum = (await quota_of(runtime, tenant)).background_tokens_per_day
    if not maximum:
        return
    async with runtime.database.snapshot(tenant) as tx:
        used = await spending.background_today(tx)
    if used >= maximum:
        now = datetime.now(UTC)
        left = seconds_of_day_left(now)
        until = time_text(now + timedelta(seconds=left))
        raise TemporaryError(
            f"the tenant's limit of {maximum} tokens of background work a day is reached until {until}", left
        )


# --- Storage ----------------------------------------------------------------------------------------


async def require_room(runtime: Runtime, tenant: UUID, user: str | None) -> None:
    """Raise TooManyRequests if a user or the tenant has no storage left."""
    quota = await quota_of(runtime, tenant)
    if not quota.storage_bytes and not quota.user_storage_bytes:
        runtime.meters.ledgers.pop(tenant, None)
        return
    ledger = runtime.meters.ledgers.setdefault(tenant, StorageLedger())
    whose = user or ""
    if time.monotonic() - ledger.at >= LEDGER_SECONDS or whose not in ledger.users:
        await _settle(runtime, tenant, ledger, whose)
    total = ledger.total + sum(ledger.added.values())
    if reached := storage_reached(quota, total, ledger.users[whose] + ledger.added[whose]):
        raise _refusal(reached, COUNTED_SECONDS)


async def require_room_in(runtime: Runtime, tx: Tx, user: str | None) -> None:
    """Do as ``require_room``, and count what this transaction has stored already.

    It reads what others stored in the transaction itself: a second connection might have to wait for this one.
    """
    quota = runtime.meters.quotas.get(tx.tenant)
    if quota is None:
        own, tells = await limits.quota_in(tx)
        quota = know(runtime, tx.tenant, own, tells=tells)
    if quota.storage_bytes or quota.user_storage_bytes:
        ledger, whose = runtime.meters.ledgers.setdefault(tx.tenant, StorageLedger()), user or ""
        total, users = await limits.bytes_of(tx, [whose])
        added = StorageLedger(added=ledger.added.copy())
        added.note(tx.changes)
        total += sum(added.added.values())
        if reached := storage_reached(quota, total, users.get(whose, 0) + added.added[whose]):
            raise _refusal(reached, COUNTED_SECONDS)


async def _settle(runtime: Runtime, tenant: UUID, ledger: StorageLedger, whose: str) -> None:
    """Write the bytes that this process stored, and read the sums of all processes."""
    added, ledger.added = ledger.added, type(ledger.added)()
    try:
        async with runtime.database.begin(tenant) as tx:
            await limits.add_bytes(tx, {user: count for user, count in added.items() if count})
            total, users = await limits.bytes_of(tx, [whose])
    except errors.StorageUnavailable:
        ledger.added.update(added)
        raise
    ledger.total, ledger.at = total, time.monotonic()
    ledger.users = {whose: users.get(whose, 0)}


async def write_last(runtime: Runtime) -> None:
    """Write the bytes that this process stored, before it ends."""
    with suppress(errors.StorageUnavailable):
        for tenant, ledger in runtime.meters.ledgers.items():
            await _settle(runtime, tenant, ledger, "")


async def count_tenant(database: Database, tenant: UUID) -> None:
    """Count what each user of a tenant stores, if that was not done today or something was erased since."""
    users = [""]
    while users:
        async with database.snapshot(tenant) as snapshot:
            users = await limits.uncounted(snapshot, USERS_AT_ONCE)
        for user in users:
            async with database.begin(tenant) as tx:
                await limits.count_bytes(tx, user)
