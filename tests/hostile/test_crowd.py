"""A hundred clients of twenty tenants do everything at once, while jobs are worked on; then every row is accounted for.

All tenants call their conversations by the same names. Whatever a client says holds a mark of its own, which says of
every row whose it must be.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any
from uuid import UUID

import asyncpg
import httpx
import pytest

from app.postgres.database import Database
from app.queue.loop import Pace
from app.queue.table import Claimed
from app.runtime import Runtime
from app.worker import HANDLERS, run
from bench.load.crash import PROMISES
from tests.api.kit import Json, assistant, call, path, result, user
from tests.conftest import wait_for
from tests.hostile.test_stateful import model
from tests.jobs.conftest import MakeWorker, api, base_url, make_worker
from tests.jobs.kit import Worker
from tests.keys.conftest import mint
from tests.keys.kit import Mint, bearing

pytestmark = pytest.mark.slow

__all__ = ["api", "base_url", "make_worker", "mint", "model"]

Sql = Callable[[str], list[asyncpg.Record]]

TENANTS = [UUID(int=(number + 1) << 64) for number in range(20)]
CLIENTS = 5
"""Of each tenant."""
STEPS = 6
PACE = Pace(poll=0.1)
SHARED = ("c0", "c1")
"""Conversations that all clients of a tenant write to."""
MARK = "zq%02d%02d%03dxyzk"
MARKS = r"zq\d{7}xyzk"


@dataclass
class Client:
    """One of them, with what was acknowledged and what was erased."""

    http: httpx.AsyncClient
    tenant: int
    number: int
    kept: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Conversation and seq by mark."""
    archived: set[str] = field(default_factory=set)
    """Marks of long results, whose texts are in archives."""
    archives: dict[str, str] = field(default_factory=dict)
    """By mark, as the two that follow."""
    memories: dict[str, str] = field(default_factory=dict)
    erased: set[str] = field(default_factory=set)
    marks: int = 0
    statuses: Counter[int] = field(default_factory=Counter)

    @property
    def user(self) -> str:
        return f"user{self.number % 2}"

    def mark(self) -> str:
        self.marks += 1
        return MARK % (self.tenant, self.number, self.marks)

    async def run(self) -> None:
        rng = Random(f"{self.tenant} {self.number}")
        own = f"own{self.number}"
        steps = [self.say, self.say, self.say, self.look, self.keep, self.remember, self.erase, self.take_out]
        for number in range(STEPS):
            where = own if number % 4 == 3 else rng.choice(SHARED)
            await (self.say if number < 2 else rng.choice(steps))(where, rng)
        await self.ask("DELETE", path(own), 200, 404)
        for mark in [mark for mark, (where, _) in self.kept.items() if where == own]:
            self.erased.add(mark)
            del self.kept[mark]

    async def ask(self, verb: str, where: str, *expected: int, **sent: Any) -> Any:
        """As a good client: what may not have been done is sent again. Nothing of another tenant comes back."""
        while True:
            try:
                answer = await self.http.request(verb, where, **sent)
            except httpx.TransportError:  # a connection that rested was closed; an export met a full pool
                self.statuses[0] += 1
                continue
            self.statuses[answer.status_code] += 1
            if answer.status_code != 503:
                break
        assert answer.status_code in (expected or (200, 201)), f"{verb} {where}: {answer.text[:500]}"
        foreign = [m for m in answer.text.split("zq")[1:] if m[7:12] == "xyzk" and m[:2] != f"{self.tenant:02}"]
        assert foreign == []
        return answer.json() if answer.headers["content-type"] == "application/json" else answer.text

    async def say(self, where: str, rng: Random) -> None:
        """A turn, sent twice at once under one key: it is there once, and all are answered alike."""
        marks = [self.mark() for _ in range(4)]
        call_id = f"call-{self.number}-{self.marks}"
        long = " filling" * rng.choice((1, 1, 1500))
        messages: list[Json] = [
            user(f"question {marks[0]}"), call(call_id, arguments=f'{{"q":"{marks[1]}"}}'),
            result(call_id, f"{marks[2]}{long}"), assistant(f"answer {marks[3]}"),
        ]  # fmt: skip
        body = {"messages": messages, **({"user_id": self.user} if where.startswith("own") else {})}
        sent = {"json": body, "headers": {"Idempotency-Key": f"key {marks[0][2:9]}"}}
        answers = await asyncio.gather(*(self.ask("POST", path(where, "messages"), 201, **sent) for _ in range(2)))
        assert answers[0] == answers[1]
        stored = answers[0]["messages"]
        assert [m["seq"] for m in stored] == list(range(stored[0]["seq"], stored[0]["seq"] + 4))
        self.kept |= {mark: (where, found["seq"]) for mark, found in zip(marks, stored, strict=True)}
        self.archived |= {mark for mark, found in zip(marks, stored, strict=True) if found["archive_id"]}

    async def look(self, where: str, _: Random) -> None:
        await self.ask("GET", path(where, "context"), 200, 404, params={"budget": 4000, "query": "question"})
        await self.ask("GET", path(where, "messages"), 200, 404, params={"limit": 20, "order": "desc"})
        search = {"user_id": self.user, "query": "question answer filling likes"}
        await self.ask("POST", "/memories/search", json=search)

    async def keep(self, _: str, rng: Random) -> None:
        mark = self.mark()
        body = {"user_id": self.user, "tool_name": "t", "tool_input": mark, "result": f"{mark} " + "row " * 4000}
        sent = {"json": body, "headers": {"Idempotency-Key": f"key {mark[2:9]}"}}
        one, two = await asyncio.gather(*(self.ask("POST", "/archive", 201, **sent) for _ in range(2)))
        assert one == two
        self.archives[mark] = one["uuid"]
        if rng.random() < 0.5:
            await self.ask("DELETE", f"/archive/{self.archives.pop(mark)}", 200, 404)
            self.erased.add(mark)

    async def remember(self, _: str, rng: Random) -> None:
        mark = self.mark()
        sent = {
            "json": {"user_id": self.user, "content": f"likes {mark}"},
            "headers": {"Idempotency-Key": f"key {mark[2:9]}"},
        }
        one, two = await asyncio.gather(*(self.ask("POST", "/memories", 201, **sent) for _ in range(2)))
        assert one == two
        self.memories[mark] = one["memory_key"]
        if rng.random() < 0.5:
            key = self.memories.pop(mark)
            await asyncio.gather(*(self.ask("DELETE", f"/memories/{key}", 200, 404) for _ in range(2)))
            self.erased.add(mark)

    async def erase(self, *_: Any) -> None:
        mark, (where, seq) = next(iter(self.kept.items()))
        await self.ask("DELETE", path(where, "messages", str(seq)), headers={"Idempotency-Key": f"erase {seq} {where}"})
        del self.kept[mark]
        self.erased.add(mark)

    async def take_out(self, where: str, _: Random) -> None:
        await self.ask("GET", path(where, "export"), 200, 404)
        await self.ask("GET", f"/users/{self.user}/export")


@contextmanager
def working(worker: Worker, sql: Sql) -> Iterator[None]:
    """The worker's own loop runs beside the block, and on until no job is left that it would do."""
    stop = asyncio.Event()
    done = Counter[str]()
    handlers = {kind: partial(counted, done, kind) for kind in HANDLERS}
    running = worker.portal.start_task_soon(partial(run, worker.runtime, stop, handlers=handlers, pace=PACE))
    try:
        yield
        wait_for(
            lambda: running.done() or not sql("SELECT 1 FROM work WHERE failed_at IS NULL"), seconds=300, every=0.1
        )
    finally:
        worker.portal.call(stop.set)
        running.result(timeout=60)
    assert done["page"] > len(TENANTS)


async def counted(done: Counter[str], kind: str, runtime: Runtime, claimed: Claimed) -> None:
    await HANDLERS[kind](runtime, claimed)
    done[kind] += 1


async def crowd(url: str, keys: list[str]) -> list[Client]:
    limits = httpx.Limits(max_connections=None)
    https = [httpx.AsyncClient(base_url=url, headers=bearing(key), timeout=60, limits=limits) for key in keys]
    clients = [Client(http, tenant, number) for tenant, http in enumerate(https) for number in range(CLIENTS)]
    try:
        for client in clients[::CLIENTS]:
            for name in SHARED:
                body = {"id": name, "user_id": "user0", "budget": 3000}
                await client.ask("POST", "/conversations", 201, json=body, headers={"Idempotency-Key": name})
        await asyncio.gather(*(client.run() for client in clients))
    finally:
        for http in https:
            await http.aclose()
    return clients


def test_a_hundred_clients_at_once_and_every_row_is_accounted_for(
    base_url: str, mint: Mint, run_as_superuser: Sql, make_worker: MakeWorker
) -> None:
    worker = make_worker()
    keys = [mint(tenant) for tenant in TENANTS]
    with working(worker, run_as_superuser):
        clients = asyncio.run(crowd(base_url, keys))
    assert sum((client.statuses for client in clients), Counter[int]())[200] > 200
    for number, tenant in enumerate(TENANTS):
        assert_accounted_for(run_as_superuser, tenant, [client for client in clients if client.tenant == number])
        assert worker.portal.call(broken, worker.runtime.database, tenant) == []
    assert_nothing_foreign_or_erased(run_as_superuser, clients)


async def broken(database: Database, tenant: UUID) -> list[str]:
    """Promises about archives and offsets, under row-level security: of this tenant alone."""
    async with database.snapshot(tenant) as tx:
        return [promise for promise, sql in PROMISES.items() if await tx.connection.fetch(sql)]


def assert_accounted_for(sql: Sql, tenant: UUID, clients: list[Client]) -> None:
    """What was acknowledged is there once, in its place, and nothing else is."""
    whose = f"tenant_id = '{tenant}'"
    marks = f"(SELECT string_agg(DISTINCT m[1], ' ') FROM regexp_matches(body, '({MARKS})', 'g') m)"
    rows = sql(f"SELECT conversation_id, seq, {marks} AS mark FROM messages WHERE {whose} AND {marks} IS NOT NULL")
    assert len(rows) == len({row["mark"] for row in rows})
    kept = {mark: place for client in clients for mark, place in client.kept.items()}
    archived = {place for client in clients for mark, place in client.kept.items() if mark in client.archived}
    assert {row["mark"]: (row["conversation_id"], row["seq"]) for row in rows} == {
        mark: place for mark, place in kept.items() if place not in archived
    }
    of_messages = sql(f"SELECT conversation_id, seq FROM archives WHERE {whose} AND conversation_id IS NOT NULL")
    assert sorted(map(tuple, of_messages)) == sorted(archived)
    gaps = f"SELECT 1 FROM messages WHERE {whose} GROUP BY conversation_id HAVING max(seq) <> count(*) OR min(seq) <> 1"
    assert sql(gaps) == []
    alone = sql(f"SELECT id FROM archives WHERE {whose} AND conversation_id IS NULL")
    assert {str(row[0]) for row in alone} == {uuid for client in clients for uuid in client.archives.values()}
    explicit = sql(f"SELECT id FROM memories WHERE {whose} AND source = 'person'")
    assert {str(row[0]) for row in explicit} == {key for client in clients for key in client.memories.values()}
    names = {str(row[0]) for row in sql(f"SELECT id FROM conversations WHERE {whose}")}
    assert names == set(SHARED)
    assert sql(f"SELECT kind, subject, error FROM work WHERE {whose}") == []


def assert_nothing_foreign_or_erased(sql: Sql, clients: list[Client]) -> None:
    erased = {mark for client in clients for mark in client.erased}
    assert len(erased) > 100
    names = [row[0] for row in sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
    for name in set(names) - {"alembic_version"}:
        found = sql(
            f"SELECT tenant_id, array_agg(DISTINCT m[1]) AS marks FROM {name} t,"
            f" regexp_matches(t::text, '({MARKS})', 'g') m GROUP BY 1"
        )
        for row in found:
            assert not erased & set(row["marks"]), f"{name} holds what was erased"
            number = f"{TENANTS.index(UUID(str(row['tenant_id']))):02}"
            assert {mark[2:4] for mark in row["marks"]} == {number}, f"{name} holds what is another tenant's"
