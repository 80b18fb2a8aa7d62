"""Flipped bytes in the database's files: it is said what is damaged, and everything else goes on."""

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from app.doctor.examine import examine
from app.main import build_app
from app.postgres import embedded, folder_permissions, migrate
from app.settings import Settings
from app.signals import Stopping
from tests.api.kit import append, assistant, ok, path, problem, user, window
from tests.conftest import serving, wait_for
from tests.test_embedded import servers_of

pytestmark = pytest.mark.slow

BLOCK = 8192


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="quire-damaged-"))
    folder_permissions.make_passable(made)
    yield made
    shutil.rmtree(made)


def asked(dsn: str, sql: str) -> Any:
    async def ask() -> Any:
        connection = await asyncpg.connect(dsn)
        try:
            return await connection.fetchval(sql)
        finally:
            await connection.close()

    return asyncio.run(ask())


def served(folder: Path, settings: Settings) -> Iterator[tuple[httpx.Client, embedded.EmbeddedPostgres]]:
    server = embedded.start(folder)
    try:
        migrate.upgrade(server.owner_dsn)
        for url in serving(build_app(settings, server.app_dsn)):
            with httpx.Client(base_url=url, timeout=30) as client:
                yield client, server
    finally:
        server.stop()


def test_a_damaged_page_is_named_and_the_rest_is_served(folder: Path, settings: Settings) -> None:
    [file] = [_filled(client, server) for client, server in served(folder, settings)]
    page = next(folder.glob(f"**/{file}"))
    with page.open("r+b") as opened:
        opened.seek(2 * BLOCK + 4000)
        opened.write(b"\xff" * 64)

    for client, server in served(folder, settings):
        answer = client.get(path("c", "messages"), params={"limit": 200})
        assert answer.json()["type"].endswith("storage-damaged"), answer.text
        problem(answer, 500, "doctor")
        [warning] = [w for w in ok(client.get("/readyz"))["warnings"] if w["code"] == "storage_damaged"]
        assert "block 2" in warning["detail"]
        assert "table messages" in warning["detail"]
        assert window(client, "other")["messages"], "another conversation is served"

        own = Settings(database_url=server.app_dsn, quire_data_dir=folder, quire_port=0)
        checks = {c.name: c for c in examine(own, Stopping(), is_loopback=True, asks_models=False, is_deep=True)}
        assert checks["damaged"].state == "fail"
        assert "table messages, blocks 2;" in checks["damaged"].detail
        assert "rows of tenant" in checks["damaged"].detail
        assert checks["checksums"].state == "fail"


def test_a_damaged_index_is_named_with_what_mends_it_and_the_walk_goes_on(folder: Path, settings: Settings) -> None:
    [files] = [_filled(client, server, "messages_pkey") for client, server in served(folder, settings)]
    with next(folder.glob(f"**/{files}")).open("r+b") as opened:
        opened.seek(BLOCK + 4000)
        opened.write(b"\xff" * 64)

    server = embedded.start(folder)
    try:
        own = Settings(database_url=server.app_dsn, quire_data_dir=folder, quire_port=0)

        def states() -> dict[str, str]:
            checks = examine(own, Stopping(), is_loopback=True, asks_models=False, is_deep=True)
            if index := next((c for c in checks if c.name == "index"), None):
                assert index.detail.endswith("it is: messages_pkey.")
                assert "REINDEX INDEX messages_pkey;" in index.fix
            return {c.name: c.state for c in checks if c.state == "fail"}

        assert states() == {"index": "fail", "checksums": "fail"}, "no other walk is missing"
        asked(server.owner_dsn, "REINDEX INDEX messages_pkey")
        assert states() == {"checksums": "fail"}, "the server counts what was read before"
    finally:
        server.stop()


def _filled(client: httpx.Client, server: embedded.EmbeddedPostgres, relation: str = "messages") -> str:
    for number in range(60):
        append(client, "c", [user(f"{number} {'word ' * 120}"), assistant(f"{number} {'answer ' * 90}")])
    append(client, "other", [user("Hello."), assistant("Hi.")])
    asked(server.superuser_dsn, "CHECKPOINT")
    return str(asked(server.superuser_dsn, f"SELECT pg_relation_filepath('{relation}')"))


def test_a_log_damaged_after_a_crash_is_said_at_the_start_and_by_the_doctor(
    folder: Path, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    server = embedded.start(folder)
    migrate.upgrade(server.owner_dsn)
    asked(server.superuser_dsn, "CHECKPOINT")
    before = int(asked(server.superuser_dsn, "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"))
    for url in serving(build_app(settings, server.app_dsn)):
        with httpx.Client(base_url=url, timeout=30) as client:
            for number in range(30):
                append(client, "c", [user(f"{number} {'word ' * 120}")])
    after = int(asked(server.superuser_dsn, "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"))
    name = asked(server.superuser_dsn, f"SELECT pg_walfile_name('0/0'::pg_lsn + {(before + after) // 2})")
    for process in servers_of(folder):
        process.kill()
    wait_for(lambda: not servers_of(folder))
    with next(folder.glob(f"**/pg_wal/{name}")).open("r+b") as opened:
        opened.seek((before + after) // 2 % (16 << 20))
        opened.write(b"\xff" * 8)
    server.stop()

    server = embedded.start(folder)
    try:
        assert "ended its recovery at a damaged record" in caplog.text
        own = Settings(quire_data_dir=folder, quire_port=0)
        checks = {c.name: c for c in examine(own, Stopping(), is_loopback=True, asks_models=False)}
        assert checks["recovery"].state == "fail"
    finally:
        server.stop()
