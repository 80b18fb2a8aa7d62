"""PostgreSQL dies and comes back while jobs are under way: what they were doing is done, and once."""

import asyncio
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import httpx
import pytest

from app.postgres import embedded, migrate
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from app.text.tokens import TokenCounter
from quire_client import Quire, Retries
from tests.api.kit import ok, problem
from tests.conftest import serving, wait_for
from tests.faults.kit import Conversation, Provider, service
from tests.providers import fake_openai as fake
from tests.test_embedded import servers_of


class Postgres:
    """A server of its own, and statements past row-level security on a connection for each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server = self._start()
        migrate.upgrade(self.server.owner_dsn)

    def _start(self) -> EmbeddedPostgres:
        return embedded.start(self.folder)

    def kill(self) -> None:
        servers = servers_of(self.folder)
        backends = [child for server in servers for child in server.children()]
        for process in servers:
            process.send_signal(signal.SIGKILL)
        # A backend that has not seen yet that it is alone still answers.
        wait_for(lambda: not servers_of(self.folder) and not any(backend.is_running() for backend in backends))

    def start_again(self) -> None:
        gone, self.server = self.server, self._start()
        gone.stop()

    def sql(self, statement: str) -> list[asyncpg.Record]:
        return asyncio.run(self._ask(statement))

    async def _ask(self, statement: str) -> list[asyncpg.Record]:
        connection = await asyncpg.connect(self.server.superuser_dsn)
        try:
            return await connection.fetch(statement)
        finally:
            await connection.close()


@pytest.fixture
def own() -> Iterator[Postgres]:
    folder = Path(tempfile.mkdtemp(prefix="quire-faults-"))
    made = Postgres(folder)
    yield made
    made.server.stop()
    shutil.rmtree(folder)


@pytest.fixture
def client(own: Postgres, settings: Settings, always: Provider) -> Iterator[httpx.Client]:
    serves = serving(service(settings, own.server.app_dsn, always.api.url))
    with httpx.Client(base_url=next(serves), timeout=30) as opened:
        yield opened
    next(serves, None)


def test_a_database_that_dies_in_mid_job_costs_time_and_nothing_else(
    client: httpx.Client, own: Postgres, provider: Provider, counter: TokenCounter
) -> None:
    conversation = Conversation(client, own.sql, counter)
    conversation.says(14)
    conversation.settles()
    provider.api.hold()
    provider.fails("llm", fake.held())
    provider.fails("embedding", fake.held())
    conversation.goes_on(3)
    provider.api.wait_until(lambda: provider.api.chat.running > 0 and provider.api.embeddings.running > 0)

    own.kill()
    provider.heal()  # their answers come, and there is nowhere to write them
    problem(client.get("/conversations/c"), 503)
    assert ok(client.get("/healthz"))["status"] == "ok"
    wait_for(lambda: provider.api.chat.running == provider.api.embeddings.running == 0)
    own.start_again()

    wait_for(lambda: client.get("/readyz").status_code == 200, seconds=60, every=0.1)
    own.sql("UPDATE work SET due = now() WHERE token IS NOT NULL")  # the leases of what could not be settled end
    conversation.settles()
    conversation.goes_on(1)
    conversation.settles()
    conversation.assert_complete()


LONG = """
INSERT INTO events (tenant_id, id, seq, type, data)
SELECT tenant_id, gen_random_uuid(), n, 'cut.made', json_build_object('text', repeat('x', 200000))
  FROM tenants, generate_series(1, 250) AS n
"""
READ_AT_ONCE = 200


def test_a_stream_of_what_is_stored_does_not_end_as_if_it_were_whole_when_the_database_dies(
    client: httpx.Client, own: Postgres
) -> None:
    """Its reader has not yet read the first events when it dies, so the service has yet to ask for the others."""
    assert client.get("/events?wait=false").status_code == 200
    own.sql(LONG)
    seqs: list[int] = []
    with Quire(str(client.base_url), retries=Retries(pause=0.01)) as quire:
        events = quire.events(after=0, wait=False)
        with client.stream("GET", "/events?wait=false&after=0") as answer:
            lines = answer.iter_lines()
            assert next(lines) == "retry: 1000"
            seqs.append(next(events)["seq"])
            own.kill()
            with pytest.raises(httpx.RemoteProtocolError, match="incomplete"):
                list(lines)
        reader = threading.Thread(target=lambda: seqs.extend(event["seq"] for event in events))
        reader.start()
        wait_for(lambda: len(seqs) == READ_AT_ONCE)
        own.start_again()
        reader.join(60)
    assert seqs == list(range(1, 251))
