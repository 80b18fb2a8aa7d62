"""Mixed load for a long time, while workers are killed and the provider fails: `python -m bench.load.soak --minutes 60`.

First the machine is measured, then the load is half of what it took. The API (which does jobs as well) and one worker
live through all of it and must not grow; another worker is killed again and again. In the end nothing that was
acknowledged may be lost, no work may be left lying, nothing may be dead that could be done, and no request may take
longer than in the beginning.

What is asked for is the same at all times, or no latency could be: a client writes some long conversations as one
user, then is another. How much a user has by then is filled in before anything is measured, and differs from client
to client, so that there are as many new users as old ones at each moment. What the tables hold grows all the while.
"""

import os
import signal
import statistics
import sys
import time
from argparse import ArgumentParser
from bisect import bisect
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from random import Random
from threading import Event, Lock, Thread
from typing import Any

import httpx
import psutil
from rich.console import Console

from app.postgres import embedded, migrate
from bench.load.crash import _folder
from bench.load.crash_work import Program
from bench.load.flat import slices, trend_of
from bench.tables import Table, show
from tests.jobs.kit import Model
from tests.providers.fake_openai import Json, echo

CLIENTS = 8
CALIBRATION_SECONDS = 20
SAMPLE_SECONDS = 5
KILL_SECONDS = (15, 45)
FAULT_SECONDS = (5, 20)
SETTLE_SECONDS = 180
TURNS_MAX = 150
"""The turns of a conversation, after which the client begins another."""
CONVERSATIONS_MAX = 2
"""The conversations of a user, after which the client becomes another user."""
QUARTERS = 4
PROCESSES = ("API", "worker", "PostgreSQL")
GROWTH_MAX = 0.10
"""The largest growth of a process over the last two thirds of the run, as a share and for small ones in bytes."""
GROWTH_BYTES = 24 * 2**20
FAULTS: Sequence[tuple[str, list[Any]]] = (
    ("chat", ["rate_limited", {"retry_after": "1"}]),
    ("chat", ["status", {"number": 500}]),
    ("chat", ["error_in_200", {}]),
    ("chat", ["no_choices", {}]),
    ("chat", ["null_content", {}]),
    ("chat", ["finished", {"reason": "length"}]),
    ("chat", ["reset_within", {}]),
    ("chat", ["truncated", {}]),
    ("chat", ["late", {"seconds": 5}]),
    ("embeddings", ["rate_limited", {}]),
    ("embeddings", ["status", {"number": 503}]),
    ("embeddings", ["wrong_dimension", {}]),
    ("embeddings", ["too_few", {}]),
    ("embeddings", ["nan_vectors", {}]),
    ("embeddings", ["cut", {}]),
    ("embeddings", ["html", {}]),
)


def main(argv: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(prog="python -m bench.load.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that no process is left behind
    with ExitStack() as stack:
        run = Run(stack, Random(asked.seed))
        run.soak(asked.minutes * 60)
        problems = run.problems()
        for table in (run.quarters(), run.table(problems)):
            show(Console(width=160), table)
    sys.exit(1 if problems else 0)


_scripted = Model()


def reply(request: Json) -> str | Json:
    """Reply as the chat model: valid page indices and summaries, and an echo to anything else."""
    try:
        answer = _scripted(request)
        _scripted.asked.clear()
    except (ValueError, KeyError, IndexError, AssertionError):
        return echo(request)
    return answer


@dataclass
class Sample:
    at: float
    api: int
    worker: int
    pending: int
    unclaimed: int
    dead: int
    cpu: Sequence[float] = (0.0, 0.0, 0.0)
    """CPU seconds of each process since the load began; of the workers, the one that lives."""


@dataclass
class Run:
    stack: ExitStack
    rng: Random
    samples: list[Sample] = field(default_factory=list)
    clients: list["Client"] = field(default_factory=list)
    kills: int = 0
    faults: int = 0
    rate: float = 0.0
    """The requests a second that the machine handled."""
    seconds: float = 0.0
    begun: float = 0.0
    settled: float | None = None
    _spent: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    _known: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        folder = self.stack.enter_context(_folder())
        self._cluster = folder / "data" / "postgres" / "cluster"
        postgres = embedded.start(folder / "data")
        self.stack.callback(postgres.stop)
        migrate.upgrade(postgres.owner_dsn)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("QUIRE_", "MEMORY_", "DATABASE_"))}
        fake = self._program(folder, kept, "-m", "tests.providers.fake_openai", "--reply", "bench.load.soak:reply")
        provider = fake.start("http").strip()
        self.provider = provider.removesuffix("/v1")
        environment = {
            **kept,
            "DATABASE_URL": postgres.app_dsn,
            "QUIRE_DATA_DIR": str(folder / "data"),
            "QUIRE_PORT": "0",
            "QUIRE_LOG_LEVEL": "error",
            "QUIRE_WORKER_LEASE_SECONDS": "10",
            "MEMORY_LLM_MODEL": "fake",
            "MEMORY_LLM_BASE_URL": provider,
            "MEMORY_EMBEDDING_MODEL": "fake",
            "MEMORY_EMBEDDING_BASE_URL": provider,
        }
        self.api = self._program(folder, environment, "-m", "app", "serve")
        self.url = self.api.start("/docs").split("/docs")[0].split()[-1]
        self.worker = self._program(folder, environment, "-m", "bench.load.soak_worker")
        self.victim = self._program(folder, environment, "-m", "bench.load.soak_worker")
        for program in (self.worker, self.victim):
            program.start("up")

    def _program(self, folder: Path, environment: dict[str, str], *command: str) -> Program:
        program = Program(folder, environment, *command)
        self.stack.callback(_kill, program)
        return program

    def soak(self, seconds: float) -> None:
        """Fill in the users' data, measure the machine's capacity, run half of it for a time, and let it settle."""
        self.clients = [Client(self.url, number) for number in range(CLIENTS)]
        fillers = [Thread(target=client.fill, args=(_age(client.number),)) for client in self.clients]
        for thread in fillers:
            thread.start()
        for thread in fillers:
            thread.join()
        self.rate = self._load(CALIBRATION_SECONDS, pause=0.0) / CALIBRATION_SECONDS
        for client in self.clients:
            client.latencies.clear()
        self.seconds = seconds
        self._load(seconds, pause=CLIENTS / (self.rate / 2), disturbed=True)
        self._settle()

    def _load(self, seconds: float, *, pause: float, disturbed: bool = False) -> int:
        """Return how many requests were answered. Each client begins one after each pause."""
        stop = Event()
        before = sum(client.requests for client in self.clients)
        work = [Thread(target=client.run, args=(stop, pause)) for client in self.clients]
        if disturbed:
            work += [Thread(target=each, args=(stop,)) for each in (self._watch, self._kill, self._fail)]
        for thread in work:
            thread.start()
        stop.wait(seconds)
        stop.set()
        for thread in work:
            thread.join()
        return sum(client.requests for client in self.clients) - before

    def _watch(self, stop: Event) -> None:
        self.begun = time.monotonic()
        self._spend()
        self._spent = [0.0, 0.0, 0.0]
        with httpx.Client(base_url=self.url, timeout=30) as client:
            while not stop.wait(SAMPLE_SECONDS):
                self.samples.append(self._sample(client, time.monotonic() - self.begun))

    def _sample(self, client: httpx.Client, at: float) -> Sample:
        work = client.get("/jobs").raise_for_status().json()
        unclaimed = sum(lane["unclaimed"] for lane in work["lanes"].values())
        api, worker = (psutil.Process(program.pid).memory_info().rss for program in (self.api, self.worker))
        self._spend()
        return Sample(at, api, worker, work["pending"], unclaimed, work["dead"], tuple(self._spent))

    def _spend(self) -> None:
        """Add the CPU used since the last call. What a process uses between the last call and its end does not count."""
        postmaster = int((self._cluster / "postmaster.pid").read_text().split()[0])
        groups = ([self.api.pid], [self.worker.pid], [postmaster, *_children(postmaster)])
        known: dict[int, float] = {}
        for number, pids in enumerate(groups):
            for pid in pids:
                with suppress(psutil.Error):
                    times = psutil.Process(pid).cpu_times()
                    known[pid] = times.user + times.system
                    self._spent[number] += known[pid] - self._known.get(pid, 0.0)
        self._known = known

    def _kill(self, stop: Event) -> None:
        while not stop.wait(self.rng.uniform(*KILL_SECONDS)):
            self.victim.kill()
            self.kills += 1
            self.victim.start("up")

    def _fail(self, stop: Event) -> None:
        """Make the provider fail a few times in a row, in one way."""
        rng = Random(2)
        with httpx.Client(base_url=self.provider, timeout=30) as client:
            while not stop.wait(rng.uniform(*FAULT_SECONDS)):
                endpoint, fault = rng.choice(FAULTS)
                number = rng.randint(1, 4)
                client.post("/control", json={"endpoint": endpoint, "queue": [fault] * number}).raise_for_status()
                self.faults += number

    def _settle(self) -> None:
        """Retry dead jobs, as a person would once the provider works again. Then none may be left."""
        begun = time.monotonic()
        with httpx.Client(base_url=self.url, timeout=30) as client:
            while time.monotonic() < begun + SETTLE_SECONDS:
                for job in client.get("/jobs", params={"limit": 200}).json()["items"]:
                    client.post(f"/jobs/{job['id']}/retry")
                last = self._sample(client, self.seconds)
                if not last.pending and not last.dead:
                    self.settled = time.monotonic() - begun
                    return
                time.sleep(1)

    def problems(self) -> list[str]:
        found = [problem for client in self.clients for problem in (*client.refused, *client.lost())]
        if self.settled is None:
            found.append(f"work is left {SETTLE_SECONDS} s after the load ended")
        for name in ("api", "worker"):
            grown, mean = self._growth(name)
            if grown > max(GROWTH_BYTES, GROWTH_MAX * mean):
                found.append(f"the {name} grows: {grown / 2**20:+.0f} MiB over two thirds of the run")
        quarter = max(1, len(self.samples) // 4)
        first, last = (
            statistics.mean(s.unclaimed for s in part) for part in (self.samples[:quarter], self.samples[-quarter:])
        )
        if last > 2 * first + 20:
            found.append(f"unclaimed work grows: {first:.0f} jobs in the first quarter, {last:.0f} in the last")
        return found + self._rising()

    def _rising(self) -> list[str]:
        """Return the requests that take more and more time or CPU."""
        found = []
        for what, taken in self._taken().items():
            seen = trend_of(taken, self.begun, self.begun + self.seconds)
            if seen is not None and not seen.is_flat:
                found.append(f"{what} takes longer: {seen.rise:+.0%} over the run, {seen.errors:.0f} standard errors")
        return found

    def _taken(self) -> dict[str, list[tuple[float, float]]]:
        """Return the times and seconds of requests by kind, and the CPU seconds of a request by process."""
        found: dict[str, list[tuple[float, float]]] = {}
        for what, at, seconds in sorted(one for client in self.clients for one in client.latencies):
            found.setdefault(what, []).append((at, seconds))
        times = sorted(at for taken in found.values() for at, _ in taken)
        for one, next_ in pairwise(self.samples):
            asked = bisect(times, self.begun + next_.at) - bisect(times, self.begun + one.at)
            for process, before, after in zip(PROCESSES, one.cpu, next_.cpu, strict=True):
                if asked:
                    cost = (self.begun + next_.at, (after - before) / asked)
                    found.setdefault(f"a request's CPU, {process}", []).append(cost)
        return found

    def _growth(self, name: str) -> tuple[float, float]:
        """Return a process's growth in bytes over the last two thirds, by a regression line, and its mean size."""
        kept = self.samples[len(self.samples) // 3 :]
        sizes = [float(getattr(sample, name)) for sample in kept]
        times = [sample.at for sample in kept]
        if len(kept) < 2:
            return 0.0, sizes[0] if sizes else 0.0
        return statistics.linear_regression(times, sizes).slope * (times[-1] - times[0]), statistics.mean(sizes)

    def table(self, problems: list[str]) -> Table:
        rows = []
        for name in ("api", "worker"):
            grown, mean = self._growth(name)
            first, last = (getattr(self.samples[at], name) / 2**20 for at in (0, -1))
            rows.append(
                [f"memory of the {name}, MiB: first, mean, last", f"{first:.0f}", f"{mean / 2**20:.0f}", f"{last:.0f}"]
            )
            rows.append([f"growth of the {name} over two thirds, MiB (in an hour)", f"{grown / 2**20:+.1f}", "",
                         f"{grown / 2**20 * 3600 / (self.seconds * 2 / 3):+.1f}"])  # fmt: skip
        for name in ("pending", "unclaimed", "dead"):
            numbers = [getattr(sample, name) for sample in self.samples]
            rows.append([f"jobs {name}: first, most, last", str(numbers[0]), str(max(numbers)), str(numbers[-1])])
        resent, acknowledged = (sum(getattr(c, name) for c in self.clients) for name in ("resent", "acknowledged"))
        load = f"{self.seconds / 60:.0f} minutes at half of {self.rate:.0f} requests a second: {self._asked()} requests"
        settled = "is left to do" if self.settled is None else f"was left {self.settled:.0f} s after the load"
        notes = [
            f"{load}, {resent} sent again; {self.kills} kills of a worker, {self.faults} faults of the provider.",
            f"{acknowledged} messages were acknowledged and looked for. {'Work' if self.settled is None else 'Nothing'} {settled}.",
            "Problems: " + ("; ".join(problems[:10]) or "none."),
        ]
        return Table("Soak", ["", "", "", ""], rows, notes)

    def _asked(self) -> int:
        return sum(len(client.latencies) for client in self.clients)

    def quarters(self) -> Table:
        """Return the times of requests by quarter of the run."""
        end = self.begun + self.seconds
        rows = []
        for what, taken in self._taken().items():
            parts = [sorted(part) for part in slices(taken, self.begun, end, QUARTERS)]
            seen = trend_of(taken, self.begun, end)
            shown = [f"{seen.rise:+.0%}", f"{seen.errors:.1f}"] if seen else ["", ""]
            numbers = [f"{_at(part, 0.5):.1f} / {_at(part, 0.95):.1f}" for part in parts]
            rows.append([f"{what}, ms", str(len(taken)), *numbers, *shown])
        columns = ["p50 / p95", "number", "1st quarter", "2nd", "3rd", "4th", "rise", "errors"]
        note = "The rise is of p50, by a line through the run, whose slope is so many of its standard errors."
        return Table("Soak: quarters", columns, rows, [note])


def _at(ordered: Sequence[float], share: float) -> float:
    """Return a quantile in milliseconds."""
    return ordered[int(share * (len(ordered) - 1))] * 1000 if ordered else float("nan")


def _children(pid: int) -> list[int]:
    with suppress(psutil.Error):
        return [child.pid for child in psutil.Process(pid).children()]
    return []


def _age(number: int) -> int:
    """Return how many turns a client's user has when the measurement begins, evenly spread from none to all."""
    return int((number + 0.5) / CLIENTS * CONVERSATIONS_MAX * TURNS_MAX)


def _kill(program: Program) -> None:
    with suppress(AssertionError):  # it was never started
        program.kill()


class Client:
    """An agent: it appends turns, reads windows, searches, archives, erases, and repeats unanswered requests."""

    def __init__(self, url: str, number: int) -> None:
        self.url, self.number = url, number
        self.rng = Random(number)
        self.talks: dict[str, list[tuple[str, bool]]] = {}
        """The contents of each conversation's messages, and whether each still exists."""
        self.latencies: list[tuple[str, float, float]] = []
        self.refused: list[str] = []
        self.requests = self.resent = 0
        self._keys = 0
        self._lock = Lock()

    @property
    def acknowledged(self) -> int:
        return sum(map(len, self.talks.values()))

    @property
    def user(self) -> str:
        return f"user-{self.number}-{(len(self.talks) - 1) // CONVERSATIONS_MAX}"

    def fill(self, turns: int) -> None:
        """Append a number of turns at once."""
        with httpx.Client(base_url=self.url, timeout=60) as http:
            for _ in range(turns):
                self._begin()
                self._say(http)

    def run(self, stop: Event, pause: float) -> None:
        with httpx.Client(base_url=self.url, timeout=60) as http:
            due = time.monotonic() + self.rng.uniform(0, pause)
            while not stop.wait(max(0.0, due - time.monotonic())):
                due = max(due + pause, time.monotonic() - 5 * pause)
                try:
                    self._step(http)
                except Exception as error:
                    self.refused.append(f"a client failed: {error!r}")
                    raise

    def _begin(self) -> None:
        """Begin another conversation, if the last one is long enough."""
        if not self.talks or len(self.talks[self._name]) >= 4 * TURNS_MAX:
            self.talks[f"soak-{self.number}-{len(self.talks)}"] = []

    def _step(self, http: httpx.Client) -> None:
        self._begin()
        steps = (self._say, self._look, self._search, self._remember, self._erase, self._archive, self._export)
        [step] = self.rng.choices(steps, (45, 35, 8, 4, 3, 4, 1))
        if self.talks[self._name]:
            step(http)
        else:
            self._say(http)

    @property
    def _name(self) -> str:
        return next(reversed(self.talks))

    def _ask(self, http: httpx.Client, what: str, verb: str, path: str, **sent: Any) -> Any:
        """Repeat a request until it is answered. Return the answer; None if it is refused, which is noted as a problem."""
        self._keys += 1
        headers = {"Idempotency-Key": f"soak-{self.number}-{self._keys}"}
        while True:
            begun = time.monotonic()
            try:
                answer = http.request(verb, path, headers=headers, **sent)
            except httpx.TransportError:
                self.resent += 1
                continue
            self.requests += 1
            self.latencies.append((what, begun, time.monotonic() - begun))
            if answer.status_code == 503:
                self.resent += 1
                time.sleep(0.1)
                continue
            if answer.is_success:
                return answer.json() if answer.headers["content-type"] == "application/json" else answer.text
            self.refused.append(f"{verb} {path}: {answer.status_code} {answer.text[:200]}")
            return None

    def _say(self, http: httpx.Client) -> None:
        rng, talk = self.rng, self.talks[self._name]
        number = len(talk)
        call_id = f"c{number}"
        rows = rng.choice((10, 30, 100, 1200))
        texts = [
            f"question {number} about " + " ".join(f"w{rng.randrange(5000)}" for _ in range(20)),
            f"result {number} " + " ".join(f"r{rng.randrange(5000)}" for _ in range(rows)),
            f"answer {number}: " + " ".join(f"w{rng.randrange(5000)}" for _ in range(60)),
        ]
        call = {"id": call_id, "type": "function", "function": {"name": "look", "arguments": '{"q":"w"}'}}
        messages = [
            {"role": "user", "content": texts[0]},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call_id, "content": texts[1]},
            {"role": "assistant", "content": texts[2]},
        ]
        body = {"messages": messages, "user_id": self.user}
        if self._ask(http, "append", "POST", f"/conversations/{self._name}/messages", json=body) is not None:
            talk += [(text, True) for text in (texts[0], "", texts[1], texts[2])]

    def _look(self, http: httpx.Client) -> None:
        query = {"budget": self.rng.choice((4000, 8000, 16_000)), "format": self.rng.choice(("openai", "anthropic"))}
        self._ask(http, "window", "GET", f"/conversations/{self._name}/context", params=query)

    def _search(self, http: httpx.Client) -> None:
        body = {"user_id": self.user, "query": f"w{self.rng.randrange(5000)} w{self.rng.randrange(5000)}"}
        self._ask(http, "search", "POST", "/memories/search", json=body)

    def _remember(self, http: httpx.Client) -> None:
        body = {"user_id": self.user, "content": f"likes w{self.rng.randrange(5000)}"}
        made = self._ask(http, "remember", "POST", "/memories", json=body)
        if made is not None and self.rng.random() < 0.5:
            self._ask(http, "erase a memory", "DELETE", f"/memories/{made['memory_key']}")

    def _erase(self, http: httpx.Client) -> None:
        talk = self.talks[self._name]
        at = self.rng.randrange(len(talk))
        if self._ask(http, "erase a message", "DELETE", f"/conversations/{self._name}/messages/{at + 1}") is not None:
            talk[at] = (talk[at][0], False)

    def _archive(self, http: httpx.Client) -> None:
        result = " ".join(f"r{self.rng.randrange(5000)}" for _ in range(4000))
        body = {"user_id": self.user, "tool_name": "t", "tool_input": {}, "result": result}
        made = self._ask(http, "archive", "POST", "/archive", json=body)
        if made is not None and self.rng.random() < 0.5:
            self._ask(http, "erase an archive", "DELETE", f"/archive/{made['uuid']}")

    def _export(self, http: httpx.Client) -> None:
        self._ask(http, "export", "GET", f"/conversations/{self._name}/export")

    def lost(self) -> list[str]:
        """Return acknowledged data that is missing or changed, and erased data that still exists."""
        with httpx.Client(base_url=self.url, timeout=60) as http:
            found: list[str] = []
            for name, talk in self.talks.items():
                told = self._history(http, name)
                if len(told) != len(talk):
                    found.append(f"{name} has {len(told)} messages, {len(talk)} were acknowledged")
                for (text, there), content in zip(talk, told, strict=False):
                    if text and there != (content == text):
                        found.append(f"{name}: {text[:40]!r} reads {str(content)[:40]!r}")
            return found

    def _history(self, http: httpx.Client, name: str) -> list[str]:
        contents: list[str] = []
        query: dict[str, Any] = {"limit": 500}
        while True:
            page = http.get(f"/conversations/{name}/messages", params=query).raise_for_status().json()
            contents += [message["content"] or "" for message in page["items"]]
            if page["next_cursor"] is None:
                return contents
            query["cursor"] = page["next_cursor"]


if __name__ == "__main__":
    main()
