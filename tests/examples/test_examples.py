"""The examples, run as their readers run them, against a real Quire and a model that follows a script."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from app.text.tokens import TokenCounter
from tests.conftest import serving
from tests.examples.scripted_model import Json, ScriptedModel, calling, scripted_model
from tests.providers.fake_openai import FakeOpenAI

EXAMPLES = Path(__file__).parents[2] / "examples"
BUDGET = 8000
LITERAL = "the vault code of depot seven is QX7-4410"
UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
AGENTS = {"agent.py": [sys.executable], "agent.mjs": ["node"]}


def needs(program: str) -> str:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed, so the example that needs it cannot be run")
    return program


def report() -> str:
    """50 000 characters, in which one line matters."""
    lines = [
        f"{number:05} depot {number % 6} counted {number * 37 % 991} crates on its shelves" for number in range(940)
    ]
    text = "\n".join([*lines[:600], LITERAL, *lines[600:]])
    return text.ljust(50_000, ".")[:50_000]


def text_of(messages: list[Json]) -> str:
    return "\n".join(str(message["content"]) for message in messages)


def asks_for_what_is_archived(messages: list[Json]) -> Json:
    found = re.search(UUID, text_of(messages))
    assert found, "there is a placeholder in the window"
    return calling("load_tool_history", uuid=found[0], query="vault code of depot seven")


def answers_from_what_was_loaded(messages: list[Json]) -> Json:
    found = re.search("vault code of depot seven is (\\S+)", text_of(messages))
    return {"content": f"The code is {found[1] if found else 'not to be found'}."}


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with scripted_model(
        lambda _: calling("read_file", path="report.txt"), asks_for_what_is_archived, answers_from_what_was_loaded
    ) as model:
        yield model


def run(command: list[str], folder: Path, base_url: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "QUIRE_URL": base_url, "OPENAI_API_KEY": "key", "MODEL": "scripted", **environment}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_finds_again_what_left_its_window(
    name: str, client: httpx.Client, base_url: str, model: ScriptedModel, tmp_path: Path, counter: TokenCounter
) -> None:
    needs(AGENTS[name][0])
    (tmp_path / "report.txt").write_text(report())
    command = [*AGENTS[name], str(EXAMPLES / name), "depots/7", "Read the report, please."]
    done = run(command, tmp_path, base_url, OPENAI_BASE_URL=model.url)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "The code is QX7-4410.\n"

    first, second, third = (request["messages"] for request in model.requests)
    assert LITERAL not in text_of(first) + text_of(second)
    assert LITERAL in text_of(third)
    assert max(counter.count(text_of(messages)) for messages in (first, second, third)) < BUDGET
    offered = {tool["function"]["name"] for tool in model.requests[0]["tools"]}
    assert offered == {"read_file", "recall_page", "load_tool_history", "search_memories"}

    history: list[dict[str, Any]] = client.get("/conversations/depots%2F7/messages").json()["items"]
    assert [message["role"] for message in history] == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
    assert history[2]["content"] == report()


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_does_not_read_outside_its_folder(
    name: str, client: httpx.Client, base_url: str, tmp_path: Path
) -> None:
    needs(AGENTS[name][0])
    (tmp_path / "secret.txt").write_text("do not tell")
    (tmp_path / "inside").mkdir()
    script = (lambda _: calling("read_file", path="../secret.txt"), lambda m: {"content": m[-1]["content"]})
    with scripted_model(*script) as model:
        command = [*AGENTS[name], str(EXAMPLES / name), "secrets", "What is the secret?"]
        done = run(command, tmp_path / "inside", base_url, OPENAI_BASE_URL=model.url)
    assert done.stdout == "There is no such file.\n", done.stderr


def test_the_curl_example_runs_to_its_end(client: httpx.Client, base_url: str, tmp_path: Path) -> None:
    done = run([needs("sh"), str(EXAMPLES / "curl.sh")], tmp_path, base_url, CONVERSATION="from-the-shell")
    assert done.returncode == 0, done.stderr + done.stdout
    assert "take an umbrella" in done.stdout.splitlines()[-1]
    assert client.get("/conversations/from-the-shell").json()["messages"] == 5


def test_the_proxy_gives_any_openai_client_memory(postgres: EmbeddedPostgres, settings: Settings, clean: None) -> None:
    asked = []

    def answers(request: Json) -> str:
        asked.append(request["messages"])
        return f"It is {found[1]}." if (found := re.search("code .* is (\\S+?)\\.", text_of(asked[-1]))) else "No."

    with FakeOpenAI(reply=answers) as api:
        server = serving(build_app(settings.model_copy(update={"quire_proxy_base_url": api.url}), postgres.app_dsn))
        command = [sys.executable, str(EXAMPLES / "openai_proxy.py"), "depots/7", f"Mind: {LITERAL}.", "Which is it?"]
        done = run(command, EXAMPLES, next(server))
        next(server, None)
    assert done.stdout == "It is QX7-4410.\nIt is QX7-4410.\n", done.stderr
    assert [message["role"] for message in asked[1]] == ["system", "user", "assistant", "user"]


def test_the_mcp_client_lists_the_tools_and_recalls(client: httpx.Client, base_url: str, tmp_path: Path) -> None:
    turn = {"role": "user", "content": LITERAL}
    client.post("/conversations/depots%2F7/messages", json={"user_id": "me", "messages": [turn]}).raise_for_status()
    command = [sys.executable, str(EXAMPLES / "mcp_client.py"), "depots/7"]
    listed = run(command, tmp_path, base_url)
    assert listed.returncode == 0, listed.stderr
    assert listed.stdout.startswith("recall_page: Read an earlier page")
    found = run([*command, "search_memories", '{"query": "vault code"}'], tmp_path, base_url)
    assert "QX7-4410" in found.stdout, found.stderr
    wrong = run([*command, "recall_page", '{"page": 9}'], tmp_path, base_url)
    assert (wrong.returncode, wrong.stdout) == (1, "There is no page 9; pages 1–1 exist.\n")


def test_the_langgraph_store_recalls_in_one_conversation_what_was_kept_in_another(
    client: httpx.Client, base_url: str, tmp_path: Path
) -> None:
    pytest.importorskip("langgraph", reason="langgraph is not installed: it comes with the development requirements")
    command = [sys.executable, str(EXAMPLES / "langgraph_store.py")]
    path = str(EXAMPLES.parent / "clients" / "python")
    kept = run([*command, "first", "My favourite tea is longjing."], tmp_path, base_url, PYTHONPATH=path)
    assert (kept.returncode, kept.stdout) == (0, ""), kept.stderr
    found = run([*command, "second", "Which tea is my favourite?"], tmp_path, base_url, PYTHONPATH=path)
    assert found.stdout == "first: My favourite tea is longjing.\n", found.stderr


@pytest.mark.parametrize("name", sorted(file.name for file in EXAMPLES.glob("*.*") if file.suffix in (".py", ".mjs")))
def test_an_example_without_arguments_prints_how_to_use_it(name: str) -> None:
    program = needs("node") if name.endswith(".mjs") else sys.executable
    env = {"PATH": os.environ["PATH"]}  # it says so even where its framework is not installed
    done = subprocess.run(
        [program, str(EXAMPLES / name)], env=env, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1
    assert f"{name} CONVERSATION" in done.stderr
    assert "Error" not in done.stderr
