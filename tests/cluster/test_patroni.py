"""Patroni over two servers, its Raft and a third voter: the leader is killed with its Patroni, and another one leads.

Runs where `patroni` is installed with its Raft, on PATH or in the folder that QUIRE_TEST_PATRONI names; under root, the
user `pgserver` must be able to enter it.
"""

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import psutil
import pytest

from app.postgres import migrate
from tests import unhurried
from tests.api.kit import history
from tests.cluster.kit import SERVER_USER, ask, folder, programs_of_the_server, quire, run_program
from tests.cluster.test_failover import AFTER, BEFORE, Writer
from tests.conftest import wait_for

PATRONI = shutil.which("patroni", path=os.environ.get("QUIRE_TEST_PATRONI"))
VOTER = PATRONI and str(Path(PATRONI).with_name("patroni_raft_controller"))
ROLES = Path(__file__).parents[2] / "deploy" / "roles.sql"
TTL_SECONDS = 20
"""The least that Patroni takes."""

pytestmark = pytest.mark.skipif(not PATRONI, reason="patroni is not installed")


class Member:
    """A Patroni with its PostgreSQL, or, without one, a voter."""

    def __init__(self, name: str, raft: int, partners: list[int], postgres: int = 0, rest: int = 0) -> None:
        self.postgres, self.rest, self.folder = postgres, f"http://127.0.0.1:{rest}", folder()
        config = self.folder / "patroni.json"  # which is YAML
        config.write_text(json.dumps(self._config(name, raft, partners, rest)))
        config.chmod(0o644)
        self._log = (self.folder / "log").open("wb")
        self._process = subprocess.Popen(
            [str(PATRONI if postgres else VOTER), str(config)],
            user=SERVER_USER, group=SERVER_USER, stdout=self._log, stderr=self._log, cwd="/", start_new_session=True,
        )  # fmt: skip

    def _config(self, name: str, raft: int, partners: list[int], rest: int) -> dict[str, object]:
        here = f"127.0.0.1:{self.postgres}"
        users = {"superuser": {"username": "postgres"}, "replication": {"username": "copies"}}
        rules = {
            "ttl": TTL_SECONDS, "loop_wait": 1, "retry_timeout": 3, "synchronous_mode": True,
            "postgresql": {"use_pg_rewind": True},
        }  # fmt: skip
        return {
            "scope": "quire", "name": name,
            "restapi": {"listen": f"127.0.0.1:{rest}", "connect_address": f"127.0.0.1:{rest}"},
            "raft": {
                "data_dir": str(self.folder / "raft"), "self_addr": f"127.0.0.1:{raft}",
                "partner_addrs": [f"127.0.0.1:{partner}" for partner in partners],
            },
            "bootstrap": {
                "dcs": rules,
                "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}, "data-checksums"],
            },
            "postgresql": {
                "listen": here, "connect_address": here, "data_dir": str(self.folder / "data"),
                "bin_dir": str(programs_of_the_server()), "pgpass": str(self.folder / "pgpass"),
                "pg_hba": ["local all all trust", "host all all 127.0.0.1/32 trust",
                           "host replication all 127.0.0.1/32 trust"],
                "authentication": users, "parameters": {"unix_socket_directories": str(self.folder)},
            },
        }  # fmt: skip

    def says(self, what: str) -> bool:
        """Whether its REST API affirms that it is the `leader`, a `sync` standby, …"""
        try:
            return unhurried.get(f"{self.rest}/{what}").status_code == 200
        except httpx.TransportError:
            return False

    def kill(self) -> None:
        """Patroni and PostgreSQL, as a machine that loses its power."""
        process = psutil.Process(self._process.pid)
        for one in (process, *process.children(recursive=True), *_of(self.folder)):
            with suppress(psutil.NoSuchProcess):  # which ended with those before it
                one.kill()
        self._process.wait()

    def remove(self) -> None:
        if self._process.poll() is None:
            self.kill()
        self._log.close()
        shutil.rmtree(self.folder)


def _of(data: Path) -> list[psutil.Process]:
    """PostgreSQL's processes: it leaves Patroni's session."""
    servers = [one for one in psutil.process_iter(["cmdline"]) if str(data / "data") in (one.info["cmdline"] or ())]
    return [process for server in servers for process in (server, *server.children(recursive=True))]


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        taken = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in taken:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in taken]


@pytest.fixture
def pair() -> Iterator[list[Member]]:
    """A leader and its synchronous standby."""
    *rafts, first, second, first_rest, second_rest = free_ports(7)
    votes = [(raft, [partner for partner in rafts if partner != raft]) for raft in rafts]
    members = [Member("a", *votes[0], first, first_rest), Member("b", *votes[1], second, second_rest)]
    voter = Member("voter", *votes[2])
    try:
        for role in ("leader", "sync"):
            wait_for(lambda role=role: any(one.says(role) for one in members), seconds=90, every=0.2)  # type: ignore[misc]
        yield sorted(members, key=lambda one: one.says("sync"))
    finally:
        for one in (*members, voter):
            one.remove()


def test_every_acknowledged_message_is_there_once_after_the_leader_was_killed(pair: list[Member]) -> None:
    leader, standby = pair
    superuser = f"postgresql://postgres@127.0.0.1:{leader.postgres}"
    ask(f"{superuser}/postgres", "CREATE DATABASE quire")
    roles = shutil.copy(ROLES, leader.folder)
    passwords = ("-v", "owner_password=x", "-v", "app_password=x")
    run_program("psql", "-q", "-v", "ON_ERROR_STOP=1", *passwords, "-f", str(roles), f"{superuser}/quire")
    servers = f"127.0.0.1:{leader.postgres},127.0.0.1:{standby.postgres}"
    migrate.upgrade(f"postgresql://quire_owner@{servers}/quire?target_session_attrs=read-write")
    dsn = f"postgresql://quire_app@{servers}/quire?target_session_attrs=read-write"
    with quire({"DATABASE_URL": dsn, "QUIRE_WORKER_LEASE_SECONDS": "2"}) as client, ThreadPoolExecutor(2) as pool:
        writers = [Writer(client, "first"), Writer(client, "second")]
        done = [pool.submit(writer.write, BEFORE + AFTER) for writer in writers]
        wait_for(lambda: all(len(writer.acknowledged) >= BEFORE for writer in writers))
        leader.kill()
        for one in done:
            one.result(TTL_SECONDS * 4)
        assert standby.says("leader")
        assert any(writer.failures for writer in writers), "the leader died while they wrote"
        for writer in writers:
            assert [message["content"] for message in history(client, writer.conversation)] == writer.acknowledged
