"""PgBouncer in transaction mode before a server, if it is installed."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

from app.postgres import database
from tests.cluster.kit import SERVER_USER, folder
from tests.conftest import wait_for

POOLER = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
MISSING = "pgbouncer is not installed (Debian: apt-get install pgbouncer)"
LIMITS = "; ".join(f"SET {name} = '{value}'" for name, value in database.SERVER_TIMEOUTS.items())
CONFIGURATION = """\
[databases]
quire = host={server} dbname=quire user=quire_app pool_size={connections} connect_query='{limits}'
[pgbouncer]
pool_mode = transaction
auth_type = any
listen_addr =
listen_port = 6432
unix_socket_dir = {folder}
logfile = {folder}/log
max_client_conn = 500
server_login_retry = 1
"""


class Pooler:
    """A PgBouncer with a number of connections to the server whose socket is in a folder."""

    def __init__(self, server: Path, connections: int) -> None:
        self.folder = folder()
        limits = LIMITS.replace("'", "''")
        text = CONFIGURATION.format(server=server, folder=self.folder, connections=connections, limits=limits)
        (self.folder / "ini").write_text(text)
        self.socket = self.folder / ".s.PGSQL.6432"
        self.dsn = f"postgresql://quire_app@/quire?host={self.folder}&port=6432"
        self._process = self._start()

    def _start(self) -> "subprocess.Popen[bytes]":
        assert POOLER is not None
        process = subprocess.Popen([POOLER, "-q", self.folder / "ini"], user=SERVER_USER, group=SERVER_USER)
        wait_for(lambda: self.socket.exists() or process.poll() is not None)
        return process

    def kill(self) -> None:
        """Kill it and start another one."""
        self._end(signal.SIGKILL)
        self.socket.unlink(missing_ok=True)
        self._process = self._start()

    def close(self) -> None:
        self._end(signal.SIGTERM)
        shutil.rmtree(self.folder)

    def _end(self, number: int) -> None:
        self._process.send_signal(number)
        self._process.wait(20)
