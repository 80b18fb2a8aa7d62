"""A client's list whose calls share an id, before APIs that want each call's own."""

from __future__ import annotations

import json
import uuid
from typing import Any

import httpx
import pytest

from tests.proxy.agents import DIALECTS
from tests.vendors.strict_vendors import LOG, ROWS

WORDS = ("first", "second")
PATHS = {"chat": "chat/completions", "messages": "messages", "responses": "responses"}


def listed(dialect: str) -> dict[str, Any]:
    """A list with two calls of one id, and their results in order."""
    match dialect:
        case "chat":
            calls = [{"id": "c", "type": "function", "function": {"name": "weather", "arguments": f'{{"at":"{word}"}}'}}
                     for word in WORDS]  # fmt: skip
            results = [{"role": "tool", "tool_call_id": "c", "content": f"told {word}"} for word in WORDS]
            said = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": None, "tool_calls": calls}]
            return {"messages": [*said, *results]}
        case "messages":
            blocks = [{"type": "tool_use", "id": "c", "name": "weather", "input": {"at": word}} for word in WORDS]
            results = [{"type": "tool_result", "tool_use_id": "c", "content": f"told {word}"} for word in WORDS]
            turns = [("user", "hello"), ("assistant", blocks), ("user", results)]
            return {"messages": [{"role": role, "content": content} for role, content in turns], "max_tokens": 2000}
    items = [{"type": "function_call", "call_id": "c", "name": "weather", "arguments": f'{{"at":"{word}"}}'}
             for word in WORDS]  # fmt: skip
    outputs = [{"type": "function_call_output", "call_id": "c", "output": f"told {word}"} for word in WORDS]
    return {"input": [{"role": "user", "content": "hello"}, *items, *outputs]}


def pairs(body: dict[str, Any]) -> list[tuple[str, str]]:
    """What each call of a request asks, and the result of its id."""
    asked: dict[str, str] = {}
    told: dict[str, str] = {}
    for one in body.get("input") or body["messages"]:
        blocks = one["content"] if isinstance(one.get("content"), list) else []
        for call in [*(one.get("tool_calls") or ()), one, *blocks]:
            given = call.get("function") or call
            if "arguments" in given or "input" in given:
                arguments = given.get("arguments") or json.dumps(given["input"])
                asked[call.get("call_id") or call["id"]] = json.loads(arguments)["at"]
            elif id_ := call.get("tool_call_id") or call.get("call_id") or call.get("tool_use_id"):
                told[id_] = call.get("content") or call["output"]
    return [(at, told[id_]) for id_, at in asked.items()]


@pytest.mark.parametrize("store", ["on", "off"])
@pytest.mark.parametrize("row", ["openai", "mistral", "anthropic", "openai-responses"])
@pytest.mark.parametrize("client", DIALECTS)
def test_calls_of_one_id_reach_each_api_with_their_own(
    clean: None, before: dict[str, str], client: str, row: str, store: str
) -> None:
    model, dialect = ROWS[row]["models"][0], ROWS[row]["dialect"]
    headers = {"Authorization": "Bearer k", "X-Quire-Conversation": f"c-{uuid.uuid4().hex}"}
    headers |= {"X-Quire-Store": "off"} if store == "off" else {}
    tool = {"name": "weather", "parameters": {"type": "object", "properties": {}}}
    tools = {
        "chat": {"type": "function", "function": tool},
        "messages": {"name": "weather", "input_schema": tool["parameters"]},
        "responses": {"type": "function", **tool, "strict": False},
    }
    for _ in range(2):
        body = {"model": model, "tools": [tools[client]], **listed(client)}
        answer = httpx.post(f"{before[dialect]}/v1/{PATHS[client]}", json=body, headers=headers, timeout=30)
        assert answer.status_code == 200, answer.text
        assert pairs(LOG[-1]["body"]) == [(word, f"told {word}") for word in WORDS]
