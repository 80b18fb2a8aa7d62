"""The official clients, as their users use them: Python's without and with asyncio, Node's."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from tests.api.kit import user
from tests.proxy.kit import KEY, Script, calling, conversations, stored, tool

PACKAGE = "openai@7"
INSTALL_SECONDS = 120
NODE = """
import OpenAI from "openai";
const client = new OpenAI({ baseURL: process.argv[2] + "/v1", apiKey: "any", maxRetries: 0 });
const said = [];
const tools = [{ type: "function", function: { name: "look", parameters: { type: "object" } } }];
const turn = async (content, stream) => {
  messages.push({ role: "user", content });
  const asked = { model: "fake", messages, tools };
  const answer = stream
    ? (await client.chat.completions.stream(asked).finalChatCompletion()).choices[0].message
    : (await client.chat.completions.create(asked)).choices[0].message;
  messages.push(answer);
  said.push(answer.content);
  for (const call of answer.tool_calls ?? []) messages.push({ role: "tool", tool_call_id: call.id, content: "seen" });
};
let messages = [{ role: "system", content: "Be brief." }];
for (const stream of [false, true]) {
  await turn("one", stream);
  await turn("two", stream);
  await turn("three", stream);
  messages = [{ role: "system", content: "Be brief." }];
}
const models = (await client.models.list()).data.map((model) => model.id);
const failed = await client.chat.completions.create({ model: "fake", messages: [], n: 2 }).catch((error) => error);
console.log(JSON.stringify({ said, models, status: failed.status, param: failed.param }));
"""


@pytest.mark.anyio
async def test_the_asynchronous_client(client: httpx.Client, base_url: str, script: Script) -> None:
    script.says("one", calling(("recall_page", {"page": 1})), "two")
    async with openai.AsyncOpenAI(base_url=f"{base_url}/v1", api_key=KEY, max_retries=0) as asking:
        listed: list[Any] = [user("a")]
        first = await asking.chat.completions.create(model="fake", messages=listed)
        listed += [first.choices[0].message, user("b")]
        async with asking.chat.completions.stream(model="fake", messages=listed, tools=[tool("look")]) as events:
            words = [event.delta async for event in events if event.type == "content.delta"]
            last = await events.get_final_completion()
        assert [model.id async for model in asking.models.list()] == ["fake"]
    assert "".join(words) == last.choices[0].message.content == "two"
    [name] = conversations(client)
    assert [role for role, _ in stored(client, name)] == ["user", "assistant", "user", "assistant", "tool", "assistant"]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the package in it. Where there is no Node or no registry, what needs it is skipped."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed, so the client for Node cannot be run")
    folder = tmp_path_factory.mktemp("node")
    install = ["npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts", PACKAGE]
    (folder / "package.json").write_text('{"type": "module"}')
    try:
        done = subprocess.run(
            install, cwd=folder, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False,
            env={**os.environ, "npm_config_cache": str(folder / "cache")},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm did not install {PACKAGE} within {INSTALL_SECONDS} seconds")
    if done.returncode:
        pytest.skip(f"npm could not install {PACKAGE}: {done.stderr.strip().splitlines()[-1:]}")
    yield folder
    shutil.rmtree(folder)


@pytest.mark.slow
def test_the_client_for_node(client: httpx.Client, base_url: str, script: Script, node: Path) -> None:
    for _ in range(2):
        recall = calling(("recall_page", {"page": 1}), ("look", {}), text="Both.")
        script.says("first", recall, calling(("search_memories", {"query": "one"})), "third")
    (node / "client.mjs").write_text(NODE)
    done = subprocess.run(
        ["node", "client.mjs", base_url], cwd=node, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["said"] == ["first", "Both.", "third"] * 2
    roles = ["user", "assistant", "user", "assistant", "tool", "assistant", "tool", "user", "assistant", "tool"]
    assert [[role for role, _ in stored(client, name)] for name in conversations(client)] == [[*roles, "assistant"]] * 2
    assert found["models"] == ["fake"]
    assert (found["status"], found["param"]) == (400, "n")
    assert len(conversations(client)) == 2
