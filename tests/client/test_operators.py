"""What an operator asks, with both clients: events that break off and are resumed, usage, the audit log, webhooks."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
from collections.abc import Coroutine, Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.main import build_app
from app.postgres.database import Database
from app.postgres.embedded import EmbeddedPostgres
from app.postgres.tenants import DEFAULT_TENANT
from app.queue.loop import Pace
from app.settings import Settings
from app.store import spending
from app.store.spending import Spent
from quire_client import AsyncQuire, ConnectionFailed, Invalid, NotFound, Quire, Retries
from quire_client.events import Following
from tests.api.kit import assistant, user
from tests.client.conftest import Opening
from tests.conftest import serve, wait_for, working

T = TypeVar("T")
OFTEN = Retries(times=3, pause=0.01)


class Cable:
    """Lies between a client and a service, and can be cut: what is on it is lost, and nothing gets through."""

    def __init__(self, url: str) -> None:
        self._service = ("127.0.0.1", int(url.rsplit(":", 1)[1]))
        self._ends: list[asyncio.StreamWriter] = []
        self.is_cut = False
        self.refused = 0
        self.answered = 0
        """Connections on which the service has begun to answer."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._listener = self._run(asyncio.start_server(self._join, "127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.sockets[0].getsockname()[1]}"

    def cut(self) -> None:
        self._run(self._cut())

    def mend(self) -> None:
        self.is_cut = False

    def close(self) -> None:
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, what: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(what, self._loop).result(30)

    async def _cut(self) -> None:
        self.is_cut = True
        for end in self._ends:
            end.transport.abort()

    async def _end(self) -> None:
        await self._cut()
        self._listener.close()
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()}, return_exceptions=True)

    async def _join(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        self._ends.append(to_client)
        if self.is_cut:
            self.refused += 1
            to_client.transport.abort()
            return
        service, to_service = await asyncio.open_connection(*self._service)
        self._ends.append(to_service)
        # The service is told at once that the connection is gone.
        to_service.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        await asyncio.gather(self._carry(client, to_service), self._carry(service, to_client, is_answer=True))

    async def _carry(self, source: asyncio.StreamReader, target: asyncio.StreamWriter, is_answer: bool = False) -> None:
        with suppress(OSError):
            while data := await source.read(65536):
                target.write(data)
                self.answered += is_answer
                is_answer = False
        target.close()


@pytest.fixture
def service(postgres: EmbeddedPostgres, settings: Settings, clean: None) -> Iterator[str]:
    """A service with a worker, which numbers events, and an audit log."""
    changes = {"quire_audit": True, "quire_webhook_private_addresses": True}
    app = build_app(settings.model_copy(update=changes), postgres.app_dsn)
    with serve(app) as served, working(served, Pace(poll=0.05, reap=0.5)):
        yield served.url


@pytest.fixture
def direct(service: str) -> Iterator[Quire]:
    with Quire(service) as quire:
        yield quire


def told(quire: Quire) -> list[Any]:
    return list(quire.events(after=0, wait=False))


@given(st.lists(st.text(), min_size=1), st.integers(1, 100), st.sampled_from(["\n", "\r\n"]))
def test_events_are_the_same_in_whatever_pieces_they_come(ids: list[str], size: int, end: str) -> None:
    told = [{"seq": seq, "data": {"conversation_id": id_}} for seq, id_ in enumerate(ids, 5)]
    lines = ["retry: 1000", "", ": still here", ""]
    for event in told:
        lines += [f"id: {event['seq']}", f"data: {json.dumps(event, ensure_ascii=False)}", ""]
    stream = "".join(line + end for line in lines).encode()
    following = Following(None, OFTEN, wait=True)
    pieces = (stream[at : at + size] for at in range(0, len(stream), size))
    assert [event for piece in pieces for event in following.read(piece)] == told
    assert following.query() == {"wait": True, "after": told[-1]["seq"]}


def test_events_come_as_they_happen_and_a_stream_that_breaks_off_is_resumed(
    opening: Opening, service: str, direct: Quire
) -> None:
    assert told(direct) == []
    with closing(Cable(service)) as laid:
        quire = opening(laid.url, retries=OFTEN)
        events = quire.events(after=0)
        direct.append("a\u2028b", [user("one")], user_id="me")
        first = next(events)
        assert (first["seq"], first["type"]) == (1, "message.stored")
        assert first["data"] == {"conversation_id": "a\u2028b", "first_seq": 1, "last_seq": 1}
        laid.cut()
        direct.append("a\u2028b", [assistant("two"), user("three")])
        wait_for(lambda: len(told(direct)) == 2)
        laid.mend()
        assert next(events)["data"]["last_seq"] == 3
        events.close()
        assert [event["seq"] for event in quire.events(after=1, wait=False)] == [2]
        assert list(quire.events(wait=False)) == []


@pytest.mark.slow
def test_nothing_is_lost_by_a_stream_that_breaks_off_before_its_first_event(service: str, direct: Quire) -> None:
    direct.append("before", [user("hi")], user_id="me")
    got: list[Any] = []
    with closing(Cable(service)) as laid, Quire(laid.url, retries=OFTEN) as quire:
        reader = threading.Thread(target=lambda: got.append(next(iter(quire.events()))))
        reader.start()
        wait_for(lambda: laid.answered == 1)
        laid.cut()
        wait_for(lambda: laid.refused > OFTEN.times + 1)  # once open, it is opened again without end
        direct.append("c", [user("one")], user_id="me")
        wait_for(lambda: len(told(direct)) == 1)
        laid.mend()
        reader.join(30)
    assert [event["data"]["conversation_id"] for event in got] == ["c"]


def test_a_stream_that_cannot_be_opened_is_an_error(opening: Opening, service: str) -> None:
    with closing(Cable(service)) as laid:
        laid.cut()
        with pytest.raises(ConnectionFailed):
            next(opening(laid.url, retries=OFTEN).events())
        assert laid.refused == OFTEN.times + 1
    with pytest.raises(Invalid, match="after"):
        next(opening(service).events(after=-1))


@pytest.mark.slow
def test_a_closed_client_ends_its_events(service: str, direct: Quire) -> None:
    with closing(Cable(service)) as laid:
        quire, got = Quire(laid.url, retries=OFTEN), [0]
        reader = threading.Thread(target=lambda: got.extend(event["seq"] for event in quire.events()))
        reader.start()
        wait_for(lambda: laid.answered == 1)
        quire.close()
        direct.append("c", [user("one")], user_id="me")
        reader.join(30)
        assert not reader.is_alive()
        assert laid.answered == 1


def test_a_closed_client_ends_its_events_in_another_task(service: str) -> None:
    async def run(laid: Cable) -> list[Any]:
        quire = AsyncQuire(laid.url, retries=OFTEN)

        async def collect() -> list[Any]:
            return [event async for event in quire.events()]

        reading = asyncio.create_task(collect())
        await asyncio.to_thread(wait_for, lambda: laid.answered == 1)
        await quire.close()
        return await asyncio.wait_for(reading, 30)

    with closing(Cable(service)) as laid:
        assert asyncio.run(run(laid)) == []
        assert laid.answered == 1


def test_usage_comes_by_each_and_since(opening: Opening, service: str, postgres: EmbeddedPostgres) -> None:
    async def fill() -> None:
        database = await Database.connect(postgres.app_dsn, pool_size=1)
        for model in ("large", "small", "tiny"):
            await spending.record(database, DEFAULT_TENANT, None, "page", model, Spent(2, 100, 10))
        await database.close()

    asyncio.run(fill())
    quire = opening(service)
    assert [(one["model"], one["calls"]) for one in quire.usage("model")] == [("large", 2), ("small", 2), ("tiny", 2)]
    [whole] = quire.usage(since=datetime.now(UTC) - timedelta(days=1))
    assert (whole["calls"], whole["prompt_tokens"]) == (6, 300)
    assert list(quire.usage(since="2999-01-01")) == []
    with pytest.raises(Invalid, match="by"):
        next(quire.usage("tea"))


def test_the_audit_log_comes_in_pages(opening: Opening, service: str) -> None:
    quire = opening(service)
    quire.append("c", [user("one")], user_id="me")
    started = datetime.now(UTC)
    for _ in range(3):
        quire.conversation("c")
    quire.delete("c")
    [erased] = quire.audit(action="erase", since=started)
    assert (erased["route"], erased["ids"]) == (
        "DELETE /conversations/{conversation_id}",
        {"conversation_id": "c"},
    )
    reads = [entry for entry in quire.audit(action="read", batch=2) if entry["route"].endswith("{conversation_id}")]
    assert len(reads) == 3
    assert list(quire.audit(since="2999-01-01T00:00:00Z")) == list(quire.audit(user_id="bob")) == []


def test_webhooks_are_added_listed_and_deleted(opening: Opening, service: str) -> None:
    quire = opening(service)
    made = quire.add_webhook("http://127.0.0.1:9/quire", ["erasure.done"], key="once")
    assert made.pop("secret").startswith("whsec_")
    assert quire.add_webhook("http://127.0.0.1:9/quire", ["erasure.done"], key="once")["secret"] is None
    assert quire.webhooks() == [made]
    assert quire.delete_webhook(made["id"]) == made
    with pytest.raises(NotFound):
        quire.delete_webhook(made["id"])
    with pytest.raises(Invalid, match="url"):
        quire.add_webhook("tea")
