"""Events as agents send them."""

from __future__ import annotations

from typing import Any

import httpx

from tests.api.kit import Json

COMMON = {"transcript_path": "session.jsonl", "cwd": "project", "permission_mode": "default"}


def event(name: str, session: str = "s", **data: Any) -> Json:
    return {"session_id": session, "hook_event_name": name, **COMMON, **data}


def prompt(text: str, session: str = "s", **data: Any) -> Json:
    return event("UserPromptSubmit", session, prompt=text, **data)


def used(response: Any, session: str = "s", /, **data: Any) -> Json:
    ran = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "toolu_1", "tool_response": response}
    return event("PostToolUse", session, **{**ran, **data})


def stop(text: str, session: str = "s", **data: Any) -> Json:
    return event("Stop", session, stop_hook_active=False, last_assistant_message=text, **data)


def send(client: httpx.Client, sent: Json, agent: str = "claude-code", **headers: str) -> httpx.Response:
    return client.post(f"/hooks/{agent}", json=sent, headers=headers)


def told(answer: httpx.Response) -> str:
    """The text of an answer; "" if it is empty."""
    assert answer.status_code == 200, answer.text
    assert "X-Quire-Warning" not in answer.headers, answer.headers
    output = answer.json().get("hookSpecificOutput", {})
    return str(output.get("additionalContext", ""))
