"""The model's tool `remember`, through the proxy: offered where its conversation wants it, and run only then."""

import json
from typing import Any

import httpx
import pytest

from tests.api.kit import Json, created, ok, path
from tests.proxy.agents import DIALECTS, Agent, Clients
from tests.proxy.kit import Script, ask, calling, openai_of, stored, tool
from tests.proxy.models import Model

HARBOUR = "The harbour office closes at noon on Fridays."
CALL = calling(("remember", {"content": HARBOUR}))


def opted(client: httpx.Client, **settings: Any) -> None:
    created(client, id="c", user_id="me", settings={"remember_tool": True, **settings})


def kept(client: httpx.Client, status: str = "held") -> list[str]:
    items: list[Json] = ok(client.get("/memories", params={"user_id": "me", "status": status}))["items"]
    return [one["content_preview"] for one in items]


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_model_keeps_what_the_person_said(
    client: httpx.Client, clients: Clients, model: Model, dialect: str, streams: bool
) -> None:
    opted(client)
    agent = Agent(dialect, clients, model.url, streams)
    model.says(CALL, "Noted.")
    reply = agent.says(f"{HARBOUR} Remember that.")
    assert (reply.text, reply.calls) == ("Noted.", [])
    assert "remember" in model.asked[0].tools
    assert model.asked[1].said[-1] == ("result", "It is remembered.")
    assert kept(client) == [HARBOUR]
    model.says(calling(("remember", {"content": "They like tea."})), "Well.")
    agent.says("And?")
    assert (kept(client), kept(client, "proposed")) == ([HARBOUR], ["They like tea."])


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_tool_that_is_not_offered_is_the_clients(
    client: httpx.Client, clients: Clients, model: Model, dialect: str, streams: bool
) -> None:
    created(client, id="c", user_id="me")
    agent = Agent(dialect, clients, model.url, streams)
    model.says(CALL)
    reply = agent.says(HARBOUR)
    assert [call.name for call in reply.calls] == ["remember"]
    assert "remember" not in model.asked[0].tools
    assert kept(client) == kept(client, "proposed") == []


def test_the_clients_own_tool_of_that_name_wins(client: httpx.Client, base_url: str, script: Script) -> None:
    opted(client)
    script.says(CALL)
    answer = ask(openai_of(base_url, "c"), [{"role": "user", "content": HARBOUR}], tools=[tool("remember")])
    assert [call.function.name for call in answer.tool_calls] == ["remember"]
    assert kept(client) == []


def test_it_is_not_run_in_a_window_that_is_too_small_for_it(
    client: httpx.Client, base_url: str, script: Script
) -> None:
    opted(client)
    ok(client.patch(path("c"), json={"budget": 700}))
    script.says(CALL)
    answer = ask(openai_of(base_url, "c"), [{"role": "user", "content": HARBOUR}])
    assert not script.asked[0].get("tools")
    assert [call.function.name for call in answer.tool_calls] == ["remember"]
    assert kept(client) == []


def test_an_answer_that_is_asked_for_again_keeps_it_once(client: httpx.Client, base_url: str, script: Script) -> None:
    opted(client)
    script.says(CALL, calling(("remember", {"content": HARBOUR})), "Noted.")
    ask(openai_of(base_url, "c"), [{"role": "user", "content": HARBOUR}])
    assert kept(client) == [HARBOUR]
    called = [said for _, said in stored(client, "c") if said == ["remember"]]
    assert len(called) == 2
    shown = json.dumps(script.asked[-1]["messages"])
    assert shown.count("It is remembered.") == 2
