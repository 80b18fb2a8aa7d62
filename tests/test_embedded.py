import asyncio
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import asyncpg
import psutil
import pytest

from app.data_dir import default_data_dir
from app.postgres import embedded, folder_permissions, programs
from app.postgres.embedded import EmbeddedPostgres
from app.postgres.programs import EmbeddedPostgresError
from tests.conftest import wait_for

pytestmark = pytest.mark.slow


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="quire-pg-"))
    folder_permissions.make_passable(made)
    yield made
    for process in servers_of(made):
        process.kill()
    shutil.rmtree(made)


def servers_of(folder: Path) -> list[psutil.Process]:
    """The PostgreSQL servers whose data is under the folder."""
    return [
        process
        for process in psutil.process_iter(["name", "cmdline"])
        if process.info["name"] == "postgres" and any(str(folder) in part for part in process.info["cmdline"] or ())
    ]


def ask(dsn: str, sql: str) -> object:
    async def connect_and_ask() -> object:
        connection = await asyncpg.connect(dsn, timeout=5)
        try:
            return await connection.fetchval(sql)
        finally:
            await connection.close()

    return asyncio.run(connect_and_ask())


def test_data_survives_a_restart(folder: Path) -> None:
    first = embedded.start(folder)
    ask(first.owner_dsn, "CREATE TABLE kept AS SELECT 7 AS n")
    first.stop()
    assert servers_of(folder) == []
    second = embedded.start(folder)
    assert ask(second.app_dsn, "SELECT n FROM kept") == 7
    second.stop()


def test_the_roles_cannot_bypass_row_level_security(postgres: EmbeddedPostgres) -> None:
    unsafe = "SELECT rolsuper OR rolbypassrls OR rolcreaterole FROM pg_roles WHERE rolname = current_user"
    assert ask(postgres.owner_dsn, unsafe) is False
    assert ask(postgres.app_dsn, unsafe) is False


def test_the_app_may_not_make_tables(postgres: EmbeddedPostgres) -> None:
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        ask(postgres.app_dsn, "CREATE TABLE public.sly (n int)")


def test_the_server_is_durable_and_has_vectors(postgres: EmbeddedPostgres) -> None:
    for name in ("fsync", "synchronous_commit", "full_page_writes", "data_checksums"):
        assert ask(postgres.app_dsn, f"SHOW {name}") == "on"
    assert ask(postgres.app_dsn, "SELECT '[1,2]'::vector <-> '[1,2]'") == 0


def test_the_server_listens_on_no_port(postgres: EmbeddedPostgres) -> None:
    assert ask(postgres.superuser_dsn, "SHOW listen_addresses") == ""
    assert ask(postgres.superuser_dsn, "SHOW unix_socket_permissions") == "0700"


def test_the_last_one_to_leave_stops_the_server(folder: Path) -> None:
    one, other = embedded.start(folder), embedded.start(folder)
    one.stop()
    one.stop()
    assert ask(other.app_dsn, "SELECT 1") == 1
    other.stop()
    assert servers_of(folder) == []


def test_several_processes_can_start_it_concurrently(folder: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        started = list(pool.map(embedded.start, [folder] * 3))
    assert [ask(server.app_dsn, "SELECT 1") for server in started] == [1, 1, 1]
    for server in started:
        server.stop()
    assert servers_of(folder) == []


def test_a_process_that_was_killed_does_not_keep_the_server_alive(folder: Path) -> None:
    program = (
        f"import pathlib, signal; from app.postgres import embedded; embedded.start(pathlib.Path({str(folder)!r})); "
    )
    user = subprocess.Popen(
        [sys.executable, "-c", program + "print('up', flush=True); signal.pause()"], stdout=subprocess.PIPE
    )
    with user:
        assert user.stdout is not None
        assert user.stdout.readline() == b"up\n"
        user.kill()
    server = embedded.start(folder)
    assert ask(server.app_dsn, "SELECT 1") == 1
    server.stop()
    assert servers_of(folder) == []


def test_the_server_starts_after_being_killed(folder: Path) -> None:
    killed = embedded.start(folder)
    ask(killed.owner_dsn, "CREATE TABLE kept AS SELECT 7 AS n")
    for process in servers_of(folder):
        process.send_signal(signal.SIGKILL)
    wait_for(lambda: not servers_of(folder))
    killed.stop()
    again = embedded.start(folder)
    assert ask(again.app_dsn, "SELECT n FROM kept") == 7
    again.stop()


def test_only_a_server_that_is_down_in_use_is_revived(folder: Path) -> None:
    """`quire serve` looks for a crash beside its own end, whose last step shuts the server down."""
    server = embedded.start(folder)
    assert not embedded.revive(folder)
    for process in servers_of(folder):
        process.send_signal(signal.SIGKILL)
    wait_for(lambda: not servers_of(folder))
    assert embedded.revive(folder)
    assert ask(server.app_dsn, "SELECT 1") == 1
    for process in servers_of(folder):
        process.send_signal(signal.SIGKILL)
    wait_for(lambda: not servers_of(folder))
    server.stop()
    assert not embedded.revive(folder)
    assert servers_of(folder) == []


def test_a_start_waits_for_orphans_of_a_killed_server(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A backend that is busy does not see that its server is gone, and PostgreSQL does not start beside it."""
    killed = embedded.start(folder)

    async def kill_postmaster() -> psutil.Process:
        connection = await asyncpg.connect(killed.app_dsn)
        backend = psutil.Process(await connection.fetchval("SELECT pg_backend_pid()"))
        postmaster = backend.parent()
        assert postmaster is not None
        backend.suspend()
        postmaster.kill()
        connection.terminate()
        return backend

    busy = asyncio.run(kill_postmaster())
    with ThreadPoolExecutor() as pool:
        starting = pool.submit(embedded.start, folder)
        wait_for(lambda: starting.done() or f"[{busy.pid}]" in caplog.text)
        busy.resume()
        server = starting.result()
    assert ask(server.app_dsn, "SELECT 1") == 1
    server.stop()
    killed.stop()


def test_a_reused_process_id_does_not_block_a_start(folder: Path) -> None:
    embedded.start(folder).stop()
    cluster = folder / "postgres" / "cluster"
    for stale in ("postmaster.pid", ".s.PGSQL.5432.lock"):
        (cluster / stale).write_text(f"{os.getppid()}\n{cluster}\n1\n5432\n{cluster}\n", encoding="utf-8")
    server = embedded.start(folder)
    assert ask(server.app_dsn, "SELECT 1") == 1
    server.stop()


@pytest.mark.parametrize("stale", ["postmaster.pid", ".s.PGSQL.5432.lock"])
def test_a_lock_file_whose_writer_was_killed_does_not_block_a_start(folder: Path, stale: str) -> None:
    embedded.start(folder).stop()
    (folder / "postgres" / "cluster" / stale).write_text("", encoding="utf-8")
    assert embedded.is_down(folder)
    server = embedded.start(folder)
    assert ask(server.app_dsn, "SELECT 1") == 1
    server.stop()


def test_a_server_that_a_killed_process_began_to_start_is_joined(folder: Path) -> None:
    embedded.start(folder).stop()
    starting = "import sys, pathlib; from app.postgres import embedded; embedded.start(pathlib.Path(sys.argv[1]))"
    command = [sys.executable, "-c", f"{starting}; sys.stdin.read()", str(folder)]  # it never ends by itself
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        wait_for(lambda: bool(servers_of(folder)))
        process.kill()
    server = embedded.start(folder)
    assert ask(server.app_dsn, "SELECT 1") == 1
    assert len(servers_of(folder)) == 1
    server.stop()


def test_a_start_recovers_from_an_interrupted_initdb(folder: Path) -> None:
    half = folder / "postgres" / "cluster.new"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n", encoding="utf-8")
    server = embedded.start(folder)
    assert ask(server.app_dsn, "SELECT 1") == 1
    server.stop()


@pytest.mark.parametrize("name", ["long" * 40, "with space", "with'quote", "数据"])
def test_any_folder_name_works(folder: Path, name: str) -> None:
    server = embedded.start(folder / name)
    assert ask(server.app_dsn, "SELECT 1") == 1
    assert ask(server.owner_dsn, "SELECT current_user") == "quire_owner"
    server.stop()
    assert servers_of(folder / name) == []


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only under root does the server run as another user")


def modes(*folders: Path) -> list[str]:
    return [oct(folder.stat().st_mode & 0o777) for folder in folders]


@as_root
def test_under_root_the_data_directory_is_passable_but_not_readable(folder: Path) -> None:
    folder.chmod(0o700)
    embedded.start(folder).stop()
    assert modes(folder, folder / "postgres") == ["0o711", "0o700"]


@as_root
def test_under_root_a_closed_folder_above_the_data_is_named_and_left_alone(folder: Path) -> None:
    folder.chmod(0o700)
    with pytest.raises(EmbeddedPostgresError, match=f"cannot enter {folder}. Set QUIRE_DATA_DIR to a folder") as raised:
        embedded.start(folder / "new" / "data")
    assert "/var/lib/quire" in str(raised.value)
    assert modes(folder) == ["0o700"]
    assert list(folder.iterdir()) == []


@as_root
def test_under_root_folders_that_quire_makes_are_passable(folder: Path) -> None:
    before = os.umask(0o077)
    try:
        embedded.start(folder / "new" / "data").stop()
    finally:
        os.umask(before)
    assert modes(folder / "new", folder / "new" / "data") == ["0o711", "0o711"]


@as_root
def test_under_root_programs_that_the_server_cannot_reach_are_copied(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = folder / "venv"
    package = programs.binary("postgres").parents[2]
    shutil.copytree(package.parent / f"{package.name}.libs", closed / f"{package.name}.libs")
    shutil.copytree(package / programs.RELEASE, closed / package.name / programs.RELEASE)
    (closed / package.name / "__init__.py").touch()
    closed.chmod(0o700)
    monkeypatch.syspath_prepend(str(closed))
    assert programs.binary("postgres").is_relative_to(closed)
    server = embedded.start(folder / "data")
    assert ask(server.app_dsn, "SELECT 1") == 1
    server.stop()
    assert modes(closed) == ["0o700"]


@as_root
def test_under_root_the_default_data_directory_is_one_that_the_server_can_reach(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(folder))
    assert default_data_dir() == folder / ".quire"
    folder.chmod(0o700)
    assert default_data_dir() == Path("/var/lib/quire")
    (folder / ".quire" / "postgres").mkdir(parents=True)
    assert default_data_dir() == folder / ".quire"


@pytest.mark.parametrize(
    ("output", "said", "fix"),
    [
        (
            "psql:<stdin>:3: ERROR:  could not extend file: No space left on device\nLINE 1: SELECT 'a secret'",
            "psql failed: could not extend file: No space left on device.", "Free some space",
        ),
        (
            "ERROR:  x\nSTATEMENT:  SELECT 'a secret'\nPANIC:  could not locate a valid checkpoint record\nFATAL: y",
            "psql failed: could not locate a valid checkpoint record.", "restore a backup",
        ),
        ("pg_ctl: stopped waiting\nEverything failed\n", "psql failed: Everything failed.", "See the log."),
        ("", "psql failed: it said nothing.", "See the log."),
    ],
)  # fmt: skip
def test_a_program_that_failed_is_told_by_its_gravest_words_without_statements(
    output: str, said: str, fix: str
) -> None:
    error = programs.failed("psql", output)
    assert str(error) == said
    assert fix in programs.hint(error, "See the log.")


TWO_AT_ONCE = """
import sys
from app.postgres import folder_permissions

folder_permissions.USER_WHEN_ROOT = sys.argv[1]
print("ready", flush=True)
sys.stdin.read(1)
print(folder_permissions.server_user().pw_uid)
"""


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("useradd") is None, reason="only root makes users")
def test_two_first_starts_at_once_run_as_one_user() -> None:
    name = f"quire-{os.getpid()}"
    started = [
        subprocess.Popen([sys.executable, "-c", TWO_AT_ONCE, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(4)
    ]
    try:
        for one in started:
            assert one.stdout is not None
            assert one.stdout.readline() == b"ready\n"
        with ThreadPoolExecutor(len(started)) as at_once:
            said = set(at_once.map(lambda one: one.communicate(b"x")[0], started))
        assert said == {f"{pwd.getpwnam(name).pw_uid}\n".encode()}
    finally:
        subprocess.run(["userdel", name], check=True, capture_output=True)
