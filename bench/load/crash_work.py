"""Kill workers, then the API, then PostgreSQL while turns stream in: `python -m bench.load.crash_work --kills 200`.

Two workers and the API, processes of their own on one database, are killed with SIGKILL at random moments and started
again. Then everything may settle, and: every acknowledged message is there exactly once, every closed page is
indexed, once, nothing waits, runs or is dead, and every summary covers what it says.
"""

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Event, Thread
from typing import Any

import asyncpg
import httpx

from app.postgres import embedded, migrate
from app.postgres.embedded import EmbeddedPostgres
from bench.load.crash import PROMISES, Quire, Writer, _folder, check_history
from bench.load.crash import Report as AppendReport

WRITERS = 6
WORKERS = 2
START_SECONDS = 60
SETTLE_SECONDS = 120
KILL_SECONDS = 1.5
"""The approximate seconds of a kill and a restart, over which the turns are spread."""
PHASES = ("worker", "api", "postgres")


def main(argv: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(prog="python -m bench.load.crash_work", description=__doc__)
    parser.add_argument(
        "--kills", type=int, default=200, help="of workers; a quarter as many of the API and PostgreSQL"
    )
    parser.add_argument("--turns", type=int, default=2000, help="that stream in, at most")
    parser.add_argument("--seconds", type=float, default=1200, help="for all kills; then it settles")
    parser.add_argument("--lease", type=float, default=5, help="QUIRE_WORKER_LEASE_SECONDS")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(argv)
    kills = {"worker": asked.kills, "api": asked.kills // 4, "postgres": asked.kills // 4}
    report = crash(kills, asked.turns, asked.seconds, asked.lease, asked.seed)
    print(report)  # noqa: T201
    sys.exit(1 if report.problems else 0)


@dataclass
class Report:
    kills: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PHASES, 0))
    turns: int = 0
    pages: int = 0
    resent: int = 0
    left_by_the_dead: int = 0
    """The number of jobs whose worker was killed while it ran them, as reported by those that found them."""
    settled_seconds: float = 0
    problems: list[str] = field(default_factory=list)


class Program:
    """A process that prints a word when it is up, and can be killed."""

    def __init__(self, folder: Path, environment: dict[str, str], *command: str) -> None:
        self._folder = folder
        self._environment = environment
        self._command = command
        self._process: subprocess.Popen[str] | None = None

    def start(self, wanted: str) -> str:
        with (self._folder / "stderr").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - a program of ours
                [sys.executable, *self._command], env=self._environment, stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if wanted in line:
                return line
        raise RuntimeError(f"it did not start: {(self._folder / 'stderr').read_text()[-3000:]}")

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.communicate()


class Scene(Quire):
    """The API, two workers and PostgreSQL, each of which can be killed separately."""

    def __init__(self, folder: Path, lease: float, *, embeds: bool) -> None:
        super().__init__(folder)
        self.folder = folder
        self.servers = [embedded.start(folder / "data")]
        migrate.upgrade(self.postgres.owner_dsn)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("QUIRE_", "MEMORY_", "DATABASE_"))}
        environment = {
            **kept,
            "DATABASE_URL": self.postgres.app_dsn,
            "QUIRE_DATA_DIR": str(folder / "data"),
            "QUIRE_PORT": "0",
            "QUIRE_WORKER_LEASE_SECONDS": str(lease),
            **({} if embeds else {"MEMORY_EMBEDDING_MODEL": "none"}),
        }
        self._api = Program(folder, environment, "-m", "app", "serve")
        self._workers = [Program(folder, environment, "-m", "bench.load.crash_worker") for _ in range(WORKERS)]
        for worker in self._workers:
            worker.start("up")
        self._start_api()

    @property
    def postgres(self) -> EmbeddedPostgres:
        return self.servers[-1]

    def _start_api(self) -> None:
        self.url = self._api.start("/docs").split("/docs")[0].split()[-1]

    def kill_one(self, what: str, rng: Random) -> None:
        if what == "worker":
            worker = rng.choice(self._workers)
            worker.kill()
            worker.start("up")
        elif what == "api":
            self._api.kill()
            self._start_api()
        else:
            pid = (self.folder / "data/postgres/cluster/postmaster.pid").read_text().split("\n", 1)[0]
            os.kill(int(pid), signal.SIGKILL)
            self.servers.append(embedded.start(self.folder / "data"))

    def close(self) -> None:
        for program in (self._api, *self._workers):
            program.kill()
        for server in self.servers:
            server.stop()


class Talker(Writer):
    """Appends short turns, and repeats each until it is acknowledged."""

    def __init__(
        self, scene: Scene, number: int, stop: Event, report: AppendReport, turns: int, seconds: float
    ) -> None:
        super().__init__(scene, number, stop, report)
        self._turns = turns
        self._pause = seconds / turns

    def run(self) -> None:
        with httpx.Client(timeout=20) as client:
            while not self._stop.is_set() and len(self.sent) < self._turns:
                number = len(self.sent)
                messages = self._turn(number)
                body = {"messages": messages, "user_id": "crash"}
                key = f"{self.name} t{number}"
                if not self._until_answered(client, "POST", f"/conversations/{self.name}/messages", key, body):
                    return
                self.sent.append(messages)
                self._stop.wait(self._rng.uniform(0, 2 * self._pause))

    def _turn(self, number: int) -> list[dict[str, Any]]:
        return [
            {"role": "user", "content": f"question {number} of {self.name}", "client_id": f"{number}-0"},
            {"role": "assistant", "content": f"answer {number}", "client_id": f"{number}-1"},
        ]


def crash(
    kills: dict[str, int], turns: int, seconds: float, lease: float, seed: int = 1, *, embeds: bool = True
) -> Report:
    """Kill and restart one kind of process after the other, let everything settle, and check it.

    Without embeddings a process starts faster.
    """
    rng = Random(seed)
    report, appends = Report(), AppendReport()
    with ExitStack() as stack:
        scene = Scene(stack.enter_context(_folder()), lease, embeds=embeds)
        stack.callback(scene.close)
        stop = Event()
        spread = KILL_SECONDS * sum(kills.values())
        talkers = [Talker(scene, number, stop, appends, turns // WRITERS, spread) for number in range(WRITERS)]
        threads = [Thread(target=talker.run, daemon=True) for talker in talkers]
        for thread in threads:
            thread.start()
        try:
            for what in PHASES:
                deadline = time.monotonic() + seconds / len(PHASES)
                while report.kills[what] < kills[what] and time.monotonic() < deadline:
                    time.sleep(rng.uniform(0.05, 0.6))
                    scene.kill_one(what, rng)
                    report.kills[what] += 1
        finally:
            stop.set()
            for thread in threads:
                thread.join(START_SECONDS)
        report.turns = sum(len(talker.sent) for talker in talkers)
        report.resent = appends.resent
        report.problems += appends.refused
        report.problems += asyncio.run(_settle_and_check(scene.postgres, report, lease))
        log = (scene.folder / "stderr").read_text(errors="replace")
        report.left_by_the_dead = sum(map(int, re.findall(r"(\d+) jobs were left", log)))
        for talker in talkers:
            report.problems += check_history(scene, talker) if talker.sent else [f"{talker.name} could not begin"]
    return report


WORK_PROMISES = {
    "a closed page is not indexed": """
        SELECT 1 FROM pages p JOIN conversations c ON c.id = p.conversation_id
         WHERE p.page < c.last_page AND NOT EXISTS (
           SELECT FROM page_index i WHERE (i.conversation_id, i.page) = (p.conversation_id, p.page))""",
    "a page is indexed that is not there": """
        SELECT 1 FROM page_index i WHERE NOT EXISTS (
          SELECT FROM pages p WHERE (i.conversation_id, i.page) = (p.conversation_id, p.page))""",
    "work is left": "SELECT 1 FROM work",
    "a summary covers what is not there": """
        SELECT 1 FROM summaries s JOIN conversations c ON c.id = s.conversation_id WHERE s.through_seq > c.last_seq""",
    "a newer summary covers less": """
        SELECT 1 FROM summaries s JOIN summaries o ON o.conversation_id = s.conversation_id AND o.version < s.version
         WHERE s.through_seq < o.through_seq""",
}


async def _settle_and_check(postgres: EmbeddedPostgres, report: Report, lease: float) -> list[str]:
    connection = await asyncpg.connect(postgres.superuser_dsn)
    try:
        started = time.monotonic()
        await _until(lambda: _is_idle(connection), SETTLE_SECONDS + lease)
        report.settled_seconds = round(time.monotonic() - started, 1)
        report.pages = await connection.fetchval("SELECT count(*) FROM page_index")
        broken = []
        for promise, sql in {**PROMISES, **WORK_PROMISES}.items():
            if rows := await connection.fetch(sql):
                broken.append(f"{promise}: {len(rows)} times")
        for row in await connection.fetch("SELECT kind, attempts, failed_at, error FROM work LIMIT 5"):
            broken.append(f"left: {dict(row)}")
        return broken
    finally:
        await connection.close()


async def _is_idle(connection: Any) -> bool:
    return not await connection.fetchval("SELECT count(*) FROM work WHERE failed_at IS NULL")


async def _until(condition: Callable[[], Any], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not await condition() and time.monotonic() < deadline:  # noqa: ASYNC110 - the database tells nobody
        await asyncio.sleep(0.1)


if __name__ == "__main__":
    main()
