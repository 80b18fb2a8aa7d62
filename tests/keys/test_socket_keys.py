"""Who gets in by a WebSocket: the key of the connection counts for each of its messages."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.api.kit import ok
from tests.keys.kit import ELSEWHERE, Mint, bearing, key_id


def last_of(locked_url: str, key: str | None, *bodies: dict[str, Any]) -> list[Any]:
    """Return the last event of the answer to each message."""
    found: list[Any] = []
    with connect(locked_url.replace("http", "ws", 1) + "/v1/responses", additional_headers=bearing(key)) as opened:
        for body in bodies:
            opened.send(json.dumps({"type": "response.create", "model": "fake", "input": "hi", **body}))
            events = [json.loads(opened.recv(timeout=30))]
            while events[-1]["type"] not in ("response.completed", "error"):
                events.append(json.loads(opened.recv(timeout=30)))
            found.append(events[-1])
    return found


@pytest.mark.parametrize("given", ["none", "wrong", "of a reader"])
def test_a_key_that_cannot_write_opens_nothing(locked: httpx.Client, locked_url: str, mint: Mint, given: str) -> None:
    keys = {"none": None, "wrong": "qk_0", "of a reader": mint(scopes=("read",))}
    with pytest.raises(InvalidStatus) as refused:
        last_of(locked_url, keys[given], {})
    answer = refused.value.response
    assert answer.status_code == (403 if given == "of a reader" else 401)
    assert json.loads(answer.body)["error"]["code"] == ("forbidden" if given == "of a reader" else "invalid_api_key")


def test_the_ids_of_another_tenant_are_unknown(locked: httpx.Client, locked_url: str, mint: Mint) -> None:
    [ours] = last_of(locked_url, mint(), {"conversation": "c"})
    assert ours["type"] == "response.completed"
    there = mint(tenant=ELSEWHERE)
    theirs, own = last_of(locked_url, there, {"previous_response_id": ours["response"]["id"]}, {"conversation": "c"})
    assert (theirs["type"], theirs["status"]) == ("error", 404)
    assert own["type"] == "response.completed"
    items = ok(locked.get("/conversations/c/messages", headers=bearing(there)))["items"]
    assert [message["role"] for message in items] == ["user", "assistant"]


def test_a_key_that_is_revoked_ends_what_its_connection_can(locked: httpx.Client, locked_url: str, mint: Mint) -> None:
    key, boss = mint(), mint()
    with connect(locked_url.replace("http", "ws", 1) + "/v1/responses", additional_headers=bearing(key)) as opened:
        ok(locked.delete(f"/keys/{key_id(key)}", headers=bearing(boss)))
        opened.send(json.dumps({"type": "response.create", "model": "fake", "input": "hi"}))
        refused = json.loads(opened.recv(timeout=30))
    assert (refused["type"], refused["status"], refused["error"]["code"]) == ("error", 401, "invalid_api_key")
