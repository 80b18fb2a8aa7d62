"""More than one server: standbys, made of the embedded PostgreSQL by its own pg_basebackup; and Quire's processes."""

import asyncio
import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO
from urllib.parse import quote

import asyncpg
import httpx
import psutil

from app.postgres import folder_permissions, programs
from tests.conftest import wait_for
from tests.test_embedded import servers_of

QUIRE = [sys.executable, "-m", "app", "serve"]
SERVER_USER = "pgserver" if os.geteuid() == 0 else None


@cache
def programs_of_the_server() -> Path:
    """The programs, or a copy of them if the servers' user cannot reach them."""
    made = Path(tempfile.mkdtemp(prefix="quire-c-programs-"))
    atexit.register(shutil.rmtree, made)
    folder_permissions.make_passable(made)
    return programs.runnable(made / "copies", folder_permissions.server_user())


def run_program(name: str, *arguments: str) -> None:
    """One of PostgreSQL's programs, as the user that its servers run as."""
    run_as(SERVER_USER, programs_of_the_server() / name, *arguments)


def run_as(who: str | int | None, program: Path, *arguments: str) -> None:
    with tempfile.TemporaryFile() as said:  # a pipe would be held open by the server that pg_ctl leaves behind
        done = subprocess.run(
            [program, *arguments],
            user=who, group=who, stdin=subprocess.DEVNULL,
            stdout=said, stderr=said, cwd="/", start_new_session=True, check=False,
        )  # fmt: skip
        said.seek(0)
        assert done.returncode == 0, said.read().decode(errors="replace")


def folder() -> Path:
    """For a server or a pooler: its user's own."""
    made = Path(tempfile.mkdtemp(prefix="quire-c-"))
    if SERVER_USER is not None:
        shutil.chown(made, SERVER_USER, SERVER_USER)
    return made


def ask(dsn: str, sql: str) -> list[asyncpg.Record]:
    async def connect_and_ask() -> list[asyncpg.Record]:
        connection = await asyncpg.connect(dsn, timeout=10)
        try:
            return await connection.fetch(sql)
        finally:
            await connection.close()

    return asyncio.run(connect_and_ask())


class Standby:
    """A streaming copy of a server, with a socket of its own."""

    def __init__(self, primary: str, name: str = "standby") -> None:
        """Copy the server of a superuser's DSN, and follow it."""
        self.folder = folder()
        self.name = name
        self._cluster = self.folder / "cluster"
        run_program("pg_basebackup", "-D", str(self._cluster), "-R", "-c", "fast", "-d", primary)
        self.start()

    def dsn(self, role: str) -> str:
        return f"postgresql://{role}@/quire?host={quote(str(self.folder), safe='')}"

    def start(self) -> None:
        options = f"-c unix_socket_directories={self.folder} -c cluster_name={self.name}"
        arguments = ("-w", "-s", "-D", str(self._cluster), "-l", str(self.folder / "log"), "-o", options)
        run_program("pg_ctl", *arguments, "start")

    def ask(self, sql: str) -> list[asyncpg.Record]:
        return ask(self.dsn("postgres"), sql)

    def promote(self) -> None:
        assert self.ask("SELECT pg_promote()")[0][0]

    def processes(self) -> list[psutil.Process]:
        return [process for server in servers_of(self.folder) for process in (server, *server.children())]

    def signal(self, number: int) -> None:
        for process in self.processes():
            process.send_signal(number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        wait_for(lambda: not servers_of(self.folder))
        for left in (self._cluster / "postmaster.pid", self.folder / ".s.PGSQL.5432.lock"):
            left.unlink(missing_ok=True)  # in a container nobody reaps its process, which then looks alive

    def remove(self) -> None:
        self.kill()
        shutil.rmtree(self.folder)


def kill_server(data_dir: Path) -> None:
    """The embedded server of a folder, as a machine that loses its power does."""
    for server in servers_of(data_dir):
        for process in (server, *server.children()):
            process.send_signal(signal.SIGKILL)
    wait_for(lambda: not servers_of(data_dir))


@contextmanager
def quire(environment: Mapping[str, str], tree: Path | None = None) -> Iterator[httpx.Client]:
    """A process of `quire serve`, of another tree if one is named, and a client of it."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("QUIRE_", "MEMORY_", "DATABASE_"))}
    own |= {"MEMORY_EMBEDDING_MODEL": "none", "QUIRE_PORT": "0", **environment}
    with subprocess.Popen(QUIRE, env=own, cwd=tree, stdout=subprocess.PIPE, text=True) as process:
        try:
            with httpx.Client(base_url=_url(process.stdout), timeout=30) as client:
                yield client
        finally:
            process.terminate()
            process.wait(20)


def _url(said: IO[str] | None) -> str:
    assert said is not None
    for line in said:
        if "/docs" in line:
            return line.split("/docs")[0].split()[-1]
    raise AssertionError("it ended at its start")
