"""MCP with the SDK's own client against a running server, and what is refused at its door."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import anyio
import httpx
import httpx2
import jsonschema
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import TextContent

from app.api.mcp import server as mcp_server
from app.core.wording import PROPOSED
from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.recall import tools
from app.settings import Settings
from tests.api.kit import append, assistant, ok, path, problem, user
from tests.by_turns import few
from tests.conftest import serving

pytestmark = pytest.mark.anyio
Json = dict[str, Any]


@pytest.fixture
def seeded(client: httpx.Client) -> httpx.Client:
    append(client, "tea/斋", [user("My favourite tea is Longjing from Hangzhou."), assistant("Noted.")], user_id="ann")
    append(client, "other", [user("The vault code is QX7-4410.")], user_id="bob")
    return client


@asynccontextmanager
async def connected(base_url: str, query: str = "", mode: str = "auto", **headers: str) -> AsyncIterator[Client]:
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        transport = streamable_http_client(f"{base_url}/mcp{query}", http_client=http)
        async with Client(transport, mode=mode) as opened:
            yield opened


async def use(client: Client, name: str, **arguments: Any) -> tuple[str, bool]:
    found = await client.call_tool(name, arguments)
    (block,) = found.content
    assert isinstance(block, TextContent)
    return block.text, found.is_error


def recalled(seeded: httpx.Client) -> int:
    """How often the first page was."""
    count: int = ok(seeded.get(path("tea/斋", "pages")))["items"][0]["recall_count"]
    return count


LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPT = {"accept": "application/json, text/event-stream"}
TEA = f"?conversation_id={quote('tea/斋')}"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_sdks_client_lists_and_calls_every_tool(seeded: httpx.Client, base_url: str, mode: str) -> None:
    async with connected(base_url, TEA, mode) as client:
        assert client.server_info is not None
        assert client.server_info.name == "quire"
        assert "recall_page(page)" in (client.instructions or "")
        listed = (await client.list_tools()).tools
        assert [(tool.name, tool.input_schema) for tool in listed] == [(t.name, t.schema()) for t in tools.MCP_TOOLS]
        text, is_error = await use(client, "recall_page", page=1)
        assert "Longjing" in text
        assert not is_error
        text, is_error = await use(client, "search_memories", query="favourite tea")
        assert "Longjing" in text
        key = text.split("memory_key ")[1][:36]
        assert "Longjing" in (await use(client, "get_memory_detail", memory_key=key))[0]
        assert "Longjing" in (await use(client, "recall_memory", query="tea"))[0]
        assert "Hangzhou" in (await use(client, "extract_search_keywords", query="tea of Hangzhou"))[0]
        assert await use(client, "load_tool_history", uuid="x") == (
            "There is no such archive; use the uuid in a placeholder's first line.", True,
        )  # fmt: skip
    assert recalled(seeded) == 1


async def test_mistakes_are_explained_and_an_unknown_tool_is_an_error(seeded: httpx.Client, base_url: str) -> None:
    async with connected(base_url, TEA) as client:
        assert await use(client, "recall_page", page=99) == ("There is no page 99; pages 1–1 exist.", True)
        assert await use(client, "recall_page", page=None) == (
            "`page` is missing. Use recall_page(page). Pages 1–1 exist.", True,
        )  # fmt: skip
        text, is_error = await use(client, "search_memories", query="tea", limit=10**30, user_id="bob")
        assert is_error
        assert "user_id" in text
        for name in ("handoff", "nothing", ""):
            with pytest.raises(MCPError, match="recall_page"):
                await client.call_tool(name, {})
    assert recalled(seeded) == 0


async def test_header_or_url_name_the_asker(seeded: httpx.Client, base_url: str) -> None:
    ways: list[tuple[str, Json]] = [
        (TEA, {}),
        ("", {"X-Quire-Conversation": quote("tea/斋")}),
        ("?conversation_id=other", {"X-Quire-Conversation": quote("tea/斋")}),
        (f"{TEA}&user_id=ann", {}),
    ]
    for query, headers in ways:
        async with connected(base_url, query, **headers) as client:
            assert "Longjing" in (await use(client, "recall_page", page=1))[0]


async def test_a_user_may_ask_outside_of_any_conversation(seeded: httpx.Client, base_url: str) -> None:
    for query, headers in (("?user_id=ann", {}), ("", {"X-Quire-User": "ann"})):
        async with connected(base_url, query, **headers) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert names == [tool.name for tool in tools.MCP_TOOLS if tool.name not in ("recall_page", "store_turn")]
            assert "Longjing" in (await use(client, "search_memories", query="favourite tea"))[0]
            text, is_error = await use(client, "recall_page", page=1)
            assert is_error
            assert "no conversation is open" in text
            assert (await use(client, "recall_page", page="茶"))[1]


async def test_nothing_of_another_user_is_reached(seeded: httpx.Client, base_url: str) -> None:
    async with connected(base_url, "?user_id=bob") as client:
        text, _ = await use(client, "search_memories", query="vault code")
        key = text.split("memory_key ")[1][:36]
    async with connected(base_url, TEA) as client:
        assert "QX7" not in (await use(client, "search_memories", query="vault code QX7-4410"))[0]
        assert (await use(client, "get_memory_detail", memory_key=key))[1]
    for query in (f"{TEA}&user_id=bob", "?conversation_id=unknown"):
        async with connected(base_url, query) as client:
            assert await use(client, "search_memories", query="tea") == ("There is no such conversation.", True)


@pytest.mark.parametrize("query", ["", "?user_id=", "?user_id=%00", f"?conversation_id={'x' * 200}", "?user_id=.."])
async def test_an_invalid_asker_is_explained(seeded: httpx.Client, base_url: str, query: str) -> None:
    async with connected(base_url, query) as client:
        assert (await client.list_tools()).tools
        text, is_error = await use(client, "search_memories", query="tea")
        assert is_error
        assert "Longjing" not in text


async def test_a_remembered_text_is_stored_once_and_found_by_its_user(seeded: httpx.Client, base_url: str) -> None:
    async with connected(base_url, TEA) as client, connected(base_url, "?user_id=bob") as other:
        for _ in range(2):
            found = await use(client, "remember", content="Prefers jasmine in summer.", keywords=["花茶", "\x00"])
            assert found == (PROPOSED.en, False)
        text, _ = await use(client, "search_memories", query="jasmine")
        assert text.count("memory_key") == 1
        assert "jasmine" in (await use(client, "search_memories", query="花茶"))[0]
        assert "jasmine" not in (await use(other, "search_memories", query="jasmine"))[0]
        assert (await use(client, "remember", content="x", memory_type="dream"))[1]
        assert (await use(client, "remember", content="x" * 10_001))[1]
    async with connected(base_url, "?user_id=ann") as client:
        assert "jasmine" in (await use(client, "recall_memory", query="jasmine"))[0]


async def test_concurrent_equal_memories_are_stored_once(seeded: httpx.Client, base_url: str) -> None:
    async def remember() -> None:
        async with connected(base_url, TEA) as client:
            assert not (await use(client, "remember", content="龙井要用八十度的水。"))[1]

    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(remember)
    async with connected(base_url, TEA) as client:
        assert (await use(client, "search_memories", query="八十度"))[0].count("memory_key") == 1


ODD = ["\x00", "\ud800", "a\udfffb", "\u202e", "'; --", "x" * 900_000, 10**4000, [[]] * 50, {"a": {"b": None}}, -0.0]


@pytest.mark.parametrize("odd", few(ODD, 4), ids=range(len(ODD)))
def test_odd_arguments_are_explained(seeded: httpx.Client, odd: Any) -> None:
    for tool in tools.MCP_TOOLS:
        good: Json = {
            "page": 999, "uuid": "x", "query": "tea", "memory_key": "x", "text": "tea", "content": "x", "pattern": "x",
            "user": "x",
        }  # fmt: skip
        for argument in tool.arguments:
            arguments = {name: good[name] for name in tool.required} | {argument.name: odd}
            sent = LIST | {"method": "tools/call", "params": {"name": tool.name, "arguments": arguments}}
            content = json.dumps(sent).encode()
            headers = ACCEPT | {"content-type": "application/json"}
            answer = seeded.post(f"/mcp{TEA}", content=content, headers=headers)
            assert answer.status_code in (200, 400, 413), answer.text
            assert "nternal" not in answer.text, (tool.name, argument.name, answer.text[:500])
            assert len(answer.content) < 3_000


async def test_descriptions_are_available_in_chinese(seeded: httpx.Client, base_url: str) -> None:
    async with connected(base_url, f"{TEA}&language=zh") as client:
        for tool in (await client.list_tools()).tools:
            assert tool.description == mcp_server.BY_NAME[tool.name].zh
            jsonschema.Draft202012Validator.check_schema(tool.input_schema)


async def test_many_clients_are_served_at_once(seeded: httpx.Client, base_url: str) -> None:
    async def ask() -> None:
        async with connected(base_url, TEA) as client:
            assert "Longjing" in (await use(client, "recall_page", page=1))[0]

    async with anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(ask)
    assert recalled(seeded) == 8


def test_requests_are_stateless(seeded: httpx.Client) -> None:
    """No session: any process can answer any request."""
    for _ in range(2):
        answer = seeded.post("/mcp", json=LIST, headers=ACCEPT)
        assert answer.status_code == 200
        assert "mcp-session-id" not in answer.headers
        assert len(answer.json()["result"]["tools"]) == len(tools.MCP_TOOLS) - 1  # no conversation to store in
        assert answer.headers["x-request-id"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "evil.example:8000"}, 421),
        ({"host": "127.0.0.1.evil.example:8000"}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1.evil.example"}, 403),
        ({"origin": "http://localhost:3000"}, 200),
        ({"origin": "http://127.0.0.1"}, 200),
        ({"host": "localhost:8000"}, 200),
    ],
)
def test_a_page_of_another_origin_reaches_nothing(seeded: httpx.Client, headers: Json, status: int) -> None:
    assert seeded.post("/mcp", json=LIST, headers=ACCEPT | headers).status_code == status


@pytest.mark.parametrize(
    ("body", "statuses"),
    [
        (b"", {400}), (b"{", {400}), (b"[]", {400}), (b"null", {400}), (b"[" * 100_000, {400}),
        (b'{"jsonrpc":"2.0","id":1,"method":"nothing"}', {200, 400, 404}), (b"\xff", {400}),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1}}', {200, 400}),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"recall_page","arguments":[]}}', {200, 400}),
        (b"x" * 1_100_000, {413}),
    ],
)  # fmt: skip
def test_malformed_requests_are_rejected(seeded: httpx.Client, body: bytes, statuses: set[int]) -> None:
    answer = seeded.post("/mcp", content=body, headers=ACCEPT | {"content-type": "application/json"})
    assert answer.status_code in statuses, answer.text
    assert '"result"' not in answer.text


def test_other_methods_are_rejected_without_hanging(seeded: httpx.Client) -> None:
    for method in ("GET", "DELETE", "PUT", "OPTIONS"):
        answer = seeded.request(method, "/mcp", headers={"accept": "text/event-stream"}, timeout=10)
        problem(answer, 405)


@pytest.fixture
def second(postgres: EmbeddedPostgres, settings: Settings, client: httpx.Client) -> Iterator[str]:
    yield from serving(build_app(settings, postgres.app_dsn))


@pytest.mark.slow
async def test_processes_need_no_sticky_sessions(seeded: httpx.Client, base_url: str, second: str) -> None:
    """One client, whose requests go to two servers in turn."""
    turn = 0

    async def to_the_other(request: httpx2.Request) -> None:
        nonlocal turn
        turn += 1
        where = httpx2.URL((base_url, second)[turn % 2])
        request.url = request.url.copy_with(host=where.host, port=where.port)

    async with httpx2.AsyncClient(event_hooks={"request": [to_the_other]}, timeout=30) as http:
        transport = streamable_http_client(f"{base_url}/mcp{TEA}", http_client=http)
        async with Client(transport) as client:
            for _ in range(4):
                assert "Longjing" in (await use(client, "recall_page", page=1))[0]
    assert turn > 4
    assert recalled(seeded) == 4
