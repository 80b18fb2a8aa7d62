"""Keys to ask with, and what belongs to whom."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import httpx

from app.caches import ServedWindows
from app.core.edge.caller import ALL_SCOPES
from app.core.edge.credentials import Credentials
from app.ids import uuid7
from app.runtime import Runtime
from tests.api.kit import Json, call, ok, path, result, user
from tests.conftest import wait_for

HERE = UUID("aaaaaaaa-0000-7000-8000-00000000000a")
ELSEWHERE = UUID("bbbbbbbb-0000-7000-8000-00000000000b")
MARK = "zebrafish"
"""It is in all that Ann has."""
FIRST = {"confirm_require_keys": True}
"""In the request for a deployment's first key."""
EVERYTHING = tuple(sorted(ALL_SCOPES))

Mint = Callable[..., str]
Sql = Callable[[str], list[Any]]


def minting(run: Sql) -> Mint:
    """Makes keys by plain SQL, for tests of what they open."""

    def mint(
        tenant: UUID = HERE,
        scopes: tuple[str, ...] = EVERYTHING,
        user: str | None = None,
        name: str = "key",
        expires: str = "NULL",
    ) -> str:
        made = Credentials(tenant, uuid7(), secrets.token_hex(32))
        whose = "NULL" if user is None else f"'{user}'"
        run(
            f"INSERT INTO tenants (tenant_id, name, keyed_at) VALUES ('{tenant}', '{str(tenant)[:4]}', now())"
            " ON CONFLICT (tenant_id) DO NOTHING"
        )
        run(
            "INSERT INTO keys (tenant_id, id, digest, name, scopes, user_id, expires_at)"
            f" VALUES ('{tenant}', '{made.id}', '\\x{made.digest.hex()}', '{name}', '{{{','.join(scopes)}}}',"
            f" {whose}, {expires})"
        )
        return made.reveal()

    return mint


def bearing(key: str | None, **more: str) -> dict[str, str]:
    return {**({"Authorization": f"Bearer {key}"} if key is not None else {}), **more}


def key_id(key: str) -> UUID:
    found = Credentials.read(key)
    assert found is not None
    return found.id


@dataclass(frozen=True)
class Things:
    """Ids of what Ann has."""

    conversation: str
    note: str
    archive: str
    memory: str
    sensitive: str
    key: str
    job: str = ""
    response: str = ""
    item: str = ""
    space: str = ""
    webhook: str = ""
    child: str = "nothing"

    def elsewhere(self) -> "Things":
        """The same kinds of ids, of nothing."""
        nothing = Things("nothing", *(str(uuid7()) for _ in range(6)))
        return replace(
            nothing,
            response=f"resp_{uuid7().hex}",
            item=f"msg_{uuid7().hex}_0",
            space="nothing",
            webhook=str(uuid7()),
        )


def populate(client: httpx.Client, key: str, ann_key: str, user_id: str = "ann", mark: str = MARK) -> Things:
    """Something of every kind, of one user; ``ann_key`` is a key that is bound to the user."""
    headers = bearing(key)
    said = [user(f"where is the {mark}?"), call("a"), result("a", f"{mark} " * 2000)]
    where = f"{user_id}s"
    body: Json = {"messages": said, "user_id": user_id}
    made = ok(client.post(path(where, "messages"), json=body, headers=headers), 201)
    body = {"messages": [user(f"and the next {mark}?")]}
    ok(client.post(path(where, "messages"), json=body, headers=headers), 201)
    note = ok(client.post(path(where, "notes"), json={"text": f"Mind the {mark}."}, headers=headers), 201)
    memory: Json = {"user_id": user_id, "content": f"likes {mark}"}
    kept = ok(client.post("/memories", json=memory, headers=headers), 201)
    memory |= {"content": f"a secret {mark}", "sensitivity": "sensitive"}
    secret = ok(client.post("/memories", json=memory, headers=headers), 201)
    space: Json = {"id": f"{user_id}s-space", "name": mark, "members": {user_id: "write", "sam": "read"}}
    ok(client.post("/spaces", json=space, headers=headers), 201)
    return Things(
        where,
        note["id"],
        made["messages"][2]["archive_id"],
        kept["memory_key"],
        secret["memory_key"],
        str(key_id(ann_key)),
        space=space["id"],
    )


def written(runtime: Runtime) -> None:
    """Wait for the windows that were served: they are written after the answer."""
    wait_for(lambda: not runtime.caches.served.dirty)


def forget(runtime: Runtime) -> None:
    """Have a service remember nothing that is no longer stored."""
    meters = runtime.meters
    for kept in (*vars(runtime.caches).values(), meters.quotas, meters.shares, meters.ledgers, meters.telling):
        (kept._runs if isinstance(kept, ServedWindows) else kept).clear()
