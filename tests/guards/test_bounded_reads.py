"""What a window and an epoch read does not grow with the history.

Row-level security makes this easy to lose: a bound that PostgreSQL does not know to be leakproof (COALESCE, LEAST,
arithmetic on a column) is applied only after every row of the conversation was read.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

import asyncpg
import pytest

from app.doctor import walk
from app.postgres.database import Database
from app.postgres.tenants import DEFAULT_TENANT
from app.store import chapters, heads
from app.store.messages import PAGE_MESSAGES
from app.store.page_index import TOPICS, UNINDEXED
from app.store.served import ITEMS
from app.store.windows import ENTRIES, NEWER, WINDOW
from tests.guards.tenants import Sql, in_order
from tests.guards.test_query_plans import literal

pytestmark = pytest.mark.anyio

MESSAGES = 4000
READ_MAX = 300
LATE, LATE_PAGE = MESSAGES - 40, MESSAGES // 2 - 20
HISTORY = f"""
WITH c AS (
  INSERT INTO conversations (tenant_id, id, uid, last_seq, last_page, full_total, short_total)
  VALUES ('{DEFAULT_TENANT}', 'long', '{DEFAULT_TENANT}', {MESSAGES}, {MESSAGES // 2}, {MESSAGES * 60}, {MESSAGES * 60})
), p AS (
  INSERT INTO pages (tenant_id, conversation_id, page, first_seq, title, title_tokens)
  SELECT '{DEFAULT_TENANT}', 'long', n, 2 * n - 1, 'title', 1 FROM generate_series(1, {MESSAGES // 2}) AS n
), i AS (
  INSERT INTO page_index (tenant_id, conversation_id, page, source, title, topics)
  SELECT '{DEFAULT_TENANT}', 'long', n, 'llm', 'named', ARRAY['topic ' || n % 40]
    FROM generate_series(1, {MESSAGES // 2}) AS n
   WHERE n <> {MESSAGES // 2 - 25}
), s AS (
  INSERT INTO summaries (tenant_id, conversation_id, version, through_seq, text, tokens, model)
  SELECT '{DEFAULT_TENANT}', 'long', n, 2 * n, 'said', 1, 'm' FROM generate_series(1, {MESSAGES // 2}) AS n
), k AS (
  INSERT INTO cuts (tenant_id, conversation_id, number, budget, step, condensed_from, verbatim_from, pinned, room,
                    half_mark, full_total, last_seq, last_page, generation, is_squeezed, forms, head)
  VALUES ('{DEFAULT_TENANT}', 'long', 1, 8000, 0, {LATE}, {LATE + 5}, {LATE - 5}, 8000, 0, {MESSAGES * 60}, {MESSAGES},
          {MESSAGES // 2}, 0, false, '[]', '{{}}')
)
INSERT INTO messages (tenant_id, conversation_id, seq, id, page, user_seq, call_group, kind, role, body, parts, calls,
                      results, full_tokens, short_tokens, loaded_tokens, full_before, short_before, line, line_tokens)
SELECT '{DEFAULT_TENANT}', 'long', n, gen_random_uuid(), (n + 1) / 2, n, n, 'message', 'user', '{{}}', 1, 0, 0, 60, 60,
       0, 60 * (n - 1), 60 * (n - 1), 'line', 1
  FROM generate_series(1, {MESSAGES}) AS n
"""
TENANT = f"'{DEFAULT_TENANT}'"
HERE = f"{TENANT}, 'long'"
STATEMENTS: dict[str, tuple[Sql, str | dict[str, object]]] = {
    "window": (
        WINDOW,
        {
            "budget": 8_000, "usual": 8_000, "step": 0, "anthropic": False, "sees": "*",
        },
    ),
    "newer": (
        NEWER,
        {
            "last_seq": MESSAGES - 10, "verbatim_from": LATE, "anthropic": False, "sees": "*", "budget": 8_000,
            "step": 0, "key": None, "known": None,
        },
    ),
    "entries": (ENTRIES, {"short_from": 60 * LATE, "last_seq": MESSAGES}),
    "messages of a served window": (
        ITEMS,
        {
            "condensed_from": LATE, "verbatim_from": LATE + 5, "pinned": LATE - 5, "last_page": LATE_PAGE,
            "anthropic": False, "last_seq": LATE + 20, "prompt_through": 2,
        },
    ),
    "pages for a head": (
        heads.PAGES,
        {
            "last_page": LATE_PAGE, "oldest_page": LATE_PAGE - 10, "newest_page": LATE_PAGE,
            "recalled_since": LATE_PAGE - 80, "more": [1, LATE_PAGE - 90], "condensed_from": LATE,
        },
    ),
    "texts for a head": (
        heads.TEXTS,
        {"condensed_from": LATE, "last_page": LATE_PAGE},
    ),
    "chapters for a head": (
        chapters.AROUND,
        {"last_page": LATE_PAGE, "recalled_since": LATE_PAGE - 80},
    ),
    "chapters before one": (chapters.SHELF, {"before_page": LATE_PAGE}),
    "pages of a chapter": (chapters.TOLD, {"first_page": LATE_PAGE - 19, "last_page": LATE_PAGE - 1}),
    "walk": (walk.MESSAGES, {"seq": MESSAGES // 2, "marks": "erased", "limit": 100}),
    "page": (PAGE_MESSAGES, f"{HERE}, {LATE_PAGE}"),
    "topics": (TOPICS, {"pages": 150}),
    "page to index": (
        UNINDEXED,
        {"uid": DEFAULT_TENANT, "page": MESSAGES // 2 - 25, "lines_max": 30},
    ),
}  # fmt: skip
NEEDS_STATISTICS = {"entries"}


FORGET = """
SELECT pg_clear_attribute_stats(schemaname, tablename, attname, inherited) FROM pg_stats WHERE schemaname = 'public'
"""


@pytest.fixture(params=["statistics", "no statistics"])
def statistics(
    request: pytest.FixtureRequest, fresh: None, run_as_superuser: Callable[[str], list[asyncpg.Record]]
) -> str:
    """A long conversation, and what the planner knows of it."""
    run_as_superuser(HISTORY)
    run_as_superuser("ANALYZE" if request.param == "statistics" else FORGET)
    return str(request.param)


@pytest.mark.parametrize("name", STATEMENTS)
async def test_reads_of_a_long_conversation_are_bounded(name: str, statistics: str, database: Database) -> None:
    if name in NEEDS_STATISTICS and statistics == "no statistics":
        pytest.skip("until the tables are analyzed the planner may take the wrong index")
    sql, arguments = STATEMENTS[name]
    async with database.snapshot(DEFAULT_TENANT) as tx:
        await tx.connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        await tx.connection.execute(f"PREPARE guarded AS {sql}")
        plan = await tx.connection.fetchval(
            f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE guarded ({values(sql, arguments)})"
        )
        await tx.connection.execute("DEALLOCATE guarded")
    assert sum(read(node) for node in nodes(json.loads(plan)[0]["Plan"])) <= READ_MAX


def values(sql: Sql, arguments: str | dict[str, object]) -> str:
    """What a statement about the long conversation is executed with."""
    if isinstance(arguments, str):
        return arguments
    named = in_order(sql, {"conversation": "long", **arguments})
    return ", ".join(map(literal, (DEFAULT_TENANT, *named)))


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)


def read(node: dict[str, Any]) -> float:
    """Rows that a node takes from a table, those it throws away included."""
    if "Relation Name" not in node:
        return 0
    each = node["Actual Rows"] + node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
    return float(each * node["Actual Loops"])


async def test_a_window_reads_four_tables_however_much_is_archived(database: Database) -> None:
    """Placeholders stand in the messages: no archive, page or memory is looked at."""
    sql, arguments = STATEMENTS["window"]
    async with database.snapshot(DEFAULT_TENANT) as tx:
        await tx.connection.execute(f"PREPARE guarded AS {sql}")
        plan = await tx.connection.fetchval(f"EXPLAIN (FORMAT JSON) EXECUTE guarded ({values(sql, arguments)})")
        await tx.connection.execute("DEALLOCATE guarded")
    found = {node["Relation Name"] for node in nodes(json.loads(plan)[0]["Plan"]) if "Relation Name" in node}
    assert found == {"conversations", "cuts", "messages", "withdrawals"}
