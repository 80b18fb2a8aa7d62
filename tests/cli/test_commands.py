"""What the command line says before anything is started."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import asyncpg
import click
import pytest
from fastapi import FastAPI

from app import __version__
from app.cli import COMMANDS
from app.cli.server import Server, bound
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from tests.cli.kit import invoke

Sql = Callable[[str], list[asyncpg.Record]]


def refusal(*arguments: str, **environment: str) -> str:
    done = invoke(environment, *arguments)
    assert done.exit_code == 1, done.output
    assert isinstance(done.exception, SystemExit), done.exception
    assert "Quire is up" not in done.output
    return done.output


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that somebody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


@pytest.fixture
def closed() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
    return port


def test_the_version_is_that_of_the_package() -> None:
    assert invoke({}, "--version").output == f"quire {__version__}\n"


def test_every_listed_command_is_there_and_says_what_it_does() -> None:
    listing = invoke({}, "--help").output
    for name, listed in COMMANDS.items():
        command = getattr(import_module(listed.module), listed.name)
        assert isinstance(command, click.Command)
        assert command.name == name
        assert command.help
        assert f"  {name} " in listing


def test_an_unknown_command_is_refused() -> None:
    done = invoke({}, "serv")
    assert done.exit_code == 2
    assert "No such command" in done.output


@pytest.mark.parametrize("by", ["option", "setting"])
def test_a_port_in_use_is_reported_before_a_database_starts(tmp_path: Path, taken: int, by: str) -> None:
    data = tmp_path / "data"
    arguments = ("serve", "--port", str(taken)) if by == "option" else ("serve",)
    said = refusal(*arguments, QUIRE_DATA_DIR=str(data), QUIRE_PORT=str(taken) if by == "setting" else "1")
    assert f"Port {taken} of 127.0.0.1 is in use" in said
    assert "QUIRE_PORT" in said
    assert "--port" in said
    assert not data.exists()


def test_a_workers_port_in_use_names_its_own_setting(tmp_path: Path, taken: int) -> None:
    said = refusal("worker", QUIRE_DATA_DIR=str(tmp_path / "data"), QUIRE_WORKER_PORT=str(taken))
    assert "QUIRE_WORKER_PORT" in said
    assert "--port" not in said


def test_an_address_of_another_machine_is_refused(tmp_path: Path) -> None:
    said = refusal("serve", "--host", "192.0.2.1", QUIRE_DATA_DIR=str(tmp_path / "data"))
    assert "Cannot listen on 192.0.2.1" in said
    assert "QUIRE_HOST" in said


def test_options_come_before_settings_and_are_checked_like_them(tmp_path: Path) -> None:
    said = refusal("serve", "--port", "99999", QUIRE_DATA_DIR=str(tmp_path / "data"), QUIRE_PORT="8000")
    assert "QUIRE_PORT: Input should be less than or equal to 65535" in said


def test_a_port_taken_meanwhile_is_explained() -> None:
    """Two sockets can be bound to one port; the second one to listen is refused."""
    with bound("127.0.0.1", 0, "QUIRE_PORT") as first:
        port = first[0].getsockname()[1]
        with bound("127.0.0.1", port, "QUIRE_PORT") as second:
            first[0].listen()
            with pytest.raises(click.ClickException, match="Cannot listen"):
                Server(FastAPI(), Settings(), "{url}".format).run(second)


@pytest.mark.parametrize("command", ["serve", "worker", "migrate"])
def test_a_database_that_is_away_is_named_without_its_password(closed: int, command: str) -> None:
    url = f"postgresql://quire_app:s3cret@127.0.0.1:{closed}/quire"
    said = refusal(command, DATABASE_URL=url, QUIRE_PORT="0")
    assert f"Nothing listens at 127.0.0.1:{closed}" in said
    assert "s3cret" not in said


@pytest.mark.parametrize("command", ["serve", "migrate"])
def test_a_database_that_refuses_says_why(postgres: EmbeddedPostgres, command: str) -> None:
    said = refusal(command, DATABASE_URL=postgres.app_dsn.replace("/quire?", "/elsewhere?"), QUIRE_PORT="0")
    assert "has no database of this name" in said
    assert "postgres/cluster" in said or "/quire-" in said


@pytest.mark.parametrize(
    "command", [("jobs", "list"), ("keys", "list"), ("tenants", "list"), ("audit", "export")], ids=" ".join
)
def test_a_command_of_the_database_here_refuses_to_stand_for_a_service_elsewhere(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    data = tmp_path / "data"
    said = refusal(*command, QUIRE_DATA_DIR=str(data), QUIRE_URL="https://quire.example.com")
    assert "https://quire.example.com" in said
    assert "DATABASE_URL" in said
    assert not data.exists()


@pytest.mark.parametrize("command", [("jobs", "list"), ("keys", "list"), ("tenants", "list")], ids=" ".join)
def test_no_database_is_made_to_say_that_it_is_empty(tmp_path: Path, command: tuple[str, ...]) -> None:
    data = tmp_path / "data"
    assert "There is no database in" in refusal(*command, QUIRE_DATA_DIR=str(data))
    assert not data.exists()


FEW_DESCRIPTORS = """
import resource
from app.cli.server import descriptors_low
print(repr(descriptors_low()))
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
opened = []
try:
    while True:
        opened.append(open("/dev/null"))
except OSError:
    print(descriptors_low())
"""


@pytest.mark.slow
def test_descriptors_that_run_out_are_said() -> None:
    done = subprocess.run([sys.executable, "-c", FEW_DESCRIPTORS], capture_output=True, text=True, check=True)
    first, last = done.stdout.splitlines()
    assert first == "''"
    assert last.startswith("64 of 64 file descriptors are in use")


@pytest.fixture
def beside(postgres: EmbeddedPostgres, run_as_superuser: Sql) -> Iterator[Callable[[str], str]]:
    """A database without a schema or extensions; its DSN for a role."""
    run_as_superuser("CREATE DATABASE beside OWNER quire_owner")
    yield lambda role: postgres.app_dsn.replace("quire_app@/quire?", f"{role}@/beside?")
    run_as_superuser("DROP DATABASE beside WITH (FORCE)")


@pytest.mark.parametrize("command", [("serve",), ("worker",), ("keys", "list")], ids=" ".join)
def test_a_database_without_a_schema_or_with_another_is_refused_with_the_command_that_mends_it(
    beside: Callable[[str], str], command: tuple[str, ...]
) -> None:
    environment = {"DATABASE_URL": beside("quire_app"), "QUIRE_PORT": "0", "MEMORY_EMBEDDING_MODEL": "none"}
    said = refusal(*command, **environment)
    assert "The schema is at no version" in said
    assert "Run `quire migrate`" in said
    executed(beside("quire_owner"), "CREATE TABLE alembic_version (version_num text)")
    assert "`quire doctor` says why" in refusal(*command, **environment), "the role cannot read it"
    executed(beside("quire_owner"), "GRANT SELECT ON alembic_version TO quire_app")
    executed(beside("quire_owner"), "INSERT INTO alembic_version VALUES ('9999')")
    assert "newer than this version of Quire" in refusal(*command, **environment)


@pytest.mark.parametrize("command", ["serve", "worker"])
def test_a_vocabulary_that_cannot_be_written_is_said_with_what_mends_it(
    postgres: EmbeddedPostgres, tmp_path: Path, command: str
) -> None:
    (tmp_path / "vocabularies").touch()  # in place of a full disk
    environment = {"DATABASE_URL": postgres.app_dsn, "QUIRE_DATA_DIR": str(tmp_path), "QUIRE_PORT": "0"}
    said = refusal(command, MEMORY_EMBEDDING_MODEL="none", **environment)
    assert "vocabularies cannot be written: File exists. Free some space there" in said
    assert "Traceback" not in said


def test_a_migration_that_the_database_refuses_is_one_sentence_without_sql(beside: Callable[[str], str]) -> None:
    assert "CREATE EXTENSION vector;" in refusal("migrate", DATABASE_URL=beside("quire_owner"))
    executed(beside("postgres"), "CREATE EXTENSION vector")
    said = refusal("migrate", DATABASE_URL=beside("quire_app"))
    assert "permission denied" in said
    assert "as the role that owns the tables" in said
    assert "CREATE TABLE" not in said
    executed(beside("quire_owner"), "CREATE TABLE alembic_version (version_num text)")
    assert "as the role that owns the tables" in refusal("migrate", DATABASE_URL=beside("quire_app"))
    executed(beside("quire_owner"), "INSERT INTO alembic_version VALUES ('9999')")
    assert "newer than this version of Quire" in refusal("migrate", DATABASE_URL=beside("quire_owner"))


def executed(dsn: str, statement: str) -> None:
    async def execute() -> None:
        connection = await asyncpg.connect(dsn)
        await connection.execute(statement)
        await connection.close()

    asyncio.run(execute())
