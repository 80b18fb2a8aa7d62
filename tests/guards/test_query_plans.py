"""On a conversation of 20,000 messages, among thousands of others, no hot statement reads a table from end to end."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from app.db import Connection, Database
from app.settings import Settings
from app.store import conversations, messages, windows
from app.tokens import TokenCounter
from tests.guards.tenants import ANN, BOB, fill, say, services

pytestmark = pytest.mark.anyio

LENGTH = 20_000

STATEMENTS: dict[str, tuple[str, tuple[object, ...]]] = {
    "window": (windows.WINDOW, (str(ANN), "c", 19_900, 19_950, 0, None, False, 10**9, 10**6, 0)),
    "window of the stored epoch": (windows.WINDOW, (str(ANN), "c", None, None, None, None, True, None, None, None)),
    "conversation": (conversations.FIND, (ANN, "c")),
    "conversation, locked": (f"{conversations.FIND} FOR UPDATE OF c", (ANN, "c")),
    "entries": (windows.ENTRIES, (ANN, "c", LENGTH * 40 - 4000)),
    "listable pages": (windows.LISTABLE, (ANN, "c", 9990, 9950, 9910, 10**6)),
    "lines": (windows.LINES, (ANN, "c", list(range(9950, 9990)), 19_980, 30)),
    "titles": (windows.TITLES, (ANN, "c", list(range(9950, 9990)))),
    "history": (messages.HISTORY, (ANN, "c", 10_000, 101)),
    "history backwards": (messages.HISTORY_BACK, (ANN, "c", 10_000, 101)),
    "page": (messages.PAGE_MESSAGES, (ANN, "c", 5000)),
    "pages": (messages.PAGES, (ANN, "c", None, 5000, 51)),
    "recall": (messages.RECALL, (ANN, "c", 5000)),
    "client ids": (messages.TAKEN_CLIENT_IDS, (ANN, "c", ["m1", "m2"])),
    "list": (conversations.LIST, (ANN, None, None, None, None, 51)),
    "list of a user": (conversations.LIST, (ANN, "u", None, None, None, 51)),
}


@pytest.fixture
async def connection(database: Database, superuser: asyncpg.Connection) -> AsyncIterator[Connection]:
    await fill(superuser, ANN, "c", LENGTH)
    await fill(superuser, BOB, "c", 2000, others=500)
    async with database.begin(ANN) as opened:
        yield opened


def steps(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from steps(part)


async def explained(connection: Connection, sql: str, arguments: tuple[object, ...]) -> list[dict[str, Any]]:
    text = await connection.fetchval(f"EXPLAIN (FORMAT JSON) {sql}", *arguments)
    return list(steps(json.loads(text)[0]["Plan"]))


async def test_statements_find_their_rows_by_index(connection: Connection) -> None:
    for name, (sql, arguments) in STATEMENTS.items():
        for step in await explained(connection, sql, arguments):
            assert step["Node Type"] not in ("Seq Scan", "Bitmap Heap Scan"), f"{name}: {step}"


async def test_what_they_really_read_is_little(connection: Connection) -> None:
    """Buffers of 8 kB touched; reading the conversation from end to end would touch some thousand."""
    for name, (sql, arguments) in STATEMENTS.items():
        text = await connection.fetchval(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", *arguments)
        plan = json.loads(text)[0]["Plan"]
        assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] < 1500, f"{name} touches too much"
        if name in ("window", "entries", "history", "page", "conversation", "client ids"):
            assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] < 300, f"{name} touches too much"


async def test_an_append_finds_its_conversation_by_index(
    connection: Connection, settings: Settings, database: Database, counter: TokenCounter
) -> None:
    made = services(settings, database, counter)
    caught: list[tuple[str, tuple[object, ...]]] = []
    known = await conversations.get(connection, ANN, "c")
    assert known.totals.last_seq == LENGTH
    for sql in messages._APPEND_SQL.values():
        types = (await connection.prepare(sql)).get_parameters()
        arguments = tuple(_some(str(kind.name)) for kind in types)
        caught.append((sql, arguments))
    for sql, arguments in caught:
        for step in await explained(connection, sql, (str(ANN), *arguments[1:])):
            assert step["Node Type"] not in ("Seq Scan", "Bitmap Heap Scan"), step
    await say(made, BOB, "c", [{"role": "user", "content": "and it appends"}])


def _some(kind: str) -> object:
    """Any value of a type; a plan does not depend on which."""
    if kind.endswith("[]"):
        return []
    values: dict[str, object] = {"uuid": uuid4(), "text": "", "int4": 1, "int8": 1, "bytea": b"", "timestamptz": None}
    return values.get(kind, "")
