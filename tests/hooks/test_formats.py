"""Events in the forms of Cursor, Gemini CLI and Copilot CLI.

Their shapes are those of the public references: cursor.com/docs/hooks, docs/hooks/reference.md of
google-gemini/gemini-cli, and content/copilot/reference/hooks-reference.md of github/docs (its snake_case form).
"""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.api.kit import Json, append, history, ok, path, problem, user
from tests.hooks.kit import send


def cursor(name: str, **data: Any) -> Json:
    common = {"generation_id": "g1", "model": "m", "cursor_version": "2.0", "workspace_roots": ["/p"]}
    return {"conversation_id": "s", "hook_event_name": name, **common, **data}


def gemini(name: str, at: int = 0, **data: Any) -> Json:
    common = {"transcript_path": "s.json", "cwd": "/p", "timestamp": f"2026-11-26T09:00:{at:02}.000Z"}
    return {"session_id": "s", "hook_event_name": name, **common, **data}


def copilot(name: str, at: int = 0, **data: Any) -> Json:
    return {
        "session_id": "s",
        "hook_event_name": name,
        "timestamp": f"2026-11-26T09:00:{at:02}.000Z",
        "cwd": "/p",
        **data,
    }


LS: dict[str, Any] = {"tool_input": {"command": "ls"}}
SESSIONS: dict[str, list[Json]] = {
    "cursor": [
        cursor("beforeSubmitPrompt", prompt="List the files.", attachments=[]),
        cursor("postToolUse", tool_name="Shell", **LS, tool_output="a.py", tool_use_id="t1", duration=5),
        cursor(
            "postToolUseFailure", tool_name="Shell", **LS, tool_use_id="t2", error_message="gone", failure_type="error"
        ),
        cursor("afterAgentResponse", text="There is a.py."),
        cursor("stop", status="completed", loop_count=0),
    ],
    "gemini-cli": [
        gemini("SessionStart", source="startup"),
        gemini("BeforeAgent", prompt="List the files."),
        gemini(
            "AfterTool", tool_name="run_shell_command", **LS, tool_response={"llmContent": "a.py", "returnDisplay": "…"}
        ),
        gemini(
            "AfterTool",
            tool_name="run_shell_command",
            **LS,
            tool_response={"llmContent": "?", "returnDisplay": "?", "error": "gone"},
        ),
        gemini("AfterAgent", prompt="List the files.", prompt_response="There is a.py.", stop_hook_active=False),
        gemini("PreCompress", trigger="auto"),
    ],
    "copilot-cli": [
        copilot("SessionStart", source="new"),
        copilot("UserPromptSubmit", prompt="List the files."),
        copilot(
            "PostToolUse",
            tool_name="bash",
            **LS,
            tool_result={"result_type": "success", "text_result_for_llm": "a.py"},
        ),
        copilot("PostToolUseFailure", tool_name="bash", **LS, error="gone"),
        copilot("Stop", stop_reason="end_turn", transcript_path="s.jsonl"),
    ],
}  # fmt: skip
OWN = {
    "cursor": cursor("postToolUse", tool_name="MCP:recall_page", **LS, tool_output="x", tool_use_id="t9"),
    "gemini-cli": gemini("AfterTool", tool_name="mcp__quire__recall_page", **LS, tool_response={"llmContent": "x"}),
    "copilot-cli": copilot(
        "PostToolUse", tool_name="quire-recall_page", **LS, tool_result={"text_result_for_llm": "x"}
    ),
}
RECALLS = {
    "gemini-cli": gemini("BeforeAgent", 9, prompt="Which tea from Hangzhou is my favourite?"),
    "copilot-cli": copilot("UserPromptSubmit", 9, prompt="Which tea from Hangzhou is my favourite?"),
}


@pytest.mark.parametrize("agent", SESSIONS)
def test_a_session_is_stored_once(client: httpx.Client, agent: str) -> None:
    for sent in [*SESSIONS[agent], OWN[agent], *SESSIONS[agent]]:
        answer = send(client, sent, agent)
        assert (answer.status_code, answer.json()) == (200, {}), answer.text
    said = [(m["role"], m["content"]) for m in history(client, f"{agent}:s")]
    pairs = [("assistant", None), ("tool", "a.py"), ("assistant", None), ("tool", "Error: gone")]
    end = [("assistant", "There is a.py.")] if agent != "copilot-cli" else []
    assert said == [("user", "List the files."), *pairs, *end]
    assert ok(client.get(path(f"{agent}:s")))["user_id"] == "me"


@pytest.mark.parametrize("agent", ["gemini-cli", "copilot-cli"])
def test_a_prompt_said_again_later_is_stored_again(client: httpx.Client, agent: str) -> None:
    make, name = (gemini, "BeforeAgent") if agent == "gemini-cli" else (copilot, "UserPromptSubmit")
    for at in (1, 1, 2):
        assert send(client, make(name, at, prompt="Go on."), agent).status_code == 200
    assert len(history(client, f"{agent}:s")) == 2


@pytest.mark.parametrize("agent", RECALLS)
def test_a_prompt_is_answered_in_the_agents_form(client: httpx.Client, agent: str) -> None:
    append(client, "earlier", [user("My favourite tea is Longjing from Hangzhou.")], user_id="me")
    told = send(client, RECALLS[agent], agent).json()
    if agent == "gemini-cli":
        assert told["hookSpecificOutput"]["hookEventName"] == "BeforeAgent"
        told = told["hookSpecificOutput"]
    assert "Longjing from Hangzhou" in told["additionalContext"]


@pytest.mark.parametrize(
    ("agent", "sent", "field"),
    [
        ("cursor", {"session_id": "s", "hook_event_name": "stop"}, "conversation_id"),
        ("cursor", cursor("postToolUse", tool_name="Shell"), "tool_output"),
        ("cursor", cursor("afterAgentResponse", text=7), "text"),
        ("gemini-cli", gemini("AfterAgent", prompt_response=7), "prompt_response"),
        ("copilot-cli", copilot("PostToolUse", tool_name="bash"), "tool_result"),
    ],
)
def test_bad_input_is_refused_by_the_agents_own_name(client: httpx.Client, agent: str, sent: Json, field: str) -> None:
    found = problem(send(client, sent, agent), 422)
    assert found["errors"][0]["loc"] == ["body", field]
    assert ok(client.get("/conversations"))["items"] == []
