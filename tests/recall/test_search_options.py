"""Searches in a time range, and with an expanded query."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from app.text.queries import asks_of_replies
from tests.api.kit import Json, append, assistant, ok, problem, user
from tests.by_turns import few
from tests.providers import fake_openai
from tests.providers.fake_openai import FakeOpenAI
from tests.recall.test_agent import llm, thinking  # noqa: F401 - fixtures
from tests.tools.kit import refused, said

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
    few(
        [
            fake_openai.status(500),
            fake_openai.truncated(),
            fake_openai.ok('{"query": ""}'),
            fake_openai.ok('{"query": 7}'),
            fake_openai.ok("no JSON"),
        ]
    ),
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


BOOK = {  # a question, what answers it, words that help, words that mislead
    "Which lodgings did we book?": (
        "We stayed at the Hotel Bristol in Porto.",
        "hotel hostel stayed",
        "invoice budget",
    ),
    "What vehicle do I drive?": ("My car is an old Saab.", "car automobile bicycle", "kitchen garden recipe"),
    "我的宠物叫什么": ("小猫名叫豆包,三岁了。", "小猫 小狗 名叫", "发票 报销 预算"),
    "How do I get to work?": ("I commute by ferry number nine.", "commute ferry bus train", "hotel tea weather"),
    "Who repaired the roof?": (
        "The roof was repaired by Tomas the carpenter.",
        "carpenter builder fixed",
        "cat dog pets",
    ),
}
NOISE = [
    "The invoice was over budget.", "The kitchen garden needs a recipe.", "发票和报销超出预算。", "Tea and weather.",
    "Work on the report is late.", "The cat and the dog are pets.", "Which drive is full?", "我的作业还没写完。",
]  # fmt: skip


def places(client: httpx.Client, user_id: str = "u", **body: Any) -> list[int]:
    """Return the index of each answer among the first three results; 3 if it is not among them."""
    found = []
    for question, (fact, *_) in BOOK.items():
        results = searched(client, user_id, query=question, search_mode="keyword", limit=3, **body)["results"]
        shown = [result["summary"] for result in results]
        found.append(next((place for place, text in enumerate(shown) if text[:12] == fact[:12]), 3))
    return found


def test_a_good_expansion_finds_more_and_a_bad_one_loses_nothing(thinking: httpx.Client, llm: FakeOpenAI) -> None:  # noqa: F811
    texts = [*NOISE, *(fact for fact, *_ in BOOK.values())]
    told = [message for text in texts for message in (user(text), assistant("Noted."))]
    append(thinking, "c", told)
    plain = places(thinking)
    expansions: list[list[int]] = []
    for kind in (1, 2):
        words = {question: more[kind] for question, more in BOOK.items()}
        llm.reply = lambda request, words=words: json.dumps(  # type: ignore[misc]
            {"query": next(more for question, more in words.items() if question in request["messages"][1]["content"])}
        )
        append(thinking, f"c{kind}", told, user_id=f"user {kind}")  # another user: expansions are cached by user
        expansions.append(places(thinking, f"user {kind}", expand=True))
    good, bad = expansions
    assert sum(place < 3 for place in good) > sum(place < 3 for place in plain)
    assert bad == plain


def test_several_queries_are_one_search(client: httpx.Client) -> None:
    for text in ("The ferry is number nine.", "The dentist is in Porto.", "Tea is in the tin."):
        append(client, "c", [user(text), assistant("Noted.")])
    found = searched(client, query="which ferry", queries=["where is the dentist", "which ferry"])
    assert [hit["summary"][:11] for hit in found["results"][:2]] in (
        ["The ferry i", "The dentist"], ["The dentist", "The ferry i"],
    )  # fmt: skip
    assert len({hit["memory_key"] for hit in found["results"]}) == len(found["results"])
    params: Json = {"user_id": "u", "query": "ferry", "queries": ["dentist", "tea"]}
    assert len(ok(client.get("/memories/search", params=params))["results"]) == 3
    problem(client.post("/memories/search", json={"user_id": "u", "query": "x", "queries": ["y"] * 6}), 422, "queries")
    problem(client.post("/memories/search", json={"user_id": "u", "query": "x", "queries": [""]}), 422, "queries")
    told = said(client, "c", "search_memories", queries=["ferry", "dentist"])
    assert "**ferry**" in told
    assert "**dentist**" in told
    assert "5" in refused(client, "c", "search_memories", query="x", queries=["y"] * 50)


@pytest.mark.parametrize(
    ("said_first", "repeated", "query"),
    [
        (
            "My green bike is parked in the shed.",
            "Good, the green bike is parked in the shed.",
            "Where is the green bike parked?",
        ),
        ("我的绿色自行车停在车棚里。", "好的，绿色自行车停在车棚里。", "绿色自行车停在哪里"),
    ],
)
def test_what_a_person_said_comes_before_a_reply_that_repeats_it(
    client: httpx.Client, said_first: str, repeated: str, query: str
) -> None:
    append(client, "c", [user(said_first), assistant(repeated)], user_id="u")
    found = ok(client.post("/memories/search", json={"user_id": "u", "search_mode": "keyword", "query": query}))
    assert [hit["role"] for hit in found["results"]] == ["user", "assistant"]


@pytest.mark.parametrize(
    ("query", "is_of_replies"),
    [
        ("What did you recommend for the damp?", True),
        ("your suggestion about the lamp", True),
        ("你上次推荐的书叫什么", True),
        ("What did I tell you about the damp?", False),
        ("Do you remember my dog's name?", False),
        ("我跟你说过的那本书叫什么", False),
    ],
)
def test_a_query_can_ask_for_an_assistant_s_words(query: str, *, is_of_replies: bool) -> None:
    assert asks_of_replies(query) == is_of_replies
