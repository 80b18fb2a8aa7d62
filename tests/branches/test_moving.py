"""Branches move with their user, and a branch alone as a conversation of its own."""

import json
from typing import Any

import httpx
import pytest

from tests.api.kit import append, canonical, contents, history, ok, path, problem, turn, window
from tests.sync.kit import sync

NDJSON = {"content-type": "application/x-ndjson"}


@pytest.fixture
def tree(client: httpx.Client) -> httpx.Client:
    for number in range(1, 9):
        append(client, "z", turn(number))
    for at, name in ((6, "b"), (12, "a")):
        ok(client.post(path("z", "fork"), json={"id": name, "at": at, "title": f"The {name}"}), 201)
        append(client, name, turn(at * 10))
    ok(client.post(path("b", "fork"), json={"id": "d", "at": 7}), 201)
    append(client, "d", turn(900))
    ok(client.post(path("d", "notes"), json={"text": "Whales first."}), 201)
    sync(client, "z", [*turn(1), *turn(2), *turn(77)])
    return client


def _said(client: httpx.Client, name: str) -> str:
    shown: list[Any] = [(m["seq"], m["page"], m["content"]) for m in history(client, name, branch=name)]
    windows = [window(client, name, branch=name, budget=budget)["messages"] for budget in (900, 4000)]
    return canonical([shown, windows, contents(client, name)["text"]])


def test_a_tree_moves_with_its_user(tree: httpx.Client) -> None:
    listed = ok(tree.get(path("z", "branches")))
    names = ["z", *(one["id"] for one in listed["items"])]
    assert len(names) == 5
    before = {name: _said(tree, name) for name in names}
    exported = tree.get("/users/u/export").text
    assert exported.count('"type":"message"') == 16 + 2 + 2 + 2 + 2
    ok(tree.delete("/users/u"))
    done = ok(tree.post("/import", content=exported, headers=NDJSON))
    assert done["imported"]["conversations"] == 5
    assert {name: _said(tree, name) for name in names} == before
    again = ok(tree.get(path("z", "branches")))
    assert again["shown"] == listed["shown"]
    places = [
        [(i["id"], i["parent_id"], i["forked_after"], i["title"]) for i in one["items"]] for one in (listed, again)
    ]
    assert sorted(places[0]) == sorted(places[1])
    assert ok(tree.get(path("d", "notes")))["items"][0]["text"] == "Whales first."
    repeated = ok(tree.post("/import", content=exported, headers=NDJSON))
    assert repeated["imported"].get("messages", 0) == 0


def test_a_branch_alone_is_exported_whole(tree: httpx.Client) -> None:
    before = history(tree, "d")
    exported = tree.get(path("d", "export")).text
    ok(tree.delete("/users/u"))
    ok(tree.post("/import", content=exported, headers=NDJSON))
    assert [(m["seq"], m["content"]) for m in history(tree, "d")] == [(m["seq"], m["content"]) for m in before]
    assert ok(tree.get(path("d")))["parent_id"] is None


def test_a_branch_without_what_it_shares_is_refused(tree: httpx.Client) -> None:
    lines = [json.loads(line) for line in tree.get("/users/u/export").text.splitlines()]
    branch = [line for line in lines if "d" in (line.get("id"), line.get("conversation_id"))]
    ok(tree.delete("/users/u"))
    body = "\n".join(json.dumps(line) for line in [lines[0], *branch])
    problem(tree.post("/import", content=body, headers=NDJSON), 422, "parent_id", "What the branch shares is not there")
