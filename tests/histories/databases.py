"""What Quire's processes work on in a trial: one PostgreSQL, one behind PgBouncer, or a pair that fails over."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qs, urlsplit

import asyncpg

from app.postgres import embedded, migrate
from app.postgres.embedded import EmbeddedPostgres
from tests.cluster.kit import Standby, ask, folder, kill_server
from tests.cluster.pooler import Pooler
from tests.conftest import wait_for
from tests.faults.lossy import SOCKET
from tests.histories.network import Network

Faults = Mapping[str, Callable[[], object]]
"""Each blocks until there is a database again."""


class Alone:
    """One server, killed and started again."""

    environment: ClassVar[Mapping[str, str]] = {}

    def __init__(self, folder: Path) -> None:
        self.data = folder
        self._servers = [embedded.start(folder)]
        migrate.upgrade(self._server.owner_dsn)

    @property
    def _server(self) -> EmbeddedPostgres:
        return self._servers[-1]

    @property
    def superuser_dsn(self) -> str:
        return self._server.superuser_dsn

    @property
    def socket(self) -> Path:
        """What a network passes connections on to."""
        return sockets_of(self.superuser_dsn) / SOCKET

    def faults(self, _: Sequence[Network]) -> Faults:
        return {"kill of PostgreSQL": self._kill}

    def _kill(self) -> None:
        pid = (self.data / "postgres/cluster/postmaster.pid").read_text().split("\n", 1)[0]
        os.kill(int(pid), signal.SIGKILL)
        self._servers.append(embedded.start(self.data))

    def close(self) -> None:
        for server in self._servers:
            server.stop()


class Pooled(Alone):
    """The same behind a PgBouncer, which is killed, too."""

    environment: ClassVar[Mapping[str, str]] = {"QUIRE_STATEMENT_CACHE": "false"}
    CONNECTIONS = 12

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._pooler = Pooler(sockets_of(self.superuser_dsn), self.CONNECTIONS)

    @property
    def socket(self) -> Path:
        return self._pooler.socket

    def faults(self, networks: Sequence[Network]) -> Faults:
        return {**super().faults(networks), "kill of PgBouncer": self._pooler.kill}

    def close(self) -> None:
        self._pooler.close()
        super().close()


class Pair:
    """A primary and a standby that each commit waits for. The primary dies, the standby takes over and gets its own.

    The networks stand for the balancer that leads clients to the primary. Nothing kills a primary to start it again:
    PostgreSQL then counts commits that were waiting for the standby as done.
    """

    environment: ClassVar[Mapping[str, str]] = {}

    def __init__(self, _: Path) -> None:
        self._data = folder()
        self._first: EmbeddedPostgres = embedded.start(self._data)
        migrate.upgrade(self._first.owner_dsn)
        self.superuser_dsn = self._first.superuser_dsn
        self._primary: Standby | None = None
        self._gone: list[Standby] = []
        self._standby = self._synchronous()

    @property
    def socket(self) -> Path:
        return sockets_of(self.superuser_dsn) / SOCKET

    def faults(self, networks: Sequence[Network]) -> Faults:
        return {"failover": lambda: self._fail_over(networks)}

    def _synchronous(self) -> Standby:
        """Make a standby that holds everything acknowledged before, and that later commits wait for."""
        standby = Standby(self.superuser_dsn)
        ask(self.superuser_dsn, "ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        ask(self.superuser_dsn, "SELECT pg_reload_conf()")
        in_step = "SELECT FROM pg_stat_replication WHERE sync_state = 'sync'"
        wait_for(lambda: bool(ask(self.superuser_dsn, in_step)), every=0.1)
        [[written]] = ask(self.superuser_dsn, "SELECT pg_current_wal_flush_lsn()::text")
        there = f"SELECT FROM pg_stat_replication WHERE flush_lsn >= '{written}'"
        wait_for(lambda: bool(ask(self.superuser_dsn, there)), every=0.1)
        return standby

    def _fail_over(self, networks: Sequence[Network]) -> None:
        if self._primary is None:
            kill_server(self._data)
        else:
            self._primary.kill()
            self._gone.append(self._primary)
        self._standby.promote()
        self._primary = self._standby
        self.superuser_dsn = self._primary.dsn("postgres")
        for network in networks:
            network.upstream = self.socket
        self._standby = self._synchronous()

    def close(self) -> None:
        kill_server(self._data)
        self._first.stop()
        for server in (*self._gone, self._standby, *([self._primary] if self._primary else [])):
            server.remove()
        shutil.rmtree(self._data)


Database = Alone | Pair


def sockets_of(dsn: str) -> Path:
    [found] = parse_qs(urlsplit(dsn).query)["host"]
    return Path(found)


async def fetch(dsn: str, sql: str) -> list[asyncpg.Record]:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetch(sql)
    finally:
        await connection.close()
