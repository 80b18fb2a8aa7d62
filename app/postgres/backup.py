"""Copy the embedded database while it is in use, and put a copy in place.

A backup is PostgreSQL's base backup with the log (WAL) that was written meanwhile: it holds everything that was
committed before it ended. Its manifest has a checksum of each file, checked after writing and before restoring.
"""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from app.postgres import embedded, followed, recovery
from app.postgres.embedded import EmbeddedPostgres
from app.postgres.programs import POSTGRES_MAJOR, SOCKET_NAME, DataDirectory, EmbeddedPostgresError, binary, locked

MANIFEST = "backup_manifest"
SEGMENT_BYTES = 16 * 1024 * 1024


def back_up(data_dir: Path, folder: Path, *, follows: bool = False) -> int:
    """Write a checked backup to a folder that does not exist yet, and return its bytes.

    The folder appears when the backup is whole. Starts the server if it does not run. With ``follows`` the log is
    copied into the folder from then on (see ``followed``). Raises EmbeddedPostgresError.
    """
    folder = folder.expanduser().absolute()
    if folder.exists():
        raise EmbeddedPostgresError(f"{folder} exists already; name a new folder.")
    if not embedded.exists(data_dir):
        raise EmbeddedPostgresError(f"{data_dir} holds no database; set QUIRE_DATA_DIR to the folder that does.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    layout = DataDirectory.under(data_dir)
    server = embedded.start(data_dir)
    try:
        if follows:
            _copy_and_follow(layout, server, folder)
        else:
            _copy(server, folder)
    finally:
        server.stop()
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _copy(server: EmbeddedPostgres, folder: Path, finish: Callable[[Path], None] = lambda _: None) -> None:
    """Copy under another name, check the copy, finish it, and give it its name."""
    partial = Path(tempfile.mkdtemp(prefix=f"{folder.name}.partial-", dir=folder.parent))  # nobody else's
    try:
        options = ("--wal-method=stream", "--checkpoint=fast", "--manifest-checksums=SHA256", "--no-password")
        _run("pg_basebackup", "-d", server.superuser_dsn, "-D", str(partial), *options)
        _verify(partial)
        finish(partial)
        partial.rename(folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def _copy_and_follow(layout: DataDirectory, server: EmbeddedPostgres, folder: Path) -> None:
    """Follow the copy before it is begun: until its folder appears the server keeps the log, so that none is missed.

    If the copy fails, the server follows what it followed before, and has missed nothing there either.
    """
    followed.require_reach(layout, folder)
    log, before = folder / followed.LOG, followed.folder(layout)
    followed.follow(layout, log)
    try:
        _copy(server, folder, lambda partial: followed.make_log_folder(layout, partial))
    except BaseException:
        followed.follow(layout, before)
        raise
    followed.await_log(layout, log, last_segment(folder))


def unfollow(data_dir: Path) -> Path | None:
    """Follow no backup any more; return the one that was followed. Raises EmbeddedPostgresError."""
    if not embedded.exists(data_dir):
        raise EmbeddedPostgresError(f"{data_dir} holds no database; set QUIRE_DATA_DIR to the folder that does.")
    layout = DataDirectory.under(data_dir)
    server = embedded.start(data_dir)
    try:
        log = followed.folder(layout)
        followed.follow(layout, None)
    finally:
        server.stop()
    return log and log.parent


def restore(data_dir: Path, folder: Path, to: datetime | Literal["latest"] | None = None) -> None:
    """Put a backup into a data folder without a database: as it was at its end, or at a later moment of its log.

    The database appears when it is whole. It is followed by no backup. Raises EmbeddedPostgresError.
    """
    _require_usable(folder)
    layout = DataDirectory.under(data_dir)
    layout.prepare()
    with locked(layout.changing):
        if layout.cluster.exists():
            raise EmbeddedPostgresError(
                f"{data_dir} holds a database already; stop Quire and move {layout.cluster} away,"
                " or set QUIRE_DATA_DIR to another folder."
            )
        fresh = layout.root / "cluster.new"
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.copytree(folder, fresh, ignore=_foreign(folder))
        followed.forget(fresh)
        for path in (fresh, *fresh.rglob("*")):
            path.chmod(0o700 if path.is_dir() else 0o600)
        layout.give(fresh)
        if to is not None:
            recovery.recover(layout, fresh, folder, to, last_segment(folder))
        os.sync()
        fresh.rename(layout.cluster)


def _foreign(backup: Path) -> Callable[[str, list[str]], set[str]]:
    """Return what not to copy: another server's socket, and the log that follows."""

    def ignored(where: str, names: list[str]) -> set[str]:
        foreign = (SOCKET_NAME, f"{SOCKET_NAME}.lock", followed.LOG)
        return {name for name in names if Path(where) == backup and name in foreign}

    return ignored


def last_segment(backup: Path) -> str:
    """Return the name of the log's file in which a backup ends."""
    manifest = json.loads((backup / MANIFEST).read_bytes())
    return list(_segments(manifest["WAL-Ranges"]))[-1]


def _require_usable(folder: Path) -> None:
    if not (folder / MANIFEST).is_file():
        raise EmbeddedPostgresError(f"{folder} is no backup: it has no {MANIFEST}.")
    version = (folder / "PG_VERSION").read_text(encoding="utf-8").strip()
    if version != str(POSTGRES_MAJOR):
        raise EmbeddedPostgresError(f"{folder} is of PostgreSQL {version}; this Quire brings {POSTGRES_MAJOR}.")
    _verify(folder)


def _verify(folder: Path) -> None:
    """Check every file against the manifest, and the manifest against itself.

    Done here, since the package's pg_verifybackup crashes. The log carries checksums of its own.
    """
    content = (folder / MANIFEST).read_bytes()
    counted, _, _ = content.rpartition(b'"Manifest-Checksum"')
    manifest = json.loads(content)
    if hashlib.sha256(counted).hexdigest() != manifest["Manifest-Checksum"]:
        raise EmbeddedPostgresError(f"{folder / MANIFEST} is damaged.")
    for one in manifest["Files"]:
        path = folder / one["Path"]
        if not path.is_file() or _sha256(path) != one["Checksum"]:
            raise EmbeddedPostgresError(f"{path} is missing or damaged.")
    for name in _segments(manifest["WAL-Ranges"]):
        if not (folder / "pg_wal" / name).is_file():
            raise EmbeddedPostgresError(f"{folder / 'pg_wal' / name} is missing.")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _segments(ranges: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the names of the log's files that hold these ranges."""
    for one in ranges:
        first, end = (position_of(one[f"{name}-LSN"]) for name in ("Start", "End"))
        for number in range(first // SEGMENT_BYTES, (end - 1) // SEGMENT_BYTES + 1):
            yield f"{one['Timeline']:08X}{number >> 8:08X}{number & 0xFF:08X}"


def position_of(lsn: str) -> int:
    """Return a position in the log as a number of bytes."""
    high, low = lsn.split("/")
    return (int(high, 16) << 32) + int(low, 16)


def _run(program: str, *arguments: str) -> None:
    """Run a program as the current user, root included."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    done = subprocess.run(
        [binary(program), *arguments], env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if done.returncode != 0:
        raise EmbeddedPostgresError(f"{program} failed: {done.stderr.decode(errors='replace').strip()[-2000:]}")
