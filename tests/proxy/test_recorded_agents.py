"""Requests as Codex CLI 0.169.0 and Claude Code 2.1.197 send them: a question, then its call with the result.

Recorded before a played model; every text is replaced, and of the tools two of each type are kept, without parameters.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests import unhurried
from tests.api.kit import Json
from tests.conftest import wait_for
from tests.proxy.fakes import FakeApi
from tests.proxy.kit import Script, calling, stored

RECORDED = Path(__file__).parent / "recorded"
PATHS = {"codex": "responses", "claude_code": "messages"}
CALLS: dict[str, Json] = {
    "codex": {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "exec_command", "arguments": "{}"},
    "claude_code": {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "echo hello"}},
}
ROLES = {
    "codex": ["user", "user", "assistant", "tool", "assistant"],
    "claude_code": ["user", "system", "assistant", "user", "assistant"],
}
agents = pytest.mark.parametrize("agent", PATHS)


def recorded(agent: str) -> list[bytes]:
    found = json.loads((RECORDED / f"{agent}.json").read_text())
    return [json.dumps(body, separators=(",", ":")).encode() for body in found]


@pytest.fixture
def speaking(speaking_responses: str, speaking_messages: str) -> dict[str, str]:
    """Services before an API of the agent's own dialect."""
    return {"codex": speaking_responses, "claude_code": speaking_messages}


def is_long(client: httpx.Client, conversation: str, messages: int) -> bool:
    return bool(client.get(f"/conversations/{conversation}").json().get("messages") == messages)


def send(url: str, agent: str, body: bytes, **headers: str) -> httpx.Response:
    sent = {"Content-Type": "application/json", "anthropic-version": "2023-06-01", **headers}
    return unhurried.post(f"{url}/v1/{PATHS[agent]}", content=body, headers=sent)


@agents
def test_a_session_is_passed_through_byte_for_byte_and_stored_once(
    client: httpx.Client, speaking: dict[str, str], messages_api: FakeApi, agent: str
) -> None:
    messages_api.says([CALLS[agent]])
    bodies, url = recorded(agent), f"{speaking[agent]}/p/{agent}"
    for body, last in zip(bodies, (3, 5), strict=True):
        assert send(url, agent, body).status_code == 200
        wait_for(partial(is_long, client, agent, last))  # it is stored beside the answer
    assert messages_api.bodies == bodies
    assert [role for role, _ in stored(client, agent)] == ROLES[agent]


@agents
@pytest.mark.parametrize("upstream", ["own", "chat"])
def test_a_session_goes_on_in_a_window(
    client: httpx.Client, speaking: dict[str, str], base_url: str, messages_api: FakeApi, script: Script, agent: str,
    upstream: str,
) -> None:  # fmt: skip
    messages_api.says([CALLS[agent]])
    name = {"codex": "exec_command", "claude_code": "Bash"}[agent]
    script.says(calling((name, {"command": "echo hello"})))
    url = speaking[agent] if upstream == "own" else base_url
    texts = []
    for body in _bodies(agent, upstream):
        answer = send(url, agent, body, **{"X-Quire-Conversation": "w", "X-Quire-User": "me"})
        assert answer.status_code == 200, answer.text
        texts.append(answer.text)
    assert [role for role, _ in stored(client, "w")] == ROLES[agent]
    assert name in texts[0]


def _bodies(agent: str, upstream: str) -> list[Any]:
    """As recorded; the API of Chat Completions gives calls ids of its own, which the client repeats."""
    ids = {"codex": b"call_1", "claude_code": b"toolu_1"}[agent]
    name = {"codex": b"exec_command", "claude_code": b"Bash"}[agent]
    return [body if upstream == "own" else body.replace(ids, b"call_" + name + b"_0") for body in recorded(agent)]
