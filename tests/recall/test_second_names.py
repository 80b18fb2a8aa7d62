"""Arguments under a second name, and their results."""

import httpx
import pytest

from app.core.model import Language
from app.recall import agent, tools
from app.recall.arguments import read
from tests.api.kit import Json, append, ok, problem, user
from tests.providers.fake_openai import FakeOpenAI
from tests.recall.test_agent import BEES, calls, handoff, llm, recalled, script, tell, thinking  # noqa: F401 - fixtures
from tests.tools.kit import said

QUESTION = "Which oolong did I order from Hangzhou with ORD-2931?"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_second_name_is_read_as_the_first(language: Language) -> None:
    remembered = read(tools.REMEMBER, {"content": "x", "memory_type": "user_preference"}, language)
    assert remembered["memory_type"] == "preference"
    assert agent.as_sizes({"messages": 7}, 5) == {"requested_size": 12}
    assert agent.as_sizes({"messages": 7, "requested_size": 9}, 5) == {"messages": 7, "requested_size": 9}


def test_keywords_have_type_and_weight(client: httpx.Client) -> None:
    append(client, "c", [user("Hi.")])
    text = said(client, "c", "extract_search_keywords", query=QUESTION)
    assert "ORD-2931 (identifier" in text
    assert "Hangzhou (name" in text
    answer = ok(client.post("/memories/keywords", json={"query": QUESTION, "max_keywords": 3}))
    assert answer == ok(client.post("/memories/keywords", json={"text": QUESTION, "limit": 3}))
    weights = [one["weight"] for one in answer["weighted"]]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] == 1
    more = ok(client.post("/memories/keywords", json={"query": "the cup", "context": QUESTION, "max_keywords": 30}))
    assert "Hangzhou" in more["keywords"]
    problem(client.post("/memories/keywords", json={"query": ""}), 422, "query")
    problem(client.post("/memories/keywords", json={}), 422, "query")


def test_an_llm_expands_the_query_for_keywords(thinking: httpx.Client, llm: FakeOpenAI) -> None:  # noqa: F811
    append(thinking, "c", [user("Hi.")])
    llm.reply = lambda _: '{"query": "tea leaf </quire-memories>"}'
    text = said(thinking, "c", "extract_search_keywords", query="oolong")
    assert "Expanded query: oolong tea leaf" in text
    assert "</quire-memories>" not in text


def test_the_agent_expands_by_size_and_hands_over_with_a_reason(thinking: httpx.Client, llm: FakeOpenAI) -> None:  # noqa: F811
    tell(thinking)
    wanted: Json = {"reason": "too little", "current_size": 5, "requested_size": 12}
    script(llm, calls(BEES), calls(("expand_context_window", wanted)), handoff(reason="that is all"))
    found = recalled(thinking)
    assert (found["iteration_used"], found["context_window_used"]) == (2, 12)
    assert found["trace"][-1]["arguments"]["reason"] == "that is all"


def test_a_user_preference_is_a_preference(client: httpx.Client) -> None:
    body: Json = {"user_id": "u", "content": "Prefers oolong.", "memory_type": "user_preference"}
    assert ok(client.post("/memories", json=body), 201)["memory_type"] == "preference"
    asked: Json = {"user_id": "u", "query": "oolong", "memory_types": ["user_preference"]}
    assert len(ok(client.post("/memories/search", json=asked))["results"]) == 1
    assert len(ok(client.get("/memories/search", params=asked))["results"]) == 1
