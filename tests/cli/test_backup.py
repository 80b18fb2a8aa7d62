"""`quire backup` while Quire is written to, and `quire restore` into an empty data directory."""

import asyncio
import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import httpx
import pytest

from app.main import build_app
from app.postgres import embedded
from app.postgres.backup import position_of
from app.postgres.programs import DataDirectory
from app.postgres.provision import provided
from app.settings import Settings
from tests.cli.kit import environment, invoke, quire, refused, running, url_of
from tests.conftest import serving

pytestmark = pytest.mark.slow

__all__ = ["environment"]


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
            quire(environment, "backup", str(backup))
            before = len(writer.acknowledged)
        finally:
            writer.stop.set()
            writer.join()
        process.terminate()
        process.wait(timeout=60)
    quire(elsewhere, "restore", str(backup))
    with serving_itself(elsewhere) as url:
        restored = numbers(url)
        doctor = invoke(elsewhere, "doctor", "--deep", "--skip-models")
    held = sum(position <= end_of(backup) for position in writer.acknowledged)
    assert 0 < held <= len(restored) <= before + 1
    assert restored == list(range(len(restored)))
    assert "fail" not in doctor.stdout, doctor.stdout


def test_what_cannot_be_backed_up_or_restored_is_refused_and_changes_nothing(
    environment: dict[str, str], elsewhere: dict[str, str], backup: Path
) -> None:
    assert "holds no database" in refused(environment, "backup", str(backup))
    assert not backup.exists()
    server = embedded.start(Path(environment["QUIRE_DATA_DIR"]))
    server.stop()
    own = backup.with_name(f"{backup.name}.partial")  # may be somebody's folder
    own.mkdir()
    quire(environment, "backup", str(backup))  # also while nothing runs
    assert sorted(backup.parent.glob(f"{backup.name}*")) == [backup, own]
    assert "exists already" in refused(environment, "backup", str(backup))
    assert "holds a database already" in refused(environment, "restore", str(backup))
    assert "is no backup" in refused(elsewhere, "restore", environment["QUIRE_DATA_DIR"])
    part = next(path for path in sorted((backup / "base").rglob("*")) if path.is_file() and path.stat().st_size)
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 1
    part.write_bytes(content)
    assert "is missing or damaged" in refused(elsewhere, "restore", str(backup))
    assert not embedded.exists(Path(elsewhere["QUIRE_DATA_DIR"]))
    for name in ("backup", "restore"):
        away = {**environment, "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}
        assert "DATABASE_URL names another" in refused(away, name, str(backup))


@contextmanager
def serving_itself(environment: dict[str, str]) -> Iterator[str]:
    """Serve, in this process, the database in a data directory; the address."""
    settings = Settings(quire_data_dir=Path(environment["QUIRE_DATA_DIR"]), memory_embedding_model="none")
    with provided(None, settings.quire_data_dir) as dsn:
        yield from serving(build_app(settings, dsn))


def test_a_backup_whose_log_is_damaged_is_refused_and_nothing_is_put_in_place(
    environment: dict[str, str], elsewhere: dict[str, str], backup: Path
) -> None:
    with serving_itself(environment) as url:
        for number in range(30):
            said = {"user_id": "u", "messages": [{"role": "user", "content": str(number)}]}
            httpx.post(f"{url}/conversations/c/messages", json=said, timeout=60).raise_for_status()
        quire(environment, "backup", str(backup))
    assert "30 messages, the last of 20" in quire(elsewhere, "restore", str(backup))
    shutil.rmtree(Path(elsewhere["QUIRE_DATA_DIR"]) / "postgres")
    [wal] = json.loads((backup / "backup_manifest").read_text())["WAL-Ranges"]
    start, end = position_of(wal["Start-LSN"]), position_of(wal["End-LSN"])
    log = next(path for path in sorted((backup / "pg_wal").glob("0*")) if len(path.name) == 24)
    with log.open("r+b") as opened:
        opened.seek((start + (end - start) // 2) % (16 << 20))
        byte = opened.read(1)
        opened.seek(-1, 1)
        opened.write(bytes([byte[0] ^ 0xFF]))
    done = invoke(elsewhere, "restore", str(backup))
    assert done.exit_code == 1
    assert isinstance(done.exception, SystemExit), done.exception
    assert "Restored" not in done.stdout
    assert not (Path(elsewhere["QUIRE_DATA_DIR"]) / "postgres" / "cluster").exists()
