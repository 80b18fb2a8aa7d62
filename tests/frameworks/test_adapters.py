"""The client's adapters under the real frameworks: `make test-clients` installs them in an environment of their own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.kit import history
from tests.proxy.kit import KEY, Script, calling

ROOT = Path(__file__).parents[2]
PYTHON = os.environ.get("QUIRE_FRAMEWORKS_PYTHON")
pytestmark = pytest.mark.skipif(PYTHON is None, reason="`make test-clients` installs the frameworks and runs this")


@pytest.fixture
def run(base_url: str, always: Any) -> Any:
    """Runs a Python file with the frameworks, its model the played one."""

    def run_(file: str, *arguments: str) -> str:
        own = {"QUIRE_URL": base_url, "OPENAI_BASE_URL": always.url, "OPENAI_API_KEY": KEY, "MODEL": "fake"}
        env = {**os.environ, **own, "PYTHONPATH": str(ROOT / "clients" / "python")}
        done = subprocess.run(
            [str(PYTHON), str(ROOT / file), *arguments], env=env, capture_output=True, text=True, check=False,
            timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run_


def text_of(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def said(client: httpx.Client, conversation: str) -> list[str]:
    return [m["role"] for m in history(client, conversation)]


def test_the_examples_remember(run: Any, client: httpx.Client, script: Script) -> None:
    for name in ("agents_sdk_session", "pydantic_ai_agent", "agent_framework_chat"):
        script.asked.clear()
        script.says("Noted.", "Longjing.")
        run(f"examples/{name}.py", name, "I like longjing.")
        assert run(f"examples/{name}.py", name, "Which tea?").strip() == "Longjing."
        shown = [text_of(m["content"]) for m in script.asked[1]["messages"] if m["role"] != "system"]
        assert shown[:2] == ["I like longjing.", "Noted."]
        assert "Which tea?" in shown[2:4], "what is recalled stands beside the question"
        assert said(client, name) == ["user", "assistant", "user", "assistant"]
    run("examples/llama_index_chat.py", "llama", "I like longjing.")
    assert "I like longjing." in run("examples/llama_index_chat.py", "llama", "Which tea?")
    assert said(client, "llama") == ["user", "assistant", "user", "assistant"]


def test_an_adk_agent_is_shown_what_another_session_said(run: Any, client: httpx.Client) -> None:
    run("examples/google_adk_chat.py", "first", "I like longjing tea.")
    assert "I like longjing tea." in run("examples/google_adk_chat.py", "second", "Which tea do I like?")
    for name in ("tea/me/first", "tea/me/second"):
        assert [m["role"] for m in history(client, name) if "adk_event" in m] == ["user", "assistant"]


@pytest.mark.parametrize("name", ["agents_sdk", "pydantic_ai", "llama_index", "google_adk", "agent_framework"])
def test_a_framework_keeps_its_promises(run: Any, client: httpx.Client, script: Script, name: str) -> None:
    """Each file asserts for itself; tools are called by the played model."""
    script.says(calling(("look", {"at": "a"}), ("look", {"at": "b"})), "Seen.")
    assert run(f"tests/frameworks/{name}_promises.py") == ""
