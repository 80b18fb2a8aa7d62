"""The invariants of a window over real conversations, looked at after each append, for many budgets in both formats."""

from collections.abc import Sequence
from functools import cache

import httpx
import pytest

from app.text.tokens import TokenCounter
from quire_command.demo.transcript import DemoStep, Transcript, load, steps
from tests.api.kit import SHIPPED, Json, append, ok, path, recorded, window
from tests.api.promises import Count, Watch
from tests.by_turns import by_turns

BUDGETS = (2000, 4000, 8000, 32_000, None)
FORMATS = ("openai", "anthropic")
REAL = {"deerflow": 0, "livemcpbench": 19, "sweagent": 1, "taubench": 1, "madial": 0, "locomo-noncommercial": 1}


@pytest.fixture(scope="session")
def count(counter: TokenCounter) -> Count:
    return cache(counter.count)


def replay(
    client: httpx.Client, name: str, plan: Sequence[DemoStep], watches: Sequence[Watch], *, every: int = 1
) -> None:
    """Append step by step; each watch looks after every step, or after one of so many."""
    sent: list[Json] = []
    for number, step in enumerate(plan):
        append(client, name, step.messages)
        sent += step.messages
        for watch in watches if every == 1 else watches[number % every :: every]:
            watch.look(sent)


@pytest.mark.slow
def test_the_shipped_conversation_turn_by_turn(client: httpx.Client, count: Count) -> None:
    [transcript] = load(SHIPPED)
    watches = [Watch(client, "c", count, budget, form) for form in FORMATS for budget in BUDGETS]
    replay(client, "c", steps(transcript.messages), watches, every=2)
    for watch in watches:
        assert watch.looks >= 50
        assert watch.before is not None
        assert len(watch.epochs) > 5 or (watch.budget or 99_999) > 8000
    assert watches[1].before is not None
    assert watches[1].before["usage"]["saved"] > 0.8


@pytest.mark.slow
def test_the_shipped_conversation_message_by_message(client: httpx.Client, count: Count) -> None:
    """Also with a small budget of its own, whose epochs are made by the appends."""
    [transcript] = load(SHIPPED)
    ok(client.post("/conversations", json={"id": "c", "user_id": "u", "budget": 6000}), 201)
    watches = [Watch(client, "c", count, budget) for budget in (3000, None)]
    replay(client, "c", steps(transcript.messages[:150], every_message=True), watches)
    assert [watch.looks for watch in watches] == [len(steps(transcript.messages[:150], every_message=True))] * 2
    assert len(watches[1].epochs) > 3


@pytest.mark.parametrize("name", by_turns(REAL, every=6))
def test_a_real_transcript(client: httpx.Client, count: Count, name: str) -> None:
    found: list[Transcript] = recorded(name)
    if not found:
        pytest.skip("the transcripts are not part of the project")
    transcript = found[REAL[name]]
    plan = steps(transcript.messages, every_message=len(transcript.messages) < 100)[:80]
    forms = FORMATS if len(plan) < 100 else FORMATS[:1]
    watches = [Watch(client, "c", count, budget, form) for budget in BUDGETS for form in forms]
    replay(client, "c", plan, watches, every=1 if len(plan) < 60 else 2)
    assert all(watch.looks for watch in watches if watch.budget is None or watch.budget > 8000)


@pytest.mark.slow
def test_every_placeholder_in_view_resolves(client: httpx.Client) -> None:
    """Invariant 5."""
    [transcript] = load(SHIPPED)
    append(client, "c", transcript.messages)
    refs = [ref for budget in BUDGETS if budget for ref in window(client, "c", budget=budget)["archive_refs"]]
    assert refs
    for uuid in dict.fromkeys(refs):
        loaded = client.post(path("c", "tools", "load_tool_history"), json={"arguments": {"uuid": uuid}})
        assert ok(loaded)["is_error"] is False
