"""Memory stores under the vendor's SDK, and the memory tool beside the vendor's own."""

import hashlib
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import anthropic
import httpx
import pytest
from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaLocalFilesystemMemoryTool

from tests.api.kit import Json, append, created, ok, path, problem, user

ABSENT = "There is no such memory store."


@pytest.fixture
def stores(base_url: str, clean: None) -> Iterator[Any]:
    with anthropic.Anthropic(base_url=base_url, api_key="none", max_retries=2) as made:
        yield made.beta.memory_stores


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_store_is_made_changed_listed_archived_and_deleted(stores: Any) -> None:
    made = stores.create(name="Notes", description="of tea", metadata={"user": "ann"})
    assert (made.type, made.id.startswith("memstore_"), made.archived_at) == ("memory_store", True, None)
    assert stores.retrieve(made.id) == made
    changed = stores.update(made.id, name="Teas", metadata={"user": None, "kind": "green"})
    assert (changed.name, changed.description, changed.metadata) == ("Teas", "of tea", {"kind": "green"})
    others = [stores.create(name=f"store {number}").id for number in range(5)]
    assert [one.id for one in stores.list(limit=2)] == [*reversed(others), made.id]
    memory = stores.memories.create(made.id, path="/a.md", content="tea")
    archived = stores.archive(made.id)
    assert archived.archived_at is not None
    assert stores.archive(made.id).updated_at == archived.updated_at
    assert made.id not in [one.id for one in stores.list()]
    assert made.id in [one.id for one in stores.list(include_archived=True)]
    for refused in (
        lambda: stores.update(made.id, name="x"),
        lambda: stores.memories.create(made.id, path="/b.md", content=""),
        lambda: stores.memories.update(memory.id, memory_store_id=made.id, content="x"),
    ):
        with pytest.raises(anthropic.BadRequestError, match="archived"):
            cast("Any", refused)()
    assert stores.memories.delete(memory.id, memory_store_id=made.id).type == "memory_deleted"
    assert stores.delete(made.id).type == "memory_store_deleted"
    with pytest.raises(anthropic.NotFoundError) as missing:
        stores.retrieve(made.id)
    assert missing.value.body == {"type": "error", "error": {"type": "not_found_error", "message": ABSENT}}


def test_a_memory_changes_only_as_its_writer_knows_it_and_keeps_its_versions(stores: Any) -> None:
    store = stores.create(name="Notes").id
    made = stores.memories.create(store, path="/teas/green.md", content="longjing", view="full")
    assert (made.path, made.content, made.content_size_bytes) == ("/teas/green.md", "longjing", 8)
    assert made.content_sha256 == sha256("longjing")
    expected = {"type": "content_sha256", "content_sha256": made.content_sha256}
    there: dict[str, Any] = {"memory_store_id": store}
    changed = stores.memories.update(made.id, content="biluochun", precondition=expected, **there)
    assert (changed.id, changed.content, changed.created_at) == (made.id, None, made.created_at)
    with pytest.raises(anthropic.ConflictError) as stale:
        stores.memories.update(made.id, content="pu'er", precondition=expected, **there)
    assert stale.value.body["error"]["type"] == "memory_precondition_failed_error"  # type: ignore[index]
    with pytest.raises(anthropic.ConflictError):
        stores.memories.delete(made.id, expected_content_sha256=made.content_sha256, **there)
    with pytest.raises(anthropic.ConflictError) as taken:
        stores.memories.create(store, path="/teas/green.md", content="")
    assert taken.value.body["error"]["type"] == "memory_path_conflict_error"  # type: ignore[index]
    moved = stores.memories.update(made.id, path="/teas/best.md", **there)
    assert (moved.id, moved.path, moved.content_sha256) == (made.id, "/teas/best.md", sha256("biluochun"))
    stores.memories.delete(made.id, expected_content_sha256=sha256("biluochun"), **there)
    versions = list(stores.memory_versions.list(store, memory_id=made.id, view="full"))
    told = [(one.operation, one.path, one.content) for one in versions]
    assert told == [
        ("deleted", "/teas/best.md", None),
        ("modified", "/teas/best.md", "biluochun"),
        ("modified", "/teas/green.md", "biluochun"),
        ("created", "/teas/green.md", "longjing"),
    ]
    redacted = stores.memory_versions.redact(versions[-1].id, memory_store_id=store)
    assert (redacted.content, redacted.path, redacted.content_sha256) == (None, None, None)
    assert redacted.redacted_at is not None
    assert stores.memory_versions.retrieve(versions[-1].id, memory_store_id=store) == redacted
    again = stores.memories.create(store, path="/teas/best.md", content="x")
    with pytest.raises(anthropic.BadRequestError, match="at this version"):
        stores.memory_versions.redact(again.memory_version_id, memory_store_id=store)


def test_memories_are_listed_by_path_and_by_directory(stores: Any) -> None:
    store = stores.create(name="Notes").id
    paths = ["/a.md", "/notes/b.md", "/notes/deep/c.md", "/notes-archive/d.md", "/z.md"]
    for one in reversed(paths):
        stores.memories.create(store, path=one, content=one)
    assert [one.path for one in stores.memories.list(store, limit=2)] == sorted(paths)
    listed = [(one.type, one.path) for one in stores.memories.list(store, depth=1, limit=2)]
    assert listed == [
        ("memory", "/a.md"), ("memory_prefix", "/notes-archive/"), ("memory_prefix", "/notes/"), ("memory", "/z.md"),
    ]  # fmt: skip
    inside = [one.path for one in stores.memories.list(store, path_prefix="/notes/", view="full")]
    assert inside == ["/notes/b.md", "/notes/deep/c.md"]


def test_bad_paths_and_contents_are_refused_and_nothing_is_stored(stores: Any) -> None:
    store = stores.create(name="Notes").id
    bad = [
        "a.md",
        "/",
        "//a",
        "/a/../b",
        "/.",
        "/a\u202eb",
        "/a\x07",
        "/" + "a/" * 20 + "b",
        "/" + "a" * 1024,
        "/e\u0301",
    ]
    for one in bad:
        with pytest.raises(anthropic.BadRequestError):
            stores.memories.create(store, path=one, content="x")
    for content in ("x" * 102_401, "a\x00b"):
        with pytest.raises(anthropic.BadRequestError):
            stores.memories.create(store, path="/a", content=content)
    assert stores.memories.create(store, path="/a", content="x" * 102_400).content_size_bytes == 102_400
    assert stores.memories.create(store, path="/empty", content="").content_size_bytes == 0
    assert [one.path for one in stores.memories.list(store)] == ["/a", "/empty"]


def test_a_store_is_its_users_and_goes_with_them(client: httpx.Client) -> None:
    anns = {"X-Quire-User": "ann"}
    store = ok(client.post("/v1/memory_stores", json={"name": "Notes"}, headers=anns))["id"]
    at = f"/v1/memory_stores/{store}"
    memory = ok(client.post(f"{at}/memories", json={"path": "/a", "content": "tea"}, headers=anns))["id"]
    for answer in (
        client.get(at, headers={"X-Quire-User": "bob"}),
        client.get(f"{at}/memories/{memory}", headers={"X-Quire-User": "bob"}),
        client.get(f"{at}/memory_versions", headers={"X-Quire-User": "bob"}),
        client.delete(at, headers={"X-Quire-User": "bob"}),
    ):
        assert answer.status_code == 404
    assert ok(client.get("/v1/memory_stores", headers={"X-Quire-User": "bob"}))["data"] == []
    assert ok(client.get(f"{at}/memories/{memory}", headers=anns))["content"] == "tea"
    assert ok(client.delete("/users/ann"))["erased"]["memory_stores"] == 1
    assert client.get(at).status_code == 404


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
    [store] = ok(client.get("/v1/memory_stores", headers={"X-Quire-User": "ann"}))["data"]
    [listed] = ok(client.get(f"/v1/memory_stores/{store['id']}/memories"))["data"]
    assert listed["path"] == "/a.md"
    once = {"Idempotency-Key": "k"}
    add = {"arguments": {"command": "insert", "path": "/memories/a.md", "insert_line": 0, "insert_text": "x"}}
    for _ in range(2):
        ok(client.post(path("c", "tools", "memory"), json=add, headers=once))
    assert ok(client.post(path("c", "tools", "memory"), json=shown))["content"].count("x") == 1
