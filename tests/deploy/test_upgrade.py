"""Schemas of every version, with data: to the newest, and back one, while clients write.

An old schema is made of the newest by the way back, so that each step is taken in both directions with rows in every
table that it concerns.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncpg
import httpx
import pytest
from alembic import command

from app.main import build_app
from app.postgres import embedded, migrate
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from bench.load.crash import PROMISES
from tests.api.kit import append, call, history, ok, path, result, turn, user, window
from tests.cluster.kit import quire
from tests.conftest import serve, wait_for
from tests.test_embedded import servers_of

VERSIONS = sorted(migrate.known() - {migrate.HEAD})
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not VERSIONS, reason="There is one version of the schema: nothing to upgrade from."),
]
REFUSED = "UPDATE messages SET kind = 'refused' WHERE conversation_id = 'refused' AND seq = 3"


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedPostgres]:
    """A server of its own: other tests need the newest schema all the time."""
    folder = Path(tempfile.mkdtemp(prefix="quire-upgrade-"))
    started = embedded.start(folder)
    migrate.upgrade(started.owner_dsn)
    yield started
    started.stop()
    wait_for(lambda: not servers_of(folder))
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def url(server: EmbeddedPostgres, settings: Settings) -> Iterator[str]:
    with serve(build_app(settings, server.app_dsn)) as served:
        yield served.url


@pytest.fixture(scope="module")
def client(url: str, server: EmbeddedPostgres) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, timeout=30) as opened:
        for number in range(30):
            append(opened, "long", turn(number))
        append(opened, "archived", [user(), call("a"), result("a", "the kettle is hot " * 4000)])
        append(opened, "refused", [*turn(1), user("too large")])
        ok(opened.post("/memories", json={"user_id": "u", "content": "likes tea", "memory_type": "fact"}), 201)
        ok(opened.post(path("long", "notes"), json={"text": "In French."}), 201)
        ask(server, REFUSED)
        yield opened


def ask(server: EmbeddedPostgres, sql: str) -> list[asyncpg.Record]:
    async def run() -> list[asyncpg.Record]:
        connection = await asyncpg.connect(server.superuser_dsn)
        try:
            return await connection.fetch(sql)
        finally:
            await connection.close()

    return asyncio.run(run())


def go_back(server: EmbeddedPostgres, version: str) -> None:
    config = migrate._config()
    config.attributes.update(dsn=server.owner_dsn, run=asyncio.run)
    command.downgrade(config, version)
    assert ask(server, "SELECT version_num FROM alembic_version")[0][0] == version


def texts(client: httpx.Client) -> dict[str, list[object]]:
    names = ("long", "archived", "refused")
    return {name: [message["content"] for message in history(client, name)] for name in names}


@pytest.mark.parametrize("version", VERSIONS[::-1])
def test_everything_said_outlives_the_way_to_the_newest_schema(
    client: httpx.Client, server: EmbeddedPostgres, version: str
) -> None:
    before = texts(client)
    go_back(server, version)
    assert client.get("/readyz").status_code == 503
    migrate.upgrade(server.owner_dsn)
    wait_for(lambda: client.get("/readyz").is_success)
    assert texts(client) == before
    append(client, "long", turn(len(before["long"])))
    assert window(client, "long", budget=3000)["messages"][-1]["content"] == turn(len(before["long"]))[-1]["content"]
    assert [promise for promise, sql in PROMISES.items() if ask(server, sql)] == []
    forced = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relrowsecurity AND NOT relforcerowsecurity"
    assert ask(server, forced) == []


class Writer(threading.Thread):
    """Appends until it is stopped, and repeats what is refused.

    Keeps what was acknowledged, the statuses of what was not, and the longest time without an acknowledgement.
    """

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url
        self.stop = threading.Event()
        self.acknowledged: list[str] = []
        self.refused: list[int] = []
        self.gap_seconds = 0.0

    def run(self) -> None:
        with httpx.Client(base_url=self.url, timeout=30) as client:
            last = time.monotonic()
            while not self.stop.is_set():
                text = f"number {len(self.acknowledged)}"
                headers = {"Idempotency-Key": text}
                body = {"messages": [user(text)], "user_id": "u"}
                answer = client.post(path("load", "messages"), json=body, headers=headers)
                if answer.is_success:
                    self.acknowledged.append(text)
                    self.gap_seconds, last = max(self.gap_seconds, time.monotonic() - last), time.monotonic()
                else:
                    self.refused.append(answer.status_code)

    def goes_on(self) -> Callable[[], bool]:
        before = len(self.acknowledged)
        return lambda: len(self.acknowledged) > before + 5


def restart_seconds(server: EmbeddedPostgres) -> float:
    """Return how long a process of `quire serve` takes until it serves: at least so long is the gap of a restart."""
    began = time.monotonic()
    with quire({"DATABASE_URL": server.app_dsn}):
        return time.monotonic() - began


def test_writes_go_on_while_the_schema_goes_back_one_and_forth(
    client: httpx.Client, url: str, server: EmbeddedPostgres
) -> None:
    """Nothing is lost or doubled, what is not stored meanwhile is 503, and no gap is longer than a restart's."""
    restarts = [restart_seconds(server) for _ in range(2)]
    writer = Writer(url)
    writer.start()
    try:
        for _ in range(3):
            wait_for(writer.goes_on())
            go_back(server, max(VERSIONS))
            migrate.upgrade(server.owner_dsn)
        wait_for(writer.goes_on())
    finally:
        writer.stop.set()
        writer.join()
    assert set(writer.refused) <= {503}
    assert writer.gap_seconds < max(restarts), (writer.gap_seconds, restarts)
    assert [message["content"] for message in history(client, "load")] == writer.acknowledged
