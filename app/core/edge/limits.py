"""Limits of a tenant and its users, and which of them is reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta

from app.core.setting import Variable, setting

LIMIT_MAX = 10**15


@dataclass(frozen=True, slots=True)
class Quota:
    """Limits of a tenant; 0: none. The settings hold for tenants without limits of their own."""

    requests_per_minute: int = setting(
        Variable("quire_tenant_requests_per_minute", 0, ge=0, le=LIMIT_MAX),
        "Requests per minute of one tenant, unless `quire tenants limit` sets others. 0: unlimited.",
    )
    background_tokens_per_day: int = setting(
        Variable("quire_tenant_background_tokens_per_day", 0, ge=0, le=LIMIT_MAX),
        "Tokens a day (UTC) that Quire's own LLM calls can use for one tenant; their jobs then wait. 0: unlimited.",
    )
    storage_bytes: int = setting(
        Variable("quire_tenant_storage_bytes", 0, ge=0, le=LIMIT_MAX),
        "Bytes of messages, archived results and memories of one tenant; beyond it, writes get 429. 0: unlimited.",
    )
    user_storage_bytes: int = setting(
        Variable("quire_user_storage_bytes", 0, ge=0, le=LIMIT_MAX), "The same, of each user. 0: unlimited."
    )

    def own(self, limits: Mapping[str, int | None]) -> Quota:
        """Return the quota of a tenant, whose own limits come first; None: it has none of that kind."""
        return replace(self, **{name: limit for name, limit in limits.items() if limit is not None})


KINDS = tuple(field.name for field in fields(Quota))


@dataclass(frozen=True, slots=True)
class ReachedLimit:
    limit: str
    of: str
    """Whose it is: ``key``, ``tenant`` or ``user``."""
    maximum: int


def storage_reached(quota: Quota, tenant_bytes: int, user_bytes: int) -> ReachedLimit | None:
    """Return the storage limit that is reached, the user's before the tenant's; None if there is room."""
    if quota.user_storage_bytes and user_bytes >= quota.user_storage_bytes:
        return ReachedLimit("user_storage_bytes", "user", quota.user_storage_bytes)
    if quota.storage_bytes and tenant_bytes >= quota.storage_bytes:
        return ReachedLimit("storage_bytes", "tenant", quota.storage_bytes)
    return None


def seconds_of_day_left(now: datetime) -> float:
    """Return the seconds until a daily limit starts anew, from a time in UTC."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    return (midnight - now).total_seconds()
