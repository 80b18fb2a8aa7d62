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
