"""What a worker does once a minute: what is due, for the tenants that it is due for."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import asyncpg
import pytest

from app import worker
from app.core.edge.audit import Auditing
from app.core.edge.deployment import Retention
from app.core.times import first_id
from app.postgres.database import ORDERED, Database
from app.postgres.tenants import DEFAULT_TENANT
from app.postgres.transactions import Connection
from app.runtime import Runtime
from app.settings import Settings
from app.store.operators import chores
from app.text.tokens import TokenCounter
from tests.conftest import CITUS
from tests.guards.conftest import superuser  # noqa: F401 - a fixture
from tests.guards.tenants import ANN, BOB, runtime

pytestmark = pytest.mark.anyio
in_one_statement = pytest.mark.skipif(bool(CITUS), reason="on Citus each tenant is looked at by itself")

OLD, NEW = timedelta(days=400), timedelta()
ROWS = {
    "conversations": "id, uid, updated_at) VALUES ('{tenant}', 'c', '{id}', '{at}'",
    "idempotency": "key, digest, response, created_at) VALUES ('{tenant}', 'k', 'd', 'r', '{at}'",
    "proxied_requests": "conversation_id, id, request) VALUES ('{tenant}', 'c', '{id}', '{{}}'",
    "rates": "subject, tokens, at) VALUES ('{tenant}', '{id}', 1, '{at}'",
    "events": "id, type, data) VALUES ('{tenant}', '{id}', 'cut.made', '{{}}'",
    "audit": "id, action, route, ids, address, status, request_id)"
    " VALUES ('{tenant}', '{id}', 'read', 'GET /', '{{}}', 'a', 200, 'r'",
    "archive_contents": "scope, digest, content, length, tokens) VALUES ('{tenant}', 'u:u', 'd', 'x', 1, 1",
    "archives": "id, scope, digest, user_id, tool_name, tool_input, query_summary, result_summary, key_terms, sources,"
    " placeholder, language, expires_at)"
    " VALUES ('{tenant}', '{id}', 'u:u', 'd', 'u', 't', '', '', '', '{{}}', '{{}}', '', 'en', '{expires}'",
    "memories": "id, owner, type, start, length, terms, content, expires_at)"
    " VALUES ('{tenant}', '{id}', '{id}', 'fact', 0, 1, '{{1:1}}/1000000000', 'x', '{expires}'",
}
"""A row of each table that gets old, or expires."""


async def plant(superuser: asyncpg.Connection, tenant: UUID, age: timedelta) -> None:  # noqa: F811
    at = datetime.now(UTC) - age
    expires = at + timedelta(days=200)
    await superuser.execute(f"INSERT INTO tenants (tenant_id, name) VALUES ('{tenant}', 't') ON CONFLICT DO NOTHING")
    for table, row in ROWS.items():
        values = row.format(tenant=tenant, id=UUID(int=first_id(at).int + 1), at=at, expires=expires)
        await superuser.execute(f"INSERT INTO {table} (tenant_id, {values})")


async def holding(superuser: asyncpg.Connection, tenant: UUID) -> set[str]:  # noqa: F811
    """Return the tables with a row of a tenant."""
    return {
        table
        for table in (*ROWS, "storage")
        if await superuser.fetchval(f"SELECT EXISTS (SELECT FROM {table} WHERE tenant_id = '{tenant}')")
    }


@pytest.fixture
def made(settings: Settings, database: Database, counter: TokenCounter) -> Runtime:
    return replace(runtime(settings, database, counter), auditing=Auditing(is_on=True))


async def test_what_is_due_is_done_also_for_tenants_that_are_made_later(
    made: Runtime,
    superuser: asyncpg.Connection,  # noqa: F811
) -> None:
    await worker.keep_house(made)
    await plant(superuser, ANN, OLD)
    await plant(superuser, BOB, NEW)
    await plant(superuser, DEFAULT_TENANT, OLD)
    await superuser.execute(f"UPDATE tenants SET user_storage_bytes = 100 WHERE tenant_id = '{ANN}'")

    await worker.keep_house(made)
    assert await holding(superuser, ANN) == {"conversations", "storage"}
    assert await holding(superuser, DEFAULT_TENANT) == {"conversations"}
    assert await holding(superuser, BOB) == set(ROWS)

    await worker.keep_house(replace(made, retention=Retention(conversation_days=300)))
    assert await holding(superuser, ANN) <= {"storage"}
    assert await holding(superuser, DEFAULT_TENANT) == set()
    assert await holding(superuser, BOB) == set(ROWS)


async def test_a_look_finds_what_is_due_and_whose_it_is(
    made: Runtime,
    database: Database,
    superuser: asyncpg.Connection,  # noqa: F811
) -> None:
    await plant(superuser, ANN, OLD)
    await plant(superuser, BOB, NEW)
    await superuser.execute(f"UPDATE tenants SET storage_bytes = 100 WHERE tenant_id = '{BOB}'")
    rules = replace(made, retention=Retention(conversation_days=300))
    assert set(worker.CHORES) == set(re.findall(r"SELECT '(\w+)'", str(chores.DUE)))
    for _ in range(8):  # PostgreSQL turns to a generic plan after five
        found = await look(rules, database, [ANN, BOB, UUID(int=7)])
        assert found == {name: {ANN} for name in worker.CHORES if name != "storage"} | {"storage": {BOB}}
    pruning = replace(made, retention=Retention(messages_max=3))
    assert (await look(pruning, database, [BOB]))["conversations"] == {BOB}


async def look(rules: Runtime, database: Database, some: Sequence[UUID]) -> dict[str, set[UUID]]:
    return await chores.due(database, some, worker.since(rules, datetime.now(UTC)))


@in_one_statement
async def test_a_tenant_with_nothing_due_takes_no_statement_of_its_own(
    made: Runtime,
    superuser: asyncpg.Connection,  # noqa: F811
) -> None:
    lent = 0

    async def count(_: Connection) -> None:
        nonlocal lent
        lent += 1

    counted = replace(made, database=made.database.after(count))
    await plant(superuser, BOB, NEW)
    await worker.keep_house(counted)
    few, lent = lent, 0
    await superuser.execute(
        "INSERT INTO tenants (tenant_id, name) SELECT gen_random_uuid(), 't' FROM generate_series(1, 100)"
    )
    await worker.keep_house(counted)
    assert lent == few


@pytest.mark.skipif(bool(CITUS), reason="Citus has no triggers")
async def test_a_chore_that_fails_for_a_tenant_leaves_the_others_done(
    made: Runtime,
    superuser: asyncpg.Connection,  # noqa: F811
    caplog: pytest.LogCaptureFixture,
) -> None:
    await plant(superuser, ANN, OLD)
    await plant(superuser, BOB, OLD)
    await superuser.execute(f"""
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not now'; END $$;
    CREATE TRIGGER refuses BEFORE DELETE ON events FOR EACH ROW WHEN (OLD.tenant_id = '{min(ANN, BOB)}')
      EXECUTE FUNCTION refuse()""")
    try:
        await worker.keep_house(made)
        assert await holding(superuser, min(ANN, BOB)) == {"conversations", "events"}
        assert await holding(superuser, max(ANN, BOB)) == {"conversations"}
        assert [record.getMessage() for record in caplog.records if record.name == "app.worker"] == ["events failed"]
    finally:
        await superuser.execute("DROP FUNCTION refuse CASCADE")
    await worker.keep_house(made)
    assert await holding(superuser, min(ANN, BOB)) == {"conversations"}


@in_one_statement
async def test_a_look_reads_by_the_times_and_not_whole_tables(
    made: Runtime,
    superuser: asyncpg.Connection,  # noqa: F811
    fresh: None,
) -> None:
    for setting, value in ORDERED.items():
        await superuser.execute(f"SET {setting} = {value}")
    await superuser.execute("SET ROLE quire_app")
    rules = replace(made, retention=Retention(conversation_days=300))
    given = chores.DUE.arguments(worker.since(rules, datetime.now(UTC)))
    text = await superuser.fetchval(f"EXPLAIN (FORMAT JSON) {chores.DUE}", [ANN], *given)
    used = re.findall(r'"Index Name": "(\w+)",?\s+"', text)
    assert set(used) >= {
        "idempotency_created_idx", "proxied_requests_pkey", "events_pkey", "audit_pkey", "archives_expiry_idx",
        "memories_expiry_idx", "conversations_recent_idx",
    }, text  # fmt: skip
