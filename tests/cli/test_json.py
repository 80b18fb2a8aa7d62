"""Commands print JSON for programs, complete themselves in a shell, and show how far they are on a terminal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import httpx
import pytest

from app.cli import main
from app.postgres.embedded import EmbeddedPostgres
from tests.api.kit import append, assistant, created, user
from tests.cli.kit import QUIRE, invoke, quire

PLAIN = {
    "audit export": "JSON lines",
    "backup": "one sentence",
    "completion": "a script",
    "demo": "a screen",
    "export": "JSON lines",
    "jobs retry": "a count",
    "keys create": "the key alone",
    "keys revoke": "one sentence",
    "mcp": "a protocol",
    "memories accept": "the memory",
    "memories refuse": "the memory",
    "migrate": "one sentence",
    "openapi": "JSON",
    "restore": "one sentence",
    "retention": "JSON",
    "serve": "a log",
    "tenants create": "the id alone",
    "tenants events": "nothing",
    "tenants limit": "what was set",
    "verify": "a sentence a chain or proof",
    "worker": "a log",
}
"""Commands without `--json`, and what they print."""


def commands() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(main)
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from ((f"{name} {inner}", one) for inner, one in command.commands.items())
        else:
            yield name, command


def test_every_command_that_prints_data_prints_json() -> None:
    plain = {name for name, command in commands() if not any("--json" in one.opts for one in command.params)}
    assert plain == set(PLAIN)


def test_what_the_database_holds_is_listed_as_json(postgres: EmbeddedPostgres, client: httpx.Client) -> None:
    created(client, id="c", user_id="ann")
    here = {"DATABASE_URL": postgres.app_dsn}
    assert json.loads(quire(here, "jobs", "list", "--json")).keys() == {"lanes", "dead"}
    assert isinstance(json.loads(quire(here, "keys", "list", "--json")), list)
    assert isinstance(json.loads(quire(here, "tenants", "list", "--json")), list)


def test_what_a_service_answers_is_printed_as_json(client: httpx.Client) -> None:
    append(client, "c", [user("Please call me Lin from now on."), assistant("Yes.")], user_id="ann")
    there = {"QUIRE_URL": str(client.base_url)}
    [memory] = json.loads(quire(there, "memories", "list", "--user", "ann", "--json"))
    assert memory["key"] == "name"
    assert json.loads(quire(there, "memories", "carry", "--user", "ann", "--json")) == []
    assert json.loads(quire(there, "fork", "c", "--id", "d", "--json"))["parent_id"] == "c"
    assert json.loads(quire(there, "connect", "codex", "--json"))["files"]
    assert json.loads(quire(there, "wait", "--timeout", "30", "--json"))["unindexed"] == 0


@pytest.mark.parametrize(("typed", "offered"), [("quire rep", "replay"), ("quire why --bud", "--budget")])
def test_a_shell_completes_commands_and_options(typed: str, offered: str) -> None:
    count = str(len(typed.split()) - 1)
    more = {"_QUIRE_COMPLETE": "bash_complete", "COMP_WORDS": typed, "COMP_CWORD": count}
    code = "from app.cli import main; main(prog_name='quire')"
    done = subprocess.run(
        [QUIRE[0], "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **more}
    )
    assert f"plain,{offered}" in done.stdout.splitlines()


def test_completion_is_printed_for_a_shell() -> None:
    assert "_QUIRE_COMPLETE=fish_complete" in invoke({}, "completion", "fish").stdout


def on_a_terminal(client: httpx.Client, *arguments: str) -> str:
    """What a command prints on a terminal's stderr."""
    own, other = pty.openpty()
    environment = {**os.environ, "QUIRE_URL": str(client.base_url)}
    done = subprocess.run([*QUIRE, *arguments], stdout=subprocess.PIPE, stderr=other, check=True, env=environment)
    assert done.returncode == 0
    os.close(other)
    shown = os.read(own, 65_536).decode()
    os.close(own)
    return shown


def test_long_work_shows_how_far_it_is_on_a_terminal_only(client: httpx.Client, tmp_path: Path) -> None:
    append(client, "c", [user("one"), assistant("two")], user_id="ann")
    file = tmp_path / "ann.jsonl"
    assert "Exporting" in on_a_terminal(client, "export", "--user", "ann", "--output", str(file))
    assert "Importing" in on_a_terminal(client, "import", str(file))
    there = {"QUIRE_URL": str(client.base_url)}
    assert "Importing" not in invoke(there, "import", str(file)).output
    assert file.read_text("utf-8").count('"type":"message"') == 2
