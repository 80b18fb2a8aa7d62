"""What holds for every dialect that is served, before every dialect that a model's API speaks, whole and streamed."""

from __future__ import annotations

from typing import Any

import anthropic
import httpx
import openai
import pytest

from tests.api.kit import history, ok
from tests.proxy.agents import DIALECTS, Agent, Clients
from tests.proxy.kit import calling, openai_of, tool
from tests.proxy.models import Model, Said, flat

RECALL = ["recall_page", "load_tool_history", "search_memories"]
ENDS = {"chat": ("stop", "tool_calls"), "messages": ("end_turn", "tool_use"), "responses": ("completed",) * 2}
"""How each dialect says that an answer ended, and that it ended with calls."""
Failed = (openai.APIError, anthropic.APIError)


@pytest.fixture(params=[(d, s) for d in DIALECTS for s in (False, True)],
                ids=[f"{d} {s}" for d in DIALECTS for s in ("whole", "streamed")])  # fmt: skip
def agent(request: pytest.FixtureRequest, clients: Clients, model: Model) -> Agent:
    dialect, streams = request.param
    return Agent(dialect, clients, model.url, streams)


def stored(client: httpx.Client) -> list[Said]:
    return flat(history(client, "c"))


def kinds(said: list[Said]) -> list[str]:
    return [kind for kind, _ in said]


def test_a_turn_is_stored_and_the_model_sees_those_before(client: httpx.Client, agent: Agent, model: Model) -> None:
    agent.system, agent.options = "Be brief.", {"temperature": 0.5, "seed": 7}
    model.says("Noted.", "Longjing.")
    first, again = agent.says("I like longjing."), agent.says("Which tea do I like?")
    assert (first.text, again.text, again.reason) == ("Noted.", "Longjing.", ENDS[agent.dialect][0])
    talk = [
        ("user", "I like longjing."), ("assistant", "Noted."), ("user", "Which tea do I like?"),
        ("assistant", "Longjing."),
    ]  # fmt: skip
    assert stored(client) == talk
    one, two = model.asked
    assert (one.body["temperature"], one.body["model"]) == (0.5, "fake")
    assert agent.dialect != "chat" or one.body.get("seed") == (7 if model.dialect == "chat" else None)
    assert one.tools == two.tools == RECALL
    assert two.system.startswith("Be brief.")
    assert two.messages[: len(one.messages)] == one.messages
    assert two.said == talk[:3]


def test_a_client_can_send_only_new_messages(client: httpx.Client, agent: Agent, model: Model) -> None:
    for said in ("one", "ok", "ok"):
        agent.said = []
        agent.says(said)
    assert [text for kind, text in stored(client) if kind == "user"] == ["one", "ok", "ok"]
    assert kinds(model.asked[2].said) == ["user", "assistant"] * 2 + ["user"]


def test_recalls_are_invisible_to_the_client(client: httpx.Client, agent: Agent, model: Model) -> None:
    agent.says("I like longjing.")
    looked = calling(("recall_page", {"page": 1}), ("search_memories", {"query": "longjing"}), text="Let me see.")
    model.says(looked, "Longjing it is.")
    answer = agent.says("Which tea?")
    assert answer.text == "Let me see.\n\nLongjing it is."
    assert answer.calls == []
    *_, page_call, search_call, page, found = model.asked[2].said
    assert [page_call, search_call] == [("call", "recall_page"), ("call", "search_memories")]
    assert "I like longjing." in page[1]
    assert "I like **longjing**." in found[1]
    kept = stored(client)
    assert kinds(kept) == ["user", "assistant", "user", "call", "call", "result", "result", "assistant"]
    assert kept[-1] == ("assistant", answer.text)

    agent.says("Thanks.")
    assert len(stored(client)) == len(kept) + 2
    marks = [text for kind, text in model.asked[3].said if kind == "result"]
    assert len(marks) == 2
    assert all("was shown in full at the time" in mark for mark in marks)


def test_the_clients_tools_go_to_the_client_and_back(client: httpx.Client, agent: Agent, model: Model) -> None:
    agent.tools = ["look"]
    model.says(calling(("look", {"at": "a"}), ("look", {"at": "b"}), text="Looking."), "Seen.")
    answer = agent.says("Look.")
    assert (answer.text, [call.arguments for call in answer.calls]) == ("Looking.", [{"at": "a"}, {"at": "b"}])
    assert answer.reason == ENDS[agent.dialect][1]
    assert model.asked[0].tools == ["look", *RECALL]
    one, two = answer.calls
    assert agent.returns(**{one.id: "a", two.id: "b"}).text == "Seen."
    assert kinds(stored(client)) == ["user", "assistant", "call", "call", "result", "result", "assistant"]
    first, second = model.asked
    assert second.messages[: len(first.messages)] == first.messages
    assert second.said[-2:] == [("result", "a"), ("result", "b")]


def test_the_client_gets_only_its_own_of_mixed_calls(client: httpx.Client, agent: Agent, model: Model) -> None:
    agent.tools = ["look"]
    agent.says("I like longjing.")
    model.says(calling(("look", {}), ("recall_page", {"page": 1}), ("look", {"at": "b"}), text="Both."), "Done.")
    answer = agent.says("Look.")
    assert [call.id for call in answer.calls] == ["call_look_0", "call_look_2"]
    assert answer.text == "Both."
    assert agent.returns(call_look_0="a", call_look_2="b").text == "Done."
    shown = model.asked[2].said
    recalled = shown.index(("call", "recall_page"))
    assert shown[recalled + 1][0] == "result"
    assert "I like longjing." in shown[recalled + 1][1], "what was recalled is there for the whole page"
    assert [text for kind, text in shown if kind == "result"][-2:] == ["a", "b"]
    assert kinds(stored(client))[2:] == [
        "user", "call", "result", "assistant", "call", "call", "result", "result", "assistant",
    ]  # fmt: skip


def test_a_model_that_recalls_for_ever_is_stopped(client: httpx.Client, agent: Agent, model: Model) -> None:
    model.says(*[calling(("recall_page", {"page": 1}))] * 2, "Enough.")
    assert agent.says("Go.").text == "Enough."
    assert [request.forbids_calls for request in model.asked] == [False, False, True]
    model.says(*[calling(("recall_page", {"page": 1}))] * 3)
    agent.tools = ["look"]
    stubborn = agent.says("Again.")
    assert (stubborn.text, stubborn.calls) == ("", [])
    assert model.asked[-1].tools == ["look"]
    assert history(client, "c")[-1]["role"] == "assistant"


def test_a_tool_of_the_clients_with_a_recall_tools_name_is_the_clients(agent: Agent, model: Model) -> None:
    agent.tools = ["recall_page"]
    model.says(calling(("recall_page", {"page": 1})))
    assert [call.name for call in agent.says("Go.").calls] == ["recall_page"]
    assert model.asked[0].tools == ["recall_page", "load_tool_history", "search_memories"]


def test_a_models_mistaken_recall_is_explained_to_it(agent: Agent, model: Model) -> None:
    model.says(calling(("recall_page", {"page": 99}), ("load_tool_history", {"uuid": "x"})), "I see.")
    assert agent.says("Go.").text == "I see."
    [page, _] = [text for kind, text in model.asked[1].said if kind == "result"]
    assert "pages 1–1 exist" in page


def test_usage_sums_all_calls(agent: Agent, model: Model) -> None:
    if agent.dialect == "chat" and agent.streams:
        agent.options = {"stream_options": {"include_usage": True}}
    model.says("Hi.", calling(("recall_page", {"page": 1})), "Done.")
    once, twice = agent.says("Go.").usage, agent.says("Go on.").usage
    assert once is not None
    assert twice is not None
    assert min(once) > 0
    assert twice[1] > once[1]
    assert twice[0] > 2 * 50


@pytest.mark.parametrize(("reply", "status"), [(429, 429), (529, 529), (401, 502), (400, 400)])
def test_the_apis_errors_are_told(agent: Agent, model: Model, reply: int, status: int) -> None:
    model.says(reply)
    with pytest.raises(Failed) as refused:
        agent.says("hi")
    assert getattr(refused.value, "status_code", None) == status


@pytest.mark.parametrize("agent", [(dialect, True) for dialect in DIALECTS], indirect=True)
def test_an_answer_that_breaks_off_is_an_error_and_is_asked_again(
    client: httpx.Client, agent: Agent, model: Model
) -> None:
    model.says("cut", "Whole.")
    with pytest.raises(Failed):
        agent.says("hi")
    assert stored(client) == [("user", "hi")]
    agent.said = []
    assert agent.says("hi").text == "Whole."
    assert stored(client) == [("user", "hi"), ("assistant", "Whole.")]


LONG = "The kettle log says 96 degrees. " * 600


def test_a_conversation_is_one_in_all_dialects(client: httpx.Client, model: Model, clients: Clients) -> None:
    """Begun by Messages, continued by Responses, finished by Chat: one budget, one prefix, one archive."""
    ok(client.post("/conversations", json={"id": "c", "user_id": "u", "budget": 6000}), 201)
    model.says(calling(("look", {})), "It is hot.", "Quite.", "Bye.")
    agents: list[Any] = [
        Agent(dialect, clients, model.url, streams=False, tools=["look"], system="Be brief.")
        for dialect in ("messages", "responses", "chat")
    ]
    [call] = agents[0].says("Look.").calls
    assert agents[0].returns(**{call.id: LONG}).text == "It is hot."
    assert agents[1].says("Is it?").text == "Quite."
    assert agents[2].says("Thanks.").text == "Bye."
    talk = ["user", "call", "result", "assistant", "user", "assistant", "user", "assistant"]
    assert kinds(stored(client)) == talk
    shown = [request.messages for request in model.asked]
    assert shown[3][: len(shown[2])] == shown[2], "the window goes on as it was"
    [archived] = [m for m in history(client, "c") if m["archived"]]
    assert all("96 degrees" in str(request) for request in shown[1:])
    assert archived["archive_id"] in str(shown[3])
    assert all(len(str(request)) < 6000 * 4 for request in shown)


@pytest.mark.parametrize("model", DIALECTS[1:], indirect=True)
def test_options_of_chat_completions_are_translated_or_refused(model: Model) -> None:
    shape: Any = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}, "strict": True}}
    asked: Any = {"model": "fake", "messages": [{"role": "user", "content": "hi"}], "tools": [tool("look")]}
    with openai_of(model.url, "c") as gpt:
        raw = gpt.chat.completions.with_raw_response.create(
            **asked, max_tokens=7, temperature=0.5, seed=1, response_format=shape, tool_choice="required"
        )
        assert raw.headers["X-Quire-Dropped"] == "seed"
        with pytest.raises(openai.BadRequestError, match="logprobs"):
            gpt.chat.completions.create(**asked, logprobs=True)
    [sent] = model.other.asked
    assert (sent.get("max_tokens") or sent["max_output_tokens"], sent["temperature"]) == (7, 0.5)
    form = (sent.get("output_config") or sent["text"])["format"]
    assert (form["type"], form["schema"]) == ("json_schema", {"type": "object"})
    assert sent["tool_choice"] in ({"type": "any"}, "required")
    assert {t["name"] for t in sent["tools"]} >= {"look", "recall_page"}
