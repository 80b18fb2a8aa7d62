"""Whatever a model's API refuses of a request's form, the question is answered, or the next one is.

Vendors refuse by turns, each in its words, a random field of a random request, before a client of a random dialect.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import httpx
import openai
import pytest

from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from tests.api.kit import history, ok
from tests.conftest import serve, serving
from tests.proxy.agents import DIALECTS, Agent, Clients
from tests.vendors.refusing import FORMS, WORDS, Refusing, Rule

MODELS = {
    "chat": ("gpt-4o", "gpt-5.6", "deepseek-v4-pro", "kimi-k2.6", "gemini-3", "openrouter/x", "mistral-x", "zz-trail"),
    "messages": ("claude-sonnet-4-6", "claude-opus-5-5", "kimi-for-coding", "zz-messages"),
    "responses": ("resp-gpt-6", "zz-responses"),
}
TURNS = (
    "hello", "[[call weather {}]]", '[[call search_memories {"query": "harbour"}]]',
    '[[calls weather {"city": "a"} | search_memories {"query": "b"}]]', "and now?",
)  # fmt: skip
OPTIONS: dict[str, Any] = {
    "temperature": 1, "top_p": 0.9, "metadata": {"user_id": "u"}, "service_tier": "auto", "seed": 7, "user": "u",
    "parallel_tool_calls": True, "stop_sequences": ["END"], "top_k": 5, "presence_penalty": 0.5, "acme_mode": "deep",
    "prompt_cache_key": "k", "reasoning_effort": "low", "logit_bias": {}, "store": False,
}  # fmt: skip
OF_DIALECT = {
    "chat": frozenset(OPTIONS) - {"stop_sequences", "service_tier"},
    "messages": frozenset({"temperature", "top_p", "metadata", "service_tier", "stop_sequences", "top_k"}),
    "responses": frozenset(
        {"temperature", "top_p", "metadata", "service_tier", "user", "parallel_tool_calls", "prompt_cache_key"}
    ),
}  # fmt: skip
BLOCKS = range(100)
"""Of ten requests each. The first 270 bring every form in all words before each dialect; the others any once more."""
Failed = (openai.APIError, anthropic.APIError)


@pytest.fixture(scope="module")
def refusing() -> Iterator[tuple[Refusing, str]]:
    api = Refusing()
    with serve(api.app()) as served:
        yield api, f"{served.url}/v1"


@pytest.fixture(scope="module")
def behind(
    postgres: EmbeddedPostgres, settings: Settings, refusing: tuple[Refusing, str], delete_every_row: Callable[[], None]
) -> Iterator[dict[str, str]]:
    """The address of a service by the dialect of its model's API. None knows a key that earlier tests left."""
    delete_every_row()
    opened = []
    found = {}
    for dialect in DIALECTS:
        update = {
            "quire_proxy_base_url": refusing[1], "quire_proxy_upstream_dialect": dialect, "quire_proxy_seconds": 20,
        }  # fmt: skip
        opened.append(serving(build_app(settings.model_copy(update=update), postgres.app_dsn)))
        found[dialect] = next(opened[-1])
    yield found
    for served in opened:
        next(served, None)


def case(api: Refusing, behind: dict[str, str], clients: Clients, number: int) -> tuple[Rule, Agent, str]:
    """Return the numbered rule, and a client that meets it."""
    chosen = random.Random(number)
    upstream, client = DIALECTS[number // 90 % 3], chosen.choice(DIALECTS)
    model = f"{chosen.choice(MODELS[upstream])}-{number}"
    kind = "once" if chosen.random() < 0.15 else "member"
    rule = Rule(kind, FORMS[number % 10], WORDS[number % 9], chosen.randint(1, 8), number)
    api.rules[model] = rule
    names = chosen.sample(sorted(OF_DIALECT[client]), 3)
    options = {name: OPTIONS[name] for name in names}
    agent = Agent(
        client, clients, behind[upstream], chosen.random() < 0.5, f"c-{uuid.uuid4().hex}", model, ["weather"],
        "Be brief." if chosen.random() < 0.5 else None, options,
    )  # fmt: skip
    return rule, agent, behind[upstream]


def converse(agent: Agent) -> list[Any]:
    """Say all turns; return the errors of those that failed. After an error the next one is answered."""
    failed: list[Any] = []
    for text in TURNS:
        try:
            answered = agent.asks(text)
        except Failed as error:
            failed.append(error)
            assert agent.asks(f"after an error, {text}").startswith("Answer")
        else:
            assert answered.startswith("Answer")
    return failed


def judge(refusing: Refusing, behind: dict[str, str], clients: Clients, number: int) -> None:
    rule, agent, url = case(refusing, behind, clients, number)
    failed = converse(agent)
    seen = (number, agent.dialect, agent.model, rule, failed)
    assert all(isinstance(error.body, dict) for error in failed), seen
    assert len(failed) <= (rule.kind == "once"), seen
    assert rule.refusals <= 1, seen
    with httpx.Client(base_url=url) as client:
        assert not any(message["refused"] for message in history(client, agent.conversation)), seen
        window = str(ok(client.get(f"/conversations/{agent.conversation}/context"))["messages"])
        assert all(text[:30] in window for text in TURNS), seen


@pytest.mark.slow
@pytest.mark.parametrize(
    "block", [block if block < 1 else pytest.param(block, marks=pytest.mark.slow) for block in BLOCKS]
)
def test_what_an_api_refuses_of_a_requests_form_hides_no_turn(
    refusing: tuple[Refusing, str], behind: dict[str, str], clients: Clients, block: int
) -> None:
    for number in range(block * 10, block * 10 + 10):
        judge(refusing[0], behind, clients, number)
