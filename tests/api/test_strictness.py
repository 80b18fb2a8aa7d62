"""What a request may say beside its body: no route takes what it does not know."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from tests.api.kit import append, ok, problem, user

DOCUMENT = json.loads((Path(__file__).parents[2] / "openapi" / "openapi.json").read_text())
WITHOUT_CALLER = {"/healthz", "/readyz", "/.well-known/quire-keys"}
PARTS = {"conversation_id": "c", "user_id": "u", "name": "recall_page", "message": "1", "page": "1", "job_id": "1"}
QUERIES = {"/archive": "user_id=u&", "/memories/search": "user_id=u&query=tea&"}
ROUTES = [
    (
        method.upper(),
        re.sub(r"\{(\w+)\}", lambda m: PARTS.get(m[1], str(UUID(int=1))), path) + f"?{QUERIES.get(path, '')}",
    )
    for path, methods in DOCUMENT["paths"].items()
    for method in methods
    if not path.startswith("/v1/") and path not in WITHOUT_CALLER
]
"""All but those of the proxy, whose clients send what its models' APIs know."""


@pytest.fixture
def talk(client: httpx.Client) -> httpx.Client:
    append(client, "c", [user("tea")], user_id="u")
    return client


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_an_unknown_member_of_the_query_is_refused(talk: httpx.Client, method: str, path: str) -> None:
    body = {"json": {"messages": [user("x")], "user_id": "u"}} if method in ("POST", "PATCH") else {}
    answer = talk.request(method, f"{path}limt=1", **body)  # type: ignore[arg-type]
    found = problem(answer, 422, "limt")
    assert {"loc": ["query", "limt"], "msg": "is not known here"} in found["errors"]
    assert ok(talk.get("/conversations/c"))["messages"] == 1


@pytest.mark.parametrize("limit", ["1_0", "1%0a", "%201", "1.0", "1e1", "%2B1", "٣", "0x1", ""])
@pytest.mark.parametrize("path", ["/conversations/c/messages", "/conversations", "/jobs", "/keys"])
def test_a_number_is_digits(talk: httpx.Client, path: str, limit: str) -> None:
    problem(talk.get(f"{path}?limit={limit}"), 422, "limit")


def test_a_budget_is_digits(talk: httpx.Client) -> None:
    problem(talk.get("/conversations/c/context?budget=10_000"), 422, "budget")
    ok(talk.get("/conversations/c/context?budget=10000"))


def test_an_id_with_a_slash_and_a_slash_behind_it_is_404(talk: httpx.Client) -> None:
    append(talk, "a/b", [user("x")], user_id="u")
    for path in ("/conversations/a%2Fb/", "/conversations/c/", "/conversations/c/messages/"):
        problem(talk.get(path), 404)


def test_a_follower_goes_on_where_a_list_ended(talk: httpx.Client) -> None:
    listed = ok(talk.get("/conversations/c/messages"))
    assert listed["next_cursor"] is None
    after = listed["items"][-1]["seq"]
    assert ok(talk.get(f"/conversations/c/messages?after_seq={after}"))["items"] == []
    append(talk, "c", [user("more"), user("and more")])
    found = ok(talk.get(f"/conversations/c/messages?after_seq={after}&limit=1"))
    assert [m["content"] for m in found["items"]] == ["more"]
    rest = ok(talk.get("/conversations/c/messages", params={"after_seq": after, "cursor": found["next_cursor"]}))
    assert [m["content"] for m in rest["items"]] == ["and more"]
    newest = ok(talk.get(f"/conversations/c/messages?after_seq={after}&order=desc"))
    assert [m["content"] for m in newest["items"]] == ["and more", "more"]


MCP = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@pytest.mark.parametrize("id_", [None, 1.5, {"a": 1}, [1], True])
def test_an_mcp_request_with_an_unusable_id_gets_an_error(talk: httpx.Client, id_: Any) -> None:
    asked = {"jsonrpc": "2.0", "id": id_, "method": "tools/list", "params": {}}
    answer = talk.post("/mcp", json=asked, headers=MCP)
    assert answer.status_code == 400, answer.text
    found = answer.json()
    assert (found["jsonrpc"], found["id"], found["error"]["code"]) == ("2.0", None, -32600)


def test_mcp_takes_notifications_and_sound_ids(talk: httpx.Client) -> None:
    for id_ in (1, "a"):
        asked: dict[str, Any] = {"jsonrpc": "2.0", "id": id_, "method": "tools/list", "params": {}}
        assert talk.post("/mcp?user_id=u", json=asked, headers=MCP).json()["id"] == id_
    told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert talk.post("/mcp", json=told, headers=MCP).status_code == 202


def test_mcp_reads_what_is_packed(talk: httpx.Client) -> None:
    body = gzip.compress(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).encode())
    answer = talk.post("/mcp?user_id=u", content=body, headers={**MCP, "content-encoding": "gzip"})
    assert answer.json()["result"]["tools"]
