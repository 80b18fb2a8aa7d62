"""Coding agents' hooks over HTTP: what is stored, what is answered, and what never happens."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from app.core.edge.hooks import ANSWER_TOKENS_MAX, HEAD_TOKENS_MAX
from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from app.text.tokens import TokenCounter
from tests.api.kit import Json, append, assistant, history, ok, path, problem, user
from tests.conftest import Served, serve
from tests.hooks.kit import event, prompt, send, stop, told, used

S = "claude-code:s"


def said(client: httpx.Client, conversation: str = S) -> list[tuple[str, Any]]:
    return [(m["role"], m["content"]) for m in history(client, conversation)]


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_everything_that_was_said_is_stored(client: httpx.Client, agent: str) -> None:
    ran = used({"stdout": "a.py", "stderr": ""})
    own = used("found", tool_use_id="t2", tool_name="mcp__quire__search_memories")
    events = [
        event("SessionStart", source="startup"), prompt("List the files."), ran, own, stop("There is a.py."),
        event("PreCompact", trigger="auto"), event("SubagentStop"), event("SessionEnd", reason="exit"),
    ]  # fmt: skip
    for sent in events:
        assert told(send(client, sent, agent)) == ""
    assert said(client, f"{agent}:s") == [
        ("user", "List the files."),
        ("assistant", None),
        ("tool", '{"stdout":"a.py","stderr":""}'),
        ("assistant", "There is a.py."),
    ]
    conversation = ok(client.get(path(f"{agent}:s")))
    assert conversation["user_id"] == "me"


def test_an_event_sent_twice_is_stored_once(client: httpx.Client) -> None:
    events = [prompt("Go on.", turn_id="1"), used("seen"), stop("Done.", turn_id="1")]
    for sent in [*events, *events, prompt("Again."), prompt("Again."), stop("Yes."), prompt("Again.")]:
        assert send(client, sent).status_code == 200
    assert [role for role, _ in said(client)] == ["user", "assistant", "tool", "assistant", "user", "assistant", "user"]


def test_a_call_without_an_id_can_be_made_again(client: httpx.Client) -> None:
    sent = {name: value for name, value in used("a.py").items() if name != "tool_use_id"}
    for one in (sent, sent, stop("a.py"), sent):
        assert send(client, one).status_code == 200
    assert [role for role, _ in said(client)] == ["assistant", "tool", "assistant", "assistant", "tool"]


@pytest.mark.parametrize("sent", [prompt("Go on."), used("seen"), stop("Done.")], ids=["prompt", "tool", "stop"])
def test_twenty_equal_events_at_once_are_stored_once(client: httpx.Client, sent: Json) -> None:
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: send(client, sent), range(20)))
    assert {answer.status_code for answer in answers} == {200}
    assert not [answer for answer in answers if "X-Quire-Warning" in answer.headers]
    assert len(said(client)) == (2 if "tool_name" in sent else 1)


def test_parallel_calls_are_stored_in_pairs(client: httpx.Client) -> None:
    send(client, prompt("Look everywhere."))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: send(client, used(f"result {n}", tool_use_id=f"t{n}")), range(8)))
    stored = history(client, S)[1:]
    assert len(stored) == 16
    for call, answered in zip(stored[::2], stored[1::2], strict=True):
        assert call["tool_calls"][0]["id"] == answered["tool_call_id"]
        assert answered["content"] == f"result {answered['tool_call_id'][1:]}"


def test_a_sub_agent_has_a_conversation_of_its_own_once(client: httpx.Client) -> None:
    send(client, prompt("Fix the login."))
    seen = used("The vault code is 7.", agent_id="a1", agent_type="Explore")
    with ThreadPoolExecutor(8) as pool:
        assert {answer.status_code for answer in pool.map(lambda _: send(client, seen), range(8))} == {200}
    assert [role for role, _ in said(client)] == ["user"]
    assert [one["role"] for one in history(client, f"{S}:a1")] == ["assistant", "tool"]
    child = ok(client.get(path(f"{S}:a1")))
    assert (child["parent"], child["user_id"]) == (S, "me")
    assert "vault code" not in str(ok(client.get(path(S, "context"))))


def test_a_sub_agent_of_anothers_session_is_not_heard(client: httpx.Client) -> None:
    send(client, prompt("Fix the login."))
    answer = send(client, used("seen", agent_id="a1"), **{"X-Quire-User": "bob"})
    problem(answer, 404)
    problem(client.get(path(f"{S}:a1")), 404)


def test_a_large_result_is_archived(client: httpx.Client) -> None:
    for n in (1000, 20_000):
        assert told(send(client, used("The kettle is at 96 degrees. " * n, tool_use_id=f"t{n}"))) == ""
    assert [m["archived"] for m in history(client, S)] == [False, True] * 2


def test_a_prompt_is_answered_with_what_answers_it_or_nothing(client: httpx.Client, counter: TokenCounter) -> None:
    asked = [user("My favourite tea is Longjing from Hangzhou."), assistant("Noted.")]
    append(
        client, "earlier", [*asked, *(user(f"Longjing tea fact {n}: " + "leaf " * 60) for n in range(30))], user_id="me"
    )
    append(client, "foreign", [user("My favourite tea is Oolong from Fujian.")], user_id="other")
    answer = send(client, prompt("Which tea from Hangzhou is my favourite?"))
    text = told(answer)
    assert answer.json()["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    assert "Longjing from Hangzhou" in text
    assert "Oolong" not in text
    assert counter.count(text) <= ANSWER_TOKENS_MAX
    assert told(send(client, prompt("How many moons does Neptune have?"))) == ""
    assert told(send(client, prompt("ok"))) == ""
    assert "quire-recalled" not in str(said(client))


@pytest.mark.slow
@pytest.mark.parametrize("source", ["compact", "resume"])
def test_a_compacted_session_gets_its_head_back(client: httpx.Client, counter: TokenCounter, source: str) -> None:
    for n in range(40):
        send(client, prompt(f"Question {n} about the kettle. " + "Why is it so? " * 12))
        send(client, stop(f"Answer {n}: 96 degrees. " + "Because of the altitude. " * 12))
    text = told(send(client, event("SessionStart", source=source)))
    assert text.startswith("<quire-memory>")
    assert "## Contents page" in text
    assert re.search(r"^1\b", text, re.MULTILINE)
    assert counter.count(text) <= HEAD_TOKENS_MAX
    assert told(send(client, event("SessionStart", source="startup"))) == ""
    assert told(send(client, event("SessionStart", "unheard", source=source))) == ""
    assert len(said(client)) == 80


def test_another_users_session_is_not_there(client: httpx.Client) -> None:
    send(client, prompt("The vault code is QX7-4410."), **{"X-Quire-User": "ann"})
    for sent in (prompt("What is the vault code?"), used("x"), stop("x")):
        answer = send(client, sent, **{"X-Quire-User": "bob"})
        assert "QX7" not in problem(answer, 404)["detail"]
    for sent in (event("SessionStart", source="compact"), event("PreCompact"), event("SessionEnd")):
        assert ok(send(client, sent, **{"X-Quire-User": "bob"})) == {}  # as of a session that never was
    assert said(client) == [("user", "The vault code is QX7-4410.")]
    assert told(send(client, prompt("What is the vault code?", "bobs"), **{"X-Quire-User": "bob"})) == ""


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"hook_event_name": "Stop"}, "session_id"),
        ({"session_id": "s"}, "hook_event_name"),
        (event("Stop", "x" * 101), "session_id"),
        (event("Stop", "a\u0000"), "session_id"),
        ({**prompt("x"), "session_id": 7}, "session_id"),
        ({**prompt("x"), "prompt": None}, "prompt"),
        (event("PostToolUse", tool_response="x"), "tool_name"),
        (used("x", tool_use_id="y" * 257), "tool_use_id"),
    ],
)
def test_bad_input_is_refused_by_name_and_nothing_is_stored(client: httpx.Client, sent: Json, field: str) -> None:
    found = problem(send(client, sent), 422)
    assert found["errors"][0]["loc"] == ["body", field]
    assert ok(client.get("/conversations"))["items"] == []


def test_a_session_needs_a_user(postgres: EmbeddedPostgres, settings: Settings, clean: None) -> None:
    shared = settings.model_copy(update={"quire_allow_unauthenticated": True})
    with serve(build_app(shared, postgres.app_dsn)) as served, httpx.Client(base_url=served.url, timeout=30) as client:
        found = problem(send(client, prompt("x")), 422)
    assert found["errors"][0]["loc"] == ["header", "X-Quire-User"]
    assert "QUIRE_DEFAULT_USER" in found["detail"]


def test_without_keys_a_session_is_the_default_users(
    postgres: EmbeddedPostgres, settings: Settings, clean: None
) -> None:
    with (
        serve(build_app(settings, postgres.app_dsn)) as served,
        httpx.Client(base_url=served.url, timeout=30) as client,
    ):
        send(client, prompt("x"))
        assert [c["user_id"] for c in ok(client.get("/conversations"))["items"]] == ["default"]


@pytest.fixture
def alone(postgres: EmbeddedPostgres, settings: Settings, clean: None) -> Iterator[Served]:
    """A service of its own, whose connections to the database a test can take away."""
    with serve(build_app(settings.model_copy(update={"quire_default_user": "me"}), postgres.app_dsn)) as served:
        yield served


def test_the_agent_goes_on_while_the_database_is_away(alone: Served) -> None:
    with httpx.Client(base_url=alone.url, timeout=30) as client:
        assert told(send(client, prompt("Hello there."))) == ""
        database = alone.app.state.runtime.database
        asyncio.run_coroutine_threadsafe(database.close(), alone.loop).result(timeout=30)
        answer = send(client, prompt("Are you there?"))
    assert (answer.status_code, answer.json()) == (200, {})
    assert answer.headers["X-Quire-Warning"] == "not-stored"
