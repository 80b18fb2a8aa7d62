"""`quire export` and `quire import` on a running service."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import httpx
from click.testing import Result

from tests.api.kit import append, assistant, user
from tests.cli.kit import invoke


def quire(base_url: str, *arguments: str, stdin: str | None = None) -> Result:
    return invoke({"QUIRE_URL": base_url}, *arguments, stdin=stdin)


def test_an_export_can_be_imported_repeatedly(
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


def test_exports_of_other_services_are_imported_or_printed(client: httpx.Client, base_url: str, tmp_path: Path) -> None:
    file = tmp_path / "zep.json"
    file.write_text(json.dumps({"messages": [{"uuid": "a", "role": "user", "content": "Hello"}]}))
    asked = ["import", "--from", "zep", "--conversation", "c", "--user", "ann", str(file)]
    shown = quire(base_url, *asked, "--print")
    assert [json.loads(line)["type"] for line in shown.stdout.splitlines()] == [
        "header", "conversation", "message", "end"
    ]  # fmt: skip
    assert client.get("/conversations/c").status_code == 404
    assert quire(base_url, *asked).exit_code == 0
    assert client.get("/conversations/c").json()["user_id"] == "ann"


def test_memories_of_another_service_are_imported_once_and_found(
    client: httpx.Client, base_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "mem0.json"
    memory = {"id": str(UUID(int=7)), "memory": "Ann prefers longjing tea.", "created_at": "2025-09-25T10:31:31-07:00"}
    file.write_text(json.dumps({"results": [memory]}))
    asked = ["import", "--from", "mem0", "--user", "ann", str(file)]
    assert "Imported: 1 memories." in quire(base_url, *asked).stdout
    assert "There already: 1 memories." in quire(base_url, *asked).stdout
    [found] = client.get("/memories/search", params={"user_id": "ann", "query": "longjing"}).json()["results"]
    assert (found["memory_key"], found["summary"]) == (memory["id"], memory["memory"])
    refused = quire(base_url, *asked, "--conversation", "c")
    assert "has 0 conversations; leave out --conversation" in refused.stderr


def test_a_failed_export_is_explained_and_leaves_no_file(client: httpx.Client, base_url: str, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    for arguments, words in (
        (["export", "--conversation", "none", "-o", str(out)], "404: There is no such conversation"),
        (["export"], "Name a --user, a --space or a --conversation"),
        (["import", "-"], "is text, not JSON"),
        (["export", "--user", "u", "--url", "http://127.0.0.1:1"], "No answer from http://127.0.0.1:1"),
    ):
        done = quire(base_url, *arguments, stdin="nonsense")
        assert (done.exit_code != 0, words in done.stderr) == (True, True), done.stderr
        assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
