"""`quire export` and `quire import` on a running service."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import httpx
from click.testing import Result

from tests.api.kit import append, assistant, user
from tests.cli.kit import invoke


def quire(base_url: str, *arguments: str, stdin: str | None = None) -> Result:
    return invoke({"QUIRE_URL": base_url}, *arguments, stdin=stdin)


def test_what_is_exported_comes_back_by_import_and_a_second_time_changes_nothing(
    client: httpx.Client, base_url: str, tmp_path: Path, delete_every_row: Callable[[], None]
) -> None:
    append(client, "team/tea", [user("Green tea?"), assistant("Always.")], user_id="ann/b")
    before = client.get("/conversations/team%2Ftea/messages").json()
    file = tmp_path / "ann.jsonl"
    done = quire(base_url, "export", "--user", "ann/b", "--output", str(file))
    assert done.exit_code == 0, done.stderr
    delete_every_row()
    first, second = (quire(base_url, "import", str(file)) for _ in range(2))
    assert "1 conversations, 2 messages" in first.stdout, first.stderr
    assert "Imported: nothing." in second.stdout
    assert client.get("/conversations/team%2Ftea/messages").json() == before
    assert list(tmp_path.iterdir()) == [file]


def test_what_another_service_exports_is_put_in_or_shown(client: httpx.Client, base_url: str, tmp_path: Path) -> None:
    file = tmp_path / "zep.json"
    file.write_text(json.dumps({"messages": [{"role": "user", "content": "Hello"}]}))
    asked = ["import", "--from", "zep", "--conversation", "c", "--user", "ann", str(file)]
    shown = quire(base_url, *asked, "--print")
    assert [json.loads(line)["type"] for line in shown.stdout.splitlines()] == [
        "header", "conversation", "message", "end"
    ]  # fmt: skip
    assert client.get("/conversations/c").status_code == 404
    assert quire(base_url, *asked).exit_code == 0
    assert client.get("/conversations/c").json()["user_id"] == "ann"


def test_what_cannot_be_done_is_said_and_leaves_no_file(client: httpx.Client, base_url: str, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    for arguments, words in (
        (["export", "--conversation", "none", "-o", str(out)], "404: There is no such conversation"),
        (["export"], "Name a --user or a --conversation"),
        (["import", "-"], "422: Line 1"),
        (["export", "--user", "u", "--url", "http://127.0.0.1:1"], "No answer from http://127.0.0.1:1"),
    ):
        done = quire(base_url, *arguments, stdin="nonsense")
        assert (done.exit_code != 0, words in done.stderr) == (True, True), done.stderr
        assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
