"""A thousand forks, forks at once, appends to trunk and branch at once, and ids that are taken along the line."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.api.kit import append, assistant, history, ok, path, problem, turn, user, window


@pytest.mark.slow
def test_a_thousand_forks_are_listed_and_their_trunk_still_works(client: httpx.Client) -> None:
    append(client, "t", [*turn(1), *turn(2)])
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda n: client.post(path("t", "fork"), json={"id": f"b{n}", "at": 2}), range(1000)))
    assert {answer.status_code for answer in done} == {201}
    append(client, "b999", turn(3))
    found: list[str] = []
    cursor: dict[str, Any] = {}
    while True:
        listed = ok(client.get(path("b5", "branches"), params={"limit": 200, **cursor}))
        found += [one["id"] for one in listed["items"]]
        if listed["next_cursor"] is None:
            break
        cursor = {"cursor": listed["next_cursor"]}
    assert sorted(found) == sorted(f"b{n}" for n in range(1000))
    body = {"conversation_id": "b999", "query": "question", "limit": 10}
    assert len(ok(client.post("/memories/search", json=body))["results"]) >= 2
    assert len(window(client, "b999", budget=4000)["messages"]) == 5
    assert problem(client.delete(path("t")), 409)["branches"] == 1000


def test_trunk_and_branches_are_appended_to_at_once(client: httpx.Client) -> None:
    append(client, "t", turn(1))
    for name in ("b", "c"):
        ok(client.post(path("t", "fork"), json={"id": name}), 201)

    def send(number: int) -> int:
        name = "tbc"[number % 3]
        if number % 10 == 9:
            return client.post(path(name, "fork"), json={}).status_code
        return client.post(path(name, "messages"), json={"messages": [user(f"{name} {number}")]}).status_code

    with ThreadPoolExecutor(9) as pool:
        assert set(pool.map(send, range(90))) == {201}
    for name in "tbc":
        said = history(client, name)
        assert [message["seq"] for message in said] == list(range(1, len(said) + 1))
        assert {message["content"][0] for message in said[2:]} == {name}
        assert len(said) == 2 + 27


def test_one_id_for_two_forks_at_once_is_one_branch(client: httpx.Client) -> None:
    append(client, "t", [*turn(1), *turn(2)])
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda _: client.post(path("t", "fork"), json={"id": "b", "at": 2}), range(16)))
    assert {answer.status_code for answer in done} == {201}
    assert len(ok(client.get(path("t", "branches")))["items"]) == 1


def test_a_client_id_is_taken_along_the_line(client: httpx.Client) -> None:
    append(client, "t", [user("one", client_id="m1"), assistant("1", client_id="m2"), user("two", client_id="m3")])
    ok(client.post(path("t", "fork"), json={"id": "b", "at": 2}), 201)
    refused = client.post(path("b", "messages"), json={"messages": [user("x"), user("again", client_id="m1")]})
    problem(refused, 409, "is the id of message 1")
    append(client, "b", [user("free", client_id="m3")])
    assert len(history(client, "b")) == 3


def test_a_fork_of_a_fork_of_an_erased_branch_keeps_nothing_of_it(client: httpx.Client) -> None:
    append(client, "t", turn(1))
    ok(client.post(path("t", "fork"), json={"id": "b"}), 201)
    append(client, "b", turn(2))
    ok(client.post(path("b", "fork"), json={"id": "c", "at": 2}), 201)
    ok(client.delete(path("b")))
    ok(client.post(path("c", "fork"), json={"id": "d"}), 201)
    assert [m["seq"] for m in history(client, "d")] == [1, 2]
    problem(client.post(path("b", "fork"), json={}), 404)


@pytest.mark.parametrize("body", [{"at": 1.5}, {"at": True}, {"at": [1]}, {"at": "x\x00"}, {"id": ""}, {"more": 1}])
def test_a_malformed_fork_is_refused(client: httpx.Client, body: dict[str, Any]) -> None:
    append(client, "t", turn(1))
    problem(client.post(path("t", "fork"), json=body), 422)


def test_one_id_for_forks_at_different_places_is_one_branch(client: httpx.Client) -> None:
    append(client, "t", [*turn(1), *turn(2)])
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda n: client.post(path("t", "fork"), json={"id": "b", "at": 1 + n % 4}), range(16)))
    assert sorted({answer.status_code for answer in done}) == [201, 409]
    made = {answer.json()["forked_after"] for answer in done if answer.status_code == 201}
    assert made == {len(history(client, "b"))}


def test_a_fork_at_an_erased_message_shares_its_mark(client: httpx.Client) -> None:
    append(client, "t", [user("The word is marmalade."), assistant("Noted."), *turn(2)])
    erased = history(client, "t")[0]["id"]
    ok(client.delete(path("t", "messages", "1")))
    for at in (1, erased):
        made = ok(client.post(path("t", "fork"), json={"at": at}), 201)
        assert [message["content"] for message in history(client, made["id"])] == ["[erased]"]
        append(client, made["id"], turn(3))
        assert "marmalade" not in str(window(client, made["id"])["messages"])


def test_the_window_as_of_a_shared_message_is_the_branchs_and_none_is_beyond_its_end(client: httpx.Client) -> None:
    append(client, "t", [*turn(1), *turn(2), *turn(3)])
    ok(client.post(path("t", "fork"), json={"id": "b", "at": 4}), 201)
    for seq in (1, 4):
        shown = [ok(client.get(path(name, "context"), params={"as_of": seq}))["messages"] for name in "tb"]
        assert shown[0] == shown[1]
    problem(client.get(path("b", "context"), params={"as_of": 5}), 422, "as_of", "1 to 4")
    append(client, "b", turn(9))
    assert "question 3" not in str(ok(client.get(path("b", "context"), params={"as_of": 5}))["messages"])
