"""A dump of the embedded database can be restored, by the commands that the page about operations shows."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from app.postgres import embedded, folder_permissions, migrate, programs

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[2] / "docs" / "operations.md").read_text("utf-8")
BACKUPS = PAGE.partition("## Backups")[2].partition("\n## ")[0]
DUMP, RESTORE = re.findall(r'^"\$programs/(.*)$', BACKUPS, re.MULTILINE)
SAID = "INSERT INTO conversations (tenant_id, id, uid) VALUES (gen_random_uuid(), 'kept', gen_random_uuid())"


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="quire-backup-"))
    folder_permissions.make_passable(made)
    yield made
    shutil.rmtree(made)


def run(command: str, data_dir: Path, folder: Path) -> None:
    """As the page has it, with its places replaced by ours."""
    program = str(programs.binary("pg_dump").parent)
    sockets = programs.DataDirectory.under(data_dir).sockets
    there = command.replace("~/.quire/postgres/cluster", str(sockets))
    done = subprocess.run(
        f'"{program}/{there}', shell=True, cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr


def ask(dsn: str, sql: str) -> object:
    async def one() -> object:
        connection = await asyncpg.connect(dsn)
        try:
            return await connection.fetchval(sql)
        finally:
            await connection.close()

    return asyncio.run(one())


def test_a_dump_brings_back_what_was_said(folder: Path) -> None:
    first = embedded.start(folder / "first")
    migrate.upgrade(first.owner_dsn)
    ask(first.superuser_dsn, SAID)
    run(DUMP, folder / "first", folder)
    first.stop()

    dumped = embedded.start(folder / "dumped")
    migrate.upgrade(dumped.owner_dsn)
    run(RESTORE, folder / "dumped", folder)
    found = ask(dumped.superuser_dsn, "SELECT id FROM conversations")
    dumped.stop()
    assert found == "kept"
