"""The tutorial's commands do what its text says, and both languages have the same ones."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.cli import COMMANDS

ROOT = Path(__file__).parents[2]
URL = "http://127.0.0.1:8000"
TWICE = ("README", "docs/tutorial", "docs/api", "docs/window", "docs/people", "docs/operations")
"""In English, and in Chinese as `.zh.md`."""


def blocks(page: str) -> list[str]:
    return re.findall(r"```[a-z]*\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize("page", TWICE)
def test_both_languages_have_the_same_code(page: str) -> None:
    assert blocks(f"{page}.md") == blocks(f"{page}.zh.md")
    assert len(blocks(f"{page}.md")) > 1


@pytest.mark.parametrize("page", TWICE)
def test_both_languages_have_the_same_headings_and_rows_and_settings(page: str) -> None:
    parts = [
        re.findall(r"^#+(?= )|^\||(?<=`)[A-Z_]{6,}(?=`)", (ROOT / name).read_text("utf-8"), re.MULTILINE)
        for name in (f"{page}.md", f"{page}.zh.md")
    ]
    assert parts[0] == parts[1]


def test_the_commands_that_are_no_requests_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    others = [block.split() for block in blocks("docs/tutorial.md") if "curl" not in block]
    assert len(others) == 3
    for program, command, *_ in others:
        assert command in (targets if program == "make" else COMMANDS)


@pytest.mark.slow
def test_what_the_tutorial_says_happens(client: httpx.Client, base_url: str) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed, so the tutorial's commands cannot be run")
    commands = [block for block in blocks("docs/tutorial.md") if "curl" in block and "$QUIRE_KEY" not in block]
    script = 'set -e\ncurl() { command curl --fail-with-body "$@"; }\n' + "\necho; echo ---\n".join(commands)
    done = subprocess.run(
        ["sh"], input=script.replace(URL, base_url), capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout[-3000:]
    printed = done.stdout.split("\n---\n")
    stored, window, archived, loaded, recalled, found, _, noted, carried, shared, small, status = printed[:12]
    exported, erased = printed[12:]
    assert [message["seq"] for message in read(stored)["messages"]] == [1, 2]
    assert read(window)["usage"]["total"] <= 8000
    tool = read(archived)["messages"][2]
    assert tool["archive_id"] in tool["content"]
    assert len(tool["content"]) < 2000
    assert "2000 holds Longjing tea" in read(loaded)["content"]
    assert len(read(loaded)["content"]) < 10_000
    assert "Longjing, then. Noted." in read(recalled)["content"]
    assert "from Hangzhou" in read(found)["results"][0]["content_preview"]
    assert "Answer in French." in last(noted)
    assert "From now on, call me Lin." in last(carried)
    assert "We deploy on Tuesdays." in last(shared)
    assert "call me Lin" not in last(shared)
    assert read(small)["usage"]["total"] <= 700
    assert read(status)["dead"] == 0
    assert json.loads(exported.splitlines()[0])["type"] == "header"
    user, _, space = erased.partition("}{")
    assert read(user + "}")["erased"]["messages"] == 9
    assert read(space, before="{")["erased"]["messages"] == 1
    assert client.get("/spaces/team").status_code == 404
    assert client.get("/conversations/tutorial").status_code == 404


def read(text: str, *, before: str = "") -> dict[str, Any]:
    value: dict[str, Any] = json.loads(before + text)
    return value


def last(text: str) -> str:
    """The messages of the window that the last of some commands got."""
    return json.dumps(read(text.rpartition("}{")[2], before="{")["messages"])
