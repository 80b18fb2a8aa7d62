"""The life of a key: made, shown once, used, expired, revoked; and what a key can give another."""

from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import httpx
import pytest

from tests.api.kit import Json, append, ok, problem, turn
from tests.archive.conftest import Grep, tables_with  # noqa: F401 - a fixture
from tests.conftest import wait_for
from tests.keys.conftest import Serve
from tests.keys.kit import ELSEWHERE, HERE, Mint, Sql, bearing, key_id, populate


def made(client: httpx.Client, key: str, **body: Any) -> Json:
    return ok(client.post("/keys", json={"name": "k", **body}, headers=bearing(key)), 201)


def status(client: httpx.Client, headers: dict[str, str]) -> int:
    return client.get("/conversations", headers=headers).status_code


def test_a_key_is_shown_once_and_opens_by_either_header(locked: httpx.Client, mint: Mint) -> None:
    admin = mint()
    new = made(locked, admin, scopes=["read"], expires_at="2100-01-01T00:00:00Z")
    assert new["key"].startswith(new["prefix"] + "_")
    assert new["expires_at"] == "2100-01-01T00:00:00Z"
    for headers in (
        bearing(new["key"]),
        {"Authorization": f"bearer  {new['key']}"},
        {"X-API-Key": new["key"]},
        {"X-API-Key": new["key"], "Authorization": "Bearer other"},
        {"X-API-Key": new["key"], "Authorization": "Basic dTpw"},
    ):
        assert status(locked, headers) == 200, headers
    listed = ok(locked.get("/keys", headers=bearing(admin)))["items"]
    assert [item["id"] for item in listed] == [new["id"], str(key_id(admin))]
    assert "key" not in listed[0]
    assert new["key"][-64:] not in str(listed)


@pytest.mark.parametrize("wrong", ["", "Bearer", "Basic x", "bearer x", "{}", "Bearer {}0", "Token {}", "Bearer {} {}"])
def test_only_the_exact_key_is_accepted(locked: httpx.Client, mint: Mint, wrong: str) -> None:
    headers = {"Authorization": wrong.replace("{}", mint())}
    problem(locked.get("/conversations", headers=headers), 401)


def test_a_wrong_key_of_any_kind_is_refused_in_the_same_bytes(
    locked: httpx.Client, mint: Mint, run_as_superuser: Sql
) -> None:
    good, expired = mint(), mint(expires="now() - interval '1 second'")
    revoked = made(locked, good)
    ok(locked.delete(f"/keys/{revoked['id']}", headers=bearing(good)))
    head, tenant, identity, secret = good.split("_")
    wrong = [
        None, "x", expired, revoked["key"],
        f"{head}_{tenant}_{identity}_{'0' * 64}",
        f"{head}_{tenant}_{'0' * 32}_{secret}",
        f"{head}_{ELSEWHERE.hex}_{identity}_{secret}",
        f"{head}_{'0' * 32}_{identity}_{secret}",
        good.upper(),
    ]  # fmt: skip
    answers = [locked.get("/archive", headers=bearing(key, **{"X-Request-Id": "same"})) for key in wrong]
    assert {answer.content for answer in answers} == {answers[0].content}
    for answer in answers:
        problem(answer, 401)
        assert answer.headers["www-authenticate"] == "Bearer"
    twice = [("X-API-Key", good), ("X-API-Key", good)]
    problem(locked.get("/archive", headers=twice), 401)


def test_a_key_that_expires_is_refused_from_then_on(locked: httpx.Client, mint: Mint, run_as_superuser: Sql) -> None:
    key = mint(expires="now() + interval '1 hour'")
    assert status(locked, bearing(key)) == 200
    run_as_superuser(f"UPDATE keys SET expires_at = now() WHERE id = '{key_id(key)}'")
    assert status(locked, bearing(key)) == 401


def test_a_revocation_holds_in_every_process_from_its_answer_on(locked: httpx.Client, serve: Serve, mint: Mint) -> None:
    """While many ask with the key: whoever begins to ask after the answer is refused."""
    other, admin, key = serve(), mint(), mint()
    revoked = count()
    after: list[int] = []

    def ask(_: int) -> None:
        begun = next(revoked) >= 1_000_000
        answer = status(other, bearing(key))
        if begun:
            after.append(answer)

    with ThreadPoolExecutor(8) as pool:
        early = [pool.submit(ask, n) for n in range(60)]
        wait_for(lambda: any(future.done() for future in early))
        ok(locked.delete(f"/keys/{key_id(key)}", headers=bearing(admin)))
        revoked = count(1_000_000)
        late = [pool.submit(ask, n) for n in range(30)]
        for future in (*early, *late):
            future.result()
    assert len(after) >= 30
    assert set(after) == {401}
    again = ok(locked.delete(f"/keys/{key_id(key)}", headers=bearing(admin)))
    assert again["revoked_at"]


def test_the_last_use_is_noted_once_a_minute(locked: httpx.Client, mint: Mint, run_as_superuser: Sql) -> None:
    key = mint()
    question = f"SELECT last_used_at, xmin::text FROM keys WHERE id = '{key_id(key)}'"
    assert status(locked, bearing(key)) == 200
    wait_for(lambda: run_as_superuser(question)[0][0] is not None)
    noted = run_as_superuser(question)[0]
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: status(locked, bearing(key)), range(30))) == {200}
    assert run_as_superuser(question)[0] == noted


def test_a_repeated_request_makes_one_key_and_does_not_show_it_again(
    locked: httpx.Client,
    mint: Mint,
    tables_with: Grep,  # noqa: F811
) -> None:
    admin = mint()

    def send(_: int) -> Json:
        headers = bearing(admin, **{"Idempotency-Key": "once"})
        return ok(locked.post("/keys", json={"name": "k"}, headers=headers), 201)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(send, range(16)))
    assert len({answer["id"] for answer in answers}) == 1
    [shown] = [answer["key"] for answer in answers if answer["key"] is not None]
    assert status(locked, bearing(shown)) == 200
    assert tables_with(shown.rsplit("_", 1)[1]) == []


def test_a_key_gives_no_more_than_it_has(locked: httpx.Client, mint: Mint) -> None:
    plain, ann = mint(scopes=("admin", "read")), mint(scopes=("admin", "read"), user="ann")
    problem(locked.post("/keys", json={"name": "k", "scopes": ["read", "write"]}, headers=bearing(plain)), 403, "write")
    problem(locked.post("/keys", json={"name": "k", "scopes": ["memories:sensitive"]}, headers=bearing(plain)), 403)
    body = {"name": "k", "scopes": ["read"], "user_id": "bob"}
    problem(locked.post("/keys", json=body, headers=bearing(ann)), 403, "user")
    assert made(locked, ann, scopes=["read"])["user_id"] == "ann"
    assert made(locked, plain, scopes=["read", "read"], user_id="bob")["scopes"] == ["read"]


def test_keys_of_other_users_and_tenants_are_invisible(locked: httpx.Client, mint: Mint) -> None:
    ann, bob, all_, elsewhere = mint(user="ann"), mint(user="bob"), mint(), mint(ELSEWHERE)
    for key, seen in ((ann, {ann}), (bob, {bob}), (all_, {ann, bob, all_}), (elsewhere, {elsewhere})):
        items = ok(locked.get("/keys", headers=bearing(key)))["items"]
        assert {item["id"] for item in items} == {str(key_id(one)) for one in seen}
    for key in (bob, elsewhere):
        problem(locked.delete(f"/keys/{key_id(ann)}", headers=bearing(key)), 404)
    problem(locked.delete(f"/keys/{key_id(all_)}", headers=bearing(ann)), 404)
    assert status(locked, bearing(ann)) == status(locked, bearing(all_)) == 200


def test_a_list_of_keys_is_read_page_by_page(locked: httpx.Client, mint: Mint) -> None:
    admin = mint()
    wanted = [*[made(locked, admin)["id"] for _ in range(4)][::-1], str(key_id(admin))]
    found: list[str] = []
    cursor: Json = {}
    while True:
        answer = ok(locked.get("/keys", params={"limit": 2, **cursor}, headers=bearing(admin)))
        found += [item["id"] for item in answer["items"]]
        if answer["next_cursor"] is None:
            break
        cursor = {"cursor": answer["next_cursor"]}
    assert found == wanted


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": " "}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"name": "x" * 201}, "name"),
        ({"name": None}, "name"),
        ({"scopes": []}, "scopes"),
        ({"scopes": ["all"]}, "scopes"),
        ({"scopes": "read"}, "scopes"),
        ({"user_id": ""}, "user_id"),
        ({"user_id": "a\x00"}, "user_id"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
        ({"tenant_id": str(HERE)}, "tenant_id"),
    ],
)
def test_an_invalid_key_request_is_rejected_with_its_field(
    locked: httpx.Client, mint: Mint, run_as_superuser: Sql, body: Json, field: str
) -> None:
    admin = mint()
    answer = locked.post("/keys", json={"name": "k", **body}, headers=bearing(admin))
    said = problem(answer, 422)
    assert any(field in error["loc"] for error in said["errors"])
    assert run_as_superuser("SELECT count(*) FROM keys")[0][0] == 1


def test_idempotency_keys_are_separate_for_callers_with_different_access(locked: httpx.Client, mint: Mint) -> None:
    callers = [mint(), mint(user="ann"), mint(user="bob"), mint(scopes=("read", "write")), mint(ELSEWHERE)]
    body = {"messages": turn(1), "user_id": None}
    ids = set()
    for number, key in enumerate(callers):
        where = f"/conversations/{number}"
        ok(locked.post("/conversations", json={"id": f"{number}"}, headers=bearing(key)), 201)
        ok(locked.post(f"{where}/messages", json=body, headers=bearing(key)), 201)
        sent = {"tool_name": "f", "result": "x" * 20_000, "conversation_id": None, "user_id": None}
        memory = {"content": "tea", "user_id": None, "conversation_id": None}
        for route, what in (("/memories", memory), ("/archive", sent)):
            named = {**what, "user_id": None if key in callers[1:3] else "ann"}
            headers = bearing(key, **{"Idempotency-Key": route})
            first = ok(locked.post(route, json=named, headers=headers), 201)
            assert ok(locked.post(route, json=named, headers=headers), 201) == first
            ids.add(first.get("memory_key") or first["uuid"])
    assert len(ids) == 2 * len(callers)


def test_a_bound_key_makes_what_it_makes_for_its_user(locked: httpx.Client, mint: Mint) -> None:
    ann, all_ = mint(user="ann"), mint()
    locked.headers = httpx.Headers(bearing(ann))
    assert ok(locked.post("/conversations", json={}), 201)["user_id"] == "ann"
    append(locked, "c", turn(1), user_id=None)
    assert ok(locked.get("/conversations/c"))["user_id"] == "ann"
    archived = ok(locked.post("/archive", json={"tool_name": "f", "result": "x" * 20_000}), 201)
    assert archived["user_id"] == "ann"
    key = ok(locked.post("/memories", json={"content": "green tea"}), 201)["memory_key"]
    found = ok(locked.post("/memories/search", json={"query": "tea"}))
    assert [hit["memory_key"] for hit in found["results"]] == [key]
    for body in ({"user_id": "bob"}, {"user_id": "bob", "id": "b"}):
        problem(locked.post("/conversations", json=body), 403, "user_id")
    problem(locked.get("/conversations", params={"user_id": "bob"}), 403, "user_id")
    problem(locked.get("/archive", params={"user_id": "bob"}), 403, "user_id")
    locked.headers = httpx.Headers(bearing(all_))
    ok(locked.post("/conversations", json={"id": "nobodys"}), 201)
    assert len(ok(locked.get("/conversations", params={"user_id": "ann"}))["items"]) == 2
    locked.headers = httpx.Headers(bearing(ann))
    problem(locked.get("/conversations/nobodys"), 404)
    problem(locked.post("/conversations/nobodys/messages", json={"messages": turn(1)}), 404)
    problem(locked.post("/memories", json={"content": "x", "conversation_id": "nobodys"}), 404)
    problem(locked.post("/memories/search", json={"query": "x", "conversation_id": "nobodys"}), 404)


def test_archives_and_memories_of_another_user_cannot_be_recalled(locked: httpx.Client, mint: Mint) -> None:
    """Not by a tool, nor by a window that names them."""
    all_, ann, bob = mint(), mint(user="ann"), mint(user="bob")
    things = populate(locked, all_, ann)
    locked.headers = httpx.Headers(bearing(bob))
    append(locked, "bobs", turn(1), user_id="bob")
    for tool, arguments in (
        ("load_tool_history", {"uuid": things.archive}),
        ("get_memory_detail", {"memory_key": things.memory}),
    ):
        answer = ok(locked.post(f"/conversations/bobs/tools/{tool}", json={"arguments": arguments}))
        assert answer["is_error"]
        assert "zebrafish" not in answer["content"]
    window = ok(locked.get("/conversations/bobs/context", params={"load": things.archive, "query": "zebrafish"}))
    assert [warning["code"] for warning in window["warnings"]] == ["archive_not_found"]
    assert "zebrafish" not in str(window["messages"])
