"""A Citus cluster (QUIRE_TEST_CITUS_URL: its coordinator, as superuser): the main job, isolation, a node that dies.

Its database must be of these tests alone: every row is deleted.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psutil
import pytest

from app.postgres import migrate
from tests.api.kit import append, assistant, call, history, ok, path, result, user, window
from tests.cluster.kit import ask, quire, run_as
from tests.conftest import CITUS, Citus, wait_for

pytestmark = pytest.mark.skipif(not CITUS, reason="QUIRE_TEST_CITUS_URL names no Citus cluster")
BEFORE, AFTER = 10, 10
ROOT = Path(__file__).parents[2]


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    migrate.upgrade(Citus(CITUS).owner_dsn)
    for table in ("work", "conversations", "memories", "archive_contents", "idempotency", "keys", "tenants"):
        ask(CITUS, f"DELETE FROM {table}")
    with quire({"DATABASE_URL": Citus(CITUS).app_dsn, "QUIRE_WORKER_LEASE_SECONDS": "2"}) as opened:
        yield opened


def test_every_table_is_where_it_should_be_and_a_forgotten_one_is_named_and_mended() -> None:
    environment = os.environ | {"DATABASE_URL": Citus(CITUS).app_dsn, "MIGRATION_DATABASE_URL": Citus(CITUS).owner_dsn}
    command = [sys.executable, "-m", "app"]

    def doctor() -> str:
        asked = [*command, "doctor", "--skip-models"]
        return subprocess.run(asked, env=environment, capture_output=True, text=True, check=False).stdout

    subprocess.run([*command, "migrate"], env=environment, check=True)
    assert "Citus distributes every table by tenant." in doctor()
    ask(CITUS, "TRUNCATE own_texts")
    ask(CITUS, "SELECT undistribute_table('own_texts')")
    try:
        assert "or hold on every node: own_texts." in doctor()
    finally:
        subprocess.run([*command, "migrate"], env=environment, check=True)
    assert "Citus distributes every table by tenant." in doctor()


def test_the_main_job_is_done(client: httpx.Client) -> None:
    """Append, again under the same key, window, index, search, archive, fork, remember and erase."""
    body = {"user_id": "u", "messages": [user("the harbour opens at seven"), assistant("noted")]}
    for _ in range(2):
        made = client.post(path("c", "messages"), json=body, headers={"Idempotency-Key": "once"})
        assert made.status_code == 201
    large = "\n".join(f"line {n}: the lighthouse keeper wrote {n * 7}" for n in range(3000))
    append(client, "c", [call("1"), result("1", large)])
    assert len(history(client, "c")) == 4
    assert "harbour" in str(window(client, "c", budget=8000))
    wait_for(lambda: not ok(client.get("/jobs"))["items"])
    ok(client.post("/memories", json={"content": "Ann likes ferries.", "user_id": "u"}), 201)
    for words in ("lighthouse keeper", "harbour", "ferries"):
        found = ok(client.post("/memories/search", json={"query": words, "user_id": "u"}))
        assert words.split()[0] in str(found)
    ok(client.post(path("c", "fork"), json={"id": "d", "at": 2}), 201)
    ok(client.delete("/users/u"))
    assert client.get(path("c")).status_code == client.get(path("d")).status_code == 404


def test_nothing_acknowledged_is_lost_or_doubled_when_nodes_die(client: httpx.Client) -> None:
    nodes = [row["nodeport"] for row in ask(CITUS, "SELECT nodeport FROM pg_dist_node WHERE groupid > 0")]
    servers = [Node(server) for port in nodes for server in listening(port)]
    if urlsplit(CITUS).hostname not in ("127.0.0.1", "localhost") or len(servers) < len(nodes):
        pytest.skip("the nodes of the cluster run elsewhere")
    stored, over = dict.fromkeys("abc", 0), threading.Event()

    def write(name: str) -> None:
        while stored[name] < BEFORE + AFTER and not over.is_set():
            body = {"user_id": "u", "messages": [user(f"{name} says {stored[name]}")]}
            key = {"Idempotency-Key": f"{name}{stored[name]}"}
            answer = client.post(path(f"of-{name}", "messages"), json=body, headers=key)
            assert answer.status_code in (201, 503), answer.text
            stored[name] += answer.status_code == 201

    with ThreadPoolExecutor(len(stored)) as pool:
        writing = [pool.submit(write, name) for name in stored]
        try:
            wait_for(lambda: min(stored.values()) >= BEFORE or any(one.done() for one in writing))
            for node in servers:
                node.kill()
            wait_for(lambda: not any(listening(port) for port in nodes))
            for node in servers:
                node.start()
            for one in writing:
                one.result(timeout=120)
        finally:
            over.set()
    for name in stored:
        said = [message["content"] for message in history(client, f"of-{name}")]
        assert said == [f"{name} says {n}" for n in range(BEFORE + AFTER)]


def test_no_statement_touches_another_tenant() -> None:
    """The walk of test_isolation, on the cluster: the last test, since it leaves keys."""
    walk = [sys.executable, "-m", "pytest", "-q", "-n", "0", "tests/guards/test_isolation.py", "-m", "not slow"]
    done = subprocess.run(walk, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]


class Node:
    """A server of this machine that can be killed and started."""

    def __init__(self, server: psutil.Process) -> None:
        self.server, self.data = server, Path(server.cwd())
        self.program, self.user = Path(server.exe()).with_name("pg_ctl"), server.uids().real
        lines = (self.data / "postmaster.pid").read_text().splitlines()
        self.locks = [self.data / "postmaster.pid", Path(lines[4]) / f".s.PGSQL.{lines[3]}.lock"]

    def kill(self) -> None:
        for process in (self.server, *self.server.children()):
            process.send_signal(signal.SIGKILL)

    def start(self) -> None:
        for left in self.locks:
            left.unlink(missing_ok=True)  # in a container nobody reaps its process, which then looks alive
        run_as(self.user, self.program, "-w", "-D", str(self.data), "-l", f"{self.data}/restarted", "start")


def listening(port: int) -> list[psutil.Process]:
    """Return the server of a port of this machine."""
    pids = {one.pid for one in psutil.net_connections("tcp") if one.status == "LISTEN" and one.laddr[1:2] == (port,)}
    return [psutil.Process(pid) for pid in pids if pid is not None]
