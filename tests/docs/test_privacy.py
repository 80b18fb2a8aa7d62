"""The page about privacy: its calls and settings exist, and its commands do what it says."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import httpx
import pytest

from app.settings import Settings
from tests.api.kit import append, ok, user

PAGE = (Path(__file__).parents[2] / "docs/privacy.md").read_text("utf-8")
URL = "http://127.0.0.1:8000"


def test_every_call_is_in_the_openapi_document(client: httpx.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    named = re.findall(r"`(GET|POST|PATCH|DELETE) (/[\w/{}]+)(?:\?([\w=&]+))?`", PAGE)
    assert len(named) > 8
    for method, path, query in named:
        operation = paths[path][method.lower()]
        taken = {parameter["name"] for parameter in operation.get("parameters", ())}
        assert {part.partition("=")[0] for part in query.split("&") if part} <= taken, path


def test_every_setting_exists() -> None:
    named = set(re.findall(r"`((?:QUIRE|MEMORY)_[A-Z_]+)(?:=\w+)?`", PAGE))
    assert len(named) > 8
    assert {name for name in named if name.lower() not in Settings.model_fields} == set()


def test_its_commands_rectify_export_and_erase(client: httpx.Client, base_url: str) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed, so the page's commands cannot be run")
    append(client, "trip", [user("I take two sugars")], user_id="ann")
    ok(client.post("/memories", json={"user_id": "ann", "content": "Takes sugar"}), 201)
    commands = "\n".join(re.findall("```sh\n(.*?)```", PAGE, re.DOTALL)).replace(URL, base_url)
    script = 'set -e\ncurl() { command curl --fail-with-body "$@"; echo; }\n' + commands
    done = subprocess.run(["sh"], input=script, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout[-2000:]
    settings, memory, *lines, erased, log = [json.loads(line) for line in done.stdout.splitlines() if line]
    assert settings["settings"] == {"remember": False, "carry": "off", "recall": "off"}
    assert memory["content"] == "Takes no sugar"
    assert [line["type"] for line in lines] == ["header", "conversation", "message", "end", "memory"]
    assert erased["erased"]["conversations"] == 1
    assert log["items"] == [], "QUIRE_AUDIT is off here"
    assert client.get("/memories", params={"user_id": "ann"}).json()["items"] == []
