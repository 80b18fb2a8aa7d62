"""A caller whom a process remembers is let in by the request's own statement, and refused by it at once."""

import re
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from app.services import keys
from tests.api.kit import append, assistant, ok, path, problem, user, window
from tests.guards.test_turn import Log, turn
from tests.keys.conftest import Serve
from tests.keys.kit import HERE, Mint, Sql, bearing, key_id

WAYS: dict[str, Callable[[httpx.Client], httpx.Response]] = {
    "append": lambda client: client.post(path("c", "messages"), json={"messages": [user("More.")]}),
    "append to a new one": lambda client: client.post(path("d", "messages"), json={"messages": [user("More.")]}),
    "append nothing valid": lambda client: client.post(path("c", "messages"), json={"messages": []}),
    "append out of order": lambda client: client.post(
        path("c", "messages"), json={"messages": [user("More.") | {"said_at": "2001-01-01T00:00:00Z"}]}
    ),
    "sync what is there": lambda client: client.post(path("c", "sync"), json={"messages": [user("Hello.")]}),
    "window": lambda client: client.get(path("c", "context")),
    "window of another budget": lambda client: client.get(path("c", "context"), params={"budget": 3000}),
    "window of nothing": lambda client: client.get(path("e", "context")),
    "window of no number": lambda client: client.get(path("c", "context"), params={"budget": "many"}),
}
RECORDS = re.compile(r"served_(?:windows|texts)")
"""Written a moment later."""
CHANGES = {
    "revoked": "UPDATE keys SET revoked_at = now() WHERE id = '{key}'",
    "expired": "UPDATE keys SET expires_at = now() WHERE id = '{key}'",
    "deleted": "DELETE FROM keys WHERE id = '{key}'",
}


@pytest.fixture(params=[None, "u"], ids=["of the tenant", "of a user"])
def client(serve: Serve, mint: Mint, request: pytest.FixtureRequest) -> httpx.Client:
    """Of a process that knows its key and its conversation."""
    client = serve()
    client.headers.update(bearing(mint(user=request.param)))
    ok(client.post(path("c", "messages"), json={"user_id": "u", "messages": [user("Hello.")]}), 201)
    append(client, "c", [assistant("Hello, Ann.")])
    window(client, "c")
    return client


def state(run: Sql) -> list[object]:
    return [list(row.values()) for row in run("SELECT id, version FROM conversations ORDER BY id")]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("way", WAYS)
def test_a_key_is_refused_at_once_whatever_is_remembered(
    client: httpx.Client, run_as_superuser: Sql, way: str, change: str
) -> None:
    before = state(run_as_superuser)
    key = key_id(client.headers["Authorization"].removeprefix("Bearer "))
    run_as_superuser(CHANGES[change].format(key=key))
    problem(WAYS[way](client), 401)
    assert state(run_as_superuser) == before


def test_limits_hold_from_the_next_request_on(client: httpx.Client, run_as_superuser: Sql) -> None:
    for limit in ("storage_bytes", "requests_per_minute"):
        before = state(run_as_superuser)
        run_as_superuser(f"UPDATE tenants SET {limit} = 1 WHERE tenant_id = '{HERE}'")
        run_as_superuser(
            f"INSERT INTO storage (tenant_id, user_id, bytes) VALUES ('{HERE}', 'u', 9)"
            " ON CONFLICT (tenant_id, user_id) DO UPDATE SET bytes = 9"
        )
        first = WAYS["append"](client)
        if limit == "requests_per_minute":  # which lets one in
            ok(first, 201)
            first = WAYS["window"](client)
        else:
            assert state(run_as_superuser) == before
        problem(first, 429, "The tenant")
        run_as_superuser(f"UPDATE tenants SET {limit} = NULL WHERE tenant_id = '{HERE}'")
        ok(WAYS["append"](client), 201)


@pytest.mark.parametrize("way", WAYS)
def test_the_first_key_shuts_the_door(
    serve: Serve, mint: Mint, run_as_superuser: Sql, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Within the second that its maker waits."""
    monkeypatch.setattr(keys, "OPEN_SECONDS", 0.0)
    client = serve()
    append(client, "c", [user("Hello.")])
    append(client, "c", [assistant("Hello, Ann.")])
    window(client, "c")
    before = state(run_as_superuser)
    mint()
    problem(WAYS[way](client), 401)
    assert state(run_as_superuser) == before


@pytest.mark.parametrize("whose", ["nobody", "a tenant", "a user"])
def test_a_turn_with_nothing_changed_looks_nobody_up(
    serve: Serve, mint: Mint, run_as_superuser: Sql, data_dir: Path, monkeypatch: pytest.MonkeyPatch, whose: str
) -> None:
    monkeypatch.setattr(keys, "OPEN_SECONDS", 0.0)  # a paced agent's requests are further apart
    run_as_superuser("ALTER ROLE quire_app SET log_statement = 'all'")
    client = serve()
    if whose != "nobody":
        client.headers.update(bearing(mint(user="u" if whose == "a user" else None)))
    try:
        for number in range(3):
            for _ in turn(client, number):
                pass
        log = Log(data_dir / "postgres/log")
        asked = [len([sql for sql in log.new() if not RECORDS.search(sql)]) for _ in turn(client, 3)]
    finally:
        run_as_superuser("ALTER ROLE quire_app RESET log_statement")
    of_request = 2 if whose == "a user" else 1  # what the user sees is read first
    assert asked[1::2] == [of_request, of_request], "windows"
    assert asked[::2] == [1, 1], "appends"
