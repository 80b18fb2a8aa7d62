"""Writes that meet: in whatever order two of them take their locks, neither waits for the other in a circle."""

import itertools
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import Barrier

import asyncpg
import httpx
import pytest

from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from tests.api.kit import Json, append, call, created, ok, path, result, turn, user
from tests.archive import made as results
from tests.by_turns import few
from tests.conftest import serving
from tests.faults.kit import PAGING, index, service
from tests.jobs.kit import Model
from tests.providers.fake_openai import FakeOpenAI

Sql = Callable[[str], list[asyncpg.Record]]
SECONDS = 120.0 if os.environ.get("QUIRE_LONG") else 20.0
made = cache(results.made)
NAMES = ("a", "b", "c")
COPIES = 2
"""Clients that do each write of a pair at the same moment."""


@pytest.fixture
def eager(run_as_superuser: Sql) -> Iterator[None]:
    """A circle of waiting transactions is noticed at once, before anything times out."""
    run_as_superuser("ALTER SYSTEM SET deadlock_timeout = '5ms'")
    run_as_superuser("SELECT pg_reload_conf()")
    yield
    run_as_superuser("ALTER SYSTEM RESET deadlock_timeout")
    run_as_superuser("SELECT pg_reload_conf()")


@pytest.fixture
def worked(postgres: EmbeddedPostgres, settings: Settings, clean: None, eager: None) -> Iterator[httpx.Client]:
    """The service with its worker: pages, summaries, vectors and passages are made while others write."""
    with FakeOpenAI(reply=Model(page=index)) as api, FakeOpenAI() as asked:
        proxied = settings.model_copy(update={"quire_proxy_base_url": asked.url})
        serves = serving(service(proxied, postgres.app_dsn, api.url))
        with httpx.Client(base_url=next(serves), timeout=60) as opened:
            yield opened
        next(serves, None)


@dataclass
class Writes:
    """What clients do to three conversations of one user."""

    client: httpx.Client
    rng: random.Random = field(default_factory=lambda: random.Random(15))
    exported: bytes = b""

    def prepare(self) -> None:
        """Some turns in each conversation that is not there, archives of equal texts, and what others said."""
        for name in NAMES:
            new = {"id": name, "user_id": "u", "settings": PAGING}
            if self.client.post("/conversations", json=new).status_code == 201:
                self.append(name)
                self.append_copies(name)
        self.exported = self.client.get("/users/u/export").content

    def append(self, name: str) -> httpx.Response:
        messages = [message for number in range(4) for message in turn(self.rng.randrange(1000) + number, words=5)]
        return self._post(name, "messages", messages)

    def append_copies(self, name: str) -> httpx.Response:
        """What a recall tool brought of the other conversations, and long results that these have too."""
        kinds = self.rng.sample(["prose", "table", "code"], 3)
        ids = [f"{self.rng.random()}" for _ in range(4)]
        copied = "question 1 why why why why why, question 2 why why why why why"
        results = [result(i, made(kind)) for i, kind in zip(ids, kinds, strict=False)]
        recalled = [user(), call(ids[3], name="recall_page", arguments='{"page":1}'), result(ids[3], copied)]
        return self._post(name, "messages", [user(), call(*ids[:3]), *results, *recalled])

    def append_long(self, name: str) -> httpx.Response:
        """Passages of it are left to a job."""
        return self._post(name, "messages", [user(made("prose", size=300_000, seed=self.rng.randrange(3)))])

    def sync(self, name: str) -> httpx.Response:
        """The list as it was stored a moment ago, and a turn more."""
        found = self.client.get(path(name, "messages"), params={"limit": 200})
        fields = ("role", "content", "tool_calls", "tool_call_id")
        items = found.json()["items"] if found.is_success else []
        stored = [{field: item[field] for field in fields if item.get(field) is not None} for item in items]
        return self._post(name, "sync", [*stored, *turn(self.rng.randrange(1000), words=5)])

    def _post(self, name: str, what: str, messages: Sequence[Json]) -> httpx.Response:
        return self.client.post(path(name, what), json={"messages": messages, "user_id": "u"})

    def erase_message(self, name: str) -> httpx.Response:
        return self.client.delete(path(name, "messages", str(self.rng.randrange(1, 9))))

    def erase_page(self, name: str) -> httpx.Response:
        return self.client.delete(path(name, "pages", str(self.rng.randrange(1, 4))))

    def erase_conversation(self, name: str) -> httpx.Response:
        return self.client.delete(path(name))

    def erase_user(self, _: str) -> httpx.Response:
        return self.client.delete("/users/u")

    def erase_archive(self, name: str) -> httpx.Response:
        found = self.client.get("/archive", params={"conversation_id": name})
        if not found.is_success or not found.json()["items"]:
            return found
        return self.client.delete(f"/archive/{self.rng.choice(found.json()['items'])['uuid']}")

    def archive(self, name: str) -> httpx.Response:
        kind = self.rng.choice(["prose", "table", "code"])
        body = {"user_id": "u", "conversation_id": name, "tool_name": "t", "result": made(kind)}
        return self.client.post("/archive", json=body)

    def remember(self, name: str) -> httpx.Response:
        body = {"user_id": "u", "conversation_id": name, "content": "tea is green"}
        return self.client.post("/memories", json=body)

    def reword(self, name: str) -> httpx.Response:
        """Edit a memory in the inspector."""
        listed = self.client.get("/memories", params={"conversation_id": name})
        if not listed.is_success or not listed.json()["items"]:
            return listed
        key = self.rng.choice(listed.json()["items"])["memory_key"]
        form = {"do": "edit", "content": f"tea is green {self.rng.random()}"}
        return self.client.post(f"/ui/memories/{key}", data=form)

    def note(self, name: str) -> httpx.Response:
        return self.client.post(path(name, "notes"), json={"text": "always answer in French"})

    def ask(self, name: str) -> httpx.Response:
        """Through the proxy: the question, its answer, and what became of the request."""
        said = {"model": "fake", "messages": [user(f"question {self.rng.random()}")]}
        headers = {"X-Quire-Conversation": name, "X-Quire-User": "u"}
        return self.client.post("/v1/chat/completions", json=said, headers=headers)

    def put_in(self, _: str) -> httpx.Response:
        """Import what was there before, as a fork does."""
        headers = {"content-type": "application/x-ndjson"}
        return self.client.post("/import", content=self.exported, headers=headers)

    def change(self, name: str) -> httpx.Response:
        return self.client.patch(path(name), json={"budget": self.rng.randrange(3_000, 9_000)})

    def all(self) -> list[Callable[[str], httpx.Response]]:
        return [
            self.append, self.append_copies, self.append_long, self.sync, self.erase_message, self.erase_page,
            self.erase_conversation, self.erase_user, self.erase_archive, self.archive, self.remember, self.put_in,
            self.change, self.reword, self.note, self.ask,
        ]  # fmt: skip


@pytest.mark.parametrize("what", few(["conversation", "message's archive", "memory", "note", "archive"], 2))
def test_one_of_several_concurrent_erasures_does_the_work(client: httpx.Client, what: str) -> None:
    created(client, id="c", user_id="u")
    for _ in range(5):
        where = _made(client, what)
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda _, where=where: client.delete(where), range(4)))
        assert sorted(answer.status_code for answer in answers) == [200, 404, 404, 404]


def _made(client: httpx.Client, what: str) -> str:
    """Make something; where it is."""
    match what:
        case "archive":
            body = {"user_id": "u", "tool_name": "t", "result": made("prose")}
            return f"/archive/{ok(client.post('/archive', json=body), 201)['uuid']}"
        case "message's archive":
            sent = append(client, "c", [user(), call("a"), result("a", made("prose"))])
            return f"/archive/{sent['messages'][2]['archive_id']}"
        case "memory":
            memory = ok(client.post("/memories", json={"user_id": "u", "content": "tea"}), 201)
            return f"/memories/{memory['memory_key']}"
        case "note":
            return path("c", "notes", ok(client.post(path("c", "notes"), json={"text": "tea"}), 201)["id"])
        case _:
            append(client, "gone", turn(1))
            return path("gone")


def done(statuses: Counter[tuple[str, int]]) -> set[str]:
    """Return the names of what succeeded at least once."""
    return {name for name, status in statuses if status < 400}


@pytest.mark.slow
def test_no_two_writes_wait_for_each_other(worked: httpx.Client, settings: Settings, run_as_superuser: Sql) -> None:
    """Every pair of writes, twice each and at once, on one conversation or on two of a user, beside the worker."""
    log = Path(settings.quire_data_dir) / "postgres" / "log"
    before = len(log.read_bytes())
    deadlocks = "SELECT sum(deadlocks) FROM pg_stat_database"
    [[counted]] = run_as_superuser(deadlocks)
    writes = Writes(worked)
    pairs = list(itertools.combinations_with_replacement(writes.all(), 2))
    writes.rng.shuffle(pairs)
    deadline, statuses = time.monotonic() + SECONDS, Counter[tuple[str, int]]()
    every = {one.__name__ for one in writes.all()}
    with ThreadPoolExecutor(2 * COPIES) as pool:
        for number, pair in enumerate(itertools.cycle(pairs)):
            # Each write succeeds some time, however slow the machine is, or does not in all pairs.
            if time.monotonic() > deadline and (done(statuses) == every or number >= len(pairs)):
                break
            writes.prepare()
            at_once = Barrier(2 * COPIES)
            names = ("a", "a") if writes.rng.random() < 0.5 else ("a", "b")

            def write(one: Callable[[str], httpx.Response], name: str, at_once: Barrier = at_once) -> tuple[str, int]:
                at_once.wait()
                return one.__name__, one(name).status_code

            both = list(zip(pair, names, strict=True)) * COPIES
            statuses.update(pool.map(write, *zip(*both, strict=True)))
    said = log.read_bytes()[before:].decode()
    assert "deadlock detected" not in said, said[said.index("deadlock detected") - 200 :][:6000]
    assert run_as_superuser(deadlocks)[0][0] == counted
    assert {status for _, status in statuses} <= {200, 201, 303, 404, 409, 413, 422, 503}, statuses
    assert done(statuses) == every, statuses
    assert statuses["reword", 303], statuses
