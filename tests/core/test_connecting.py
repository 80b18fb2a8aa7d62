"""Configuration files of coding agents: merged, never replaced."""

from __future__ import annotations

import json
import tomllib
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire_command.connecting import (
    KEY_VARIABLE,
    Client,
    JsonFile,
    Target,
    TomlFile,
    UnmergeableError,
    files,
    merged_json,
    merged_toml,
)

HERE = Target("http://127.0.0.1:8000")
ANNS = Target("https://quire.example.com", user="Ann's 茶", key="qk_secret")
CLIENTS: tuple[Client, ...] = get_args(Client)
names = st.sampled_from(["hooks", "mcpServers", "mcp", "quire", "SessionStart", "Stop", "other"])
values = st.recursive(st.integers() | st.sampled_from(["a", "茶"]), lambda v: st.dictionaries(names, v, max_size=3))


@given(st.dictionaries(names, values, max_size=3), st.sampled_from(CLIENTS))
def test_a_merge_keeps_what_is_there_and_can_be_repeated(known: dict[str, Any], client: Client) -> None:
    for file in files(client, HERE):
        if isinstance(file, TomlFile):
            continue
        try:
            once = merged_json(json.dumps(known), file.content)
        except UnmergeableError:
            continue
        assert merged_json(once, file.content) == once
        merged = json.loads(once)
        for name in known.keys() - file.content.keys() - {"quire"}:
            assert merged[name] == known[name]


def test_hooks_of_others_stay_and_quires_are_replaced() -> None:
    theirs: Any = {"matcher": "Bash", "hooks": [{"type": "command", "command": "notify"}]}
    [old, _], [new, _] = files("claude-code", HERE), files("claude-code", ANNS)
    assert isinstance(old, JsonFile)
    assert isinstance(new, JsonFile)
    text = merged_json(json.dumps({"model": "opus", "hooks": {"Stop": [theirs]}}), old.content)
    merged = json.loads(merged_json(text, new.content))
    assert merged["model"] == "opus"
    first, second = merged["hooks"]["Stop"]
    assert first == theirs
    assert second["hooks"][0]["url"] == "https://quire.example.com/hooks/claude-code"


def test_the_toml_block_is_appended_once_and_replaced_in_its_place() -> None:
    own = '# mine\nmodel = "gpt-5"\n\n[tui]\ntheme = "dark"\n'
    [_, old], [_, new] = files("codex", HERE), files("codex", ANNS)
    assert isinstance(old, TomlFile)
    assert isinstance(new, TomlFile)
    once = merged_toml(own, old.block)
    assert once.startswith(own)
    assert merged_toml(once, old.block) == once
    changed = tomllib.loads(merged_toml(once + "[last]\nx = 1\n", new.block))
    assert changed["mcp_servers"]["quire"]["env"]["QUIRE_URL"] == "https://quire.example.com"
    assert (changed["tui"], changed["last"]) == ({"theme": "dark"}, {"x": 1})
    assert tomllib.loads(merged_toml("", old.block))["mcp_servers"]["quire"]["env_vars"] == [KEY_VARIABLE]


@pytest.mark.parametrize("text", ["{", "[]", '{"hooks": 7}', '{"hooks": {"Stop": {}}}'])
def test_a_json_file_that_cannot_be_merged_is_refused(text: str) -> None:
    [file, _] = files("claude-code", HERE)
    assert isinstance(file, JsonFile)
    with pytest.raises(UnmergeableError):
        merged_json(text, file.content)


@pytest.mark.parametrize("text", ["x =", '[mcp_servers.quire]\ncommand = "mine"\n', "# quire: begin\n"])
def test_a_toml_file_that_cannot_be_merged_is_refused(text: str) -> None:
    [_, file] = files("codex", HERE)
    assert isinstance(file, TomlFile)
    with pytest.raises(UnmergeableError):
        merged_toml(text, file.block)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_key_is_written_only_if_it_is_given(client: Client) -> None:
    assert "qk_" not in str(files(client, HERE))
    assert "qk_secret" in str(files(client, ANNS))
