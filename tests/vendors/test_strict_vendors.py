"""Every model API, as strict as it is, before clients of every dialect."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.by_turns import by_turns, few
from tests.proxy.agents import DIALECTS, Agent, Clients
from tests.vendors.strict_vendors import ROWS
from tests.vendors.strict_vendors import row as strict_row

NAMED = [row for row in ROWS if not row.startswith("own-")]
"""Rows that the table names: tests of refusals add one of their own."""

TURNS = {
    "text": ["hello", "and again"],
    "own tool": ["[[call weather {}]]", "hello"],
    "recall tool": ['[[call search_memories {"query": "harbour"}]]', "hello"],
    "parallel": ['[[calls weather {"city": "a"} | weather {"city": "b"}]]', "hello"],
    "both": ['[[calls weather {"city": "a"} | search_memories {"query": "b"}]]', "hello"],
    "chain": ["[[chain weather 3]]", "[[call weather {}]]"],
}
FAST = "both"
CELLS = [
    ((row, client, kind, streams), kind == FAST and number % 3 == place and number // 3 % 2 == streams)
    for number, row in enumerate(NAMED)
    for place, client in enumerate(DIALECTS)
    for kind in TURNS
    for streams in (False, True)
]
"""What is said to whom, and whether that is tested each time: each API, before the clients and streamed by turns."""


@pytest.fixture
def agent(before: dict[str, str], clients: Clients) -> Callable[..., Agent]:
    """Make a client of a model, in a conversation of its own."""

    def make(client: str, model: str, dialect: str, *, streams: bool = False, **more: Any) -> Agent:
        name = f"c-{uuid.uuid4().hex}"
        return Agent(client, clients, before[dialect], streams, name, model, tools=["weather"], **more)

    return make


def model_of(row: str) -> tuple[str, str]:
    """Return a row's model, and what its API speaks."""
    return (ROWS[row]["models"] or ("x",))[0], ROWS[row]["dialect"]


def converse(agent: Agent, kind: str) -> None:
    for text in TURNS[kind]:
        assert agent.asks(text).startswith("Answer")


@pytest.mark.parametrize(("row", "client", "kind", "streams"), [cell for cell, often in CELLS if often])
def test_a_turn_with_tools_passes_every_api(
    agent: Callable[..., Agent], row: str, client: str, kind: str, *, streams: bool
) -> None:
    converse(agent(client, *model_of(row), streams=streams), kind)


@pytest.mark.slow
@pytest.mark.parametrize(("row", "client", "kind", "streams"), [cell for cell, often in CELLS if not often])
def test_every_other_turn_passes_every_api(
    agent: Callable[..., Agent], row: str, client: str, kind: str, *, streams: bool
) -> None:
    converse(agent(client, *model_of(row), streams=streams), kind)


@pytest.mark.slow
@pytest.mark.parametrize("client", DIALECTS)
@pytest.mark.parametrize("row", NAMED)
def test_a_condensed_conversation_passes_every_api(agent: Callable[..., Agent], row: str, client: str) -> None:
    long_talk(agent(client, *model_of(row), headers={"X-Quire-Budget": "4000"}))


CHANGES = [("deepseek", "kimi"), ("kimi", "mistral"), ("gemini", "groq"), ("mistral", "gemini"), ("groq", "deepseek"),
           ("mimo", "openai"), ("openrouter", "minimax-m2"), ("minimax-m2", "ollama"), ("anthropic", "anthropic-5.5"),
           ("kimi-coding", "anthropic"), ("openai-responses", "grok-responses"), ("llamacpp", "mimo")]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), few(CHANGES, 4))
def test_a_conversation_changes_its_model(agent: Callable[..., Agent], one: str, other: str) -> None:
    talking = agent("chat", *model_of(one), streams=True)
    talking.asks("[[call weather {}]]")
    talking.model = ROWS[other]["models"][0]
    assert talking.asks("[[call weather {}]]").startswith("Answer")
    talking.model = ROWS[one]["models"][0]
    assert talking.asks("and now?").startswith("Answer")


INVENTED: dict[str, dict[str, Any]] = {
    "trail": {"gives": "thought_trail", "needs": "calls", "thinks": True},
    "log": {"gives": "details", "details": "inner_log", "needs": "details", "thinks": True, "sealed": True},
    "sealed-calls": {"gives": "signature", "needs": "first", "thinks": True, "sealed": True, "blank": False,
                     "seal": ("proof", "acme", "seal")},
    "bounded": {"limit": "max_completion_tokens"},
    "closed": {"closed": {"role", "content", "tool_calls"}, "gives": "musings", "thinks": True},
    "without-null": {"null": False},
    "short-ids": {"ids": "[a-z0-9]{9}"},
    "alternating": {"alternate": True, "system": "one"},
    "turns": {"alternate": True, "error": "jinja", "status": 500},
    "few-parameters": {"params": {"model", "messages", "stream", "tools", "max_tokens"}},
}  # fmt: skip
for _name, _rules in INVENTED.items():
    strict_row(f"invented-{_name}", f"zz-{_name}", like="openai", **_rules)
THINKERS: dict[str, dict[str, Any]] = {
    "on-calls": {"needs": "calls", "sealed": False},
    "signed-on-calls": {"needs": "calls", "sealed": True, "blank": False},
    "signed-in-the-loop": {"needs": "loop", "sealed": True, "blank": False},
    "bound-on-calls": {"needs": "calls", "sealed": True, "blank": False, "bound": True},
    "bound-in-the-loop": {"needs": "loop", "sealed": True, "blank": False, "bound": True},
}
"""They want the thinking of Messages back, each in its own way."""
for _name, _rules in THINKERS.items():
    more = {"off_refused": (), "choice": ("auto", "none", "required", "named"), "temperature": "any"}
    strict_row(f"invented-{_name}", f"zz-{_name}", like="anthropic", thinks=True, **more, **_rules)


@pytest.mark.parametrize(("name", "client", "first"), by_turns(INVENTED, DIALECTS, (0, 1), every=12))
def test_an_api_that_no_row_names_is_carried_what_it_gave(
    agent: Callable[..., Agent], name: str, client: str, first: int
) -> None:
    for number, kind in enumerate(TURNS, first):
        converse(agent(client, f"zz-{name}", "chat", streams=bool(number % 2)), kind)


def long_talk(talking: Agent, turns: int = 7) -> None:
    """Say more than a budget of 4000 holds."""
    for number in range(turns):
        assert talking.asks(f"[[call weather {{}}]] {number} " + "of the harbour and its weather " * 50)


@pytest.mark.parametrize(("name", "client"), by_turns(THINKERS, DIALECTS, every=15))
def test_thinking_that_an_unknown_api_wants_back_locks_no_conversation(
    vendors: str, agent: Callable[..., Agent], name: str, client: str
) -> None:
    talking = agent(client, f"zz-{name}", "messages", streams=True, headers={"X-Quire-Budget": "4000"})
    for kind in TURNS:
        converse(talking, kind)
    long_talk(talking)
    refused = _refused(vendors, talking.model)
    converse(talking, "own tool")
    long_talk(talking, 2)
    assert _refused(vendors, talking.model) == refused


@pytest.mark.slow
@pytest.mark.parametrize("name", by_turns(INVENTED))
def test_condensing_locks_no_conversation_with_an_unknown_api(agent: Callable[..., Agent], name: str) -> None:
    long_talk(agent("chat", f"zz-{name}", "chat", headers={"X-Quire-Budget": "4000"}))


def _refused(vendors: str, model: str) -> int:
    log = httpx.get(f"{vendors}/__log", params={"model": model}).json()
    return sum(entry["status"] != 200 for entry in log)


@pytest.mark.parametrize("client", few(DIALECTS))
def test_a_conversation_whose_roles_must_alternate(
    vendors: str, before: dict[str, str], agent: Callable[..., Agent], client: str
) -> None:
    """A model that no row names, behind a template that wants user and assistant to take turns."""
    talking = agent(client, f"zz-turns-{client}", "chat")
    with httpx.Client(base_url=before["chat"]) as quire:
        made = {"id": talking.conversation, "user_id": "u", "settings": {"alternate_roles": True}}
        assert quire.post("/conversations", json=made).status_code == 201
        for said in ({"role": "user", "content": "first"}, {"role": "user", "content": "second"}):
            appended = {"messages": [said]}
            assert quire.post(f"/conversations/{talking.conversation}/messages", json=appended).status_code == 201
        shown = quire.get(f"/conversations/{talking.conversation}/context", params={"query": "first"}).json()[
            "messages"
        ]
        assert [message["role"] for message in shown if message["role"] != "system"] == ["user"]
        for kind in TURNS:
            converse(talking, kind)
        log = quire.get(f"{vendors}/__log", params={"model": talking.model}).json()
    assert [entry["status"] for entry in log] == [200] * len(log)
