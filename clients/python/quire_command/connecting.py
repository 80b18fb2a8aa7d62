"""Connect coding agents to Quire: the entries of their configuration files, and how they are written.

A file is merged, never replaced: what is there and not Quire's stays, and merging twice changes nothing. No key is
written unless one is given; otherwise the configuration names the environment variable QUIRE_API_KEY.
"""

from __future__ import annotations

import json
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args
from urllib.parse import quote

Agent = Literal["claude-code", "codex", "cursor", "gemini-cli", "copilot-cli"]
"""Agents whose hooks Quire answers."""
Client = Literal[Agent, "cline", "opencode"]

KEY_VARIABLE = "QUIRE_API_KEY"
EVENTS = ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop")
CLAUDE_EVENTS = (*EVENTS, "PostToolUseFailure")
CURSOR_EVENTS = ("beforeSubmitPrompt", "postToolUse", "postToolUseFailure", "afterAgentResponse")
GEMINI_EVENTS = ("SessionStart", "BeforeAgent", "AfterTool", "AfterAgent")
COPILOT_EVENTS = ("SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure")
HOOK_SECONDS = 10
"""How long an agent waits for the service at an event."""
BEGIN, END = "# quire: begin", "# quire: end"


@dataclass(frozen=True, slots=True)
class Target:
    """The service to connect to."""

    url: str
    """Without a slash at the end."""
    user: str | None = None
    key: str | None = None
    """To be written into the files."""
    program: str = "quire"
    """The path of the command: agents do not look where a shell does."""


@dataclass(frozen=True, slots=True)
class JsonFile:
    """Members to add to a JSON file."""

    path: str
    """From the home directory."""
    content: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TomlFile:
    """A block that a TOML file is to contain."""

    path: str
    block: str


ConfigFile = JsonFile | TomlFile


class UnmergeableError(ValueError):
    """A file cannot be merged; the message says why."""


def files(client: Client, target: Target) -> tuple[ConfigFile, ...]:
    """Return what connects a client: its hooks, where it has them, and Quire's MCP server."""
    found: Sequence[ConfigFile]
    match client:
        case "claude-code":
            hooks = {name: [{"hooks": [_claude_hook(name, target)]}] for name in CLAUDE_EVENTS}
            found = JsonFile(".claude/settings.json", {"hooks": hooks}), JsonFile(".claude.json", _mcp(target))
        case "codex":
            hooks = {name: [{"hooks": [_command_hook("codex", target)]}] for name in EVENTS}
            found = JsonFile(".codex/hooks.json", {"hooks": hooks}), TomlFile(".codex/config.toml", _codex_mcp(target))
        case "cursor":
            hook = {"command": _command("cursor", target), "timeout": HOOK_SECONDS + 2}
            found = (
                JsonFile(".cursor/hooks.json", _flat(hook, CURSOR_EVENTS)),
                JsonFile(".cursor/mcp.json", _mcp(target)),
            )
        case "gemini-cli":
            hook = {**_command_hook("gemini-cli", target), "timeout": (HOOK_SECONDS + 2) * 1000}
            hooks = {name: [{"hooks": [hook]}] for name in GEMINI_EVENTS}
            found = (JsonFile(".gemini/settings.json", {"hooks": hooks, **_mcp(target)}),)
        case "copilot-cli":
            hook = {"type": "command", "bash": _command("copilot-cli", target), "timeoutSec": HOOK_SECONDS + 2}
            server = {"type": "local", **_server(target), "tools": ["*"]}
            servers = JsonFile(".copilot/mcp-config.json", {"mcpServers": {"quire": server}})
            found = JsonFile(".copilot/hooks/quire.json", _flat(hook, COPILOT_EVENTS)), servers
        case "cline":
            found = (JsonFile(".cline/data/settings/cline_mcp_settings.json", _mcp(target)),)
        case "opencode":
            command = [target.program, *_arguments(target)]
            server = {"type": "local", "command": command, "environment": _environment(target)}
            found = (JsonFile(".config/opencode/opencode.json", {"mcp": {"quire": server}}),)
    return tuple(found)


def _flat(hook: Mapping[str, Any], events: Sequence[str]) -> dict[str, Any]:
    return {"version": 1, "hooks": {name: [hook] for name in events}}


def base_url(client: Client, target: Target) -> str:
    """Return what sends the client's model requests through Quire instead, to be pasted; no hooks are needed then.

    "" where that is not tried.
    """
    match client:
        case "gemini-cli" | "copilot-cli":
            return ""
        case "claude-code":
            return f"export ANTHROPIC_BASE_URL={target.url}\n"
        case "codex":
            return (
                "# At the top of ~/.codex/config.toml:\n"
                'model_provider = "quire"\nweb_search = "disabled"\nmodel_providers.quire.name = "Quire"\n'
                f"model_providers.quire.base_url = {json.dumps(f'{target.url}/v1')}\n"
                'model_providers.quire.wire_api = "responses"\n'
                f'model_providers.quire.env_key = "{KEY_VARIABLE}"\n'
            )
        case "cursor" | "cline":
            return f"OpenAI base URL: {target.url}/v1\n"
        case "opencode":
            options = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": f"{target.url}/v1"}}
            return json.dumps({"provider": {"quire": options}}, indent=2) + "\n"


NEXT: Mapping[Client, str] = {
    "codex": "Codex runs no hook before you trust it: start `codex`, review them with /hooks, and trust Quire's.",
    "claude-code": "Start a new session of Claude Code: a running one keeps its old hooks.",
}
"""What is left to do by hand once the files are written."""


def merged_json(text: str, content: Mapping[str, Any]) -> str:
    """Return a JSON file with the content added: objects are merged, lists extended, and what is Quire's replaced.

    Raises UnmergeableError for a text that is not a JSON object, or has something else where an object belongs.
    """
    try:
        known = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise UnmergeableError(f"it is not JSON ({error})") from None
    return json.dumps(_merged(known, content, ""), indent=2, ensure_ascii=False) + "\n"


def merged_toml(text: str, block: str) -> str:
    """Return a TOML file with Quire's block: in the place of the last one, else at the end.

    Raises UnmergeableError for a text that is not TOML, or defines the same by itself.
    """
    before, begun, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if begun and not ended:
        raise UnmergeableError(f"it has the line `{BEGIN}` without `{END}`")
    own = f"{BEGIN}\n{block}{END}"
    whole = f"{before}{own}{after}" if begun else f"{text}{_gap(text)}{own}\n"
    for one in (text, whole):
        try:
            tomllib.loads(one)
        except tomllib.TOMLDecodeError as error:
            raise UnmergeableError(f"it is not TOML, or has an entry for quire already ({error})") from None
    return whole


def _gap(text: str) -> str:
    if not text:
        return ""
    return "\n" if text.endswith("\n") else "\n\n"


def _merged(known: Any, added: Mapping[str, Any], where: str) -> dict[str, Any]:
    if not isinstance(known, dict):
        raise UnmergeableError(f"`{where or 'the file'}` is not an object")
    found = dict(known)
    for name, value in added.items():
        place = f"{where}.{name}".lstrip(".")
        if name == "quire":
            found[name] = value
        elif isinstance(value, Mapping):
            found[name] = _merged(found.get(name, {}), value, place)
        elif not isinstance(value, list):
            found.setdefault(name, value)
        else:
            found[name] = _extended(found.get(name, []), value, place)
    return found


def _extended(known: Any, added: list[Any], where: str) -> list[Any]:
    if not isinstance(known, list):
        raise UnmergeableError(f"`{where}` is not a list")
    return [*(one for one in known if not _is_ours(one)), *added]


def _is_ours(group: Any) -> bool:
    hooks = group.get("hooks", [group]) if isinstance(group, dict) else None
    if not isinstance(hooks, list) or len(hooks) != 1 or not isinstance(hooks[0], dict):
        return False
    called = " ".join(str(hooks[0].get(name, "")) for name in ("url", "command", "bash"))
    return any(f"/hooks/{agent}" in called for agent in get_args(Agent))


def _claude_hook(event: str, target: Target) -> dict[str, Any]:
    """Return the hook for an event. Claude Code sends all events itself, except SessionStart."""
    if event == "SessionStart":
        return _command_hook("claude-code", target)
    return {
        "type": "http",
        "url": f"{target.url}/hooks/claude-code",
        "headers": {"X-Quire-Key": target.key or f"${KEY_VARIABLE}", **_user(target)},
        "allowedEnvVars": [KEY_VARIABLE],
        "timeout": HOOK_SECONDS,
    }


def _command_hook(agent: Agent, target: Target) -> dict[str, Any]:
    return {"type": "command", "command": _command(agent, target), "timeout": HOOK_SECONDS + 2}


def _command(agent: Agent, target: Target) -> str:
    key = shlex.quote(f"X-Quire-Key: {target.key}") if target.key else f'"X-Quire-Key: ${KEY_VARIABLE}"'
    user = "".join(f" -H '{name}: {value}'" for name, value in _user(target).items())
    curl = f"curl -fsS -m {HOOK_SECONDS} -H 'Content-Type: application/json' -H {key}{user}"
    return f"{curl} --data-binary @- {shlex.quote(f'{target.url}/hooks/{agent}')}"


def _user(target: Target) -> dict[str, str]:
    return {"X-Quire-User": quote(target.user, safe="")} if target.user else {}


def _arguments(target: Target) -> list[str]:
    return ["mcp", *(["--user", target.user] if target.user else [])]


def _environment(target: Target) -> dict[str, str]:
    return {"QUIRE_URL": target.url, **({KEY_VARIABLE: target.key} if target.key else {})}


def _server(target: Target) -> dict[str, Any]:
    return {"command": target.program, "args": _arguments(target), "env": _environment(target)}


def _mcp(target: Target) -> dict[str, Any]:
    return {"mcpServers": {"quire": _server(target)}}


def _codex_mcp(target: Target) -> str:
    """Return the entry of the MCP server. Codex passes on only the variables that it names."""
    environment = ", ".join(f"{name} = {json.dumps(value)}" for name, value in _environment(target).items())
    return (
        "[mcp_servers.quire]\n"
        f"command = {json.dumps(target.program)}\n"
        f"args = {json.dumps(_arguments(target))}\n"
        f"env = {{ {environment} }}\n" + ("" if target.key else f'env_vars = ["{KEY_VARIABLE}"]\n')
    )
