"""The connection to PostgreSQL: two kinds of transaction, and the handling of failures.

On Citus (``is_sharded``) the settings of a transaction are sent to the nodes one by one, and a statement that writes
must be one that goes to a single node whole: see ``app/postgres/sharding.py``.

A transaction belongs to one tenant and says what it sees of it: row-level security reads both from `app.tenant`, which
is set for the transaction only, so that it cannot leak to the next user of a pooled connection. Unset, it sees nothing.

A database that hangs cannot enforce its own time-outs, so each limit exists twice: on the server
and, a little longer, on the client. A connection whose statement was interrupted is closed, never
returned to the pool, because its next answer is unpredictable.

`json` and `jsonb` results are returned as text, unparsed.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, nullcontext
from functools import partial
from typing import Any, TypeAlias
from uuid import UUID

import asyncpg

from app import errors
from app.postgres import admission, sight
from app.postgres.distribution import IS_CITUS
from app.postgres.failures import CUT_SHORT, committing, may_be_done, translated
from app.postgres.patience import Patience
from app.postgres.refusals import CONNECT_SECONDS, KINDS, why_not
from app.postgres.statements import Statement
from app.postgres.transactions import EVERYTHING, AnyTx, Changes, Connection, ReadTx, Tx, bound

# In quotes: generic in their stubs only.
Pool: TypeAlias = "asyncpg.Pool[asyncpg.Record]"
Check: TypeAlias = Callable[[Connection], Awaitable[None]]

ACQUIRE_SECONDS = 5.0
"""Wait for a connection to write with while the database answers nobody."""
FIRST_SECONDS = 2.0
"""Limit of such a wait for a connection to read with, of a transaction's first statement, and of a read that is one
statement. None of them takes long, so a database that hangs is noticed by it. A disk that stalls for a second keeps
every connection in its commit, and is no reason to refuse."""
STATEMENT_SECONDS = 7.0
SERVER_TIMEOUTS = {"statement_timeout": "5s", "lock_timeout": "2s", "idle_in_transaction_session_timeout": "10s"}

WRITES, READS = "READ COMMITTED READ WRITE", "REPEATABLE READ READ ONLY"

ORDERED = {"enable_seqscan": "off", "enable_sort": "off", "enable_incremental_sort": "off"}

TENANTS_AT_ONCE = 500
"""Tenants of one statement, so that it ends in time however many have work."""

# A statement is planned once a connection, for any values: planning most of ours takes longer than running them. And
# without sequential scans: a plan that was made for an empty table is kept when that has thousands of rows. Citus is
# left alone, as it can send a plan for any tenant to no node.
PLAN_ONCE = f"""
SELECT set_config('plan_cache_mode', 'force_generic_plan', false), set_config('enable_seqscan', 'off', false)
 WHERE NOT ({IS_CITUS})
"""

# Arrays of PostgreSQL's own types in our statements, by their element: their OIDs, the same on every server. The driver
# would look them up on every connection, for 9 ms each time, and a second or two on Citus.
ARRAYS = {
    "bool": (1000, 16), "bytea": (1001, 17), "int2": (1005, 21), "int4": (1007, 23), "int8": (1016, 20),
    "float8": (1022, 701), "timestamptz": (1185, 1184), "uuid": (2951, 2950),
}  # fmt: skip
_NOT_OF_ARRAYS = dict.fromkeys(("basetype", "range_subtype", "attrtypoids"))
_ARRAY_TYPES = [
    {"oid": oid, "ns": "pg_catalog", "name": f"_{name}", "kind": b"b", "elemtype": element, "elemdelim": ",",
     "elemtype_name": name, **_NOT_OF_ARRAYS}
    for name, (oid, element) in ARRAYS.items()
]  # fmt: skip

# UUIDs have digits and hyphens only, so they can stand in a statement.
SHARE = "; SELECT pg_advisory_xact_lock_shared(hashtextextended('{tenant}{owner}', 0))"
"""As ``store/locks.py`` names an owner's lock."""

_logger = logging.getLogger(__name__)

_with_work: set[Connection] = set()


def wake_at_commit(tx: Tx) -> None:
    """Set `Database.work_came` when this transaction is committed: it enqueued work."""
    _with_work.add(tx.connection)


class Database:
    """A pool of connections, lent out for one transaction or one statement at a time."""

    def __init__(
        self, pool: Pool, ordered: Pool, *, preamble: str, check: Check | None = None, is_sharded: bool = False
    ) -> None:
        self.is_sharded = is_sharded
        """The server is the coordinator of a Citus cluster."""
        self._pool = pool
        self._ordered = ordered
        self._preamble = preamble
        self._check = check
        self._patience = Patience()
        self.faults: dict[str, str] = {}
        """What failed of the server's storage since the start: `storage_damaged`, `storage_full`, and what it said."""
        self.work_came = asyncio.Event()
        """Set after a commit that enqueued work, so that a worker in the same process need not wait for its poll."""
        self.follow: Callable[[UUID, Changes], None] = lambda _tenant, _changes: None
        """Called after a commit with what it changed, so that this process remembers nothing else."""

    @classmethod
    async def connect(cls, dsn: str, *, pool_size: int = 8, statement_cache: bool = True) -> "Database":
        """Open the pool. Raises StorageUnavailable with the reason if the database refuses.

        `statement_cache=False` is for PgBouncer in transaction mode: no prepared statements, and
        the time-outs are set in each transaction, because its sessions are shared.

        `fetch_ordered` uses one more connection beyond `pool_size`, opened on first use.
        """
        with_session = SERVER_TIMEOUTS if statement_cache else {}
        try:
            pool = await _pool(dsn, 1, pool_size, with_session, statement_cache=statement_cache)
            is_sharded = await pool.fetchval(IS_CITUS, timeout=FIRST_SECONDS)
            if not statement_cache:  # then no plan is cached, and each is made for the tables as they are
                preamble = "".join(f" SET LOCAL {name} = '{value}';" for name, value in SERVER_TIMEOUTS.items())
                return cls(pool, pool, preamble=preamble, is_sharded=is_sharded)
            ordered = await _pool(dsn, 0, 1, with_session | ORDERED, statement_cache=True)
        except KINDS as error:
            raise errors.StorageUnavailable(why_not(error, dsn)) from error
        return cls(pool, ordered, preamble="", is_sharded=is_sharded)

    def after(self, check: Check) -> "Database":
        """Return the same pool with a check that runs before a connection is lent and can raise."""
        checked = Database(self._pool, self._ordered, preamble=self._preamble, check=check, is_sharded=self.is_sharded)
        checked.work_came, checked.faults, checked.follow = self.work_came, self.faults, self.follow
        checked._patience = self._patience
        return checked

    def begin(self, tenant: UUID, *, sharing: Iterable[UUID] = ()) -> AbstractAsyncContextManager[Tx]:
        """Open a READ COMMITTED transaction of one tenant, committed when the block ends, not later.

        Until then nobody erases anything of the owners that it shares. Raises OutcomeUnknown if the reply to the commit
        is lost. A statement begins it, so `connection.transaction()` cannot be nested in it.
        """
        named = [{"tenant": UUID(int=tenant.int), "owner": UUID(int=owner.int)} for owner in sorted(sharing)]
        shares = "".join(SHARE.format(**one) for one in named)
        return self._transaction(Tx, WRITES, tenant, committing, ACQUIRE_SECONDS, None, shares)

    def snapshot(self, tenant: UUID) -> AbstractAsyncContextManager[ReadTx]:
        """Open a read-only transaction of one tenant on this server that sees it as of its first statement."""
        return self._transaction(ReadTx, READS, tenant, nullcontext, FIRST_SECONDS)

    async def sees(self, tenant: UUID, *, writes: bool = False) -> str:
        """Return the part of a tenant that this request's statements see, as they set it behind the tenant's id."""
        if (seen := sight.SIGHT.get()) is None:
            return EVERYTHING
        if seen.lines is None:
            arguments = seen.arguments(tenant)
            if self.is_sharded:
                async with self._transaction(ReadTx, READS, tenant, nullcontext, FIRST_SECONDS, EVERYTHING) as tx:
                    row = await tx.connection.fetchrow(sight.FIND, *arguments, None, None)
            else:
                find = partial(self.fetch_row, sight.FIND, *arguments)
                row = await admission.proven(find) or await find(None, None)
            assert row is not None
            seen.found(row)
        return seen.text(writes=writes)

    async def fetch_row(self, sql: str | Statement, /, *args: object, **named: object) -> asyncpg.Record | None:
        """Run one self-committing statement and return its row. For hot paths whose SQL sets the tenant.

        The first argument is the tenant, if it has one; the others of a ``Statement`` are given by name.
        """
        text, values = bound(sql, args, named)
        async with self._lent(self._pool, FIRST_SECONDS) as connection:
            return await connection.fetchrow(text, *values, timeout=FIRST_SECONDS)

    async def write_row(self, sql: str | Statement, /, *args: object, **named: object) -> asyncpg.Record | None:
        """Do as `fetch_row`, for a statement that writes. Raises OutcomeUnknown if the reply is lost."""
        text, values = bound(sql, args, named)
        if self.is_sharded:
            async with self.begin(UUID(str(values[0]))) as tx:
                return await tx.connection.fetchrow(text, *values)
        async with self._lent(self._pool) as connection:
            with may_be_done(connection):
                return await connection.fetchrow(text, *values)

    async def fetch_all(self, sql: str | Statement, /, *args: object, **named: object) -> list[asyncpg.Record]:
        """Do as `fetch_row`, and return every row."""
        text, values = bound(sql, args, named)
        async with self._lent(self._pool, FIRST_SECONDS) as connection:
            return await connection.fetch(text, *values, timeout=FIRST_SECONDS)

    async def fetch_ordered(self, sql: str | Statement, /, *args: object, **named: object) -> list[asyncpg.Record]:
        """Do as `fetch_all`, reading tables in the order of the ORDER BYs, whatever the planner's statistics.

        The cached plan neither sorts nor scans a table sequentially if an index can help.
        """
        text, values = bound(sql, args, named)
        async with self._lent(self._ordered) as connection:
            return await connection.fetch(text, *values)

    async def fetch_of_each(
        self, every: str | Statement, one: str | Statement, tenants: Sequence[UUID], /, **named: object
    ) -> list[asyncpg.Record]:
        """Do as `fetch_ordered` with a statement over tenants; on Citus, with a tenant's statement for each of them."""
        if self.is_sharded:
            return [row for tenant in tenants for row in await self.fetch_ordered(one, str(tenant), **named)]
        parts = [tenants[first : first + TENANTS_AT_ONCE] for first in range(0, len(tenants), TENANTS_AT_ONCE)]
        return [row for some in parts for row in await self.fetch_ordered(every, some, **named)]

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[Connection]:
        """Open a transaction that sees, of every tenant, the rows of `work` and `events`: ids and numbers.

        For statements that ask which tenants have something to do, at a cost that tenants without work do not raise.
        """
        async with self._lent(self._ordered) as connection, connection.transaction(readonly=True):
            if self.is_sharded:
                await connection.execute("SET LOCAL citus.propagate_set_commands = 'local'")
            await connection.execute(f"{self._preamble}SET LOCAL app.watch = 'on'")
            yield connection

    async def ping(self) -> None:
        """Check that the database answers. Raises StorageUnavailable if not."""
        await self.fetch_row("SELECT 1")

    async def schema_revision(self) -> str:
        """Return the schema's migration, or an empty string if it has none."""
        try:
            async with self._lent(self._ordered, FIRST_SECONDS) as connection:  # a probe stands in no queue of requests
                row = await connection.fetchrow("SELECT version_num FROM alembic_version", timeout=FIRST_SECONDS)
        except asyncpg.UndefinedTableError:
            return ""
        except asyncpg.InsufficientPrivilegeError as error:
            raise errors.StorageUnavailable("This role cannot read the tables; `quire doctor` says why.") from error
        return str(row[0]) if row else ""

    async def assert_role_is_safe(self) -> None:
        """Raise UnsafeDatabase if the role could read other tenants' rows or the server could lose a commit."""
        row = await self.fetch_row(
            "SELECT rolsuper, rolbypassrls, current_setting('fsync') AS fsync,"
            " current_setting('synchronous_commit') AS synchronous_commit"
            " FROM pg_roles WHERE rolname = current_user"
        )
        if row is None or row["rolsuper"] or row["rolbypassrls"]:
            raise errors.UnsafeDatabase(
                "The database role is a superuser or has BYPASSRLS, so tenants would not be isolated."
                " Connect as a role with NOSUPERUSER NOBYPASSRLS."
            )
        if row["fsync"] == "off":
            raise errors.UnsafeDatabase("The database runs with fsync=off and would lose acknowledged messages.")
        if row["synchronous_commit"] == "off":
            _logger.warning("synchronous_commit is off: a crash of the database loses acknowledged messages")

    def connections(self) -> tuple[int, int]:
        pools = {self._pool, self._ordered}
        idle = sum(pool.get_idle_size() for pool in pools)
        return sum(pool.get_size() for pool in pools) - idle, idle

    async def close(self) -> None:
        """Close every connection, by force if one is still busy after a moment."""
        for pool in {self._pool, self._ordered}:
            try:
                await asyncio.wait_for(pool.close(), timeout=STATEMENT_SECONDS)
            except TimeoutError:
                pool.terminate()

    @asynccontextmanager
    async def _transaction(
        self,
        kind: type[AnyTx],
        mode: str,
        tenant: UUID,
        committing: Callable[[Connection], AbstractContextManager[object]],
        acquire_seconds: float,
        sees: str | None = None,
        shares: str = "",
    ) -> AsyncIterator[AnyTx]:
        if sees is None:
            sees = await self.sees(tenant, writes=mode == WRITES)
        async with self._lent(self._pool, acquire_seconds) as connection:
            try:
                await self._begin(connection, mode, sight.view(tenant, sees), shares)
                tx = kind(connection, tenant, is_sharded=self.is_sharded)
                tx.sees = sees
                yield tx
            except CUT_SHORT:
                raise  # the connection is closed below, which rolls back
            except BaseException:
                if not connection.is_closed():
                    await connection.execute("ROLLBACK")
                raise
            status = "COMMIT"
            try:
                with committing(connection):
                    status = await connection.execute("COMMIT")
            finally:  # also where the reply is lost
                if isinstance(tx, Tx):
                    if status != "COMMIT":
                        tx.changes.stored.clear()
                    self.follow(tenant, tx.changes)
            if status != "COMMIT":
                # A statement failed and its error was swallowed, so PostgreSQL rolled back everything.
                raise RuntimeError("the transaction was rolled back by an error that its block did not raise")
            if connection in _with_work:
                self.work_came.set()

    async def _begin(self, connection: Connection, mode: str, view: str, shares: str) -> None:
        begin = f"BEGIN ISOLATION LEVEL {mode};{self._preamble}"
        if not self.is_sharded:  # in one round trip
            seconds = STATEMENT_SECONDS if shares else FIRST_SECONDS
            await connection.execute(f"{begin} {view}{shares}", timeout=seconds)
            return
        # Citus sends the text that holds a SET LOCAL to the nodes; a plan for any tenant it could send to none.
        await connection.execute(f"{begin} SET LOCAL citus.propagate_set_commands = 'local'", timeout=FIRST_SECONDS)
        await connection.execute(view)
        if shares:
            await connection.execute(shares)

    @asynccontextmanager
    async def _lent(self, pool: Pool, acquire_seconds: float = ACQUIRE_SECONDS) -> AsyncIterator[Connection]:
        await admission.settle()
        with translated(self.faults):
            # With an idle connection there is no wait, and a timer would cost more than taking it.
            if pool.get_idle_size():
                connection = await pool.acquire()
            else:
                async with self._patience.waiting(acquire_seconds):
                    connection = await pool.acquire()
            try:
                if self._check is not None:
                    await self._check(connection)
                yield connection
                self._patience.renew()
            except CUT_SHORT:
                # Close at once, before asyncpg asks the server to cancel. Otherwise a commit that waits for a
                # synchronous standby would take effect without it, and be acknowledged when it is repeated.
                connection.terminate()
                raise
            finally:
                _with_work.discard(connection)
                await pool.release(connection, timeout=STATEMENT_SECONDS)


async def _pool(dsn: str, size_min: int, size_max: int, settings: dict[str, str], *, statement_cache: bool) -> Pool:
    return await asyncpg.create_pool(
        dsn,
        min_size=size_min,
        max_size=size_max,
        timeout=CONNECT_SECONDS,
        command_timeout=STATEMENT_SECONDS,
        statement_cache_size=1024 if statement_cache else 0,
        server_settings={"application_name": "quire", **settings},
        init=partial(_prepare_session, plans_once=statement_cache),
        connection_class=_PooledConnection,
    )


async def _prepare_session(connection: Any, *, plans_once: bool) -> None:
    connection.get_settings().register_data_types(_ARRAY_TYPES)
    if plans_once:
        await connection.execute(PLAN_ONCE)


class _PooledConnection(asyncpg.Connection):
    async def reset(self, *, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Reset only an open transaction: sessions have no state of ours, and a full reset would cost a round trip."""
        if self.is_in_transaction():
            await self.execute("ROLLBACK", timeout=timeout)
