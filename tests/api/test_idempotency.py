"""Idempotency-Key: a write that is sent again is done once and answered alike."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.api.kit import Json, append, call, created, history, ok, path, problem, result, turn, user

WRITES: dict[str, tuple[str, str, Json | None, Json | None]] = {
    "create": ("POST", "/conversations", {"title": "a"}, {"title": "b"}),
    "create with an id": ("POST", "/conversations", {"id": "new"}, {"id": "other"}),
    "change": ("PATCH", "/conversations/c", {"title": "a"}, {"title": "b"}),
    "append": ("POST", "/conversations/c/messages", {"messages": [user("a")]}, {"messages": [user("b")]}),
    "append to a new one": (
        "POST", "/conversations/new/messages", {"messages": turn(1), "user_id": "u"}, {"messages": turn(1)},
    ),
    "append what is archived": (
        "POST", "/conversations/c/messages",
        {"messages": [call("a"), result("a", "x" * 20_000)]}, {"messages": [call("a"), result("a", "y" * 20_000)]},
    ),
    "append what opens an epoch": (
        "POST", "/conversations/c/messages",
        {"messages": [m for n in range(30) for m in turn(n)]}, {"messages": [m for n in range(31) for m in turn(n)]},
    ),
    "recall": (
        "POST", "/conversations/c/tools/recall_page", {"arguments": {"page": 1}}, {"arguments": {"page": 2}},
    ),
    "delete": ("DELETE", "/conversations/c", None, None),
}  # fmt: skip

Send = Callable[..., httpx.Response]
Rows = Callable[[], dict[str, int]]


@pytest.fixture(params=WRITES)
def write(request: pytest.FixtureRequest) -> tuple[str, str, Json | None, Json | None]:
    return WRITES[request.param]


@pytest.fixture
def send(client: httpx.Client) -> Send:
    append(client, "c", [*turn(1), *turn(2)])
    created(client, id="d")

    def send(verb: str, where: str, body: Any, key: str = "k") -> httpx.Response:
        json = {"json": body} if body is not None else {}
        return client.request(verb, where, headers={"Idempotency-Key": key}, **json)

    return send


def test_the_same_request_again_gets_the_same_answer_and_does_nothing(send: Send, write: Any, rows: Rows) -> None:
    verb, where, body, _ = write
    first = send(verb, where, body)
    assert first.is_success, first.text
    before = rows()
    for _ in range(2):
        again = send(verb, where, body)
        assert (again.status_code, again.content) == (first.status_code, first.content)
    assert rows() == before


def test_twenty_concurrent_requests_are_executed_once(send: Send, write: Any, rows: Rows) -> None:
    verb, where, body, _ = write
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: send(verb, where, body), range(20)))
    assert len({(a.status_code, a.content) for a in answers}) == 1, [a.text[:200] for a in answers]
    assert answers[0].is_success
    before = rows()
    assert before["idempotency"] == 1
    assert send(verb, where, body).content == answers[0].content
    assert rows() == before


def test_another_body_under_the_same_key_is_refused(send: Send, write: Any, rows: Rows) -> None:
    verb, where, body, other_body = write
    if other_body is None:
        where, other_body = "/conversations/d", None
        send("DELETE", "/conversations/c", None)
    else:
        assert send(verb, where, body).is_success
    before = rows()
    refused = problem(send(verb, where, other_body), 422, "Idempotency-Key", "different request")
    assert refused["type"] == "urn:quire:problem:idempotency-mismatch"
    assert rows() == before


def test_a_key_that_was_used_at_another_path_is_refused(send: Send, rows: Rows) -> None:
    assert send("POST", "/conversations/c/messages", {"messages": [user()]}).is_success
    before = rows()
    for verb, where, body, _ in WRITES.values():
        if where != "/conversations/c/messages":
            problem(send(verb, where, body), 422, "Idempotency-Key")
    problem(send("POST", "/conversations/d/messages", {"messages": [user()]}), 422, "Idempotency-Key")
    problem(send("POST", "/conversations/c/messages?branch=d", {"messages": [user()]}), 422, "Idempotency-Key")
    assert rows() == before


@pytest.mark.parametrize("key", ["", "k" * 256, "a\tb"])
def test_a_key_that_is_not_usable_is_refused(send: Send, write: Any, rows: Rows, key: str) -> None:
    before = rows()
    problem(send(*write[:3], key), 422, "Idempotency-Key", "255")
    assert rows() == before


def test_a_key_may_be_long_and_odd(send: Send) -> None:
    for key in ("k" * 255, 'a b;c="d"', "0"):
        assert send("POST", "/conversations", {}, key).status_code == 201
    assert send("POST", "/conversations", {}, "0").content == send("POST", "/conversations", {}, "0").content


def test_a_request_that_failed_does_not_burn_its_key(client: httpx.Client, send: Send, rows: Rows) -> None:
    before = rows()
    body = {"messages": [user()]}
    problem(send("POST", "/conversations/later/messages", body), 404)
    problem(send("POST", "/conversations/later/messages", {"messages": []}), 422)
    problem(send("POST", "/conversations", {"id": "c"}), 409)
    problem(send("PATCH", "/conversations/later", {"title": "t"}), 404)
    problem(send("POST", "/conversations/later/tools/recall_page", {"arguments": {"page": 1}}), 404)
    assert rows() == before
    created(client, id="later")
    assert ok(send("POST", "/conversations/later/messages", body), 201)["messages"][0]["seq"] == 1


ERASERS: dict[str, tuple[str, ...]] = {"conversation": (), "page": ("pages", "1"), "message": ("messages", "1")}


@pytest.mark.parametrize("what", ERASERS)
def test_a_key_does_not_acknowledge_what_was_erased_since(client: httpx.Client, send: Send, what: str) -> None:
    """Nor is it stored anew under that key: a retry that comes late would bring back what somebody erased."""
    body = {"messages": [user("once")], "user_id": "u"}
    ok(send("POST", "/conversations/e/messages", body), 201)
    erased = ok(send("DELETE", path("e", *ERASERS[what]), None, "erase"))
    for _ in range(2):
        again = problem(send("POST", "/conversations/e/messages", body), 409, "erased since", "another")
        assert again["type"] == "urn:quire:problem:erased-since"
    assert ok(send("DELETE", path("e", *ERASERS[what]), None, "erase"))["erased"] == erased["erased"]
    stored = ok(send("POST", "/conversations/e/messages", body, "new"), 201)
    assert [m["content"] for m in stored["messages"]] == ["once"]


def test_a_recall_sent_twice_counts_once(client: httpx.Client, send: Send) -> None:
    for key in ("k", "k", "k2", "k2"):
        send("POST", "/conversations/c/tools/recall_page", {"arguments": {"page": 1}}, key)
    assert ok(client.get(path("c", "pages", "1")))["recall_count"] == 2


def test_a_key_is_the_same_at_every_process(client: httpx.Client, other: httpx.Client) -> None:
    body = {"messages": [user("once")], "user_id": "u"}
    answers = [
        ok(server.post(path("c", "messages"), json=body, headers={"Idempotency-Key": "k"}), 201)
        for server in (client, other, client, other)
    ]
    assert answers == [answers[0]] * 4
    assert len(history(client, "c")) == 1


def test_the_window_of_a_repeated_append_is_the_one_of_now(client: httpx.Client, send: Send) -> None:
    where = "/conversations/c/messages?include=context"
    first = ok(send("POST", where, {"messages": [user("old")]}), 201)
    append(client, "c", [user("new")])
    again = ok(send("POST", where, {"messages": [user("old")]}), 201)
    assert again["messages"] == first["messages"]
    assert (first["context"]["messages"][-1], again["context"]["messages"][-1]) == (user("old"), user("new"))
