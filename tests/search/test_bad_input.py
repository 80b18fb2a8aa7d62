"""Whatever is asked of the search over HTTP gets a clear answer, and never another user's row."""

import http.client

import httpx
import pytest

from tests.api.kit import Json, append, ok, problem, user
from tests.conftest import wait_for
from tests.providers.fake_openai import FakeOpenAI, status
from tests.search.conftest import Sql

SECRET = "Zanzibar is where the other user hid the pearl."


@pytest.fixture
def seeded(client: httpx.Client, models: FakeOpenAI, run_as_superuser: Sql) -> httpx.Client:
    append(client, "mine", [user("I keep the pearl in Lisbon. We're on build_42 of ops@example.org 🎉")])
    append(client, "theirs", [user(SECRET)], user_id="other")
    wait_for(lambda: run_as_superuser("SELECT count(*) FROM embeddings")[0][0] == 2)
    return client


def search(client: httpx.Client, query: str, **more: object) -> Json:
    return ok(client.post("/memories/search", json={"user_id": "u", "query": query, **more}))


@pytest.mark.parametrize(
    "query",
    [
        "the of and", "我们 什么", "?!… ——", "   ", "pearl & !lisbon | (", "pearl:* <-> *",
        "'; DROP TABLE memories; --", "' OR '1'='1", "(a+)+$ [", "🎉🎉", "👩‍👩‍👧",
        "لؤلؤة", "פנינה בליסבון",
        "\u202epearl", "ｐｅａｒｌ", "\x00pearl", "%_\\", "{1:1}/2", "NaN",
        '"pearl', "pearl' \"x\" `y` «z»", "\ufeff\u200b", "x" * 10_000,
        "珠" * 10_000, "a " * 5_000,
    ],
)  # fmt: skip
def test_an_odd_query_is_answered_with_ones_own_rows_at_most(seeded: httpx.Client, query: str) -> None:
    for mode in ("keyword", "semantic", "hybrid"):
        sent = {"user_id": "u", "query": query, "search_mode": mode, "limit": 100}
        answer = ok(seeded.post("/memories/search", json=sent))
        if len(query.encode()) < 20_000:  # a URL holds no more
            assert ok(seeded.get("/memories/search", params=sent)) == answer
        assert {item["conversation_id"] for item in answer["results"]} <= {"mine"}
        assert answer["mode"] in (mode, "keyword")
        assert answer["total_found"] >= len(answer["results"])
        assert all(0 <= item["relevance_score"] <= 1 for item in answer["results"])


@pytest.mark.parametrize(
    "query", ["the of and", "我们 什么", "?!… ——", "   ", "🎉🎉", "%_\\", "& | ! ( ) <-> :*", "\"'`"]
)
def test_a_query_without_words_returns_a_warning(seeded: httpx.Client, query: str) -> None:
    answer = search(seeded, query, search_mode="keyword")
    assert (answer["results"], answer["total_found"]) == ([], 0)
    assert "nothing_to_search_for" in [warning["code"] for warning in answer["warnings"]]


def test_a_long_query_is_embedded_by_its_ends(seeded: httpx.Client, models: FakeOpenAI) -> None:
    search(seeded, "begun " + "word " * 1_900 + "ended")
    [sent] = models.embeddings.requests[-1].body["input"]
    assert sent.startswith("begun word")
    assert sent.endswith("word ended")
    assert len(sent) <= 601


@pytest.mark.parametrize("query", ["pearl", "PEARL", "ｐｅａｒｌ", "build_42", "ops@example.org", "Lisbon's pearls"])
def test_words_identifiers_and_addresses_are_found_in_any_form(seeded: httpx.Client, query: str) -> None:
    [found] = search(seeded, query)["results"]
    assert found["conversation_id"] == "mine"
    assert found["message_ids"]


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("query", "", "query"), ("query", "q" * 10_001, "query"), ("query", 7, "query"), ("limit", 0, "limit"),
        ("limit", 10_000, "limit"), ("limit", -1, "limit"), ("search_mode", "magic", "search_mode"),
        ("memory_types", ["dream"], "memory_types"), ("min_relevance_score", 1.5, "min_relevance_score"),
        ("time_range_days", 0, "time_range_days"), ("user_id", "", "user_id"), ("surprise", 1, "surprise"),
    ],
)  # fmt: skip
def test_a_wrong_field_is_named(seeded: httpx.Client, field: str, value: object, named: str) -> None:
    body = {"user_id": "u", "query": "pearl", field: value}
    problem(seeded.post("/memories/search", json=body), 422, named)
    if field != "surprise" and not (field == "query" and value == 7):  # in a URL all is text, and more does not matter
        problem(seeded.get("/memories/search", params=body), 422, named)  # type: ignore[arg-type]


def test_a_query_of_a_megabyte_is_refused(seeded: httpx.Client) -> None:
    answer = seeded.post("/memories/search", json={"user_id": "u", "query": "word " * 200_000})
    assert problem(answer, answer.status_code)["status"] in (413, 422)
    url = seeded.base_url
    raw = http.client.HTTPConnection(url.host, url.port or 80, timeout=30)
    try:
        raw.request("GET", f"/memories/search?user_id=u&query={'w' * 1_000_000}")
        assert raw.getresponse().status in (400, 414, 422)
    except (BrokenPipeError, ConnectionResetError):
        pass  # refused before all of it was sent
    finally:
        raw.close()
    assert search(seeded, "pearl")["results"], "it goes on answering"


def test_a_reversed_time_range_is_refused(seeded: httpx.Client) -> None:
    body = {"user_id": "u", "query": "pearl", "since": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"}
    problem(seeded.post("/memories/search", json=body), 422, "until")
    problem(seeded.get("/memories/search", params=body), 422, "until")


def test_another_users_conversation_and_a_deleted_memory_are_not_found(seeded: httpx.Client) -> None:
    body = {"user_id": "u", "query": "pearl", "conversation_id": "theirs"}
    problem(seeded.post("/memories/search", json=body), 404)
    problem(seeded.get("/memories/search", params=body), 404)
    made = ok(seeded.post("/memories", json={"user_id": "u", "content": "The pearl is pink"}), 201)
    key = made["memory_key"]
    ok(seeded.delete(f"/memories/{key}"))
    assert key not in [item["memory_key"] for item in search(seeded, "pink pearl")["results"]]
    problem(seeded.get(f"/memories/{key}"), 404)


def test_keyword_search_answers_if_the_model_fails(seeded: httpx.Client, models: FakeOpenAI) -> None:
    models.embeddings.default = status(400)
    answer = search(seeded, "where is the pearl of this test")
    assert answer["mode"] == "keyword"
    assert "semantic_unavailable" in [warning["code"] for warning in answer["warnings"]]
    assert [item["conversation_id"] for item in answer["results"]] == ["mine"]


def test_a_window_is_made_while_the_model_fails(seeded: httpx.Client, models: FakeOpenAI) -> None:
    models.embeddings.default = status(400)
    ok(seeded.get("/conversations/mine/context", params={"query": "a question nobody asked before", "budget": 4000}))
