"""Clients for Node in their newest versions, each against a model's API of each dialect: `make nightly` runs this.

A model of any of the three calls `look` when a user says "Look.", says "Seen." after its result, else "Longjing.".
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from tests.api.kit import Json, history
from tests.conftest import patient, serve
from tests.examples.npm import OPTIONS, run
from tests.providers.fake_openai import FakeOpenAI
from tests.proxy.fakes import FakeApi
from tests.proxy.kit import calling

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("QUIRE_FRAMEWORKS_NODE" not in os.environ, reason="`make nightly` runs this"),
]
CLIENTS = {
    "openai": ("openai",),
    "anthropic": ("@anthropic-ai/sdk",),
    "aisdk": ("ai", "@ai-sdk/openai", "@ai-sdk/anthropic", "@ai-sdk/openai-compatible", "@ai-sdk/mcp"),
    "agents": ("@openai/agents",),
    "langchain": ("langchain", "@langchain/core", "@langchain/openai", "@langchain/anthropic",
                  "@langchain/mcp-adapters"),
    "mcp": ("@modelcontextprotocol/sdk",),
}  # fmt: skip
MODELS = ("fake", "claude-fake", "gpt-fake")
"""Of an API of Chat Completions, Messages and Responses."""
LOOK = {"at": "a"}
TOOLS_OF_A_USER = [
    "extract_search_keywords", "get_memory_detail", "grep_memories", "load_tool_history", "recall_memory", "remember",
    "search_memories",
]  # fmt: skip
TOOLS_OF_A_CONVERSATION = sorted([*TOOLS_OF_A_USER, "recall_page", "store_turn"])


def said(text: str, results: str, *, offers: bool) -> str:
    return "Seen." if results in text else "call" if "Look." in text and offers else "Longjing."


def chat(request: Json) -> str | Json:
    last = request["messages"][-1]
    found = said(json.dumps(last), '"role": "tool"', offers="look" in json.dumps(request.get("tools") or []))
    return calling(("look", LOOK)) if found == "call" else found


class Rule(deque[Any]):
    """Replies of the other APIs, each to the request that came last."""

    def __init__(self, api: FakeApi) -> None:
        super().__init__(["by the rule"])
        self._api = api

    def popleft(self) -> Any:
        body, number = self._api.asked[-1], len(self._api.asked)
        is_messages, offers = "messages" in body, "look" in json.dumps(body.get("tools") or [])
        listed = body["messages" if is_messages else "input"]
        found = said(json.dumps(listed[-1]), "tool_result" if is_messages else "function_call_output", offers=offers)
        if found != "call":
            return found
        if is_messages:
            thought: Json = {"type": "thinking", "thinking": "Hm.", "signature": "signed"}
            return [thought, {"type": "tool_use", "id": f"toolu_{number}", "name": "look", "input": LOOK}]
        thought = {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "opaque"}
        call = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": "look"}
        return [thought, {**call, "arguments": json.dumps(LOOK), "status": "completed"}]


@pytest.fixture(scope="module")
def quire(postgres: EmbeddedPostgres, settings: Settings) -> Iterator[httpx.Client]:
    """A service before an API of each dialect."""
    api = FakeApi()
    api.replies = Rule(api)
    with FakeOpenAI(reply=chat) as first, serve(api.app()) as others:
        table = {
            pattern: {"base_url": f"{others.url}/v1", "api_key": "k", "dialect": dialect}
            for pattern, dialect in (("claude-*", "messages"), ("gpt-*", "responses"))
        }
        update = {
            "quire_proxy_base_url": first.url, "quire_proxy_api_key": SecretStr("k"),
            "quire_proxy_upstreams": SecretStr(json.dumps(table)),
        }  # fmt: skip
        app = build_app(settings.model_copy(update=update), postgres.app_dsn)
        with serve(app) as served, patient(served.url) as opened:
            yield opened


@pytest.fixture(params=CLIENTS)
def shown(request: pytest.FixtureRequest, tmp_path: Path, clean: None, quire: httpx.Client) -> tuple[str, Json]:
    """What a client's file prints; with what it needs in its newest version."""
    name: str = request.param
    (tmp_path / "package.json").write_text('{"type": "module"}')
    file = Path(__file__).parent / "node" / f"{name}.mjs"
    (tmp_path / file.name).write_text(file.read_text())
    done = run(tmp_path, "npm", "install", *OPTIONS, *(f"{one}@latest" for one in (*CLIENTS[name], "zod")), seconds=300)
    assert done.returncode == 0, done.stderr
    done = run(tmp_path, "node", file.name, str(quire.base_url), seconds=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return name, json.loads(done.stdout)


def test_the_newest_client_calls_tools_streams_and_goes_on(shown: tuple[str, Json], quire: httpx.Client) -> None:
    name, found = shown
    match name:
        case "openai":
            assert [(found[m]["chat"], found[m]["text"], found[m]["kept"], found[m]["kinds"]) for m in MODELS] == [
                ("Seen.", "Seen.", "Seen.", [])
            ] * 3
            assert found["refused"] == ["BadRequestError", 400, "n"]
            assert roles(quire, "openai-fake") == ["user", "assistant", "tool", "assistant"]
        case "anthropic":
            assert [(found[m]["text"], found[m]["said"]) for m in MODELS] == [("Seen.", "Longjing.")] * 3
            assert found["refused"][:2] == ["BadRequestError", 400]
        case "aisdk":
            assert found.pop("mcp") == TOOLS_OF_A_USER
            assert [(one["text"], one["steps"], one["said"]) for one in found.values()] == [
                ("Seen.", 2, "Longjing.")
            ] * 12
        case "agents":
            assert found.pop("mcp") == TOOLS_OF_A_CONVERSATION
            assert [(one["text"], one["said"]) for one in found.values()] == [("Seen.", "Longjing.")] * 6
        case "langchain":
            assert found.pop("mcp") == TOOLS_OF_A_USER
            assert (
                list(found.values()) == [{"text": "Seen.", "then": "Longjing.", "said": "Longjing.", "usage": True}] * 9
            )
        case "mcp":
            assert found == {
                "tools": TOOLS_OF_A_CONVERSATION, "stored": False, "resources": ["quire://pages/1"], "read": True,
                "bad": "McpError", "instructions": True,
            }  # fmt: skip
            assert roles(quire, "mcp-node") == ["user", "assistant"]


def roles(quire: httpx.Client, conversation: str) -> list[str]:
    return [message["role"] for message in history(quire, conversation)]
