"""Two servers and synchronous replication: what was acknowledged outlives the primary, and nothing else is.

One name for both servers (`host=a,b` and `target_session_attrs=read-write`), so that nobody restarts Quire.
"""

import shutil
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from app.postgres import embedded, migrate
from tests.api.kit import append, history, ok, path, user
from tests.cluster.kit import Standby, ask, folder, kill_server, quire
from tests.conftest import wait_for

WRITERS = 3
BEFORE, AFTER = 15, 15
"""Messages of a writer that are acknowledged until the primary dies, and after that."""


@dataclass
class Pair:
    """A primary, and the standby that each commit waits for."""

    standby: Standby
    dsn: str
    data: Path
    """The folder of the primary's data."""


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    data = folder()
    primary = embedded.start(data)
    migrate.upgrade(primary.owner_dsn)
    standby = Standby(primary.superuser_dsn)
    ask(primary.superuser_dsn, "ALTER SYSTEM SET synchronous_standby_names = 'standby'")
    ask(primary.superuser_dsn, "SELECT pg_reload_conf()")
    in_step = "SELECT FROM pg_stat_replication WHERE sync_state = 'sync'"
    wait_for(lambda: bool(ask(primary.superuser_dsn, in_step)))
    [sockets] = parse_qs(urlsplit(primary.app_dsn).query)["host"]
    dsn = f"postgresql://quire_app@/quire?host={sockets},{standby.folder}&target_session_attrs=read-write"
    yield Pair(standby, dsn, data)
    standby.signal(signal.SIGCONT)
    kill_server(data)
    primary.stop()
    standby.remove()
    shutil.rmtree(data)


@pytest.fixture(scope="module")
def client(pair: Pair) -> Iterator[httpx.Client]:
    with quire({"DATABASE_URL": pair.dsn, "QUIRE_WORKER_LEASE_SECONDS": "2"}) as opened:  # of jobs cut off midway
        yield opened


def test_no_write_is_acknowledged_before_the_standby_has_it(pair: Pair, client: httpx.Client) -> None:
    """Nor shown, nor acknowledged when it is sent again: it is written here, but it could still be lost."""
    append(client, "held", [user("before")])
    again = {"Idempotency-Key": "held"}
    body = {"messages": [user("not there yet")]}
    pair.standby.signal(signal.SIGSTOP)
    try:
        for _ in range(2):
            assert client.post(path("held", "messages"), json=body, headers=again).status_code == 503
        assert [message["content"] for message in history(client, "held")] == ["before"]
    finally:
        pair.standby.signal(signal.SIGCONT)
    wait_for(lambda: client.post(path("held", "messages"), json=body, headers=again).status_code == 201, every=0.1)
    assert [message["content"] for message in history(client, "held")] == ["before", "not there yet"]


@dataclass
class Writer:
    """Sends one message after the other, each until it is acknowledged."""

    client: httpx.Client
    conversation: str
    acknowledged: list[str] = field(default_factory=list)
    failures: int = 0

    def write(self, count: int) -> None:
        for _ in range(count):
            text = f"{self.conversation} says {len(self.acknowledged)}"
            while not self.is_taken(text):
                self.failures += 1
            self.acknowledged.append(text)

    def is_taken(self, text: str) -> bool:
        sent = {"messages": [user(text)], "user_id": "u"}
        with suppress(httpx.TransportError):
            answer = self.client.post(path(self.conversation, "messages"), json=sent, headers={"Idempotency-Key": text})
            assert answer.status_code in {201, 503}, answer.text
            return answer.status_code == 201
        return False


def test_every_acknowledged_message_outlives_the_primary(pair: Pair, client: httpx.Client) -> None:
    """The last test on the pair. The jobs go on, too."""
    writers = [Writer(client, f"w{number}") for number in range(WRITERS)]
    with ThreadPoolExecutor(WRITERS) as pool:
        done = [pool.submit(writer.write, BEFORE + AFTER) for writer in writers]
        wait_for(lambda: all(len(writer.acknowledged) >= BEFORE for writer in writers))
        kill_server(pair.data)
        pair.standby.promote()
        for one in done:
            one.result(60)
    assert any(writer.failures for writer in writers), "the primary died while they wrote"
    for writer in writers:
        assert [message["content"] for message in history(client, writer.conversation)] == writer.acknowledged
    wait_for(lambda: ok(client.get("/jobs"))["pending"] == 0, every=0.2)
