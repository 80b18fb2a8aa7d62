"""Two processes of the API and a worker, for many tenants at once, through a PgBouncer with three connections.

In transaction mode each transaction, and each statement outside of one, may meet a session that another tenant's has
just used.
"""

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID

import asyncpg
import httpx
import pytest

from app.postgres.embedded import EmbeddedPostgres
from tests.api.kit import append, assistant, ok, user, window
from tests.cluster.kit import quire
from tests.cluster.pooler import MISSING, POOLER, Pooler
from tests.conftest import wait_for
from tests.keys.kit import Sql, bearing, minting

TENANTS, TURNS, CONNECTIONS = 6, 5, 3

pytestmark = pytest.mark.skipif(POOLER is None, reason=MISSING)


@pytest.fixture(scope="module")
def pooled(postgres: EmbeddedPostgres) -> Iterator[str]:
    """A DSN that goes through it."""
    pooler = Pooler(asyncio.run(_server_folder(postgres)), CONNECTIONS)
    yield pooler.dsn
    pooler.close()


async def _server_folder(postgres: EmbeddedPostgres) -> Path:
    connection = await asyncpg.connect(postgres.superuser_dsn)
    found = await connection.fetchval("SHOW unix_socket_directories")
    await connection.close()
    return Path(found)


@pytest.fixture
def apis(pooled: str, clean: None) -> Iterator[Sequence[httpx.Client]]:
    """Two processes; the first does the jobs too."""
    own = {"DATABASE_URL": pooled, "QUIRE_STATEMENT_CACHE": "false", "QUIRE_REQUIRE_KEYS": "true"}
    with quire(own) as one, quire({**own, "QUIRE_WORKER": "false"}) as other:
        yield one, other


def test_every_tenant_finds_its_own_and_nothing_else(
    apis: Sequence[httpx.Client], pooled: str, run_as_superuser: Sql
) -> None:
    mint = minting(run_as_superuser)
    tenants = [UUID(f"{number:04x}0000-0000-7000-8000-000000000001") for number in range(TENANTS)]
    keys = {f"mark{number}x": mint(tenant) for number, tenant in enumerate(tenants)}

    def works(mark: str) -> None:
        clients = [httpx.Client(base_url=api.base_url, headers=bearing(keys[mark]), timeout=30) for api in apis]
        for turn in range(TURNS):
            writer, reader = clients[turn % 2], clients[(turn + 1) % 2]
            append(writer, "c", [user(f"{mark} asks {turn}"), assistant(f"{mark} is told {turn}")])
            shown = window(reader, "c", budget=6000 + turn)["messages"]
            told = [str(message["content"]) for message in shown if message["role"] != "system"]
            assert len(told) == 2 * (turn + 1)
            assert all(text.startswith(mark) for text in told)
            found = ok(reader.post("/memories/search", json={"user_id": "u", "query": "asks", "limit": 50}))["results"]
            assert found
            assert all(mark in result["content_preview"] for result in found)
        wait_for(lambda: ok(clients[1].get("/jobs"))["pending"] == 0, every=0.2)
        assert ok(clients[1].get("/jobs"))["dead"] == 0
        for client in clients:
            client.close()

    with ThreadPoolExecutor(TENANTS) as pool:
        for done in [pool.submit(works, mark) for mark in keys]:
            done.result()
    assert {row[0] for row in run_as_superuser("SELECT count(*) FROM messages GROUP BY tenant_id")} == {2 * TURNS}
    left = asyncio.run(_left_behind(pooled))
    assert left == {("", 0, "5s")}, "no session keeps a tenant, and a single statement has a limit"


async def _left_behind(dsn: str) -> set[tuple[str, int, str]]:
    """What a client meets in each of the pooler's sessions that names no tenant, by asking all at once."""
    asked = "SELECT coalesce(current_setting('app.tenant', true), ''), (SELECT count(*) FROM messages),"
    asked += " current_setting('statement_timeout'), pg_sleep(0.2)"

    async def ask() -> tuple[str, int, str]:
        connection = await asyncpg.connect(dsn, statement_cache_size=0)
        row = await connection.fetchrow(asked)
        await connection.close()
        assert row is not None
        return row[0], row[1], row[2]

    return set(await asyncio.gather(*(ask() for _ in range(CONNECTIONS))))
