"""The recall agent over HTTP, with an LLM that follows a script and without an LLM."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from tests.api.kit import Json, append, assistant, ok, problem, turn, user
from tests.by_turns import few
from tests.conftest import serving
from tests.providers import fake_openai
from tests.providers.fake_openai import FakeOpenAI

BEES = ("search_memories", {"query": "bees"})
Step = Callable[[list[Json]], Json]


def calls(*wanted: tuple[str, Json]) -> Json:
    """Return a reply that calls tools."""
    return {
        "content": None,
        "tool_calls": [
            {"id": f"call_{i}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for i, (name, arguments) in enumerate(wanted)
        ],
    }


def handoff(*keys: str, summary: str = "found", **more: Any) -> Json:
    return calls(("handoff", {"search_summary": summary, "relevant_memory_keys": list(keys), **more}))


@pytest.fixture
def llm() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        yield server


@pytest.fixture
def thinking(llm: FakeOpenAI, postgres: EmbeddedPostgres, settings: Settings, clean: None) -> Iterator[httpx.Client]:
    """Yield a client of a service with the scripted LLM."""
    own = Settings(
        quire_data_dir=settings.quire_data_dir,
        memory_llm_model="scripted",
        memory_llm_base_url=llm.url,
        memory_embedding_model="none",
    )
    for url in serving(build_app(own, postgres.app_dsn)):
        with httpx.Client(base_url=url, timeout=60) as client:
            yield client


def script(llm: FakeOpenAI, *steps: Json | Step) -> None:
    """Set the LLM's answers in order; the last one is repeated."""
    left = list(steps)

    def reply(request: Json) -> Json:
        step = left.pop(0) if len(left) > 1 else left[0]
        return step(request["messages"]) if callable(step) else step

    llm.reply = reply


def tell(client: httpx.Client) -> None:
    append(client, "c", [user("My sister Ines keeps bees in Porto."), assistant("Lovely.")])
    for number in range(8):
        append(client, "c", turn(number, words=4))


def recalled(client: httpx.Client, **body: Any) -> Json:
    return ok(client.post("/memories/recall", json={"conversation_id": "c", "query": "who keeps bees?", **body}))


def keys_in(messages: list[Json]) -> list[str]:
    """Return the memory keys in the last tool answer."""
    return [part.split(",")[0] for part in str(messages[-1]["content"]).split("memory_key ")[1:]]


def test_the_agent_searches_reads_and_hands_over(thinking: httpx.Client, llm: FakeOpenAI) -> None:
    tell(thinking)
    script(
        llm,
        calls(("search_memories", {"query": "bees"})),
        lambda seeded: calls(("get_memory_detail", {"memory_key": keys_in(seeded)[0]})),
        lambda _: handoff(keys_in(llm.chat.requests[1].body["messages"])[0], "made-up", summary="Ines", confidence=1),
    )
    found = recalled(thinking)
    assert (found["search_summary"], found["confidence"], found["needs_more_info"]) == ("Ines", 1, False)
    [key] = found["relevant_memory_keys"]
    assert "Ines" in ok(thinking.get(f"/memories/{key}"))["content"]
    assert (found["iteration_used"], found["context_window_used"], found["warnings"]) == (1, 5, [])
    assert [step["tool"] for step in found["trace"]] == ["search_memories", "get_memory_detail", "handoff"]
    first = llm.chat.requests[0].body
    assert [t["function"]["name"] for t in first["tools"]] == [
        "search_memories", "get_memory_detail", "extract_search_keywords", "expand_context_window", "handoff",
    ]  # fmt: skip
    assert first["messages"][1]["content"].count("question ") == 2, "the last five messages: two questions among them"


def test_expanding_ends_the_iteration_and_shows_more_messages(thinking: httpx.Client, llm: FakeOpenAI) -> None:
    tell(thinking)
    script(llm, calls(("expand_context_window", {"messages": 7})), handoff())
    found = recalled(thinking)
    assert (found["iteration_used"], found["context_window_used"]) == (2, 12)
    second = llm.chat.requests[1].body["messages"]
    assert len(second) == 2, "it begins again"
    assert second[1]["content"].count("answer ") == 6


def test_expansions_are_limited(thinking: httpx.Client, llm: FakeOpenAI) -> None:
    tell(thinking)
    expand = calls(("expand_context_window", {}))
    script(llm, calls(BEES), expand, expand, handoff())
    found = recalled(thinking, max_iterations=2)
    assert found["iteration_used"] == 2
    assert [step["is_error"] for step in found["trace"]] == [False, False, True, False]


def test_a_fourth_search_in_a_row_is_refused(thinking: httpx.Client, llm: FakeOpenAI) -> None:
    tell(thinking)
    search = ("search_memories", {"query": "bees"})
    script(llm, calls(search, search, search, search), handoff())
    steps = recalled(thinking)["trace"]
    assert [step["is_error"] for step in steps] == [False, False, False, True, False]
    assert "searches in a row" in steps[3]["result"]


def test_plain_text_does_not_end_a_task(thinking: httpx.Client, llm: FakeOpenAI) -> None:
    tell(thinking)
    script(llm, calls(("search_memories", {"query": "bees"})), {"content": "Ines keeps bees."})
    found = recalled(thinking)
    assert [w["code"] for w in found["warnings"]] == ["no_handoff"]
    assert "bees" in found["search_summary"]
    assert found["relevant_memory_keys"]
    assert llm.chat.requests[3].body["messages"][-1] == {
        "role": "user", "content": "Only a call of handoff ends this task. Call it, or go on.",
    }  # fmt: skip


@pytest.mark.parametrize(
    "call",
    [
        ("no_such_tool", {}),
        ("search_memories", {"query": ""}),
        ("get_memory_detail", {"memory_key": "nope"}),
        ("handoff", {"search_summary": "x", "relevant_memory_keys": [], "confidence": 7}),
    ],
)
def test_the_models_mistakes_are_answered_in_words(
    thinking: httpx.Client, llm: FakeOpenAI, call: tuple[str, Json]
) -> None:
    tell(thinking)
    script(llm, calls(BEES), calls(call), handoff())
    found = recalled(thinking)
    assert [step["is_error"] for step in found["trace"]] == [False, True, False]
    assert found["trace"][1]["result"]


TOOLS = ("search_memories", "get_memory_detail", "expand_context_window", "extract_search_keywords", "handoff")


@pytest.mark.parametrize("question", few(["who keeps bees?", "谁在养蜂?"]))
def test_the_agent_can_use_each_of_its_tools(thinking: httpx.Client, llm: FakeOpenAI, question: str) -> None:
    tell(thinking)
    append(thinking, "c", [user("我妹妹伊内斯在波尔图养蜂。"), assistant("真好。")])
    script(
        llm,
        calls(("search_memories", {"query": question})),
        lambda seen: calls(("get_memory_detail", {"memory_key": keys_in(seen)[0]})),
        calls(("expand_context_window", {"reason": "more", "current_size": 5, "requested_size": 9})),
        calls(("extract_search_keywords", {"query": question})),
        {"content": "beekeeper"},  # of the tool itself, which has the model expand the query
        calls(("handoff", {"reason": "done", "search_summary": "Ines", "anything": "else"})),
    )
    found = recalled(thinking, query=question)
    assert [(step["tool"], step["is_error"]) for step in found["trace"]] == [(name, False) for name in TOOLS]
    assert (found["search_summary"], found["relevant_memory_keys"], found["warnings"]) == ("Ines", [], [])


@pytest.mark.slow
def test_a_model_that_never_searches_is_replaced_by_the_fixed_policy(thinking: httpx.Client, llm: FakeOpenAI) -> None:
    tell(thinking)
    script(llm, handoff(summary="I know nothing.", confidence=0.9))
    found = recalled(thinking)
    assert [warning["code"] for warning in found["warnings"]] == ["llm_never_searched"]
    assert "Ines" in found["search_summary"]
    assert found["relevant_memory_keys"]


def test_a_model_that_is_refused_three_times_in_a_row_is_not_asked_again(
    thinking: httpx.Client, llm: FakeOpenAI
) -> None:
    tell(thinking)
    script(llm, calls(("no_such_tool", {})))
    found = recalled(thinking)
    assert len(llm.chat.requests) == 3
    assert [warning["code"] for warning in found["warnings"]] == ["llm_never_searched"]


@pytest.mark.parametrize("verdict", [{"needs_more_info": "True", "confidence": 0.1}, {"needs_more_info": True}])
def test_a_verdict_is_the_models_own(thinking: httpx.Client, llm: FakeOpenAI, verdict: Json) -> None:
    tell(thinking)
    script(llm, calls(BEES), handoff(summary="Not sure that it is she.", **verdict))
    found = recalled(thinking)
    assert (found["needs_more_info"], found["relevant_memory_keys"]) == (True, [])
    assert found["confidence"] == verdict.get("confidence", 0.0)


def test_another_users_memory_cannot_be_read_by_its_key(thinking: httpx.Client, llm: FakeOpenAI) -> None:
    tell(thinking)
    secret = ok(thinking.post("/memories", json={"user_id": "eve", "content": "the code is 4711"}), 201)["memory_key"]
    script(llm, calls(BEES), calls(("get_memory_detail", {"memory_key": secret})), handoff(secret))
    found = recalled(thinking)
    assert found["trace"][1]["is_error"]
    assert found["relevant_memory_keys"] == []
    assert "4711" not in json.dumps(found)


@pytest.mark.parametrize(
    "fault", few([fake_openai.status(500), fake_openai.status(401), fake_openai.null_content(), fake_openai.html()])
)
def test_a_fixed_policy_answers_if_the_llm_fails(
    thinking: httpx.Client, llm: FakeOpenAI, fault: fake_openai.Behaviour
) -> None:
    tell(thinking)
    llm.chat.default = fault
    found = recalled(thinking)
    assert [w["code"] for w in found["warnings"]] == ["llm_unavailable"]
    assert "Ines" in found["search_summary"]


def test_without_an_llm_a_fixed_policy_answers_in_the_same_shape(client: httpx.Client) -> None:
    tell(client)
    found = recalled(client)
    assert [w["code"] for w in found["warnings"]] == ["llm_absent"]
    assert "Ines" in found["search_summary"].replace("**", "")
    assert [step["tool"] for step in found["trace"]][-1] == "handoff"
    assert found["relevant_memory_keys"]
    assert 0 < found["confidence"] <= 1
    nothing = recalled(client, query="zzz qqq")
    assert nothing["needs_more_info"]
    assert nothing["follow_up_question"]
    append(client, "zh", [user("我妹妹在波尔图养蜂。"), assistant("真好。")])
    assert "养蜂" in recalled(client, conversation_id="zh", query="谁养蜂?")["search_summary"].replace("**", "")


def test_without_a_query_the_last_question_is_used(client: httpx.Client) -> None:
    tell(client)
    append(client, "c", [user("Who of us keeps bees?")])
    body = {"conversation_id": "c"}
    assert "Ines" in ok(client.post("/memories/recall", json=body))["search_summary"].replace("**", "")
    problem(client.post("/memories/recall", json={"user_id": "u"}), 422)
    problem(client.post("/memories/recall", json={"query": "x"}), 422)
    problem(client.post("/memories/recall", json={"conversation_id": "none", "query": "x"}), 404)
    problem(client.post("/memories/recall", json={"conversation_id": "c", "user_id": "eve", "query": "x"}), 404)
    problem(client.post("/memories/recall", json={**body, "max_iterations": 0}), 422)


def test_keywords_of_a_text(client: httpx.Client) -> None:
    text = "Which oolong did I order from Hangzhou last spring? 订单号 12345,龙井茶。"
    words = ok(client.post("/memories/keywords", json={"text": text, "limit": 8}))["keywords"]
    assert len(words) <= 8
    assert {"Hangzhou", "oolong"} & set(words)
    problem(client.post("/memories/keywords", json={"text": ""}), 422)
    assert ok(client.post("/memories/keywords", json={"text": "!!! ???"}))["keywords"] == []
