"""`quire backup` while Quire is written to, and `quire restore` into an empty data directory."""

import asyncio
import json
import shutil
import subprocess
import threading
from pathlib import Path

import asyncpg
import httpx
import pytest

from app.postgres import embedded
from app.postgres.backup import position_of
from app.postgres.programs import DataDirectory
from tests.cli.kit import QUIRE, environment, running, url_of

pytestmark = pytest.mark.slow

__all__ = ["environment"]


def command(environment: dict[str, str], *arguments: str) -> "subprocess.CompletedProcess[str]":
    run = [*QUIRE, *arguments]
    return subprocess.run(run, env=environment, capture_output=True, text=True, check=False, timeout=120)


def numbers(url: str) -> list[int]:
    """The numbers that were said, in order."""
    with httpx.Client(base_url=url, timeout=60) as client:
        found: list[int] = []
        while True:
            params = {"after_seq": len(found), "limit": 200}
            items = client.get("/conversations/c/messages", params=params).raise_for_status().json()["items"]
            if not items:
                return found
            found += [int(item["content"]) for item in items]


class Writer(threading.Thread):
    """Appends numbers one by one; of each acknowledged one it keeps where the database's log ended by then."""

    def __init__(self, url: str, dsn: str) -> None:
        super().__init__()
        self._url, self._dsn = url, dsn
        self.stop = threading.Event()
        self.acknowledged: list[int] = []
        """Log positions."""

    def run(self) -> None:
        asyncio.run(self._write())

    async def _write(self) -> None:
        connection = await asyncpg.connect(self._dsn)
        async with httpx.AsyncClient(base_url=self._url, timeout=60) as client:
            while not self.stop.is_set():
                said = {"user_id": "u", "messages": [{"role": "user", "content": str(len(self.acknowledged))}]}
                (await client.post("/conversations/c/messages", json=said)).raise_for_status()
                position = await connection.fetchval("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn")
                self.acknowledged.append(int(position))
        await connection.close()


def end_of(backup: Path) -> int:
    """Where the log of a backup ends."""
    [wal] = json.loads((backup / "backup_manifest").read_text())["WAL-Ranges"]
    return position_of(wal["End-LSN"])


@pytest.fixture
def elsewhere(environment: dict[str, str]) -> dict[str, str]:
    return {**environment, "QUIRE_DATA_DIR": str(Path(environment["QUIRE_DATA_DIR"]) / "elsewhere")}


@pytest.fixture
def backup(environment: dict[str, str]) -> Path:
    return Path(environment["QUIRE_DATA_DIR"]) / "backup"


def test_a_backup_during_writes_holds_every_message_acknowledged_before_its_end(
    environment: dict[str, str], elsewhere: dict[str, str], backup: Path
) -> None:
    with running("serve", environment) as process:
        url = url_of(process)
        dsn = DataDirectory.under(Path(environment["QUIRE_DATA_DIR"])).dsn("postgres")
        writer = Writer(url, dsn)
        writer.start()
        try:
            done = command(environment, "backup", str(backup))
            assert done.returncode == 0, done.stderr
            before = len(writer.acknowledged)
        finally:
            writer.stop.set()
            writer.join()
        process.terminate()
        process.wait(timeout=60)
    done = command(elsewhere, "restore", str(backup))
    assert done.returncode == 0, done.stderr
    with running("serve", elsewhere) as process:
        restored = numbers(url_of(process))
        doctor = command(elsewhere, "doctor", "--deep", "--skip-models")
        process.terminate()
        process.wait(timeout=60)
    held = sum(position <= end_of(backup) for position in writer.acknowledged)
    assert 0 < held <= len(restored) <= before + 1
    assert restored == list(range(len(restored)))
    assert "fail" not in doctor.stdout, doctor.stdout


def test_what_cannot_be_backed_up_or_restored_is_refused_and_changes_nothing(
    environment: dict[str, str], elsewhere: dict[str, str], backup: Path
) -> None:
    assert "holds no database" in failed(environment, "backup", str(backup))
    assert not backup.exists()
    server = embedded.start(Path(environment["QUIRE_DATA_DIR"]))
    server.stop()
    own = backup.with_name(f"{backup.name}.partial")  # may be somebody's folder
    own.mkdir()
    assert command(environment, "backup", str(backup)).returncode == 0  # also while nothing runs
    assert sorted(backup.parent.glob(f"{backup.name}*")) == [backup, own]
    assert "exists already" in failed(environment, "backup", str(backup))
    assert "holds a database already" in failed(environment, "restore", str(backup))
    assert "is no backup" in failed(elsewhere, "restore", environment["QUIRE_DATA_DIR"])
    part = next(path for path in sorted((backup / "base").rglob("*")) if path.is_file() and path.stat().st_size)
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 1
    part.write_bytes(content)
    assert "is missing or damaged" in failed(elsewhere, "restore", str(backup))
    assert not embedded.exists(Path(elsewhere["QUIRE_DATA_DIR"]))
    for name in ("backup", "restore"):
        away = {**environment, "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}
        assert "DATABASE_URL names another" in failed(away, name, str(backup))


def failed(environment: dict[str, str], *arguments: str) -> str:
    done = command(environment, *arguments)
    assert done.returncode == 1, done.stdout
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_backup_whose_log_is_damaged_is_refused_and_nothing_is_put_in_place(
    environment: dict[str, str], elsewhere: dict[str, str], backup: Path
) -> None:
    with running("serve", environment) as process:
        url = url_of(process)
        for number in range(30):
            said = {"user_id": "u", "messages": [{"role": "user", "content": str(number)}]}
            httpx.post(f"{url}/conversations/c/messages", json=said, timeout=60).raise_for_status()
        assert command(environment, "backup", str(backup)).returncode == 0
        process.terminate()
        process.wait(timeout=60)
    done = command(elsewhere, "restore", str(backup))
    assert "30 messages, the last of 20" in done.stdout, done.stdout + done.stderr
    shutil.rmtree(Path(elsewhere["QUIRE_DATA_DIR"]) / "postgres")
    [wal] = json.loads((backup / "backup_manifest").read_text())["WAL-Ranges"]
    start, end = position_of(wal["Start-LSN"]), position_of(wal["End-LSN"])
    log = next(path for path in sorted((backup / "pg_wal").glob("0*")) if len(path.name) == 24)
    with log.open("r+b") as opened:
        opened.seek((start + (end - start) // 2) % (16 << 20))
        byte = opened.read(1)
        opened.seek(-1, 1)
        opened.write(bytes([byte[0] ^ 0xFF]))
    done = command(elsewhere, "restore", str(backup))
    assert done.returncode == 1
    assert "Restored" not in done.stdout
    assert not (Path(elsewhere["QUIRE_DATA_DIR"]) / "postgres" / "cluster").exists()
