"""A backup that is followed: the server copies its log (WAL) into the backup's folder from then on.

    <backup>/…            the base backup
    <backup>/wal/NAME.gz  each file of the log, from before the end of the base backup

So one folder holds everything up to the next backup that is followed, and the log of one timeline only: a restored
database follows nothing until somebody makes a new backup of it.

The server runs the command for one file after the other and keeps a file until the command has succeeded. A full or
missing folder therefore stops nothing and loses nothing; the log grows in the database's own folder meanwhile, which
`quire doctor` reports. The command never replaces a file: one that is there already must be equal.
"""

import os
import shlex
import time
from dataclasses import dataclass
from pathlib import Path

from app.postgres import folder_permissions
from app.postgres.programs import DataDirectory, EmbeddedPostgresError, psql

LOG = "wal"
SECONDS = 60
"""The longest that a write waits for its file of the log to be copied."""
# The server replaces %p by the file's path and %f by its name. Neither holds a character that a shell minds.
COMMAND = (
    'to={folder}/%f.gz; if test -e "$to"; then gzip -dc "$to" | cmp -s - %p; '
    'else gzip -1nc %p >"$to.partial" && sync "$to.partial" && mv "$to.partial" "$to" && sync {folder}; fi'
)
STATE = "SELECT current_setting('archive_mode'), current_setting('archive_command')"
ARM = """
ALTER SYSTEM SET archive_command = {command};
ALTER SYSTEM SET archive_timeout = {seconds};
SELECT FROM pg_reload_conf();
"""
DISARM = """
ALTER SYSTEM RESET archive_command;
ALTER SYSTEM RESET archive_timeout;
SELECT FROM pg_reload_conf();
"""
WAITING = """
SELECT count(*), coalesce(extract(epoch FROM now() - min(modification))::int, 0)
  FROM pg_ls_archive_statusdir() WHERE name LIKE '%.ready'
"""
# The file that is being written ends here, so that the server copies it now.
END_FILE = "SELECT FROM pg_create_restore_point('quire'); SELECT FROM pg_switch_wal();"


@dataclass(frozen=True, slots=True)
class Following:
    """The way of the log to a backup."""

    log: Path
    waiting: int
    """Files of the log that are not copied yet."""
    waiting_seconds: int
    """The age of the oldest of them."""


def following(data_dir: Path) -> Following | None:
    """Return how the running server follows a backup; None if it follows none. Raises EmbeddedPostgresError."""
    layout = DataDirectory.under(data_dir)
    log = folder_in(psql(layout, STATE).partition("|")[2])
    if log is None:
        return None
    count, _, seconds = psql(layout, WAITING).partition("|")
    return Following(log, int(count), int(seconds))


def command(folder: Path) -> str:
    """Return the server's archive_command for a folder of the log. Raises EmbeddedPostgresError."""
    path = str(folder)
    if not path.isprintable():
        raise EmbeddedPostgresError(f"{path!r} has characters that cannot be printed; choose another folder.")
    return COMMAND.replace("{folder}", shlex.quote(path).replace("%", "%%"))


def folder_in(said: str) -> Path | None:
    """Return the folder of the log in an archive_command; None if it is not one of ours."""
    before, found, _ = said.partition("/%f.gz; ")
    if not found or not before.startswith("to="):
        return None
    return Path(shlex.split(before.removeprefix("to="))[0].replace("%%", "%"))


def folder(layout: DataDirectory) -> Path | None:
    """Return where the running server copies its log. Raises EmbeddedPostgresError if it cannot copy at all."""
    mode, _, said = psql(layout, STATE).partition("|")
    if mode == "off":
        raise EmbeddedPostgresError(
            "The server was started without archive_mode: restart Quire, and remove archive_mode from postgresql.conf."
        )
    return folder_in(said)


def follow(layout: DataDirectory, log: Path | None) -> None:
    """Have the running server copy its log to a folder from now on, or nowhere (None)."""
    if log is None:
        psql(layout, DISARM)
        return
    quoted = "'" + command(log).replace("'", "''") + "'"
    psql(layout, ARM.format(command=quoted, seconds=SECONDS))


def make_log_folder(layout: DataDirectory, backup: Path) -> None:
    """Make the folder of the log in a backup, so that the server's user can reach and write it."""
    log = backup / LOG
    log.mkdir(mode=0o700)
    if layout.user is not None:
        os.chown(log, layout.user.pw_uid, layout.user.pw_gid)
        folder_permissions.make_passable(backup)


def require_reach(layout: DataDirectory, backup: Path) -> None:
    """Raise EmbeddedPostgresError if the server's user cannot reach the folders above a backup."""
    if layout.user is None:
        return
    closed = folder_permissions.first_closed(layout.user, (above for above in backup.parents if above.exists()))
    if closed is not None:
        raise EmbeddedPostgresError(
            f"PostgreSQL runs as the user {layout.user.pw_name}, who cannot enter {closed}; choose another folder."
        )


def await_log(layout: DataDirectory, log: Path, segment: str) -> None:
    """Wait until the server has copied a file of its log. Raises EmbeddedPostgresError if it does not in time."""
    psql(layout, END_FILE)
    deadline = time.monotonic() + 2 * SECONDS
    while not (log / f"{segment}.gz").exists():
        if time.monotonic() > deadline:
            raise EmbeddedPostgresError(f"The backup is whole, but the log does not reach {log}; see {layout.log}.")
        time.sleep(0.1)


def forget(cluster: Path) -> None:
    """Have a cluster that is not running copy its log nowhere."""
    path = cluster / "postgresql.auto.conf"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith("archive_")), encoding="utf-8")
