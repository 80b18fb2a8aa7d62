"""`quire connect` and `quire mcp`, as a user runs them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from quire_command.connecting import KEY_VARIABLE
from tests.api.kit import append, assistant, history, ok, path, user
from tests.by_turns import few
from tests.cli.kit import QUIRE, invoke
from tests.hooks.kit import event, prompt
from tests.tools.test_mcp import use

CLIENTS = ["claude-code", "codex", "cursor", "gemini-cli", "copilot-cli", "cline", "opencode"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def connect(*arguments: str) -> str:
    done = invoke({}, "connect", *arguments)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("client", CLIENTS)
def test_without_write_it_only_prints(home: Path, client: str) -> None:
    printed = connect(client)
    assert "quire" in printed
    assert KEY_VARIABLE in printed
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("client", CLIENTS)
def test_write_merges_keeps_a_backup_and_can_be_repeated(home: Path, client: str) -> None:
    connect(client, "--write")
    files = [file for file in home.rglob("*") if file.is_file()]
    assert files
    for file in files:
        file.write_text('# mine\nmodel = "m"\n' if file.suffix == ".toml" else '{"mine": [1]}')
        file.chmod(0o600)
    connect(client, "--write", "--url", "http://10.0.0.1:9000/")
    texts = {file: file.read_text() for file in files}
    for file, text in texts.items():
        assert "mine" in text
        assert file.with_name(f"{file.name}.before-quire").read_text() in ('# mine\nmodel = "m"\n', '{"mine": [1]}')
        assert file.stat().st_mode & 0o777 == 0o600
    assert "http://10.0.0.1:9000" in "".join(texts.values())
    assert connect(client, "--write", "--url", "http://10.0.0.1:9000").count("is connected already") == len(files)
    assert {file: file.read_text() for file in files} == texts


def test_a_file_that_cannot_be_merged_leaves_all_as_they_are(home: Path) -> None:
    (home / ".claude.json").write_text("{ broken")
    done = invoke({}, "connect", "claude-code", "--write")
    assert done.exit_code == 1
    assert "is left as it is" in done.output
    assert [file.name for file in home.rglob("*")] == [".claude.json"]


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_the_command_of_a_hook_does_what_it_says(client: httpx.Client, base_url: str, home: Path, agent: str) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed, so the hook's command cannot be run")
    connect(agent, "--write", "--url", base_url, "--user", "Ann's 茶")
    file = home / (".claude/settings.json" if agent == "claude-code" else ".codex/hooks.json")
    [hook] = json.loads(file.read_text())["hooks"]["SessionStart"][0]["hooks"]
    environment = {name: value for name, value in os.environ.items() if name != KEY_VARIABLE}
    for sent in (event("SessionStart", source="startup"), prompt("Hello there.")):
        done = subprocess.run(
            ["sh", "-c", hook["command"]], input=json.dumps(sent), capture_output=True, text=True, check=True,
            env=environment, timeout=30,
        )  # fmt: skip
        assert json.loads(done.stdout) == {}
    assert [m["content"] for m in history(client, f"{agent}:s")] == ["Hello there."]
    assert ok(client.get(path(f"{agent}:s")))["user_id"] == "Ann's 茶"


@pytest.mark.parametrize(
    ("agent", "file", "sent"),
    [
        ("cursor", ".cursor/hooks.json", {"hook_event_name": "beforeSubmitPrompt", "conversation_id": "s"}),
        ("gemini-cli", ".gemini/settings.json", {"hook_event_name": "BeforeAgent", "session_id": "s"}),
        ("copilot-cli", ".copilot/hooks/quire.json", {"hook_event_name": "UserPromptSubmit", "session_id": "s"}),
    ],
)
def test_the_commands_of_other_agents_do_too(
    client: httpx.Client, base_url: str, home: Path, agent: str, file: str, sent: dict[str, str]
) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed, so the hook's command cannot be run")
    connect(agent, "--write", "--url", base_url, "--user", "ann")
    [group] = json.loads((home / file).read_text())["hooks"][sent["hook_event_name"]]
    hook = group.get("hooks", [group])[0]
    environment = {name: value for name, value in os.environ.items() if name != KEY_VARIABLE}
    command = ["sh", "-c", hook.get("command") or hook["bash"]]
    text = json.dumps({**sent, "prompt": "Hello there."})
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True, env=environment, timeout=30)
    assert json.loads(done.stdout) == {}
    assert [m["content"] for m in history(client, f"{agent}:s")] == ["Hello there."]


def server(url: str, *arguments: str, **more: str) -> Any:
    environment: Mapping[str, str] = {"QUIRE_URL": url, "PATH": os.environ["PATH"], **more}
    return stdio_client(
        StdioServerParameters(command=sys.executable, args=["-m", "app", "mcp", *arguments], env=dict(environment))
    )


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
async def test_the_sdks_client_speaks_to_it_over_stdio(client: httpx.Client, base_url: str, mode: Any) -> None:
    append(client, "tea/斋", [user("My favourite tea is Longjing."), assistant("Noted.")], user_id="ann")
    async with Client(server(base_url, "--user", "ann"), mode=mode) as opened:
        is_pinned = mode not in ("auto", "legacy")  # such a client does not ask who serves it
        assert is_pinned or (opened.server_info is not None and opened.server_info.name == "quire")
        assert len((await opened.list_tools()).tools) > 1
        text, is_error = await use(opened, "search_memories", query="favourite tea")
        assert "Longjing" in text
        assert not is_error
    async with Client(server(base_url, "--conversation", "tea/斋"), mode=mode) as opened:
        assert "Longjing" in (await use(opened, "recall_page", page=1))[0]


def _started(value: Any) -> tuple[list[str], dict[str, str]]:
    """The command and the environment of the MCP server in a client's settings."""
    servers = value.get("mcpServers") or value.get("mcp_servers") or value.get("mcp")
    server = servers["quire"]
    command = server["command"] if isinstance(server["command"], list) else [server["command"], *server["args"]]
    return command, server.get("env") or server["environment"]


@pytest.mark.anyio
@pytest.mark.parametrize("agent", few(CLIENTS))
async def test_the_server_in_a_clients_settings_starts(base_url: str, home: Path, agent: str) -> None:
    files: dict[str, str] = json.loads(connect(agent, "--url", base_url, "--user", "ann", "--json"))["files"]
    texts = {name: text for name, text in files.items() if "mcp" in text}
    name, text = list(texts.items())[-1]
    command, environment = _started(tomllib.loads(text) if name.endswith(".toml") else json.loads(text))
    started = StdioServerParameters(command=command[0], args=command[1:], env={**os.environ, **environment})
    async with Client(stdio_client(started)) as opened:
        assert "search_memories" in {tool.name for tool in (await opened.list_tools()).tools}


def test_what_goes_wrong_is_answered_over_stdio(base_url: str) -> None:
    lines = ["not JSON", '{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}}', '{"jsonrpc":"2.0","method":"x"}']
    environment = {**os.environ, "QUIRE_URL": "http://127.0.0.1:9"}
    done = subprocess.run(
        [*QUIRE, "mcp"], input="\n".join(lines), env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    said = sorted((json.loads(line) for line in done.stdout.splitlines()), key=lambda one: one["error"]["code"])
    assert [(one["id"], one["error"]["code"]) for one in said] == [(None, -32700), (7, -32000)]
    assert "QUIRE_URL" in said[1]["error"]["message"]
    environment |= {"QUIRE_URL": base_url, "QUIRE_API_KEY": "none is needed"}
    done = subprocess.run(
        [*QUIRE, "mcp"], input=lines[1], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert [tool["name"] for tool in json.loads(done.stdout)["result"]["tools"]]


def test_the_command_of_the_mcp_server_is_a_path(home: Path) -> None:
    connect("claude-code", "--write")
    server = json.loads((home / ".claude.json").read_text())["mcpServers"]["quire"]
    assert Path(server["command"]).is_absolute()
    assert os.access(server["command"], os.X_OK)


def test_codex_is_told_to_trust_hooks_and_its_proxy_block_is_toml(home: Path) -> None:
    printed = connect("codex", "--write")
    assert "trust" in printed
    block = printed.split("through Quire:\n")[1].split("If Quire asks")[0]
    found = tomllib.loads(f'{block}model = "o"\n[model_providers.other]\nname = "Other"\n')
    assert (found["model_provider"], found["model"], found["web_search"]) == ("quire", "o", "disabled")
    assert found["model_providers"]["quire"]["wire_api"] == "responses"
    assert found["model_providers"]["other"] == {"name": "Other"}


def test_check_sees_whether_an_event_ever_came(client: httpx.Client, base_url: str) -> None:
    none = invoke({}, "connect", "claude-code", "--check", "--url", base_url)
    assert none.exit_code == 1
    assert "No event of claude-code has come" in none.output
    ok(client.post("/hooks/claude-code", json=event("UserPromptSubmit", prompt="Hello there")))
    found = connect("claude-code", "--check", "--url", base_url)
    assert "claude-code:" in found
