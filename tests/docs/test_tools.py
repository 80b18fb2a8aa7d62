"""The pages about tools and ATTP: their commands and documents run, their numbers are those of the code."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.prompts import prompt
from app.recall import attp, interpreter, tools
from app.recall.tools import ToolFormat
from app.runtime import SANDBOXES_MAX
from app.services.tools import attp as flow
from app.text.tokens import TokenCounter
from tests.api.kit import append, ok, path, user

DOCS = Path(__file__).parents[2] / "docs"
TOOLS, ATTP = (DOCS / "tools.md").read_text(), (DOCS / "attp.md").read_text()
URL = "http://127.0.0.1:8000"
SUGAR = user("I take my tea without sugar.")


@pytest.mark.parametrize("page", [TOOLS, ATTP], ids=["tools", "attp"])
def test_the_commands_can_be_pasted(client: httpx.Client, base_url: str, page: str) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed, so the commands cannot be run")
    commands = "\n".join(re.findall("```sh\n(.*?)```", page, re.DOTALL))
    script = 'set -e\ncurl() { command curl --fail-with-body "$@"; echo; }\n' + commands.replace(URL, base_url)
    done = subprocess.run(["sh"], input=script, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout[-2000:]
    shown = json.loads(re.findall("```json\n(.*?)```", page, re.DOTALL)[0])
    found = json.loads(done.stdout.splitlines()[-1])
    assert constant(found) == constant(shown)


def constant(value: Any) -> str:
    """Without dates, keys and scores."""
    return re.sub(r"\d{4}-\d\d-\d\d|memory_key [^,]+, [\d.]+", "…", json.dumps(value, sort_keys=True))


def test_the_documents_are_documents_and_run(client: httpx.Client) -> None:
    append(client, "trip", [SUGAR])
    first, last = re.findall("```toml\n(.*?)```", ATTP, re.DOTALL)
    found = ok(client.post(path("trip", "attp"), json={"document": first}))
    assert (found["status"], found["is_error"]) == ("continue", False)
    assert "without sugar" in found["result"][0]
    found = ok(client.post(path("trip", "attp"), json={"document": last}))
    assert (found["status"], found["content"]) == ("done", "You take it without sugar.")


def test_every_tool_is_named_with_its_arguments() -> None:
    for tool in {*tools.MCP_TOOLS, *tools.AGENT_TOOLS}:
        assert f"`{tool.signature}`" in TOOLS
    for tool in tools.TOOLS:
        assert f"`{tool.name}`" in ATTP


def test_the_tokens_are_as_counted(counter: TokenCounter) -> None:
    forms: list[tuple[ToolFormat, str]] = [("openai", "OpenAI"), ("anthropic", "Anthropic")]
    for form, name in forms:
        alone = counter.count(tools.schemas_text(form, tools.WINDOW_TOOLS))
        tokens = alone + counter.count(prompt("guide", "en"))
        assert re.search(rf"{tokens} (?:tokens )?in {name}'s", TOOLS), tokens
        more = counter.count(tools.schemas_text(form, tools.WINDOW_TOOLS_WRITING)) - alone
        assert re.search(rf"{more} (?:more tokens )?in {name}'s", TOOLS), more


def test_the_limits_are_those_of_the_code() -> None:
    limits = flow.LIMITS
    for what, limit in (
        ("document", attp.DOCUMENT_MAX),
        ("`code`", attp.CODE_MAX),
        ("time", f"{limits.seconds:g}"),
        ("processor time", limits.cpu_seconds),
        ("steps", limits.steps),
        ("depth of calls", interpreter.DEPTH_MAX),
        ("memory", limits.memory_bytes // 1024 // 1024),
        ("calls of tools", limits.calls),
        ("arguments of one call", limits.call_bytes // 1024),
        ("`__result__`", limits.result_bytes),
        ("runs at once, for each process of the API", SANDBOXES_MAX),
    ):
        row = next(line for line in ATTP.splitlines() if line.startswith(f"| {what} |"))
        assert str(limit) in row.replace(" ", ""), row
