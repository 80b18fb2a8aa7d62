"""Export, import and the erasing of a user, for keys that do not see everything."""

import json

import httpx

from tests.api.kit import append, ok, problem, turn
from tests.keys.kit import Mint, bearing

LINES = {"content-type": "application/x-ndjson"}
SECRET = {"user_id": "ann", "content": "Takes zebrafish pills", "sensitivity": "sensitive"}
OPEN = {"user_id": "ann", "content": "Keeps a zebrafish"}


def put_in(client: httpx.Client, key: str, *lines: object) -> httpx.Response:
    body = "\n".join(map(json.dumps, [{"type": "header", "format": "quire", "version": 1}, *lines]))
    return client.post("/import", content=body, headers=bearing(key, **LINES))


def populate(client: httpx.Client, key: str, *user_ids: str) -> None:
    client.headers = httpx.Headers(bearing(key))
    for user_id in user_ids:
        append(client, f"{user_id}s", turn(1), user_id=user_id)
    client.headers = httpx.Headers()


def test_sensitive_memories_are_exported_only_with_their_scope(locked: httpx.Client, mint: Mint) -> None:
    full, plain = mint(), mint(scopes=("read",))
    populate(locked, full, "ann")
    for body in (SECRET | {"pinned": True}, OPEN, SECRET | {"conversation_id": "anns"}):
        ok(locked.post("/memories", json=body, headers=bearing(full)), 201)
    window = locked.get("/conversations/anns/context", params={"budget": 4_000}, headers=bearing(full)).text
    assert "Takes" in window, "a cut quotes it"
    for path in ("/users/ann/export", "/conversations/anns/export"):
        assert "Takes" in locked.get(path, headers=bearing(full)).text
        text = locked.get(path, headers=bearing(plain)).text
        assert "Takes" not in text
        assert '"type":"end"' in text


def test_a_bound_key_puts_in_its_own_users_lines_alone(locked: httpx.Client, mint: Mint) -> None:
    full, bob = mint(), mint(user="bob")
    populate(locked, full, "ann", "bob")
    memory = {"type": "memory", "id": "00000000-0000-7000-8000-00000000000a", "memory_type": "fact", "content": "x"}
    for line in (
        {"type": "conversation", "id": "new", "user_id": "ann"},
        {"type": "conversation", "id": "new"},
        {**memory, "user_id": "ann"},
    ):
        answer = problem(put_in(locked, bob, line), 403, "Line 2")
        assert answer["errors"][0]["loc"] == ["line", 2, "user_id"]
    there, nowhere = (
        put_in(locked, bob, {**memory, "user_id": "bob", "conversation_id": name}).json() for name in ("anns", "none")
    )
    assert there["detail"] == nowhere["detail"] == "Line 2: There is no such conversation."
    assert locked.get("/conversations/new", headers=bearing(full)).status_code == 404
    assert ok(put_in(locked, bob, {**memory, "user_id": "bob"}))["imported"] == {"memories": 1}


def test_erasing_a_user_deletes_its_keys(locked: httpx.Client, mint: Mint) -> None:
    full, ann, bob = mint(), mint(user="ann"), mint(user="bob")
    populate(locked, full, "ann", "bob")
    answer = ok(locked.delete("/users/ann", headers=bearing(ann)))
    assert answer["erased"]["keys"] == 1
    problem(locked.get("/conversations", headers=bearing(ann)), 401)
    problem(locked.get("/conversations"), 401)
    assert [c["id"] for c in ok(locked.get("/conversations", headers=bearing(bob)))["items"]] == ["bobs"]
    listed = ok(locked.get("/keys", headers=bearing(full)))["items"]
    assert sorted(str(key["user_id"]) for key in listed) == ["None", "bob"]
