"""API keys: identify callers (those with a token by ``identity``); create, list and revoke keys.

Each request asks the database about its key, so a revocation takes effect in every process with its commit: with one
indexed statement, or, on routes of every turn, within the first one of its own (see ``app.postgres.admission``). A
process only trusts its memory that callers *need* a key, because that never ends, and for one second that they need
none. Creating the first key therefore waits for that second: once it is answered, every process requires keys.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import secrets
import time
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from app import errors
from app.core.edge.caller import Caller
from app.core.edge.credentials import SECRET_BYTES, Credentials, prefix
from app.core.edge.hosts import is_loopback, is_ours, named_in, neighbourhood
from app.core.edge.identity import is_token
from app.core.edge.limits import Quota
from app.core.edge.rate import TakenTokens, take
from app.core.scope import keys_member, space_of_keys
from app.core.times import time_text
from app.ids import uuid7
from app.postgres import admission
from app.postgres.database import Database
from app.postgres.tenants import DEFAULT_TENANT
from app.postgres.transactions import ReadTx, Tx
from app.runtime import USE_SECONDS, Runtime
from app.services import identity, limits
from app.store import keys, spaces
from app.store.keys import NewKey, StoredKey
from app.store.operators.limits import door as read_door

OPEN_SECONDS = 1.0
"""How long a process can serve callers without a key after it last saw that there are no keys."""
IDENTIFY_SECONDS = 2.0
"""How long a pass-through request waits for the database."""
NOBODYS = bytes(32)
"""Compared with when a key is unknown, so that an unknown key takes the same steps. No secret has this digest."""
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
    requests_per_minute: int | None = None
    space_id: str | None = None


@dataclass(frozen=True, slots=True)
class Knock:
    """The credentials and origin of a request."""

    key: str | None
    host: str
    """The Host header."""
    address: str
    """The client's address."""
    server: str
    """Our address that received the request; empty if the server does not tell, as for a Unix socket."""


async def identify(runtime: Runtime, knock: Knock) -> Caller:
    """Identify the caller of a request by its key, if any.

    Raises Unauthorized, whatever is wrong, or TooManyRequests after too many failures from one address. Where no keys
    are required, raises Forbidden at an address that other machines reach, and Misdirected for a foreign host.
    """
    if runtime.issuer is not None and is_token(knock.key):
        return await _identify_by_token(runtime, knock)
    given = Credentials.read(knock.key) if knock.key is not None else None
    if given is not None:
        _require_patience(runtime, knock, given)
        mine, place = admission.CURRENT.get(), (given.tenant, given.id)
        remembered = runtime.door.remembered.get(place) if mine is not None else None
        row = remembered or await keys.look_up(runtime.database, *place)
        same = hmac.compare_digest(row.digest if row else NOBODYS, given.digest)
        if row is not None and same and row.is_alive:
            if mine is not None and remembered is not None:
                mine.key, mine.known = given.id, row.known
                limits.know_again(runtime, given.tenant, row.limits, tells=row.tells)
            else:
                runtime.door.remembered.pop(place, None)
                quota = limits.know(runtime, given.tenant, row.limits, tells=row.tells)
                if limits.are_none(runtime, quota, row.per_minute):
                    runtime.door.remembered[place] = row
                if row.use_unknown:
                    _note_use(runtime, *place)
            runtime.door.known[given.id] = None
            return Caller(given.tenant, row.user_id, frozenset(row.scopes), given.id, row.per_minute)
    if await are_required(runtime):
        _count_refusal(runtime, knock)
        raise errors.Unauthorized(REFUSED)
    if _is_open_to_others(runtime, knock.server):
        raise errors.Forbidden(OPEN_DOOR)
    if not is_ours(knock.host, named_in(runtime.access.hosts, runtime.access.host)):
        raise errors.Misdirected(
            "Without API keys, Quire answers only to loopback names and addresses. Create a key, or add the host to"
            " QUIRE_HOSTS."
        )
    return Caller(DEFAULT_TENANT)


async def _identify_by_token(runtime: Runtime, knock: Knock) -> Caller:
    try:
        return await identity.identify(runtime, knock.key or "")
    except errors.InvalidToken:
        _count_refusal(runtime, knock)
        raise


async def identify_lately(runtime: Runtime, knock: Knock) -> Caller:
    """Identify the caller of a pass-through request.

    While the database is unavailable, callers that this process admitted within the last ten minutes are admitted
    again. Nothing stored can be read meanwhile; such a request reaches the model only. Tokens need no such rule,
    because they are judged without the database.
    """
    if runtime.issuer is not None and is_token(knock.key):
        return await _identify_by_token(runtime, knock)
    shown = f"{knock.key or ''}\n{knock.host}\n{knock.server}"
    digest = hashlib.sha256(shown.encode(errors="replace")).digest()
    try:
        async with asyncio.timeout(IDENTIFY_SECONDS):
            caller = await identify(runtime, knock)
    except (TimeoutError, errors.StorageUnavailable) as error:
        lately = runtime.door.admitted.get(digest)
        if lately is None:
            raise errors.StorageUnavailable from error
        runtime.meters.quotas[lately.tenant] = Quota()  # limits are in the database too
        return replace(lately, per_minute=0)
    runtime.door.admitted[digest] = caller
    return caller


def _is_open_to_others(runtime: Runtime, server: str) -> bool:
    """Return whether other machines reach this address although the settings forbid it.

    `quire serve` would not have listened there; other ASGI servers listen where they are told.
    """
    return bool(server) and not is_loopback(server) and not runtime.access.allows_unauthenticated


def _require_patience(runtime: Runtime, knock: Knock, given: Credentials) -> None:
    """Refuse without a look-up after too many failures, so that guessing costs the database little.

    Keys that were accepted before are exempt, since many callers may share an address.
    """
    if given.id not in runtime.door.known:
        _require_allowed(_refusal(runtime, knock))


def _count_refusal(runtime: Runtime, knock: Knock) -> None:
    taken = _refusal(runtime, knock)
    if taken is not None:
        runtime.door.refusals[neighbourhood(knock.address)] = taken.bucket
    _require_allowed(taken)


def _refusal(runtime: Runtime, knock: Knock) -> TakenTokens | None:
    per_minute = runtime.access.refusals_per_minute
    if not per_minute:
        return None
    return take(runtime.door.refusals.get(neighbourhood(knock.address)), time.monotonic(), per_minute)


def _require_allowed(taken: TakenTokens | None) -> None:
    if taken is not None and not taken.allowed:
        raise errors.TooManyRequests(
            f"This address sent more than {taken.limit} requests a minute without a valid key.",
            headers={"Retry-After": str(taken.retry_seconds)},
        )


async def are_required(runtime: Runtime) -> bool:
    """Return whether callers need a key: the deployment has or had one, or the settings require it."""
    door = runtime.door
    if runtime.access.requires_keys or door.locked:
        return True
    looked, mine = time.monotonic(), admission.CURRENT.get()
    if mine is not None and door.open is not None:
        mine.known = door.open.known
        limits.know_again(runtime, DEFAULT_TENANT, door.open.limits, tells=door.open.tells)
    elif looked - door.open_at >= OPEN_SECONDS:
        found = await read_door(runtime.database, DEFAULT_TENANT)
        if found is None:
            door.locked = True
            return True
        quota = limits.know(runtime, DEFAULT_TENANT, found.limits, tells=found.tells)
        door.open = found if limits.are_none(runtime, quota) else None
        door.open_at = max(door.open_at, looked)
    return False


def _note_use(runtime: Runtime, tenant: UUID, key: UUID) -> None:
    """Record that a key was used, at most once a minute, in a transaction of its own."""
    door, now = runtime.door, time.monotonic()
    if now - door.uses.get(key, -USE_SECONDS) < USE_SECONDS:
        return
    door.uses[key] = now
    task = asyncio.create_task(_write_use(runtime.database, tenant, key))
    door.tasks.add(task)
    task.add_done_callback(door.tasks.discard)


async def _write_use(database: Database, tenant: UUID, key: UUID) -> None:
    try:
        async with database.begin(tenant) as tx:
            await keys.used(tx, key)
    except errors.StorageUnavailable:
        _logger.warning("the last use of a key could not be noted: the database is away")


# --- Making and revoking ----------------------------------------------------------------------------


async def make(tx: Tx, caller: Caller, request: KeyRequest) -> tuple[dict[str, Any], Credentials]:
    """Create a key. Return its view and itself, which is not stored. Raises Forbidden for rights the caller lacks."""
    for scope in request.scopes:
        if scope not in caller.scopes:
            said = "A key cannot grant scopes that it lacks."
            raise errors.Forbidden.at(["body", "scopes"], f"contains {scope}, which the caller's key lacks", said)
    user_id = await _bound_to(tx, caller, request)
    made = Credentials(caller.tenant, uuid7(), secrets.token_hex(SECRET_BYTES))
    scopes = tuple(dict.fromkeys(request.scopes))
    per_minute = _granted(caller, request.requests_per_minute)
    new = NewKey(made.id, made.digest, request.name, scopes, user_id, request.expires_at, per_minute)
    return view(await keys.insert(tx, new)), made


async def _bound_to(tx: Tx, caller: Caller, request: KeyRequest) -> str | None:
    """Return the user that a new key is bound to, or the member for a space's keys. Raises NotFound, Forbidden."""
    if request.space_id is None:
        return caller.user(request.user_id)
    if caller.user_id not in (None, keys_member(request.space_id)):
        said = "The caller's key is not bound to this space."
        raise errors.Forbidden.at(["body", "space_id"], "is not the space of the caller's key", said)
    await spaces.hold(tx, request.space_id)
    await spaces.put(tx, request.space_id, keys_member(request.space_id), "write")
    return keys_member(request.space_id)


def _granted(caller: Caller, per_minute: int | None) -> int | None:
    """Return the rate limit that a caller sets on a key. Raises Forbidden if it exceeds the caller's own limit."""
    own = caller.per_minute
    if own and (per_minute is None or per_minute == 0 or per_minute > own):
        said = f"The caller's key is limited to {own} requests a minute."
        message = f"must be from 1 to {own}, as the caller's own"
        raise errors.Forbidden.at(["body", "requests_per_minute"], message, said)
    return per_minute


async def limit(tx: Tx, caller: Caller, key: UUID, per_minute: int | None) -> dict[str, Any]:
    """Set a key's own rate limit from its next request on; None: the deployment's. Raises NotFound and Forbidden."""
    row = await keys.limit(tx, key, caller.user_id, _granted(caller, per_minute))
    return view(errors.existing(row, "key"))


async def made_known(runtime: Runtime) -> None:
    """Wait until no process serves callers without a key any more. Call it after a new key is committed."""
    if not runtime.door.locked:
        runtime.door.locked = True
        await asyncio.sleep(OPEN_SECONDS)


async def revoke(tx: ReadTx, caller: Caller, key: UUID) -> dict[str, Any]:
    """Revoke a key. It is refused from the commit on. Raises NotFound."""
    return view(errors.existing(await keys.revoke(tx, key, caller.user_id), "key"))


def view(key: StoredKey) -> dict[str, Any]:
    space_id = space_of_keys(key.user_id)
    return {
        "id": str(key.id),
        "prefix": prefix(key.tenant_id, key.id),
        "name": key.name,
        "scopes": list(key.scopes),
        "user_id": key.user_id if space_id is None else None,
        "space_id": space_id,
        "requests_per_minute": key.requests_per_minute,
        **{
            name: at and time_text(at)
            for name in ("created_at", "expires_at", "revoked_at", "last_used_at")
            for at in (getattr(key, name),)
        },
    }
