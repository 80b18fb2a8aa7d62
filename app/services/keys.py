"""API keys: who asks, and making, listing and revoking the keys.

A key is looked up in the database when a request has come, by one indexed statement, so a revocation holds from its
commit on, in every process: nothing that lets anybody in is remembered. What a process does remember is that callers
*need* a key, because that never ends; and for a second that they need none. Who makes the first key therefore waits
for that second: when the answer is there, every process asks for keys.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from asyncpg import Record

from app import errors
from app.core.caller import Caller
from app.core.credentials import SECRET_BYTES, Credentials, prefix
from app.core.hosts import is_loopback, is_ours, named_in, neighbourhood
from app.core.rate import Taken, take
from app.core.times import time_text
from app.ids import uuid7
from app.postgres.database import Connection, Database
from app.postgres.tenants import DEFAULT_TENANT, is_keyed
from app.runtime import Look, Runtime
from app.store import keys
from app.store.keys import NewKey

OPEN_SECONDS = 1.0
"""How long a process may go on to serve callers without a key after it saw that there are no keys."""
USE_SECONDS = 60.0
NOBODYS = bytes(32)
"""Compared with where there is no such key: the same steps, and no secret has this digest."""
OPEN_DOOR = (
    "There are no API keys, so Quire serves only those who reach it by a loopback address. Make a key with"
    " `quire keys create`, set QUIRE_REQUIRE_KEYS=true, or set QUIRE_ALLOW_UNAUTHENTICATED=true if something in front"
    " checks callers."
)
REFUSED = "A valid API key is needed, as `Authorization: Bearer …` or as `X-API-Key`."

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KeyRequest:
    name: str
    scopes: tuple[str, ...]
    user_id: str | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Knock:
    """What a request shows at the door."""

    key: str | None
    host: str
    """As its Host header says."""
    address: str
    """Where it comes from."""
    server: str
    """The address of ours that it came to; empty where the server does not say, as for a Unix socket."""


async def identify(runtime: Runtime, knock: Knock) -> Caller:
    """Who a request comes from, by the key it carries, if any.

    Raises Unauthorized, the same whatever is wrong, or TooManyRequests where that happened too often from one address;
    where no keys are asked for, Forbidden at an address that other machines reach, and Misdirected for a host that is
    not ours.
    """
    given = Credentials.read(knock.key) if knock.key is not None else None
    if given is not None:
        _require_patience(runtime, knock, given)
        row = await _look_up(runtime, given.tenant, given.id)
        same = hmac.compare_digest(row["digest"] if row else NOBODYS, given.digest)
        if row is not None and same and row["alive"]:
            if row["use_unknown"]:
                _note_use(runtime, given.tenant, given.id)
            runtime.door.known[given.id] = None
            return Caller(given.tenant, row["user_id"], frozenset(row["scopes"]), given.id)
    if await are_required(runtime):
        _count_refusal(runtime, knock)
        raise errors.Unauthorized(REFUSED)
    if _is_open_to_others(runtime, knock.server):
        raise errors.Forbidden(OPEN_DOOR)
    if not is_ours(knock.host, named_in(runtime.settings.quire_hosts, runtime.settings.quire_host)):
        raise errors.Misdirected(
            "Without API keys, Quire answers only to loopback names and addresses. Create a key, or add the host to"
            " QUIRE_HOSTS."
        )
    return Caller(DEFAULT_TENANT)


def _is_open_to_others(runtime: Runtime, server: str) -> bool:
    """Whether other machines reach this address of ours, against the settings. `quire serve` would not have listened
    there; other ASGI servers listen where they are told.
    """
    return bool(server) and not is_loopback(server) and not runtime.settings.quire_allow_unauthenticated


def _require_patience(runtime: Runtime, knock: Knock, given: Credentials) -> None:
    """Whoever was refused too often is not looked up again, so that guessing costs the database little; but for keys
    that were let in before, since many may ask from one address.
    """
    if given.id not in runtime.door.known:
        _require_allowed(_refusal(runtime, knock))


def _count_refusal(runtime: Runtime, knock: Knock) -> None:
    taken = _refusal(runtime, knock)
    if taken is not None:
        runtime.door.refusals[neighbourhood(knock.address)] = taken.bucket
    _require_allowed(taken)


def _refusal(runtime: Runtime, knock: Knock) -> Taken | None:
    per_minute = runtime.settings.quire_refusals_per_minute
    if not per_minute:
        return None
    return take(runtime.door.refusals.get(neighbourhood(knock.address)), time.monotonic(), per_minute)


def _require_allowed(taken: Taken | None) -> None:
    if taken is not None and not taken.allowed:
        raise errors.TooManyRequests(
            f"This address sent more than {taken.limit} requests a minute without a valid key.",
            headers={"Retry-After": str(taken.retry_seconds)},
        )


async def _look_up(runtime: Runtime, tenant: UUID, key: UUID) -> Record | None:
    """One statement for each request; for all who ask with one key while a look-up of it is under way, one together
    after that. It begins when all of them have asked, so what it finds is no older than what each would have found.
    """
    look = runtime.door.looks.get((tenant, key))
    if look is None:
        return await _look(runtime, tenant, key)
    if look.next is None:
        look.next = asyncio.create_task(_look_after(runtime, tenant, key, look))
    return await asyncio.shield(look.next)


async def _look_after(runtime: Runtime, tenant: UUID, key: UUID, earlier: Look) -> Record | None:
    await earlier.over.wait()
    return await _look(runtime, tenant, key)


async def _look(runtime: Runtime, tenant: UUID, key: UUID) -> Record | None:
    looks, mine = runtime.door.looks, Look()
    looks[tenant, key] = mine
    try:
        return await keys.look_up(runtime.database, tenant, key)
    finally:
        mine.over.set()
        if mine.next is None and looks.get((tenant, key)) is mine:
            del looks[tenant, key]


async def are_required(runtime: Runtime) -> bool:
    """Whether callers need a key: the deployment has or had one, or the settings say so."""
    door = runtime.door
    if runtime.settings.quire_require_keys or door.locked:
        return True
    looked = time.monotonic()
    if looked - door.open_at >= OPEN_SECONDS:
        if await is_keyed(runtime.database):
            door.locked = True
            return True
        door.open_at = max(door.open_at, looked)
    return False


def spend(runtime: Runtime, caller: Caller) -> Taken | None:
    """One request of the caller's rate; None where no rate is set. Callers without a key have one rate together."""
    per_minute = runtime.settings.quire_rate_limit_per_minute
    if not per_minute:
        return None
    taken = take(runtime.door.buckets.get(caller.key), time.monotonic(), per_minute)
    runtime.door.buckets[caller.key] = taken.bucket
    return taken


def _note_use(runtime: Runtime, tenant: UUID, key: UUID) -> None:
    """Once a minute, in a transaction of its own beside the request."""
    door, now = runtime.door, time.monotonic()
    if now - door.uses.get(key, -USE_SECONDS) < USE_SECONDS:
        return
    door.uses[key] = now
    task = asyncio.create_task(_write_use(runtime.database, tenant, key))
    door.tasks.add(task)
    task.add_done_callback(door.tasks.discard)


async def _write_use(database: Database, tenant: UUID, key: UUID) -> None:
    try:
        async with database.begin(tenant) as connection:
            await keys.used(connection, tenant, key)
    except errors.StorageUnavailable:
        _logger.warning("the last use of a key could not be noted: the database is away")


# --- Making and revoking ----------------------------------------------------------------------------


async def make(connection: Connection, caller: Caller, wanted: KeyRequest) -> tuple[dict[str, Any], Credentials]:
    """A new key: its view, and the key itself, which is nowhere else. Raises Forbidden for more than the maker may."""
    for scope in wanted.scopes:
        if scope not in caller.scopes:
            raise errors.Forbidden(
                "A key cannot grant scopes that it lacks.",
                errors=[{"loc": ["body", "scopes"], "msg": f"contains {scope}, which the caller's key lacks"}],
            )
    user_id = caller.user(wanted.user_id)
    made = Credentials(caller.tenant, uuid7(), secrets.token_hex(SECRET_BYTES))
    scopes = tuple(dict.fromkeys(wanted.scopes))
    new = NewKey(made.id, made.digest, wanted.name, scopes, user_id, wanted.expires_at)
    return view(await keys.insert(connection, caller.tenant, new)), made


async def made_known(runtime: Runtime) -> None:
    """After the commit of a new key: ends when no process serves callers without a key any more."""
    if not runtime.door.locked:
        runtime.door.locked = True
        await asyncio.sleep(OPEN_SECONDS)


async def revoke(connection: Connection, caller: Caller, key: UUID) -> dict[str, Any]:
    """From the commit on nobody gets in with it. Raises NotFound."""
    row = await keys.revoke(connection, caller.tenant, key, caller.user_id)
    if row is None:
        raise errors.NotFound("There is no such key.")
    return view(row)


def view(row: Record) -> dict[str, Any]:
    """A key without what lets anybody in."""
    return {
        "id": str(row["id"]),
        "prefix": prefix(row["tenant_id"], row["id"]),
        "name": row["name"],
        "scopes": list(row["scopes"]),
        "user_id": row["user_id"],
        **{
            name: time_text(row[name]) if row[name] else None
            for name in ("created_at", "expires_at", "revoked_at", "last_used_at")
        },
    }
