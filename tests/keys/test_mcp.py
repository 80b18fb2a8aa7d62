"""MCP with keys, by the SDK's own client: what the HTTP routes promise holds there too."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from app.core.wording import PROPOSED
from tests.api.kit import ok
from tests.keys.kit import ELSEWHERE, MARK, Mint, bearing, key_id, populate
from tests.tools.test_mcp import use


@asynccontextmanager
async def connected(url: str, key: str, query: str) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers=bearing(key), timeout=30) as http,
        Client(streamable_http_client(f"{url}/mcp{query}", http_client=http)) as opened,
    ):
        yield opened


def asked(url: str, key: str, where: str, name: str, /, **arguments: Any) -> tuple[str, bool]:
    async def ask() -> tuple[str, bool]:
        async with connected(url, key, where) as client:
            return await use(client, name, **arguments)

    return anyio.run(ask)


def test_a_key_sees_over_mcp_what_it_sees_over_http(locked: httpx.Client, locked_url: str, mint: Mint) -> None:
    reads, all_ = mint(user="ann", scopes=("read",)), mint(user="ann")
    populate(locked, mint(), reads)
    text, _ = asked(locked_url, reads, "", "recall_memory", query="likes")  # nobody is named: the key's own user
    assert "likes zebrafish" in text
    assert "a secret zebrafish" not in asked(locked_url, reads, "", "recall_memory", query="secret zebrafish")[0]
    text, is_error = asked(locked_url, reads, "", "remember", content="x")
    assert is_error
    assert "write" in text
    assert "a secret zebrafish" in asked(locked_url, all_, "", "recall_memory", query="secret zebrafish")[0]
    assert asked(locked_url, all_, "", "remember", content="Zebrafish have stripes.") == (PROPOSED.en, False)


@pytest.mark.parametrize("query", ["?conversation_id=anns", "?user_id=ann", "?user_id=ann&conversation_id=anns"])
def test_other_callers_reach_nothing_by_naming_it(
    locked: httpx.Client, locked_url: str, mint: Mint, query: str
) -> None:
    populate(locked, mint(), mint(user="ann"))
    for key in (mint(user="bob"), mint(ELSEWHERE)):
        assert MARK not in asked(locked_url, key, query, "recall_page", page=1)[0]
        assert MARK not in asked(locked_url, key, query, "search_memories", query=MARK)[0]


def test_a_key_that_is_revoked_is_out_at_once(locked: httpx.Client, locked_url: str, mint: Mint) -> None:
    admin, ann = mint(), mint(user="ann")
    populate(locked, admin, ann)
    revoke = partial(locked.delete, f"/keys/{key_id(ann)}", headers=bearing(admin))

    async def revoked_meanwhile() -> None:
        async with connected(locked_url, ann, "?conversation_id=anns") as client:
            assert MARK in (await use(client, "recall_page", page=1))[0]
            ok(await anyio.to_thread.run_sync(revoke))
            with pytest.raises(Exception) as refused:  # noqa: PT011 - the SDK's, whichever it is
                await use(client, "recall_page", page=1)
            assert MARK not in str(refused.value)

    anyio.run(revoked_meanwhile)


def test_a_session_id_of_anothers_opens_nothing(locked: httpx.Client, mint: Mint) -> None:
    """There are no sessions: what is sent as one changes nothing."""
    populate(locked, mint(), mint(user="ann"))
    call = {"name": "recall_page", "arguments": {"page": 1}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    answers = set()
    for session in ({}, {"mcp-session-id": "ann's"}):
        headers = bearing(mint(ELSEWHERE), accept="application/json, text/event-stream", **session)
        answers.add(locked.post("/mcp?conversation_id=anns", json=body, headers=headers).text)
    assert len(answers) == 1
    assert MARK not in answers.pop()
