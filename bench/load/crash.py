"""Kill Quire with SIGKILL while large tool results stream in, again and again: `python -m bench.load.crash --rounds 200`.

Each writer has a conversation of its own and appends turns whose tool results are archived; now and then it
archives one by itself and erases another. A request that was not answered is sent again, under the same
Idempotency-Key, until it is. In the end every turn must be there exactly once, byte for byte, with its archive; no
placeholder without an archive, no archive without its content, no content without an archive, and the offsets that
windows are cut by must add up.
"""

import asyncio
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Event, Thread
from typing import Any

import asyncpg
import httpx

from app.postgres import embedded, folder_permissions

WRITERS = 3
RETRY_SECONDS = 0.05
START_SECONDS = 60


def main(argv: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(prog="python -m bench.load.crash", description=__doc__)
    parser.add_argument("--rounds", type=int, default=60, help="kills of Quire's process")
    parser.add_argument("--postmaster", type=int, default=10, help="every so many rounds PostgreSQL is killed too")
    parser.add_argument("--seconds", type=float, default=3600, help="no new round after this time")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(argv)
    report = crash(asked.rounds, asked.seconds, asked.postmaster, asked.seed)
    print(report)  # noqa: T201
    sys.exit(1 if report.problems else 0)


@dataclass
class Report:
    kills: int = 0
    postmaster_kills: int = 0
    turns: int = 0
    resent: int = 0
    """The number of requests that a crash left unanswered, or that got 503."""
    refused: list[str] = field(default_factory=list)
    """Error answers that no client should get."""
    problems: list[str] = field(default_factory=list)


def crash(rounds: int, seconds: float, postmaster_every: int, seed: int = 1) -> Report:
    """Kill and restart Quire repeatedly, then check everything."""
    rng = Random(seed)
    report = Report()
    deadline = time.monotonic() + seconds
    with _folder() as folder:
        quire = Quire(folder)
        stop = Event()
        writers = [Writer(quire, number, stop, report) for number in range(WRITERS)]
        quire.start()
        threads = [Thread(target=writer.run, daemon=True) for writer in writers]
        for thread in threads:
            thread.start()
        done = 0
        try:
            while report.kills < rounds and time.monotonic() < deadline:
                done = await_turn(writers, done)
                time.sleep(rng.uniform(0, 1.2))
                if report.kills % postmaster_every == postmaster_every - 1:
                    quire.kill_postmaster()
                    report.postmaster_kills += 1
                    time.sleep(rng.uniform(0, 0.2))
                quire.kill()
                report.kills += 1
                quire.start()
        finally:
            stop.set()
            for thread in threads:
                thread.join(START_SECONDS)
        report.turns = sum(len(writer.sent) for writer in writers)
        report.problems += report.refused
        for writer in writers:
            report.problems += check_history(quire, writer) if writer.sent else [f"{writer.name} could not begin"]
        asyncio.run(_check_tables(folder, report.problems))
        quire.stop()
    return report


def await_turn(writers: Sequence["Writer"], done: int) -> int:
    """Wait until more turns are acknowledged than before, and return their number. Give up if the service is stuck."""
    deadline = time.monotonic() + START_SECONDS
    while (now := sum(len(writer.sent) for writer in writers)) <= done and time.monotonic() < deadline:
        time.sleep(RETRY_SECONDS)
    return now


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="quire-crash-"))
    folder_permissions.make_passable(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Quire:
    """`python -m app serve` in a folder of its own, with a new port at each start."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[str] | None = None
        self.url = ""

    def start(self) -> None:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("QUIRE_", "MEMORY_", "DATABASE_"))}
        with (self._folder / "stderr").open("ab") as log:
            self._process = subprocess.Popen(  # a program of ours
                [sys.executable, "-m", "app", "serve"],
                env={**kept, "QUIRE_DATA_DIR": str(self._folder / "data"), "QUIRE_PORT": "0"},
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if "/docs" in line:
                self.url = line.split("/docs")[0].split()[-1]
                return
        self._process.wait()
        raise RuntimeError(f"it did not start: {(self._folder / 'stderr').read_text()[-3000:]}")

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.communicate()

    def kill_postmaster(self) -> None:
        pid = (self._folder / "data/postgres/cluster/postmaster.pid").read_text().split("\n", 1)[0]
        os.kill(int(pid), signal.SIGKILL)

    def stop(self) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.communicate(timeout=START_SECONDS)


class Writer:
    """Appends turns one after the other, and repeats each until it is acknowledged."""

    def __init__(self, quire: Quire, number: int, stop: Event, report: Report) -> None:
        self._quire = quire
        self._stop = stop
        self._report = report
        self._rng = Random(number)
        self.name = f"writer-{number}"
        self.sent: list[list[dict[str, Any]]] = []
        """The acknowledged turns, as sent."""
        self.erased: set[int] = set()
        """The turns whose archive was erased."""
        self._uuids: dict[int, str] = {}

    def run(self) -> None:
        with httpx.Client(timeout=20) as client:
            while not self._stop.is_set():
                number = len(self.sent)
                messages = self._turn(number)
                body = {"messages": messages, "user_id": "crash"}
                answer = self._until_answered(
                    client, "POST", f"/conversations/{self.name}/messages", f"{self.name} t{number}", body
                )
                if answer is None:
                    return
                self.sent.append(messages)
                self._uuids[number] = answer["messages"][2]["archive_id"]
                if number % 5 == 3:
                    alone = {"user_id": "crash", "tool_name": "t", "result": messages[2]["content"]}
                    self._until_answered(client, "POST", "/archive", f"{self.name} a{number}", alone)
                if number % 7 == 5:
                    gone = number - 2
                    path = f"/archive/{self._uuids[gone]}"
                    if self._until_answered(client, "DELETE", path, f"{self.name} d{number}", None) is not None:
                        self.erased.add(gone)

    def _turn(self, number: int) -> list[dict[str, Any]]:
        rng = self._rng
        words = [f"w{rng.randrange(3_000)}" for _ in range(rng.choice([2_600, 4_000, 9_000]))]
        call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": '{"q":"w"}'}}
        result = f"{self.name} {number} " + " ".join(words) + "\x00港口"
        turn: list[dict[str, Any]] = [
            {"role": "user", "content": f"question {number}"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": result},
            {"role": "assistant", "content": f"answer {number}"},
        ]
        return [{**message, "client_id": f"{number}-{i}"} for i, message in enumerate(turn)]

    def _until_answered(
        self, client: httpx.Client, verb: str, path: str, key: str, body: dict[str, Any] | None
    ) -> dict[str, Any] | None:
        """Repeat a request. Return None for an error answer, or if none came in time after the last round."""
        given_up = 0.0
        while True:
            try:
                answer = client.request(verb, self._quire.url + path, headers={"Idempotency-Key": key}, json=body)
                if answer.status_code < 300:
                    found: dict[str, Any] = answer.json()
                    return found
                if answer.status_code != 503:
                    self._report.refused.append(f"{verb} {path} {key}: {answer.status_code} {answer.text[:300]}")
                    return None
            except (httpx.TransportError, httpx.InvalidURL):
                pass
            self._report.resent += 1
            if self._stop.is_set():
                given_up = given_up or time.monotonic() + START_SECONDS / 2
                if time.monotonic() > given_up:
                    self._report.refused.append(f"{verb} {path} {key}: no answer")
                    return None
            time.sleep(RETRY_SECONDS)


def check_history(quire: Quire, writer: Writer) -> list[str]:
    """Check that every acknowledged message is stored once, in order, as it was sent."""
    with httpx.Client(base_url=quire.url, timeout=60) as client:
        found: list[dict[str, Any]] = []
        query: dict[str, Any] = {"limit": 50}
        while True:
            page = client.get(f"/conversations/{writer.name}/messages", params=query).raise_for_status().json()
            found += page["items"]
            if page["next_cursor"] is None:
                break
            query["cursor"] = page["next_cursor"]
        sent = [message for turn in writer.sent for message in turn]
        problems = []
        if [m["client_id"] for m in found] != [m["client_id"] for m in sent]:
            problems.append(f"{writer.name}: {len(found)} messages are there, {len(sent)} were acknowledged")
        for was, now in zip(sent, found, strict=False):
            turn = int(was["client_id"].split("-")[0])
            erased = turn in writer.erased and was["role"] == "tool"
            if not erased and was["content"] != now["content"]:
                problems.append(f"{writer.name}: message {was['client_id']} is not as it was sent")
            if erased and "was erased" not in now["content"]:
                problems.append(f"{writer.name}: message {was['client_id']} was erased and is there")
        window = (
            client.get(f"/conversations/{writer.name}/context", params={"budget": 60_000}).raise_for_status().json()
        )
        for uuid in window["archive_refs"]:
            digest = hashlib.sha256(client.get(f"/archive/{uuid}").raise_for_status().json()["content"].encode())
            if digest.digest() not in {hashlib.sha256(t[2]["content"].encode()).digest() for t in writer.sent}:
                problems.append(f"{writer.name}: archive {uuid} is not as it was sent")
    return problems


# Each statement finds rows that break a promise.
PROMISES = {
    "a message refers to an archive that is not there": """
        SELECT 1 FROM messages m, unnest(m.archive_ids) u
         WHERE NOT EXISTS (SELECT FROM archives a WHERE a.id = u AND a.conversation_id = m.conversation_id
                              AND a.seq = m.seq AND position(split_part(a.placeholder, E'\\n', 1) IN m.view) > 0)""",
    "an archive is of a message that does not show it": """
        SELECT 1 FROM archives a WHERE a.seq IS NOT NULL AND NOT EXISTS (
          SELECT FROM messages m WHERE m.conversation_id = a.conversation_id AND m.seq = a.seq
             AND a.id = ANY (m.archive_ids))""",
    "an archive has no content": """
        SELECT 1 FROM archives a WHERE NOT EXISTS (
          SELECT FROM archive_contents t WHERE (t.scope, t.digest) = (a.scope, a.digest))""",
    "a content has no archive": """
        SELECT 1 FROM archive_contents t WHERE NOT EXISTS (
          SELECT FROM archives a WHERE (t.scope, t.digest) = (a.scope, a.digest))""",
    "an archive's passages do not cover its content": """
        SELECT 1 FROM archives a JOIN archive_contents t ON (t.scope, t.digest) = (a.scope, a.digest)
         WHERE (SELECT coalesce(sum(length), 0) FROM memories m WHERE m.archive_id = a.id) <> t.length""",
    "offsets do not add up": """
        SELECT 1 FROM (SELECT full_before, short_before,
            coalesce(sum(full_tokens) OVER w, 0) AS full_sum, coalesce(sum(short_tokens) OVER w, 0) AS short_sum
          FROM messages JOIN conversations c ON c.id = conversation_id AND c.parent_id IS NULL -- of branches: the doctor
        WINDOW w AS (PARTITION BY conversation_id ORDER BY seq
                                     ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) o
         WHERE full_before <> full_sum OR short_before <> short_sum""",
    "a conversation's totals are not those of its messages": """
        SELECT 1 FROM conversations c JOIN LATERAL (
          SELECT count(*) AS n, max(seq) AS seq, sum(full_tokens) AS weight, sum(short_tokens) AS short
            FROM messages m WHERE m.conversation_id = c.id) m ON true
         WHERE c.parent_id IS NULL
           AND (c.last_seq, c.last_seq, c.full_total, c.short_total) <> (m.n, m.seq, m.weight, m.short)""",
    "a closed page has neither an index nor a job that makes it": """
        SELECT 1 FROM conversations c JOIN pages p ON p.conversation_id = c.id AND p.page < c.last_page
         WHERE NOT EXISTS (SELECT FROM page_index i WHERE i.conversation_id = c.id AND i.page = p.page)
           AND NOT EXISTS (SELECT FROM work w WHERE w.kind = 'page' AND w.subject = c.uid || ':' || p.page)""",
    "a page that counts as indexed has no index": """
        SELECT 1 FROM conversations c JOIN pages p ON p.conversation_id = c.id AND p.page <= c.indexed_through
         WHERE NOT EXISTS (SELECT FROM page_index i WHERE i.conversation_id = c.id AND i.page = p.page)""",
}


async def _check_tables(folder: Path, problems: list[str]) -> None:
    postgres = embedded.start(folder / "data")
    connection = await asyncpg.connect(postgres.superuser_dsn)
    try:
        for promise, sql in PROMISES.items():
            rows = await connection.fetch(sql)
            if rows:
                problems.append(f"{promise}: {len(rows)} times")
    finally:
        await connection.close()
        postgres.stop()


if __name__ == "__main__":
    main()
