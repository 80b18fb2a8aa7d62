"""Quire can be sharded by tenant: what is distributed, which statements cross tenants, and which Citus refuses.

That every key, constraint and index leads with the tenant is in test_schema.
"""

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncpg
import pytest
from hypothesis import assume, given
from hypothesis.strategies import booleans, builds, integers, tuples

import app
from app.core.history.rows import NewMemory, NewWish
from app.postgres import database
from app.postgres.distribution import EVERYWHERE, distributing, misplaced
from app.postgres.statements import Statement
from app.store.appending import FEW, MEMORIES, ROWS, StatementShape, routed_sql
from tests.tables import TABLES

DEPLOY = Path(__file__).parents[2] / "deploy"
MENTIONS = re.compile(rf"\b(?:FROM|JOIN|INTO|UPDATE)\s+(?:{'|'.join(TABLES)})\b")
STATEMENT = re.compile(r"\s*(SELECT|WITH|INSERT|UPDATE|DELETE)\b")
PUTS_IN = r"INSERT INTO \w+(?: AS \w+)?\s*\(\s*tenant_id,[^)]*\)\s*(?:VALUES\s*\(|SELECT )\s*\$1"
OF_ONE_TENANT = re.compile(rf"tenant_id = \$1|{PUTS_IN}")
SHAPED = tuples(*[integers(0, FEW + 1)] * len(ROWS)).map(
    lambda counts: tuple((row, count) for row, count in zip(ROWS, counts, strict=True) if count)
)
ACROSS = {
    "app.postgres.tenants.LIST", "app.postgres.admission.IS_KEYED", "app.store.keys.ALL_TENANTS",
    "app.queue.table.BUSY", "app.queue.table.BUSY_ON_CITUS", "app.queue.table.SOME", "app.queue.table.DUE",
    "app.queue.table.ASTRAY", "app.queue.depths.ABANDONED", "app.queue.depths.DEPTH_OF_EACH",
    "app.queue.depths.NEGLECTED_OF_EACH", "app.queue.outbox.UNNUMBERED", "app.store.operators.chores.DUE",
    "app.postgres.backup.HELD",
}  # fmt: skip
"""The lists of tenants, for what goes through them one by one; whether anybody has a key; and what workers look for
all the time, which goes through the tenants within the statement.
"""
PLAIN = {
    "app.store.appending.INSERT_MEMORIES", "app.store.memory.embeddings.MARK", "app.store.memory.remembered.INSERT",
    "app.store.page_index.INDEX", "app.store.operators.limits.READ_BUCKET",
}  # fmt: skip
"""For plain PostgreSQL only: on Citus their parts are run one by one (``tx.is_sharded``)."""


REFERENCES = """
SELECT conrelid::regclass::text AS name, confrelid::regclass::text AS referred FROM pg_constraint
 WHERE contype = 'f' AND connamespace = 'public'::regnamespace
"""


def test_every_table_is_distributed_by_tenant_after_those_it_references(
    run_as_superuser: Callable[[str], list[asyncpg.Record]],
) -> None:
    placed = dict(distributing(TABLES, {}))
    names = list(placed)
    assert sorted(names) == sorted({*TABLES, *EVERYWHERE})
    assert [name for name, sql in placed.items() if "create_reference_table" in sql[-1]] == list(EVERYWHERE)
    references = run_as_superuser(REFERENCES)
    assert len(references) > 15
    for row in references:
        assert names.index(row["referred"]) <= names.index(row["name"])


def test_only_a_table_that_is_misplaced_is_distributed() -> None:
    settled = {name: name not in EVERYWHERE for name in (*EVERYWHERE, *TABLES)}
    assert not list(distributing(TABLES, settled))
    assert misplaced(TABLES, {name: kind for name, kind in settled.items() if name != "pages"}) == ["pages"]
    assert misplaced(TABLES, settled | {"tenants": True}) == ["tenants"]
    assert [name for name, _ in distributing(TABLES, settled | {"pages": False})] == ["pages"]


def statements() -> Iterator[tuple[str, str]]:
    for module in pkgutil.walk_packages(app.__path__, "app."):
        if module.name == "app.__main__":
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            sql = str(value) if isinstance(value, str | Statement) else ""
            if name.isupper() and STATEMENT.match(sql) and MENTIONS.search(sql):
                yield f"{module.name}.{name}", sql


def test_no_statement_crosses_tenants_but_the_list_of_them() -> None:
    found = dict(statements())
    assert len(found) > 100
    across = {name for name, sql in found.items() if not OF_ONE_TENANT.search(sql)}
    assert across == ACROSS


NOW = r"(?:now|clock_timestamp|statement_timestamp|random|gen_random_uuid)\(\)"
_TABLES = "|".join(TABLES)
REFUSED = {
    "INSERT in a WITH": re.compile(r"\bAS (?:MATERIALIZED )?\(\s*INSERT\b"),
    "a function that is not immutable in DO UPDATE": re.compile(
        rf"DO UPDATE\s+SET\b(?:(?!RETURNING).)*\b{NOW}", re.DOTALL
    ),
    "a function that is not immutable in RETURNING": re.compile(rf"\bRETURNING\b[^)]*\b{NOW}"),
    "a function that is not immutable in a CASE that is written": re.compile(
        rf"^\s*(?:UPDATE|INSERT)\b.*\b(?:THEN|ELSE)\s+{NOW}", re.DOTALL
    ),
    "a function that is not immutable in a COALESCE that is written": re.compile(
        rf"^\s*(?:UPDATE|INSERT)\b.*\bcoalesce\([^()]*\b{NOW}\)", re.DOTALL
    ),
    "a subquery that names the tenant by another row": re.compile(
        rf"\(\s*SELECT[^()]*(?:\([^()]*\)[^()]*)?\bFROM (?:{_TABLES}) \w+\s+WHERE \w+\.tenant_id = (?!\$1)\w"
    ),
    "rows that would be sent by COPY, which row-level security forbids": re.compile(
        r"^\s*INSERT INTO \w+(?: AS \w+)?\s*\([^)]*\)\s*SELECT (?!(?:DISTINCT )?(?:\w\.)?tenant_id)"
        r"(?!.*\b(?:ON CONFLICT|RETURNING)\b)",
        re.DOTALL,
    ),
}
"""What Citus 14 refuses, or sends to every node."""


def refusals(sql: str) -> list[str]:
    return [why for why, pattern in REFUSED.items() if pattern.search(sql)]


def test_citus_refuses_no_statement_but_those_whose_parts_it_runs() -> None:
    found = {name: refusals(sql) for name, sql in statements() if name not in ACROSS}
    assert {name: why for name, why in found.items() if why and name not in PLAIN} == {}
    assert {name for name in PLAIN if found[name]} == PLAIN


@given(builds(StatementShape, new=booleans(), rows=SHAPED, ends=booleans(), embeds=booleans(), once=booleans()))
def test_citus_refuses_no_part_of_an_append(shape: StatementShape) -> None:
    kinds = dict(shape.rows)
    assume(NewWish in kinds or not shape.ends)
    assume(NewMemory in kinds or not shape.embeds)
    conversation, *others = routed_sql(shape)
    assert conversation.sql.startswith(("INSERT INTO conversations", "UPDATE conversations"))
    for part in (conversation, *others):
        assert refusals(part.sql) == []
        assert "{" not in re.sub(r"'[^']*'", "", part.sql)
        assert sorted({int(n) for n in re.findall(r"\$(\d+)", part.sql)}) == list(range(1, len(part.places) + 1))
    tables = [re.match(r"\s*(?:INSERT INTO|UPDATE) (\w+)", part.sql)[1] for part in others]  # type: ignore[index]
    firsts = [("archive" in table, table in MEMORIES, table in ("work", "idempotency")) for table in tables]
    assert [of_memories for _, of_memories, last in firsts if not last] == sorted(
        m for _, m, last in firsts if not last
    )
    assert [last for *_, last in firsts] == sorted(last for *_, last in firsts)


@pytest.mark.parametrize(
    "sql",
    [
        "WITH s AS (INSERT INTO pages (tenant_id) VALUES ($1) RETURNING page) SELECT page FROM s",
        "INSERT INTO work (tenant_id) VALUES ($1) ON CONFLICT (tenant_id) DO UPDATE SET due = now()",
        "INSERT INTO rates (tenant_id) VALUES ($1) RETURNING tokens, clock_timestamp() AS now",
        "UPDATE keys SET revoked_at = coalesce(revoked_at, now()) WHERE tenant_id = $1",
        "UPDATE work SET failed_at = CASE WHEN version = claimed THEN now() END WHERE tenant_id = $1",
        "SELECT (SELECT sum(d.count) FROM withdrawals d WHERE d.tenant_id = c.tenant_id) FROM conversations c",
        "INSERT INTO pages (tenant_id, page) SELECT $1, p.page FROM unnest($2::int[]) AS p (page)",
    ],
)
def test_the_guard_finds_a_statement_that_citus_refuses(sql: str) -> None:
    assert len(refusals(sql)) == 1


def test_the_apps_role_has_the_limits_of_a_session_by_itself() -> None:
    """For single statements behind a pooler, whose sessions are not ours to configure."""
    roles = (DEPLOY / "roles.sql").read_text()
    for name, value in database.SERVER_TIMEOUTS.items():
        assert f"ALTER ROLE quire_app SET {name} = '{value}';" in roles
