"""What a connection of MCP offers: tools and instructions that fit it, turns to store, pages and archives to attach."""

from urllib.parse import quote

import httpx
import pytest
from mcp.shared.exceptions import MCPError

from app.api.mcp import server as mcp_server
from app.recall import tools
from tests.api.kit import history, ok
from tests.tools.test_mcp import connected, seeded, use

__all__ = ["seeded"]

pytestmark = pytest.mark.anyio
UNKNOWN = (
    "quire://pages/99", "quire://pages/", "quire://archives/x", f"quire://archives/{'0' * 36}", "https://evil.example",
)  # fmt: skip


def archived(client: httpx.Client) -> str:
    named = {"user_id": "ann", "conversation_id": "tea/斋", "tool_name": "look", "tool_input": {}}
    found = ok(client.post("/archive", json={**named, "result": "Oolong. " * 2_000}), 201)
    return str(found["uuid"])


async def told_of(base_url: str, query: str, mode: str = "auto") -> tuple[set[str], str]:
    """The names of a connection's tools, and its instructions."""
    async with connected(base_url, query, mode) as opened:
        listed = await opened.list_tools()
        assert listed.ttl_ms == (mcp_server.LISTED_MS if mode == "auto" else 0), "the older protocol knows none"
        return {tool.name for tool in listed.tools}, opened.instructions or ""


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_connection_is_told_of_its_own_tools_alone(seeded: httpx.Client, base_url: str, mode: str) -> None:
    every = {tool.name for tool in tools.MCP_TOOLS}
    for query, missing in (
        (f"?conversation_id={quote('tea/斋', safe='')}", set[str]()),
        ("?user_id=ann", {"recall_page", "store_turn"}),
    ):
        offered, said = await told_of(base_url, query, mode)
        assert offered == every - missing
        assert {name for name in every if f"{name}(" in said} == offered
    offered, said = await told_of(base_url, "?user_id=ann&language=zh", mode)
    assert "引用的资料" in said


async def test_a_turn_is_stored_in_the_connections_conversation(seeded: httpx.Client, base_url: str) -> None:
    async with connected(base_url, "?conversation_id=new&user_id=ann") as opened:
        told, failed = await use(opened, "store_turn", user="I like oolong.", assistant="Noted.")
        assert not failed, told
        assert (await use(opened, "store_turn", user="And jasmine."))[1] is False
        assert (await use(opened, "store_turn", assistant="Only mine."))[1] is True
        assert "oolong" in (await use(opened, "recall_page", page="1"))[0]
    kept = [("user", "I like oolong."), ("assistant", "Noted."), ("user", "And jasmine.")]
    assert [(m["role"], m["content"]) for m in history(seeded, "new")] == kept
    async with connected(base_url, "?user_id=ann") as opened:
        told, failed = await use(opened, "store_turn", user="Lost?")
        assert failed
        assert "conversation_id" in told
    async with connected(base_url, "?conversation_id=other&user_id=ann") as opened:
        assert (await use(opened, "store_turn", user="Into Bob's?"))[1] is True
    assert len(history(seeded, "other")) == 1


async def test_pages_and_archives_are_resources(seeded: httpx.Client, base_url: str) -> None:
    uuid = archived(seeded)
    async with connected(base_url, f"?conversation_id={quote('tea/斋', safe='')}") as opened:
        listed = await opened.list_resources()
        assert [resource.uri for resource in listed.resources] == ["quire://pages/1", f"quire://archives/{uuid}"]
        assert listed.ttl_ms == mcp_server.RESOURCES_MS
        templates = (await opened.list_resource_templates()).resource_templates
        assert {template.name for template in templates} == {"page", "archive"}
        for resource, words in zip(listed.resources, ("Longjing", "Oolong."), strict=True):
            read = await opened.read_resource(resource.uri)
            assert words in str(read.contents[0])
        for uri in UNKNOWN:
            with pytest.raises(MCPError):
                await opened.read_resource(uri)
    async with connected(base_url, "?user_id=bob") as opened:
        assert (await opened.list_resources()).resources == []
        with pytest.raises(MCPError):
            await opened.read_resource(f"quire://archives/{uuid}")
    async with connected(base_url) as opened:
        assert (await opened.list_resources()).resources == []
