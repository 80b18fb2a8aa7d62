import asyncio
from contextlib import suppress
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
import pytest

from app import errors
from app.postgres.database import Database
from app.postgres.embedded import EmbeddedPostgres
from app.postgres.transactions import Connection
from app.store import locks
from app.store.appending import array_literal
from tests.guards.test_sharding import statements

pytestmark = pytest.mark.anyio
TENANT, OWNERS = UUID(int=1), [UUID(int=2), UUID(int=3)]


async def test_a_transaction_belongs_to_its_tenant_and_leaves_nothing_behind(database: Database) -> None:
    tenant = uuid4()
    async with database.begin(tenant) as tx:
        assert await tx.connection.fetchval("SELECT current_setting('app.tenant')") == f"{tenant}*"
    row = await database.fetch_row("SELECT current_setting('app.tenant', true)")
    assert row is not None
    assert row[0] in {None, ""}


async def test_an_array_is_stored_as_it_is_written(database: Database) -> None:
    texts = ["", " ", "a,b", "{}", "NULL", '"', "\\", '\\"', "'", "é, 中\n\t", "x" * 9]
    for array in ([], *([text] for text in texts), texts):
        row = await database.fetch_row("SELECT $1::text::text[]", array_literal(array))
        assert row is not None
        assert row[0] == array
    row = await database.fetch_row(
        "SELECT $1::text::int[], $2::text::uuid[]", array_literal((1, -2)), array_literal(OWNERS)
    )
    assert row is not None
    assert (row[0], row[1]) == ([1, -2], OWNERS)


async def test_a_block_that_ends_has_committed_and_one_that_fails_has_not(
    database: Database, postgres: EmbeddedPostgres
) -> None:
    async with scratch_table(postgres):
        async with database.begin(TENANT) as tx:
            await tx.connection.execute("INSERT INTO scratch VALUES (1)")
        with pytest.raises(errors.NotFound):
            async with database.begin(TENANT) as tx:
                await tx.connection.execute("INSERT INTO scratch VALUES (2)")
                raise errors.NotFound
        assert [row["n"] for row in await database.fetch_all("SELECT n FROM scratch")] == [1]


async def test_an_error_that_was_swallowed_cannot_pass_for_a_commit(database: Database) -> None:
    with pytest.raises(RuntimeError, match="rolled back"):
        async with database.begin(TENANT) as tx:
            with pytest.raises(asyncpg.DivisionByZeroError):
                await tx.connection.fetchval("SELECT 1 / 0")


async def test_a_snapshot_sees_one_moment_and_writes_nothing(database: Database, postgres: EmbeddedPostgres) -> None:
    async with scratch_table(postgres):
        async with database.snapshot(TENANT) as tx:
            assert await tx.connection.fetchval("SELECT count(*) FROM scratch") == 0
            await database.fetch_row("INSERT INTO scratch VALUES (1) RETURNING n")
            assert await tx.connection.fetchval("SELECT count(*) FROM scratch") == 0
        with pytest.raises(errors.StorageUnavailable):
            async with database.snapshot(TENANT) as tx:
                await tx.connection.execute("INSERT INTO scratch VALUES (2)")


FAILS_AT_COMMIT = """
CREATE FUNCTION fail_at_commit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION USING errcode = '{code}', message = 'node 2 is gone'; END $$;
CREATE CONSTRAINT TRIGGER fails AFTER INSERT ON scratch DEFERRABLE INITIALLY DEFERRED
   FOR EACH ROW EXECUTE FUNCTION fail_at_commit();
"""


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("XX000", errors.OutcomeUnknown),
        ("58000", errors.OutcomeUnknown),
        ("08006", errors.OutcomeUnknown),
        ("53100", errors.StorageFull),
        ("40001", errors.StorageUnavailable),
        ("23505", asyncpg.UniqueViolationError),
    ],
)
async def test_an_error_of_a_commit_that_is_no_rollback_is_an_unknown_outcome(
    database: Database, postgres: EmbeddedPostgres, code: str, kind: type[Exception]
) -> None:
    async with scratch_table(postgres):
        owner = await asyncpg.connect(postgres.superuser_dsn)
        try:
            await owner.execute(FAILS_AT_COMMIT.format(code=code))
            with pytest.raises(kind) as caught:
                async with database.begin(TENANT) as tx:
                    await tx.connection.execute("INSERT INTO scratch VALUES (1)")
            assert type(caught.value) is kind
        finally:
            await owner.execute("DROP FUNCTION fail_at_commit CASCADE")
            await owner.close()


@pytest.mark.slow
async def test_a_statement_that_hangs_ends_as_storage_unavailable(database: Database) -> None:
    with pytest.raises(errors.StorageUnavailable) as caught:
        await database.fetch_row("SELECT pg_sleep(60)")
    assert caught.value.headers == {"Retry-After": "1"}


@pytest.mark.slow
async def test_a_queue_for_connections_that_moves_is_waited_for(postgres: EmbeddedPostgres) -> None:
    database = await Database.connect(postgres.app_dsn, pool_size=1)
    try:
        # three seconds: longer than a read waits where nobody is answered
        assert len(await asyncio.gather(*(database.fetch_row("SELECT pg_sleep(0.5)") for _ in range(6)))) == 6
    finally:
        await database.close()


async def test_waiting_for_a_lock_ends_sooner(database: Database, postgres: EmbeddedPostgres) -> None:
    async with scratch_table(postgres):
        await database.fetch_row("INSERT INTO scratch VALUES (1) RETURNING n")
        async with database.begin(TENANT) as holder:
            await holder.connection.execute("UPDATE scratch SET n = 2")
            with pytest.raises(errors.StorageUnavailable):
                await database.fetch_row("UPDATE scratch SET n = 3 RETURNING n")


async def test_who_shares_an_owner_waits_for_whoever_erases_something_of_it(postgres: EmbeddedPostgres) -> None:
    """It gives up in time, and its connection is as good as before."""
    database = await Database.connect(postgres.app_dsn, pool_size=2)
    async with database.begin(TENANT) as holder:
        await locks.lock_owner(holder, OWNERS[1])
        with pytest.raises(errors.StorageUnavailable):
            async with database.begin(TENANT, sharing=OWNERS):
                pass
        async with database.begin(uuid4(), sharing=OWNERS):
            pass
        async with database.begin(TENANT, sharing=OWNERS[:1]):
            pass
    async with database.begin(TENANT, sharing=OWNERS), database.begin(TENANT, sharing=OWNERS[::-1]):
        pass
    await database.close()


async def test_a_cancelled_statement_takes_its_connection_with_it(postgres: EmbeddedPostgres) -> None:
    database = await Database.connect(postgres.app_dsn, pool_size=1)
    before = await backend(database)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await database.fetch_row("SELECT pg_sleep(60)")
    assert await backend(database) != before
    await database.close()


async def test_a_cancelled_transaction_takes_its_connection_with_it(postgres: EmbeddedPostgres) -> None:
    database = await Database.connect(postgres.app_dsn, pool_size=1)
    before = await backend(database)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1), database.begin(TENANT) as tx:
            await tx.connection.execute("SELECT pg_sleep(60)")
    assert await backend(database) != before
    await database.close()


async def test_an_error_of_ours_keeps_the_connection(postgres: EmbeddedPostgres) -> None:
    database = await Database.connect(postgres.app_dsn, pool_size=1)
    before = await backend(database)
    with pytest.raises(asyncpg.DivisionByZeroError):
        async with database.begin(TENANT) as tx:
            await tx.connection.fetchval("SELECT 1 / 0")
    assert await backend(database) == before
    await database.close()


async def test_a_connection_that_the_server_ended_is_replaced(database: Database, postgres: EmbeddedPostgres) -> None:
    with pytest.raises(errors.StorageUnavailable):
        async with database.begin(TENANT) as tx:
            superuser = await asyncpg.connect(postgres.superuser_dsn)
            await superuser.execute(
                "SELECT pg_terminate_backend($1)", await tx.connection.fetchval("SELECT pg_backend_pid()")
            )
            await superuser.close()
            await tx.connection.fetchval("SELECT 1")
    await database.ping()


async def test_a_database_that_is_away_is_storage_unavailable(tmp_path: Path) -> None:
    with pytest.raises(errors.StorageUnavailable):
        await Database.connect(f"postgresql://quire_app@/quire?host={tmp_path}")


async def test_ordered_reads_set_planner_options_for_their_statement_only(
    postgres: EmbeddedPostgres,
) -> None:
    for statement_cache, sorts, plans in ((True, "off", "force_generic_plan"), (False, "on", "auto")):
        database = await Database.connect(postgres.app_dsn, pool_size=1, statement_cache=statement_cache)
        [row] = await database.fetch_ordered("SHOW enable_sort")
        assert row[0] == sorts
        assert [row[0] for row in await database.fetch_all("SHOW enable_sort")] == ["on"]
        assert [row[0] for row in await database.fetch_all("SHOW plan_cache_mode")] == [plans]  # else none is kept
        await database.close()


async def test_without_prepared_statements_the_limits_travel_with_the_transaction(postgres: EmbeddedPostgres) -> None:
    database = await Database.connect(postgres.app_dsn, pool_size=1, statement_cache=False)
    async with database.begin(TENANT) as tx:
        assert await tx.connection.fetchval("SHOW statement_timeout") == "5s"
    row = await database.fetch_row("SHOW statement_timeout")
    assert row is not None
    assert row[0] == "0"
    await database.close()


async def test_the_apps_role_is_safe_and_a_superuser_is_refused(database: Database, postgres: EmbeddedPostgres) -> None:
    await database.assert_role_is_safe()
    superuser = await Database.connect(postgres.superuser_dsn, pool_size=1)
    with pytest.raises(errors.UnsafeDatabase):
        await superuser.assert_role_is_safe()
    await superuser.close()


async def test_giving_up_durability_is_warned_about(
    postgres: EmbeddedPostgres, caplog: pytest.LogCaptureFixture
) -> None:
    careless = await Database.connect(postgres.app_dsn + "&options=-csynchronous_commit%3Doff", pool_size=1)
    await careless.assert_role_is_safe()
    assert "synchronous_commit is off" in caplog.text
    await careless.close()


async def backend(database: Database) -> int:
    row = await database.fetch_row("SELECT pg_backend_pid()")
    assert row is not None
    return int(row[0])


class scratch_table:  # noqa: N801
    """A table for one test, made by the owner and dropped at the end."""

    def __init__(self, postgres: EmbeddedPostgres) -> None:
        self._dsn = postgres.owner_dsn

    async def __aenter__(self) -> None:
        await self._execute("CREATE TABLE scratch (n int)")

    async def __aexit__(self, *_: object) -> None:
        await self._execute("DROP TABLE scratch")

    async def _execute(self, sql: str) -> None:
        connection = await asyncpg.connect(self._dsn)
        await connection.execute(sql)
        await connection.close()


async def test_no_statement_makes_the_driver_look_up_a_type(database: Database) -> None:
    """A look-up costs more than most statements, on each new connection."""
    asked: list[str] = []

    async def prepare_all(connection: Connection) -> None:
        with connection.query_logger(lambda query: asked.append(query.query)):
            for _, sql in statements():
                with suppress(asyncpg.PostgresError):  # what is put together first
                    await connection.prepare(sql)

    await database.after(prepare_all).ping()
    assert [sql for sql in asked if "typeinfo_tree" in sql] == []
