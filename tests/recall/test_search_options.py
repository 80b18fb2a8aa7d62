"""Searches in a time range, and with the query in more words."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.api.kit import Json, append, assistant, ok, problem, user
from tests.providers import fake_openai
from tests.providers.fake_openai import FakeOpenAI
from tests.recall.test_agent import llm, thinking  # noqa: F401 - fixtures

QUERY = "lodgings"


def searched(client: httpx.Client, user_id: str = "u", **body: Any) -> Json:
    return ok(client.post("/memories/search", json={"user_id": user_id, "query": QUERY, **body}))


def tell(client: httpx.Client, user_id: str = "u") -> None:
    append(client, f"c-{user_id}", [user("We stayed at the Hotel Bristol."), assistant("Nice.")], user_id=user_id)


def test_an_expanded_query_finds_other_words_and_is_shown(thinking: httpx.Client, llm: FakeOpenAI) -> None:  # noqa: F811
    tell(thinking)
    llm.reply = lambda _: '{"query": "hotel  accommodation"}'
    assert searched(thinking, search_mode="keyword")["results"] == []
    found = searched(thinking, search_mode="keyword", expand=True)
    assert found["search_query_expanded"] == "lodgings hotel accommodation"
    [hit] = found["results"]
    assert "Bristol" in hit["content_preview"]
    query: Json = {"user_id": "u", "query": QUERY, "search_mode": "keyword", "expand": True}
    assert ok(thinking.get("/memories/search", params=query)) == found
    assert len(llm.chat.requests) == 1, "the second was remembered"
    tell(thinking, "eve")
    searched(thinking, "eve", expand=True)
    assert len(llm.chat.requests) == 2, "never for another user"
    assert "<quire-query>" in llm.chat.requests[0].body["messages"][1]["content"]


@pytest.mark.parametrize(
    "fault",
    [
        fake_openai.status(500),
        fake_openai.truncated(),
        fake_openai.ok('{"query": ""}'),
        fake_openai.ok('{"query": 7}'),
        fake_openai.ok("no JSON"),
    ],
)
def test_a_failed_expansion_falls_back_to_the_query(
    thinking: httpx.Client,  # noqa: F811
    llm: FakeOpenAI,  # noqa: F811
    fault: fake_openai.Behaviour,
) -> None:
    tell(thinking)
    llm.chat.default = fault
    found = searched(thinking, query="Bristol", search_mode="keyword", expand=True)
    assert found["search_query_expanded"] is None
    assert "expansion_failed" in [w["code"] for w in found["warnings"]]
    assert len(found["results"]) == 1


def test_without_an_llm_nothing_is_expanded(client: httpx.Client) -> None:
    tell(client)
    found = searched(client, query="Bristol", expand=True)
    assert "llm_absent" in [w["code"] for w in found["warnings"]]
    assert len(found["results"]) == 1


def test_a_time_range_bounds_the_search(client: httpx.Client) -> None:
    tell(client)
    ask: Callable[..., int] = lambda **body: searched(client, query="Bristol", **body)["total_found"]  # noqa: E731
    assert ask(since="2020-01-01T00:00:00Z") == 1
    assert ask(since="2020-01-01T00:00:00", until="2100-01-01") == 1
    assert ask(until="2020-01-01T00:00:00Z") == 0
    assert ask(since="2100-01-01T00:00:00Z") == 0
    assert ask(since="0001-01-01T00:00:00Z", until="9999-12-31T23:59:59Z", time_range_days=1) == 1
    params = {"user_id": "u", "query": "Bristol", "since": "2020-01-01T00:00:00Z", "memory_types": ["episode", "fact"]}
    assert ok(client.get("/memories/search", params=params))["total_found"] == 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"since": "2024-01-02T00:00:00Z", "until": "2024-01-01T00:00:00Z"}, "until"),
        ({"until": "2001-01-01T00:00:00Z", "time_range_days": 3}, "until"),
        ({"since": "yesterday"}, "since"),
        ({"memory_types": ["dream"]}, "memory_types"),
        ({"limit": 0}, "limit"),
        ({"limit": 10_000}, "limit"),
        ({"min_relevance_score": 2}, "min_relevance_score"),
        ({"expand": "perhaps"}, "expand"),
    ],
)
def test_errors_name_the_field(client: httpx.Client, body: Json, field: str) -> None:
    for answer in (
        client.post("/memories/search", json={"user_id": "u", "query": "x", **body}),
        client.get("/memories/search", params={"user_id": "u", "query": "x", **body}),
    ):
        assert any(field in map(str, error["loc"]) for error in problem(answer, 422)["errors"])
