"""`quire backup --follow` while Quire is written to, and `quire restore --to` a moment of what followed."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from app.postgres import embedded, followed
from app.postgres.programs import DataDirectory, psql
from tests.cli.kit import environment, running, url_of
from tests.cli.test_backup import backup, command, failed, numbers
from tests.conftest import wait_for

pytestmark = pytest.mark.slow

__all__ = ["backup", "environment"]
APPENDS = 15
"""Between two moments."""


@dataclass
class Writer:
    """Appends numbers one by one, and keeps when each was sent and acknowledged."""

    url: str
    sent: list[datetime] = field(default_factory=list)
    acknowledged: list[datetime] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        with httpx.Client(base_url=self.url, timeout=60) as client:
            while not self.stop.is_set():
                said = {"user_id": "u", "messages": [{"role": "user", "content": str(len(self.sent))}]}
                self.sent.append(datetime.now(UTC))
                client.post("/conversations/c/messages", json=said).raise_for_status()
                self.acknowledged.append(datetime.now(UTC))

    def goes_on(self) -> None:
        wanted = len(self.acknowledged) + APPENDS
        wait_for(lambda: len(self.acknowledged) >= wanted, seconds=60)

    def holds(self, found: list[int], moment: datetime) -> bool:
        """Whether these are all numbers acknowledged by a moment, and none sent after it."""
        least = sum(one <= moment for one in self.acknowledged)
        most = sum(one <= moment for one in self.sent)
        return found == list(range(len(found))) and least <= len(found) <= most


@contextmanager
def written_to(url: str) -> Iterator[Writer]:
    writer = Writer(url)
    thread = threading.Thread(target=writer.run)
    thread.start()
    try:
        yield writer
    finally:
        writer.stop.set()
        thread.join()


@contextmanager
def served(environment: dict[str, str]) -> Iterator[str]:
    with running("serve", environment) as process:
        yield url_of(process)
        process.terminate()
        process.wait(timeout=60)


def in_folder(environment: dict[str, str], name: str) -> dict[str, str]:
    return {**environment, "QUIRE_DATA_DIR": str(Path(environment["QUIRE_DATA_DIR"]) / name)}


def done(environment: dict[str, str], *arguments: str) -> str:
    ended = command(environment, *arguments)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_a_restore_has_what_was_acknowledged_by_its_moment_and_nothing_after(
    environment: dict[str, str], backup: Path
) -> None:
    moments = []
    with served(environment) as url, written_to(url) as writer:
        writer.goes_on()
        done(environment, "backup", str(backup), "--follow")
        for _ in range(2):
            writer.goes_on()
            moments.append(datetime.now(UTC))
        writer.goes_on()
    # Of one backup twice, each time to another moment; and the first service is served and restored again.
    for name, moment in zip(("one", "two"), moments, strict=True):
        there = in_folder(environment, name)
        done(there, "restore", str(backup), "--to", moment.isoformat())
        with served(there) as url:
            found = numbers(url)
        assert writer.holds(found, moment), (len(found), moment)
        with served(there) as url, httpx.Client(base_url=url, timeout=60) as client:
            said = {"user_id": "u", "messages": [{"role": "user", "content": str(len(found))}]}
            client.post("/conversations/c/messages", json=said).raise_for_status()
            assert numbers(url) == [*found, len(found)]
            window = client.get("/conversations/c/context", params={"budget": 4000}).raise_for_status().json()
            assert window["messages"][-1]["content"] == str(len(found))
            assert "fail" not in done(there, "doctor", "--deep", "--skip-models")
        assert done(there, "unfollow") == "No backup was followed.\n"
    there = in_folder(environment, "all")
    done(there, "restore", str(backup), "--to", "latest")
    with served(there) as url:
        assert numbers(url) == list(range(len(writer.acknowledged)))


def test_moments_out_of_reach_are_refused_and_change_nothing(environment: dict[str, str], backup: Path) -> None:
    there, data = in_folder(environment, "there"), Path(environment["QUIRE_DATA_DIR"])
    embedded.start(data).stop()
    bare = backup.with_name("bare")
    done(environment, "backup", str(bare))
    before = datetime.now(UTC) - timedelta(seconds=2)
    done(environment, "backup", str(backup), "--follow")
    with served(environment) as url, written_to(url) as writer:
        writer.goes_on()
    assert "is before this backup" in failed(there, "restore", str(backup), "--to", before.isoformat())
    beyond = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    assert "is beyond the log" in failed(there, "restore", str(backup), "--to", beyond)
    assert "has no log" in failed(there, "restore", str(bare), "--to", "latest")
    assert "with an offset" in command(there, "restore", str(backup), "--to", "2026-01-01T00:00:00").stderr
    first, *_, last = sorted(path for path in (backup / "wal").iterdir() if len(path.stem) == 24)
    content = last.read_bytes()
    last.write_bytes(content[: len(content) // 2])
    last.with_name(f"{last.stem[:-1]}F.gz").write_bytes(content)
    assert "missing or damaged" in failed(there, "restore", str(backup), "--to", "latest")
    assert "holds a database already" in failed(environment, "restore", str(backup), "--to", "latest")
    assert not embedded.exists(Path(there["QUIRE_DATA_DIR"]))
    assert not (Path(there["QUIRE_DATA_DIR"]) / "postgres" / "log.new").exists()
    assert first.exists()


def test_the_service_goes_on_without_the_folder_and_the_log_is_copied_once_it_is_back(
    environment: dict[str, str], backup: Path
) -> None:
    data = Path(environment["QUIRE_DATA_DIR"])
    layout = DataDirectory.under(data)
    with served(environment) as url, written_to(url) as writer:
        writer.goes_on()
        done(environment, "backup", str(backup), "--follow")
        away = (backup / "wal").rename(backup / "away")
        writer.goes_on()
        psql(layout, followed.END_FILE)
        wait_for(lambda: "archive command failed" in layout.log.read_text(), seconds=30)
        found = followed.following(data)
        assert found is not None
        assert (found.log, found.waiting > 0) == (backup / "wal", True)
        writer.goes_on()
        away.rename(backup / "wal")
        psql(layout, followed.END_FILE)
        wait_for(lambda: followed.following(data) == followed.Following(backup / "wal", 0, 0), seconds=90)
        assert f"The log is copied to {backup / 'wal'}" in done(environment, "doctor", "--skip-models")
    there = in_folder(environment, "there")
    done(there, "restore", str(backup), "--to", "latest")
    with served(there) as url:
        assert numbers(url) == list(range(len(writer.acknowledged)))
    assert done(environment, "unfollow") == f"{backup} is followed no more.\n"
    assert done(environment, "unfollow") == "No backup was followed.\n"
