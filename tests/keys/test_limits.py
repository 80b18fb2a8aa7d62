"""Limits of keys and tenants: what the rules promise, and that all processes hold to them together."""

import httpx
from hypothesis import given
from hypothesis import strategies as st

from app.core.edge.limits import KINDS, Quota, storage_reached
from app.core.edge.rate import Bucket, Share, take, wanted
from tests.api.kit import ok, path, problem, user
from tests.keys.conftest import Serve
from tests.keys.kit import HERE, Mint, Sql, bearing, key_id
from tests.keys.test_rate import waits

numbers = st.integers(0, 10**6)


@given(waits, st.integers(1, 6000), st.integers(1, 4))
def test_processes_that_share_a_bucket_bound_every_time_span(gaps: list[float], per_minute: int, count: int) -> None:
    """By what the bucket allows, and by what each process had taken and not used yet."""
    now, bucket, shares, allowed = 0.0, None, dict[int, Share](), list[float]()
    for turn, gap in enumerate(gaps):
        now += gap
        share = shares.get(turn % count)
        spent = share.spend(now, per_minute) if share is not None else None
        if spent is None:
            taken = take(bucket, now, per_minute, wanted(per_minute))
            bucket, share = taken.bucket, Share(taken, taken.granted, now)
            spent = share.spend(now, per_minute) or (share, taken)
        shares[turn % count] = spent[0]
        if spent[1].allowed:
            allowed.append(now)
    slack = count * wanted(per_minute)
    for first, begun in enumerate(allowed):
        for last in range(first, len(allowed)):
            assert last - first + 1 <= per_minute + slack + (allowed[last] - begun) * per_minute / 60 + 1e-3


@given(st.integers(1, 6000), st.integers(1, 6000))
def test_a_share_is_of_the_limit_that_it_was_taken_of(per_minute: int, changed: int) -> None:
    taken = take(None, 0, per_minute, wanted(per_minute))
    share = Share(taken, taken.granted, 0)
    assert (share.spend(0, changed) is None) == (changed != per_minute)
    assert share.spend(1, per_minute) is None, "it is old"


def test_a_refusal_is_remembered_until_there_is_a_token_again() -> None:
    taken = take(Bucket(0, 0), 0, 6)
    share = Share(taken, 0, 0)
    again = share.spend(4, 6)
    assert again is not None
    assert (again[1].allowed, again[1].retry_seconds) == (False, 6)
    assert share.spend(10, 6) is None


@given(st.fixed_dictionaries({kind: st.none() | numbers for kind in KINDS}), numbers, numbers)
def test_storage_is_reached_only_where_there_is_a_limit(own: dict[str, int | None], tenant: int, of_user: int) -> None:
    quota = Quota().own(own)
    assert [getattr(quota, kind) for kind in KINDS] == [own[kind] or 0 for kind in KINDS]
    reached = storage_reached(quota, tenant, of_user)
    over = [own["user_storage_bytes"] or tenant + of_user + 1, own["storage_bytes"] or tenant + of_user + 1]
    assert (reached is not None) == (of_user >= over[0] or tenant >= over[1])


def limit_tenant(run: Sql, **limits: int) -> None:
    run(f"UPDATE tenants SET {', '.join(f'{kind} = {n}' for kind, n in limits.items())} WHERE tenant_id = '{HERE}'")


def test_two_processes_share_a_keys_rate(serve: Serve, mint: Mint) -> None:
    clients = [serve(quire_rate_limit_per_minute=3) for _ in range(2)]
    key = bearing(mint())
    answers = [clients[turn % 2].get("/conversations", headers=key) for turn in range(5)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    refused = problem(answers[3], 429, "The key has reached its limit of 3")
    assert (refused["limit"], refused["of"], refused["maximum"]) == ("requests_per_minute", "key", 3)
    assert refused["until"].endswith("Z")
    assert int(answers[4].headers["retry-after"]) >= 1


def test_a_keys_limit_that_changes_holds_from_the_next_request_on(locked: httpx.Client, mint: Mint) -> None:
    admin, key = bearing(mint()), mint()
    assert "ratelimit-limit" not in locked.get("/conversations", headers=bearing(key)).headers
    for limit, allowed in ((1, 1), (2, 1), (None, 2)):
        changed = locked.patch(f"/keys/{key_id(key)}", json={"requests_per_minute": limit}, headers=admin)
        assert ok(changed)["requests_per_minute"] == limit
        statuses = [locked.get("/conversations", headers=bearing(key)).status_code for _ in range(2)]
        assert statuses.count(200) <= allowed
        assert limit is not None or statuses == [200, 200]


def test_a_limited_key_makes_no_freer_one(locked: httpx.Client, mint: Mint) -> None:
    body = {"name": "k", "scopes": ["read", "admin"], "requests_per_minute": 60}
    limited = bearing(ok(locked.post("/keys", json=body, headers=bearing(mint())), 201)["key"])
    for more in (61, 0, None):
        made = locked.post("/keys", json={**body, "requests_per_minute": more}, headers=limited)
        problem(made, 403, "limited to 60")
    assert locked.post("/keys", json={**body, "scopes": ["read"]}, headers=limited).status_code == 201


def test_keys_of_a_tenant_share_its_rate(locked: httpx.Client, mint: Mint, run_as_superuser: Sql) -> None:
    keys = [bearing(mint()) for _ in range(2)]
    limit_tenant(run_as_superuser, requests_per_minute=2)
    statuses = [locked.get("/conversations", headers=keys[turn % 2]) for turn in range(3)]
    assert [answer.status_code for answer in statuses] == [200, 200, 429]
    assert problem(statuses[2], 429, "The tenant has reached")["of"] == "tenant"
    limit_tenant(run_as_superuser, requests_per_minute=0)
    assert locked.get("/conversations", headers=keys[0]).status_code == 200


def test_a_user_who_stores_too_much_stores_no_more(locked: httpx.Client, mint: Mint, run_as_superuser: Sql) -> None:
    key = bearing(mint())
    limit_tenant(run_as_superuser, user_storage_bytes=2000)

    def say(user_id: str, text: str) -> httpx.Response:
        body = {"messages": [user(text)], "user_id": user_id}
        return locked.post(path(f"{user_id}s", "messages"), json=body, headers=key)

    ok(say("ann", "x" * 2000), 201)
    refused = problem(say("ann", "more"), 429, "limit of 2000 bytes")
    assert (refused["limit"], refused["of"]) == ("user_storage_bytes", "user")
    for route, body in (
        ("/memories", {"content": "tea"}),
        ("/archive", {"tool_name": "f", "result": "x" * 20_000, "tool_input": {}}),
    ):
        problem(locked.post(route, json={"user_id": "ann", **body}, headers=key), 429, "limit of 2000 bytes")
    ok(say("bob", "hello"), 201)
    assert len(ok(locked.get(path("anns", "messages"), headers=key))["items"]) == 1
    limit_tenant(run_as_superuser, user_storage_bytes=5000)
    ok(say("ann", "more"), 201)


def test_what_was_stored_before_is_counted(serve: Serve, mint: Mint, run_as_superuser: Sql) -> None:
    """By the command that sets the limit, and by the worker's housekeeping."""
    client, key = serve(), bearing(mint())
    body = {"messages": [user("x" * 3000)], "user_id": "ann"}
    ok(client.post(path("c", "messages"), json=body, headers=key), 201)
    limit_tenant(run_as_superuser, storage_bytes=1000)
    run_as_superuser(
        f"INSERT INTO storage (tenant_id, user_id, bytes, counted_at) VALUES ('{HERE}', 'ann', 3000, now())"
    )
    problem(client.post(path("c", "messages"), json=body, headers=key), 429, "The tenant")
    ok(client.delete(path("c"), headers=key))
    [row] = run_as_superuser(f"SELECT counted_at FROM storage WHERE tenant_id = '{HERE}' AND user_id = 'ann'")
    assert row["counted_at"] is None, "it is counted anew"
    ok(client.delete("/users/ann", headers=key))
    assert run_as_superuser(f"SELECT FROM storage WHERE tenant_id = '{HERE}' AND user_id = 'ann'") == []
