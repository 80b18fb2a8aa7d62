"""A transaction sees the rows of the scopes that it names, table by table; one that names none sees nothing."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from app.core.scope import Scope
from app.postgres.database import Database
from app.postgres.embedded import EmbeddedPostgres
from app.postgres.sight import narrow
from app.settings import Settings
from app.store import windows
from app.store.windows import Wanted
from app.text.tokens import TokenCounter
from tests.conftest import CITUS
from tests.guards.tenants import ANN, populate, runtime
from tests.tables import TABLES

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(bool(CITUS), reason="Citus takes no subquery in a policy")]

OF_THE_TENANT = {
    "tenants": "names, limits and counters",
    "keys": "digests of secrets, and whom they are bound to; read to let a caller in",
    "rates": "numbers", "storage": "numbers",
    "audit": "ids, of every caller: for administrators",
    "events": "ids and numbers", "webhooks": "addresses of the tenant's own services", "work": "ids and numbers",
    "embedding_models": "names of models",
    "own_texts": "Quire's own words",
    "withdrawals": "counts: a window of another member has to know that something was taken back",
}  # fmt: skip
"""Tables that every transaction of a tenant sees whole, and what is in them."""
OF_USERS = sorted(set(TABLES) - OF_THE_TENANT.keys())
MORE = (
    "embeddings (tenant_id, memory_id, owner, model, embedding) SELECT $1, id, owner, id, '[1]' FROM m",
    "listed (tenant_id, owner, memory_id, model, list, embedding) SELECT $1, owner, id, id, 1, '[1]' FROM m",
    "postings (tenant_id, owner, memory_id, term) SELECT $1, owner, id, 1 FROM m",
    "search_indexes (tenant_id, owner, model, centroids) SELECT $1, owner, id, '{}' FROM m",
    "unembedded (tenant_id, owner, memory_id) SELECT $1, owner, id FROM m ON CONFLICT DO NOTHING",
    """chapters (tenant_id, conversation_id, level, first_page, last_page, at_page, terms, day)
       SELECT $1, 'c', 9, 1, 1, 2, '{}', '' FROM m""",
    "spending (tenant_id, conversation_id, day, kind, model) SELECT $1, 'c', now(), 'page', 'm' FROM m",
)
"""What nothing made yet, of a user's memory."""


@pytest.fixture
async def told(database: Database, settings: Settings, counter: TokenCounter) -> AsyncIterator[None]:
    """A user's conversation, a space's and nobody's, with something in every table."""
    await populate(runtime(settings, database, counter), ANN, turns=4)
    memory = "SELECT id, owner FROM memories WHERE tenant_id = $1 AND type = 'episode' LIMIT 1"
    async with database.begin(ANN) as tx:
        for rows in MORE:
            await tx.execute(f"WITH m AS ({memory}) INSERT INTO {rows}")
        await tx.execute(f"UPDATE idempotency SET owner = '{Scope('user', 'u').owner}' WHERE tenant_id = $1")
    yield
    narrow(None)


async def seen(database: Database, whose: Scope | None, conversation: str | None = None) -> dict[str, int]:
    narrow(whose, conversation)
    async with database.snapshot(ANN) as tx:
        return {name: await tx.connection.fetchval(f"SELECT count(*) FROM {rows(name)}") for name in OF_USERS}


def rows(table: str) -> str:
    return f"{table} WHERE conversation_id IS NOT NULL" if table == "spending" else table


async def test_a_strangers_scope_reads_no_table_of_users_rows(database: Database, told: None) -> None:
    everything = await seen(database, None)
    assert min(everything.values()) > 0, everything
    for name in (None, "c"):  # naming somebody's conversation opens nothing
        assert not any((await seen(database, Scope("user", "eve"), name)).values())
    own = await seen(database, Scope("user", "u"))
    assert own == await seen(database, Scope("user", "u"), "c")
    hidden = {name: everything[name] - own[name] for name in OF_USERS if everything[name] != own[name]}
    assert hidden == {"conversations": 1, "memories": 1}  # nobody's conversation, and a file of the memory tool
    of_the_space = await seen(database, Scope("space", "team"))
    assert {name for name, count in of_the_space.items() if count} == {"conversations", "spaces", "space_members"}
    assert of_the_space["conversations"] == 1


async def test_a_window_of_somebody_elses_conversation_is_not_read(database: Database, told: None) -> None:
    """It is read by a statement alone, outside any transaction."""
    wanted = Wanted(1_000, 1_000, 0, anthropic=False)
    for name, found in (("u", True), ("eve", False)):
        narrow(Scope("user", name), "c")
        assert (await windows.load(database, ANN, "c", wanted) is not None) == found


@pytest.mark.parametrize("setting", ["", str(ANN), f"{ANN}\n\n\n", f"{ANN}\n{{}}\n{{}}\n{{}}"])
async def test_what_is_not_set_sees_nothing(database: Database, told: None, setting: str) -> None:
    async with database.begin(ANN) as tx:
        await tx.connection.execute(f"SET LOCAL app.tenant = '{setting}'")
        for name in OF_USERS:
            assert await tx.connection.fetchval(f"SELECT count(*) FROM {name}") == 0, name


async def test_a_stranger_changes_and_deletes_nothing(database: Database, told: None) -> None:
    narrow(Scope("user", "eve"))
    sees = await database.sees(ANN)
    narrow(None)
    async with database.begin(ANN) as tx:
        await tx.connection.execute(f"SET LOCAL app.tenant = '{ANN}{sees}'")
        for name in OF_USERS:
            assert await tx.connection.execute(f"UPDATE {name} SET tenant_id = tenant_id") == "UPDATE 0", name
            assert await tx.connection.execute(f"DELETE FROM {name}") == "DELETE 0", name


async def test_who_is_removed_from_a_space_sees_nothing_of_it_from_the_next_request_on(
    database: Database, told: None
) -> None:
    count = "SELECT count(*) FROM conversations WHERE tenant_id = $1 AND id = 'shared'"
    for members in (1, 0):
        narrow(Scope("user", "u"))
        async with database.snapshot(ANN) as tx:
            assert await tx.fetchval(count) == members
        narrow(None)
        async with database.begin(ANN) as tx:
            await tx.execute("DELETE FROM space_members WHERE tenant_id = $1")


@pytest.mark.parametrize("name", ['a"b', "a\\", "it's", "{}", ",", "*", "名"])
async def test_a_scope_is_its_name_and_nothing_of_its_syntax(database: Database, name: str) -> None:
    async with database.begin(ANN) as tx:
        for user in (name, "other"):
            await tx.execute(
                "INSERT INTO conversations (tenant_id, id, uid, user_id) VALUES ($1, $2, gen_random_uuid(), $2)", user
            )
    try:
        for conversation in (name, None):
            narrow(Scope("user", name), conversation)
            async with database.snapshot(ANN) as tx:
                assert [row["id"] for row in await tx.connection.fetch("SELECT id FROM conversations")] == [name]
    finally:
        narrow(None)


@asynccontextmanager
async def as_app(postgres: EmbeddedPostgres) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(postgres.app_dsn)
    yield connection
    await connection.close()


async def test_the_apps_role_reads_the_schemas_version_and_cannot_touch_it(postgres: EmbeddedPostgres) -> None:
    async with as_app(postgres) as connection:
        version = await connection.fetchval("SELECT version_num FROM alembic_version")
        for touching in (
            "UPDATE alembic_version SET version_num = '9'", "DELETE FROM alembic_version",
            "INSERT INTO alembic_version VALUES ('9')", "TRUNCATE alembic_version", "DROP TABLE alembic_version",
        ):  # fmt: skip
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute(touching)
        assert await connection.fetchval("SELECT version_num FROM alembic_version") == version
