"""The backups that the page about operations describes can be restored, by the commands that it shows."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from app.postgres import embedded, migrate

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[2] / "docs" / "operations.md").read_text("utf-8")
BACKUPS = PAGE.partition("## Backups")[2].partition("\n## ")[0]
DUMP, RESTORE, COPY = re.findall(r'^"\$programs/(.*)$', BACKUPS, re.MULTILINE)
SAID = "INSERT INTO conversations (tenant_id, id, uid) VALUES (gen_random_uuid(), 'kept', gen_random_uuid())"


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="quire-backup-"))
    yield made
    shutil.rmtree(made)


def run(command: str, data_dir: Path, folder: Path) -> None:
    """As the page has it, with its places replaced by ours."""
    program = str(embedded._binary("pg_dump").parent)
    sockets = embedded._Layout.under(data_dir).sockets
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


def test_a_dump_and_a_copy_bring_back_what_was_said(folder: Path) -> None:
    first = embedded.start(folder / "first")
    migrate.upgrade(first.owner_dsn)
    ask(first.superuser_dsn, SAID)
    for command in (DUMP, COPY):
        run(command, folder / "first", folder)
    first.stop()

    dumped = embedded.start(folder / "dumped")
    migrate.upgrade(dumped.owner_dsn)
    run(RESTORE, folder / "dumped", folder)
    found = ask(dumped.superuser_dsn, "SELECT id FROM conversations")
    dumped.stop()
    assert found == "kept"

    place = folder / "copied" / "postgres" / "cluster"
    place.parent.mkdir(parents=True)
    (folder / "quire-backup").rename(place)
    if os.geteuid() == 0:
        for path in (place.parent, place, *place.rglob("*")):
            shutil.chown(path, embedded.USER_WHEN_ROOT)
    copied = embedded.start(folder / "copied")
    found = ask(copied.superuser_dsn, "SELECT id FROM conversations")
    copied.stop()
    assert found == "kept"
