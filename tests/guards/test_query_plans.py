"""On a conversation of 20,000 messages, among thousands of others, no hot statement reads a table from end to end."""

import json
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from itertools import product
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from app.core.history.rows import ClosedPage, NewMessage
from app.core.scope import Scope
from app.postgres.database import Database
from app.postgres.embedded import EmbeddedPostgres
from app.postgres.transactions import Tx
from app.queue.outbox import NewEvent
from app.store import (
    appending,
    chapters,
    conversation_list,
    conversations,
    erasing,
    heads,
    kept_answers,
    keys,
    messages,
    page_index,
    served,
    summaries,
    windows,
)
from app.store.proxy import proxied
from tests.guards.tenants import ANN, BOB, BUDGET, Arguments, Sql, fill, in_order

pytestmark = pytest.mark.anyio

LENGTH = 20_000
BLOCKS_MAX = 500
"""The conversation from end to end has more than a thousand."""
ROWS_FILTERED_MAX = 60
BARE = 9_990
"""A page without an index."""

STATEMENTS: dict[str, tuple[Sql, Arguments]] = {
    "window": (
        windows.WINDOW,
        {
            "conversation": "c",
            "budget": BUDGET,
            "usual": BUDGET,
            "step": 0,
            "anthropic": True,
            "sees": "*",
        },
    ),
    "window without a cut": (
        windows.WINDOW,
        {
            "conversation": "c",
            "budget": None,
            "usual": BUDGET + 1,
            "step": 0,
            "anthropic": False,
            "sees": "*",
        },
    ),
    "newest cut": (windows.NEWEST_CUT, {"conversation": "c", "budget": BUDGET, "generation": 0}),
    "newer than a window": (
        windows.NEWER,
        {
            "conversation": "c",
            "last_seq": 19_960,
            "verbatim_from": 19_950,
            "anthropic": False,
            "sees": "*",
            "budget": BUDGET,
            "step": 0,
            "key": None,
            "known": None,
        },
    ),
    "conversation": (conversations.FIND, (ANN, "c")),
    "conversation, locked": (f"{conversations.FIND} FOR UPDATE OF c", (ANN, "c")),
    "entries": (windows.ENTRIES, {"conversation": "c", "short_from": LENGTH * 40 - 4000, "last_seq": LENGTH}),
    "messages of a served window": (
        served.ITEMS,
        {
            "conversation": "c",
            "condensed_from": 15_000,
            "verbatim_from": 15_030,
            "pinned": 14_990,
            "last_page": 7_520,
            "anthropic": False,
            "last_seq": 15_060,
            "prompt_through": 2,
        },
    ),
    "pages for a head": (
        heads.PAGES,
        {
            "conversation": "c",
            "last_page": 9990,
            "oldest_page": 9980,
            "newest_page": 9995,
            "recalled_since": 9985,
            "more": [1, 500, 3000, *range(9986, 9996)],
            "condensed_from": 19_980,
        },
    ),
    "texts for a head": (
        heads.TEXTS,
        {"conversation": "c", "condensed_from": 19_980, "last_page": 9990},
    ),
    "chapters for a head": (
        chapters.AROUND,
        {"conversation": "c", "last_page": 9990, "recalled_since": 9985},
    ),
    "a chapter without a name": (chapters.UNNAMED, {"conversation": "c", "first_page": 9960}),
    "chapters before one": (chapters.SHELF, {"conversation": "c", "before_page": 9990}),
    "pages of a chapter": (chapters.TOLD, {"conversation": "c", "first_page": 9960, "last_page": 9979}),
    "topics": (page_index.TOPICS, {"conversation": "c", "pages": 200}),
    "newest summary": (summaries.NEWEST, (ANN, "c")),
    "page to index": (
        page_index.UNINDEXED,
        {"conversation": "c", "uid": ANN, "page": BARE, "lines_max": 30},
    ),
    "index": (
        page_index.INDEX,
        {
            "conversation": "c",
            "uid": ANN,
            "generation": 0,
            "page": BARE,
            "source": "llm",
            "model": "m",
            "title": "t",
            "title_tokens": 1,
            "topics": [],
            "seqs": [],
            "lines": [],
            "line_tokens": [],
            "error": None,
            "at": None,
        },
    ),
    "history": (messages.HISTORY, (ANN, "c", 10_000, 101)),
    "history backwards": (messages.HISTORY_BACK, (ANN, "c", 10_000, 101)),
    "page": (messages.PAGE_MESSAGES, (ANN, "c", 5000)),
    "first page": (messages.PAGE_MESSAGES, (ANN, "c", 1)),
    "last page": (messages.PAGE_MESSAGES, (ANN, "c", 10_000)),
    "chains": (messages.CHAINS, (ANN, "c", list(range(500, LENGTH, 600)))),
    "newest digests": (messages.NEWEST_DIGESTS, (ANN, "c", 500, 1000)),
    "pages": (messages.PAGES, {"conversation": "c", "after": 5000, "limit": 51}),
    "some pages": (messages.SOME_PAGES, {"conversation": "c", "pages": [1, 500, 9000]}),
    "recall": (
        messages.RECALL,
        {"conversation": "c", "first_page": 5000, "last_page": 5000, "at": None, "at_page": None},
    ),
    "list": (
        conversation_list.LIST,
        {"owner": None, "pattern": None, "after": None, "after_uid": None, "limit": 51, "topics": [], "metadata": "{}"},
    ),
    "list of a user": (
        conversation_list.LIST_OF_USER,
        {"owner": "u", "pattern": None, "after": None, "after_uid": None, "limit": 51, "topics": [], "metadata": "{}"},
    ),
    "list of a space": (
        conversation_list.LIST_OF_SPACE,
        {
            "owner": "team",
            "pattern": None,
            "after": None,
            "after_uid": None,
            "limit": 51,
            "topics": [],
            "metadata": "{}",
        },
    ),
    "users": (conversation_list.USERS, (ANN,)),
    "has any": (conversations.HAS_ANY, (ANN, "u")),
    "list of a user of few": (
        conversation_list.LIST_OF_USER,
        {
            "owner": "few",
            "pattern": None,
            "after": None,
            "after_uid": None,
            "limit": 51,
            "topics": [],
            "metadata": "{}",
        },
    ),
    "list of a user of few, from there": (
        conversation_list.LIST_OF_USER,
        {
            "owner": "few",
            "pattern": None,
            "after": "2100-01-01",
            "after_uid": UUID(int=0),
            "limit": 51,
            "topics": [],
            "metadata": "{}",
        },
    ),
    "what recall tools brought in": (erasing.LOADED, (ANN, Scope("user", "u").owner, "", 0, 50)),
    "ends like a list": (proxied.FIND, {"user": "u", "ends": [f"end{n}" for n in range(64)], "asked": "asked5"}),
    "nobody's, ends like a list": (proxied.FIND_NOBODYS, {"user": None, "ends": ["end1", "end2"], "asked": "asked5"}),
    "last told": (messages.LAST_TOLD, (ANN, "c", 5000)),
    "what callers know, backwards": (proxied.TOLD_BEFORE, (ANN, "c", 10_000, 101)),
    "key": (keys.LOOK_UP, (str(ANN), ANN)),
    "use of a key": (keys.USED, (ANN, ANN)),
    "keys": (keys.LIST, (ANN, UUID(int=2**128 - 1), 51)),
    "keys of a user": (keys.LIST_OF_USER, (ANN, UUID(int=2**128 - 1), 51, "u1")),
}


@pytest.fixture
async def tx(database: Database, superuser: asyncpg.Connection, fresh: None) -> AsyncIterator[Tx]:
    await fill(superuser, BOB, "c", 2000, others=300)
    await fill(superuser, ANN, "c", LENGTH, others=1000)
    await superuser.execute(
        "UPDATE conversations SET user_id = 'few', updated_at = '2020-01-01' WHERE id IN ('c7', 'c8')"
    )
    await superuser.execute(f"DELETE FROM page_index WHERE conversation_id = 'c' AND page = {BARE}")
    await superuser.execute("ANALYZE conversations")
    await fill_keys(superuser)
    await fill_answers(superuser)
    async with database.begin(ANN) as opened:
        yield opened


async def fill_keys(superuser: asyncpg.Connection) -> None:
    for tenant in (ANN, BOB):
        await superuser.execute("INSERT INTO tenants (tenant_id, name) VALUES ($1, 't')", tenant)
        await superuser.execute(
            "INSERT INTO keys (tenant_id, id, digest, name, scopes, user_id)"
            " SELECT $1::uuid, CASE n WHEN 0 THEN $1::uuid ELSE gen_random_uuid() END, sha256(n::text::bytea), 'key',"
            " '{read}', 'u' || n % 50 FROM generate_series(0, 5000) n",
            tenant,
        )
    await superuser.execute("ANALYZE keys")


async def fill_answers(superuser: asyncpg.Connection) -> None:
    """Of a hundred owners in each tenant, kept at many times."""
    for tenant in (ANN, BOB):
        await superuser.execute(
            "INSERT INTO idempotency (tenant_id, key, digest, response, owner, created_at)"
            " SELECT $1::uuid, 'k' || n, 'd', 'said', lpad((n % 100)::text, 32, '0')::uuid, now() - n * interval '1 s'"
            " FROM generate_series(0, 5000) n",
            tenant,
        )
    await superuser.execute("ANALYZE idempotency")


def steps(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from steps(part)


async def test_statements_find_their_rows_by_index(tx: Tx) -> None:
    """By index conditions: what is only filtered has been read. Prepared statements may turn to generic plans."""
    for index, (plan, name) in enumerate(product(("custom", "generic"), STATEMENTS)):
        sql, arguments = STATEMENTS[name]
        await tx.connection.execute(f"SET LOCAL plan_cache_mode = force_{plan}_plan; PREPARE s{index} AS {sql}")
        execute = f"EXECUTE s{index}({values(sql, arguments)})"
        await tx.connection.execute("SAVEPOINT before")
        [row] = await tx.connection.fetch(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {execute}")
        await tx.connection.execute("ROLLBACK TO before")
        whole = json.loads(row[0])[0]["Plan"]
        for step in steps(whole):
            assert step["Node Type"] != "Seq Scan" or not step["Actual Loops"], f"{name}: {step}"
            for reason in ("Filter", "Index Recheck"):
                assert step.get(f"Rows Removed by {reason}", 0) < ROWS_FILTERED_MAX, f"{name}: {step}"
        touched = whole["Shared Hit Blocks"] + whole["Shared Read Blocks"]
        assert touched < BLOCKS_MAX, f"{name} touches {touched} blocks of 8 kB"


@pytest.mark.slow
@pytest.mark.parametrize("before", [0, 4, 100])
async def test_a_plan_made_for_small_tables_reads_no_row_twice_in_larger_ones(
    postgres: EmbeddedPostgres, superuser: asyncpg.Connection, fresh: None, before: int
) -> None:
    """Until tables are analyzed again, all their indexes seem equal to the planner, and a
    plan may read a conversation from end to end. It must not do so for each of many rows.
    """
    if before:
        await fill(superuser, ANN, "b", before, others=before // 4, analyze=False)
    database = await Database.connect(postgres.app_dsn, pool_size=1)
    async with database.begin(ANN) as tx:
        await tx.connection.execute("SET plan_cache_mode = force_generic_plan")
        for index, (sql, arguments) in enumerate(STATEMENTS.values()):
            await tx.connection.execute(f"PREPARE s{index} AS {sql}")
            await tx.connection.execute(f"EXPLAIN EXECUTE s{index}({values(sql, arguments)})")
    await fill(superuser, ANN, "c", LENGTH, others=1000, analyze=False)
    async with database.begin(ANN) as tx:
        for index, (name, (sql, arguments)) in enumerate(STATEMENTS.items()):
            execute = f"EXECUTE s{index}({values(sql, arguments)})"
            await tx.connection.execute("SAVEPOINT before")
            [row] = await tx.connection.fetch(f"EXPLAIN (ANALYZE, FORMAT JSON) {execute}")
            await tx.connection.execute("ROLLBACK TO before")
            for step in steps(json.loads(row[0])[0]["Plan"]):
                if "Relation Name" in step:
                    rows = step["Actual Rows"] + step.get("Rows Removed by Filter", 0)
                    assert step["Actual Loops"] * rows <= LENGTH, f"{name}: {step}"
    await database.close()


def values(sql: Sql, arguments: Arguments) -> str:
    """What a statement is executed with, the tenant first."""
    whole = (ANN, *in_order(sql, arguments)) if isinstance(arguments, dict) else arguments
    return ", ".join(map(literal, whole))


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool | int):
        return str(value).lower()
    text = "{" + ",".join(map(str, value)) + "}" if isinstance(value, list) else str(value)
    return f"'{text}'"


async def test_erasing_a_conversation_finds_dependents_by_index(tx: Tx) -> None:
    found: dict[str, tuple[str, tuple[object, ...]]] = {
        table: (sql, (ANN, "c", 1, 2000)) for table, sql in conversations.DELETE_STRETCH.items()
    }
    found["answers that name something"] = (kept_answers.ANSWERS_NAMING, (ANN, [UUID(int=1)], UUID(int=2), "k"))
    found["answers that name one thing"] = (kept_answers.ANSWERS_NAMING_FEW, (ANN, [UUID(int=1)], UUID(int=2), "k"))
    found["answers of tools"] = (kept_answers.ANSWERS_SAID, (ANN, UUID(int=2), "k"))
    found["answers that speak of an archive"] = (kept_answers.ANSWERS_SHOWING, (ANN, [UUID(int=2)], "x"))
    await tx.connection.execute("SET LOCAL enable_seqscan = off")  # some of the tables are empty here
    for name, (sql, arguments) in found.items():
        text = await tx.connection.fetchval(f"EXPLAIN (FORMAT JSON) {sql}", *arguments)
        plan = list(steps(json.loads(text)[0]["Plan"]))
        assert "Seq Scan" not in [step["Node Type"] for step in plan], name
        if name.startswith("answers"):
            assert "idempotency_owner_idx" in [step.get("Index Name") for step in plan], name


async def test_an_append_finds_its_conversation_by_index(tx: Tx) -> None:
    many = appending.FEW + 1
    for new, embeds, once in product((False, True), repeat=3):
        for count, rest in product((1, 2, many), (0, 1, many)):
            counts = {NewMessage: count, ClosedPage: int(not new and rest == 1), NewEvent: 0}
            rows = tuple((row, number) for row in appending.ROWS if (number := counts.get(row, rest)))
            shape = appending.StatementShape(new=new, rows=rows, ends=once and rest > 0, embeds=embeds, once=once)
            nodes = await _nodes(tx, appending.append_sql(shape))
            assert "Seq Scan" not in nodes, shape
            assert new or nodes & {"Index Scan", "Index Only Scan"}, shape


async def _nodes(tx: Tx, sql: str) -> set[str]:
    """What the plan of an append is made of. The rows that it would store are NULLs; what it looks up is not."""
    kinds = [kind.name for kind in (await tx.connection.prepare(sql)).get_parameters()]
    arguments = (str(ANN), *map(_some, kinds[1:5]), *([None] * len(kinds[5:])))
    text = await tx.connection.fetchval(f"EXPLAIN (FORMAT JSON) {sql}", *arguments)
    return {step["Node Type"] for step in steps(json.loads(text)[0]["Plan"])}


def _some(kind: str) -> object:
    """Any value of a type; a plan does not depend on which."""
    values: dict[str, object] = {"uuid": uuid4(), "text": "", "int4": 1, "int8": 1, "timestamptz": datetime.now(UTC)}
    return values.get(kind, "")
