"""The guide to the API: its commands are run, and its limits are those of the code."""

import re
import shutil
import subprocess
from pathlib import Path

import httpx
import pytest

from app import errors
from app.api.http import body
from app.core.messages import CALL_ID_MAX, ID_MAX, METADATA_MAX, NAME_MAX, NOTE_MAX, TITLE_MAX, Limits
from app.core.window.budget import BUDGET_MAX
from app.settings import Settings

API = (Path(__file__).parents[2] / "docs/api.md").read_text()
URL = "http://127.0.0.1:8000"


def test_the_commands_can_be_pasted(client: httpx.Client, base_url: str) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed, so the guide's commands cannot be run")
    commands = "\n".join(re.findall("```sh\n(.*?)```", API, re.DOTALL))
    script = 'set -e\ncurl() { command curl --fail-with-body "$@"; echo; }\n' + commands.replace(URL, base_url)
    done = subprocess.run(["sh"], input=script, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout[-2000:]
    assert done.stdout.count("\n") == commands.count("curl -s ")
    assert client.get("/conversations/trip").json()["messages"] == 9
    assert client.get("/conversations/team%2Flaunch").status_code == 404


@pytest.mark.parametrize("kind", [*errors.QuireError.__subclasses__(), *errors.Invalid.__subclasses__()])
def test_every_error_that_can_be_met_is_in_the_table(kind: type[errors.QuireError]) -> None:
    not_met = {errors.UnsafeDatabase}
    assert (f"| {kind.status} | `{kind.code}` |" in API) == (kind not in not_met)


def test_the_limits_are_those_of_the_code() -> None:
    limits, defaults = Limits(), Settings.model_fields
    assert defaults["quire_body_max_bytes"].default == 32 * 1024 * 1024
    for what, limit in (
        ("characters of one message", limits.message_chars),
        ("characters of one tool result", limits.result_chars),
        ("nesting of the body", body.DEPTH_MAX),
        ("arrays and objects in the body", body.CONTAINERS_MAX),
        ("digits of a whole number", body.INTEGER_DIGITS_MAX),
        ("messages in one append", defaults["quire_messages_max"].default),
        ("budget, `reported_usage`", BUDGET_MAX),
        ("ids", ID_MAX),
        ("names of people and tools", NAME_MAX),
        ("ids of calls", CALL_ID_MAX),
        ("characters of `tool_input` in `POST /archive`", limits.message_chars),
        ("metadata of a memory or conversation", METADATA_MAX),
        ("a conversation's title", TITLE_MAX),
        ("a standing note", NOTE_MAX),
    ):
        row = next(line for line in API.splitlines() if line.startswith(f"| {what} |"))
        assert str(limit) in row.replace(" ", ""), row
