"""The memory tool beside the vendor's own."""

import random
from pathlib import Path
from typing import Any

import httpx
import pytest
from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaLocalFilesystemMemoryTool

from tests.api.kit import Json, append, created, ok, path, problem, user


class Both:
    """The memory tool of a conversation, and the vendor's on a folder."""

    def __init__(self, client: httpx.Client, folder: Path) -> None:
        self.client, self.reference = client, BetaLocalFilesystemMemoryTool(str(folder))

    def ours(self, **arguments: Any) -> Json:
        return ok(self.client.post(path("c", "tools", "memory"), json={"arguments": arguments}))

    def same(self, **arguments: Any) -> str:
        """Run a command in both, and return what they say alike; sizes of directories are a file system's own."""
        try:
            theirs, is_error = str(self.reference.call(arguments)), False
        except ToolError as error:
            theirs, is_error = str(error.content), True
        ours = self.ours(**arguments)
        assert ours["is_error"] == is_error, (arguments, ours, theirs)
        if "directories up to" in theirs:
            theirs, ours["content"] = (_without_directory_sizes(text) for text in (theirs, str(ours["content"])))
        assert ours["content"] == theirs, arguments
        return theirs


def _without_directory_sizes(text: str) -> str:
    first, own, *rest = text.split("\n")
    return "\n".join([first, own.split("\t")[1], *(one.split("\t")[1] if one.endswith("/") else one for one in rest)])


@pytest.fixture
def both(client: httpx.Client, tmp_path: Path) -> Both:
    append(client, "c", [user("hello")], user_id="ann")
    return Both(client, tmp_path)


def test_the_memory_tool_answers_as_the_vendors_does(both: Both) -> None:
    text = "one\ntwo\ntwo\nfour\n"
    for command in (
        {"command": "view", "path": "/memories"},
        {"command": "create", "path": "/memories/notes/tea.md", "file_text": text},
        {"command": "create", "path": "/memories/notes/tea.md", "file_text": "again"},
        {"command": "create", "path": "/memories/a.md", "file_text": "x" * 1500},
        {"command": "create", "path": "/memories/.hidden", "file_text": "x"},
        {"command": "create", "path": "/memories/d/e/f/g.md", "file_text": "x" * 2048},
        {"command": "view", "path": "/memories"},
        {"command": "view", "path": "/memories/notes"},
        {"command": "view", "path": "/memories/notes/tea.md"},
        {"command": "view", "path": "/memories/notes/tea.md", "view_range": [2, 3]},
        {"command": "view", "path": "/memories/notes/tea.md", "view_range": [3, -1]},
        {"command": "view", "path": "/memories/none.md"},
        {"command": "view", "path": "/elsewhere"},
        {"command": "str_replace", "path": "/memories/notes/tea.md", "old_str": "four", "new_str": "4\n5"},
        {"command": "str_replace", "path": "/memories/notes/tea.md", "old_str": "two", "new_str": "2"},
        {"command": "str_replace", "path": "/memories/notes/tea.md", "old_str": "none", "new_str": "2"},
        {"command": "str_replace", "path": "/memories/none.md", "old_str": "a", "new_str": "b"},
        {"command": "str_replace", "path": "/memories/notes", "old_str": "a", "new_str": "b"},
        {"command": "insert", "path": "/memories/notes/tea.md", "insert_line": 0, "insert_text": "zero\n"},
        {"command": "insert", "path": "/memories/notes/tea.md", "insert_line": 99, "insert_text": "x"},
        {"command": "view", "path": "/memories/notes/tea.md"},
        {"command": "rename", "old_path": "/memories/a.md", "new_path": "/memories/notes/b.md"},
        {"command": "rename", "old_path": "/memories/none", "new_path": "/memories/x"},
        {"command": "rename", "old_path": "/memories/notes", "new_path": "/memories/d"},
        {"command": "rename", "old_path": "/memories/notes", "new_path": "/memories/kept"},
        {"command": "rename", "old_path": "/memories", "new_path": "/memories/x"},
        {"command": "view", "path": "/memories"},
        {"command": "delete", "path": "/memories/kept/b.md"},
        {"command": "delete", "path": "/memories/none"},
        {"command": "delete", "path": "/memories"},
        {"command": "delete", "path": "/memories/d"},
        {"command": "view", "path": "/memories/kept"},
    ):
        both.same(**command)
    for wrong in ({"command": "view", "path": "/memories/../etc"}, {"command": "view"}, {"command": "rm", "path": "/"}):
        assert both.ours(**wrong)["is_error"]


def test_edits_in_any_order_leave_what_the_vendors_tool_leaves(both: Both) -> None:
    chance = random.Random(7)
    commands: list[Json]
    names = [f"/memories/{name}.md" for name in "abc"]
    for _ in range(60):
        name, word = chance.choice(names), chance.choice(["tea", "ferry", "Grado"])
        commands = [
            {"command": "create", "path": name, "file_text": f"{word}\n{word} too\n"},
            {"command": "str_replace", "path": name, "old_str": word, "new_str": f"{word}!"},
            {"command": "insert", "path": name, "insert_line": chance.randrange(3), "insert_text": word},
            {"command": "rename", "old_path": name, "new_path": chance.choice(names)},
            {"command": "delete", "path": name},
            {"command": "view", "path": name},
        ]
        both.same(**chance.choice(commands))


def test_files_of_the_tool_are_those_of_the_user_and_of_nobody_else(both: Both, client: httpx.Client) -> None:
    both.same(command="create", path="/memories/a.md", file_text="Ann's")
    created(client, id="anns", user_id="ann")
    created(client, id="bobs", user_id="bob")
    shown = {"arguments": {"command": "view", "path": "/memories/a.md"}}
    assert "Ann's" in ok(client.post(path("anns", "tools", "memory"), json=shown))["content"]
    assert ok(client.post(path("bobs", "tools", "memory"), json=shown))["is_error"]
    problem(client.post(path("c", "tools", "memory"), json=shown, headers={"X-Quire-User": "bob"}), 404)
    once = {"Idempotency-Key": "k"}
    add = {"arguments": {"command": "insert", "path": "/memories/a.md", "insert_line": 0, "insert_text": "x"}}
    for _ in range(2):
        ok(client.post(path("c", "tools", "memory"), json=add, headers=once))
    assert ok(client.post(path("c", "tools", "memory"), json=shown))["content"].count("x") == 1
