"""Search what held at another time, and what a value replaced."""

from typing import Any

import httpx
import pytest

from tests.api.kit import Json, append, ok, problem, user

JANUARY, MARCH, JUNE, JULY = (f"2026-{month:02}-01T00:00:00Z" for month in (1, 3, 6, 7))


@pytest.fixture(autouse=True)
def homes(client: httpx.Client) -> None:
    """Someone lives in Berlin, and in Porto from June on."""
    for content, since in (("Lives in Porto", JUNE), ("Lives in Berlin", JANUARY)):
        body = {"user_id": "u", "content": content, "key": "home", "valid_from": since}
        ok(client.post("/memories", json=body), 201)
    append(client, "c", [user("I saw a house that a friend lives in.")], user_id="u")


def found(client: httpx.Client, query: str, **more: Any) -> list[Json]:
    items: list[Json] = ok(client.post("/memories/search", json={"user_id": "u", "query": query, **more}))["results"]
    return [one for one in items if one["memory_type"] == "general"]


def texts(results: list[Json]) -> list[str]:
    return [one["content_preview"].replace("**", "") for one in results]


@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
def test_search_finds_what_held_then(client: httpx.Client, mode: str) -> None:
    def lives(**more: Any) -> list[str]:
        return texts(found(client, "lives in", search_mode=mode, **more))

    assert lives() == lives(as_of=JULY) == ["Lives in Porto"]
    assert lives(as_of=MARCH) == ["Lives in Berlin"]
    assert lives(as_of="2025-01-01T00:00:00Z") == []
    assert lives(known_at=MARCH) == []  # it was all learnt later
    assert texts(found(client, "Berlin", search_mode=mode)) == []
    assert texts(found(client, "Berlin", search_mode=mode, as_of=MARCH)) == ["Lives in Berlin"]


def test_a_result_says_what_it_replaced(client: httpx.Client) -> None:
    [now], [then] = found(client, "lives in"), found(client, "lives in", as_of=MARCH)
    told = now["replaced"]
    assert (told["content_preview"], told["valid_from"], told["valid_to"]) == ("Lives in Berlin", JANUARY, JUNE)
    assert (told["memory_key"], then["replaced"]) == (then["memory_key"], None)


def test_what_was_learnt_later_is_not_known(client: httpx.Client) -> None:
    answer = ok(client.get("/memories/search", params={"user_id": "u", "query": "lives in", "known_at": MARCH}))
    assert answer["results"] == []
    problem(client.get("/memories/search", params={"user_id": "u", "query": "x", "as_of": "then"}), 422, "as_of")


def test_a_window_keeps_in_mind_what_held_then(client: httpx.Client) -> None:
    for content, key, since in (("Call me Lin.", "name", JANUARY), ("Call me Mei.", "name", JUNE)):
        body = {"user_id": "u", "content": content, "key": key, "valid_from": since, "pinned": True}
        ok(client.post("/memories", json=body), 201)
    times = {"valid_from": JANUARY, "valid_to": MARCH}
    ok(client.post("/memories", json={"user_id": "u", "content": "Be brief.", "pinned": True, **times}), 201)
    append(client, "w", [user("Hello there")], user_id="u")

    def names(**query: str) -> list[str]:
        head = str(ok(client.get("/conversations/w/context", params=query))["messages"])
        return [text for text in ("Lin", "Mei", "brief") if text in head]

    assert names() == names(as_of=JULY) == ["Mei"]
    assert names(as_of="2026-02-01T00:00:00Z") == ["Lin", "brief"]
    assert names(as_of=MARCH) == ["Lin"]
    assert names(known_at=MARCH) == []
    problem(client.get("/conversations/w/context", params={"as_of": "1", "known_at": MARCH}), 422, "known_at")
    problem(client.get("/conversations/w/context", params={"as_of": "then"}), 422, "as_of")


def test_a_value_that_is_told_ahead_of_its_time_waits_for_it(client: httpx.Client) -> None:
    for content, since in (("Call me Lin.", JANUARY), ("Call me Mei.", "2099-01-01T00:00:00Z")):
        body = {"user_id": "u", "content": content, "key": "name", "valid_from": since, "pinned": True}
        ok(client.post("/memories", json=body), 201)
    append(client, "w", [user("Hello there")], user_id="u")
    head = str(ok(client.get("/conversations/w/context"))["messages"])
    assert ("Lin" in head, "Mei" in head) == (True, False)


def test_a_bad_scope_is_told_in_words(client: httpx.Client) -> None:
    answer = client.get("/memories", params={"user_id": "u", "scope": "everybody"})
    problem(answer, 422, "scope", "`space:` and the id of a space")
