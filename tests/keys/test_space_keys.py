"""A key bound to a space: what it stores is the space's, and nothing else is there for it."""

from typing import Any

import httpx
import pytest

from tests.api.kit import Json, ok, problem, user
from tests.keys.kit import Mint, bearing
from tests.keys.test_life import made

FERRY = "The ferry to Grado leaves at 7:40."


@pytest.fixture
def admin(locked: httpx.Client, mint: Mint) -> dict[str, str]:
    """A key of all users, with a space and what is not in it."""
    head = bearing(mint())
    for space, members in (("team", {"ann": "write"}), ("other", {"ann": "write"})):
        ok(locked.post("/spaces", json={"id": space, "members": members}, headers=head), 201)
    append(locked, head, "anns", "Ann's own ferry", user_id="ann")
    append(locked, head, "others", "The other ferry", space_id="other")
    return head


def append(client: httpx.Client, headers: dict[str, str], conversation: str, text: str, **more: Any) -> Json:
    sent = {"messages": [user(text)], **more}
    return ok(client.post(f"/conversations/{conversation}/messages", json=sent, headers=headers), 201)


def of_space(client: httpx.Client, admin: dict[str, str], **more: Any) -> dict[str, str]:
    return bearing(made(client, admin["Authorization"].removeprefix("Bearer "), space_id="team", **more)["key"])


def found(client: httpx.Client, headers: dict[str, str], **body: Any) -> list[str]:
    answer = ok(client.post("/memories/search", json={"query": "ferry", **body}, headers=headers))
    return [one["content_preview"].replace("**", "") for one in answer["results"]]


def test_what_a_space_key_stores_is_its_spaces(locked: httpx.Client, admin: dict[str, str]) -> None:
    key = of_space(locked, admin)
    for number, (path, body) in enumerate(
        (
            ("/conversations/a/messages", {"messages": [user(FERRY)]}),
            ("/conversations/b/sync", {"messages": [user(FERRY)]}),
            ("/conversations", {"id": "c"}),
        )
    ):
        assert locked.post(path, json=body, headers=key).is_success
        view = ok(locked.get(f"/conversations/{'abc'[number]}", headers=admin))
        assert (view["user_id"], view["space_id"]) == (None, "team")
    assert {one["id"] for one in ok(locked.get("/conversations", headers=key))["items"]} == {"a", "b", "c"}
    stored = ok(locked.post("/memories", json={"content": "Ferries have bars.", "key": "bars"}, headers=key), 201)
    assert ok(locked.get(f"/memories/{stored['memory_key']}", headers=admin))["scope"] == "space:team"
    ann = {**admin, "X-Quire-User": "ann"}
    assert "Ferries have bars." in found(locked, ann, query="ferries bars")
    assert ok(locked.get("/spaces/team/members", headers=admin))["items"][0]["user_id"] == "ann"
    assert len(ok(locked.get("/spaces/team/members", headers=key))["items"]) == 1


def test_a_space_key_sees_its_space_and_nothing_else(locked: httpx.Client, admin: dict[str, str]) -> None:
    append(locked, admin, "teams", FERRY, space_id="team")
    key = of_space(locked, admin)
    assert found(locked, key) == [FERRY]
    assert found(locked, key, scopes=["space:team"]) == [FERRY]
    assert [one["id"] for one in ok(locked.get("/conversations", headers=key))["items"]] == ["teams"]
    assert [one["id"] for one in ok(locked.get("/spaces", headers=key))["items"]] == ["team"]
    for path in ("/conversations/anns", "/conversations/others", "/conversations/others/context", "/spaces/other"):
        problem(locked.get(path, headers=key), 404)
    problem(locked.post("/memories/search", json={"query": "x", "scopes": ["space:other"]}, headers=key), 404)
    problem(locked.post("/memories/search", json={"query": "x", "user_id": "ann"}, headers=key), 403)
    problem(locked.get("/conversations", headers={**key, "X-Quire-User": "ann"}), 403)
    problem(locked.get("/users/ann/export", headers=key), 403)
    problem(locked.post("/spaces", json={"id": "new"}, headers=key), 403)


def test_a_reading_space_key_writes_nothing(locked: httpx.Client, admin: dict[str, str]) -> None:
    key = of_space(locked, admin, scopes=["read"])
    problem(locked.post("/conversations/a/messages", json={"messages": [user(FERRY)]}, headers=key), 403)


def test_a_key_is_bound_to_what_is_there_and_what_its_maker_has(locked: httpx.Client, admin: dict[str, str]) -> None:
    def make(headers: dict[str, str], **body: Any) -> httpx.Response:
        return locked.post("/keys", json={"name": "k", **body}, headers=headers)

    problem(make(admin, space_id="nowhere"), 404)
    problem(make(admin, space_id="team", user_id="ann"), 422, "space_id")
    problem(
        make(
            bearing(made(locked, admin["Authorization"][7:], user_id="ann", scopes=["admin"])["key"]), space_id="team"
        ),
        403,
    )
    own = of_space(locked, admin, scopes=["read", "admin"])
    problem(make(own, space_id="other", scopes=["read"]), 403)
    problem(make(own, user_id="ann", scopes=["read"]), 403)
    child = ok(make(own, scopes=["read"]), 201)
    assert (child["user_id"], child["space_id"]) == (None, "team")
    assert {one["space_id"] for one in ok(locked.get("/keys", headers=own))["items"]} == {"team"}


def test_the_last_writer_stays_although_a_key_writes(locked: httpx.Client, admin: dict[str, str]) -> None:
    of_space(locked, admin)
    problem(locked.delete("/spaces/team/members/ann", headers=admin), 409)


def test_keys_go_with_their_space(locked: httpx.Client, admin: dict[str, str]) -> None:
    key = of_space(locked, admin)
    assert ok(locked.delete("/spaces/team", headers=admin))["erased"]["keys"] == 1
    ok(locked.post("/spaces", json={"id": "team"}, headers=admin), 201)
    problem(locked.get("/conversations", headers=key), 401)
