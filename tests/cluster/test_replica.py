"""Windows and searches that a streaming replica answers, and never one that misses what was acknowledged.

One process writes and the other, which cannot know of it, reads.
"""

import asyncio
import itertools
import logging
import signal
from collections.abc import Iterator

import httpx
import pytest

from app.main import build_app
from app.postgres.database import Database
from app.postgres.embedded import EmbeddedPostgres
from app.postgres.replica import Replica
from app.settings import Settings
from tests.api.kit import Json, append, ok, path, turn, window
from tests.cluster.kit import Standby, metric, read_by
from tests.conftest import serving, wait_for

USABLE = "quire_replica_usable"
_budgets = itertools.count(6000)


@pytest.fixture(scope="module")
def standby(postgres: EmbeddedPostgres) -> Iterator[Standby]:
    made = Standby(postgres.superuser_dsn)
    yield made
    made.remove()


@pytest.fixture(scope="module")
def reader_url(postgres: EmbeddedPostgres, settings: Settings, standby: Standby) -> Iterator[str]:
    reads = settings.model_copy(update={"database_replica_url": standby.dsn("quire_app")})
    yield from serving(build_app(reads, postgres.app_dsn))


@pytest.fixture
def reader(reader_url: str, client: httpx.Client) -> Iterator[httpx.Client]:
    """Has taken the replica into use."""
    with httpx.Client(base_url=reader_url, timeout=30) as opened:
        wait_for(lambda: metric(opened, USABLE) == 1)
        yield opened


def newest(reader: httpx.Client, conversation: str) -> str:
    """The newest message's text in a window that nobody has asked for before: it is read in full."""
    shown = window(reader, conversation, budget=next(_budgets))["messages"]
    return str(shown[-1]["content"])


def search(reader: httpx.Client, words: str) -> list[str]:
    found = ok(reader.post("/memories/search", json={"user_id": "u", "query": words}))
    return [result["content_preview"] for result in found["results"]]


def reads_all(client: httpx.Client, reader: httpx.Client, numbers: range, conversation: str = "c") -> None:
    """Each turn is in the other process's next window, and in what it finds next."""
    for number in numbers:
        messages: list[Json] = turn(number, 3)
        messages[1]["content"] += f" unique{number}"
        append(client, conversation, messages)
        assert newest(reader, conversation).endswith(f"unique{number}")
        assert any(f"unique{number}" in text for text in search(reader, f"unique{number}"))


def test_own_writes_are_read_while_the_replica_keeps_up(client: httpx.Client, reader: httpx.Client) -> None:
    before = read_by(reader)
    reads_all(client, reader, range(30))
    after = read_by(reader)
    assert after["replica"] - before["replica"] > 20, "of the searches, which wait for it a moment"

    def a_window_is_read_from_the_replica() -> bool:
        before = read_by(reader)["replica"]
        newest(reader, "c")
        return read_by(reader)["replica"] > before

    wait_for(a_window_is_read_from_the_replica)
    ok(client.delete(path("c")))
    assert reader.get(path("c", "context"), params={"budget": next(_budgets)}).status_code == 404
    assert search(reader, "unique7") == []


def test_own_writes_are_read_while_the_replica_lags(
    client: httpx.Client, reader: httpx.Client, standby: Standby
) -> None:
    """It still answers and still follows the primary, as one does that is far behind."""
    append(client, "c", turn(0))
    standby.ask("SELECT pg_wal_replay_pause()")
    try:
        wait_for(lambda: standby.ask("SELECT pg_get_wal_replay_pause_state()")[0][0] == "paused")
        before = read_by(reader)
        reads_all(client, reader, range(1, 4))
        after = read_by(reader)
        assert after["replica"] == before["replica"]
        assert after["primary"] > before["primary"]
        wait_for(lambda: metric(reader, USABLE) == 0)
    finally:
        standby.ask("SELECT pg_wal_replay_resume()")
    wait_for(lambda: metric(reader, USABLE) == 1)
    reads_all(client, reader, range(4, 7))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_dead_or_hanging_replica_goes_unnoticed_by_callers(
    client: httpx.Client, reader: httpx.Client, standby: Standby, number: int
) -> None:
    reads_all(client, reader, range(3))
    standby.signal(number)
    try:
        reads_all(client, reader, range(3, 6))
        wait_for(lambda: metric(reader, USABLE) == 0)
    finally:
        if number == signal.SIGSTOP:
            standby.signal(signal.SIGCONT)
        else:
            standby.kill()
            standby.start()
    wait_for(lambda: metric(reader, USABLE) == 1)
    reads_all(client, reader, range(6, 9))


@pytest.mark.anyio
@pytest.mark.parametrize("which", ["superuser", "primary"])
async def test_an_unsafe_or_false_replica_is_not_used(
    postgres: EmbeddedPostgres, standby: Standby, caplog: pytest.LogCaptureFixture, which: str
) -> None:
    wrong = standby.dsn("postgres") if which == "superuser" else postgres.app_dsn
    said = "superuser" if which == "superuser" else "has not replayed"
    primary, other = await Database.connect(postgres.app_dsn), await Database.connect(wrong, at_once=False)
    replica = Replica(primary, other, lambda _by: None)
    with caplog.at_level(logging.WARNING):
        watch = asyncio.create_task(replica.watch())
        async with asyncio.timeout(30):
            while not any(said in record.message for record in caplog.records):  # noqa: ASYNC110 - a log has no event
                await asyncio.sleep(0.01)
    assert not replica.usable
    watch.cancel()
    await replica.close()
    await primary.close()


@pytest.fixture
def promoted(postgres: EmbeddedPostgres) -> Iterator[Standby]:
    made = Standby(postgres.superuser_dsn, "promoted")
    yield made
    made.remove()


def test_a_promoted_replica_is_no_longer_used(
    postgres: EmbeddedPostgres, settings: Settings, client: httpx.Client, promoted: Standby
) -> None:
    """Its log goes on by itself, so that its positions say nothing of the primary's."""
    reads = settings.model_copy(update={"database_replica_url": promoted.dsn("quire_app")})
    serves = serving(build_app(reads, postgres.app_dsn))
    with httpx.Client(base_url=next(serves), timeout=30) as reader:
        wait_for(lambda: metric(reader, USABLE) == 1)
        promoted.promote()
        promoted.ask("SELECT pg_switch_wal()")
        reads_all(client, reader, range(3))
        wait_for(lambda: metric(reader, USABLE) == 0)
    next(serves, None)
