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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from app.postgres import embedded
from app.postgres.programs import POSTGRES_MAJOR, SOCKET_NAME, EmbeddedPostgresError, Layout, binary, locked

MANIFEST = "backup_manifest"
SEGMENT_BYTES = 16 * 1024 * 1024


def back_up(data_dir: Path, folder: Path) -> int:
    """Write a checked backup to a folder that does not exist yet, and return its bytes.

    The folder appears when the backup is whole. Starts the server if it does not run. Raises EmbeddedPostgresError.
    """
    if folder.exists():
        raise EmbeddedPostgresError(f"{folder} exists already; name a new folder.")
    if not embedded.exists(data_dir):
        raise EmbeddedPostgresError(f"{data_dir} holds no database; set QUIRE_DATA_DIR to the folder that does.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f"{folder.name}.partial-", dir=folder.parent))  # nobody else's
    try:
        _copy(data_dir, partial)
        _verify(partial)
        partial.rename(folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _copy(data_dir: Path, folder: Path) -> None:
    server = embedded.start(data_dir)
    try:
        options = ("--wal-method=stream", "--checkpoint=fast", "--manifest-checksums=SHA256", "--no-password")
        _run("pg_basebackup", "-d", server.superuser_dsn, "-D", str(folder), *options)
    finally:
        server.stop()


def restore(data_dir: Path, folder: Path) -> None:
    """Put a backup into a data folder without a database. Raises EmbeddedPostgresError.

    The database appears when it is whole; the next start replays the backup's log.
    """
    _require_usable(folder)
    layout = Layout.under(data_dir)
    layout.prepare()
    with locked(layout.changing):
        if layout.cluster.exists():
            raise EmbeddedPostgresError(
                f"{data_dir} holds a database already; stop Quire and move {layout.cluster} away,"
                " or set QUIRE_DATA_DIR to another folder."
            )
        fresh = layout.root / "cluster.new"
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.copytree(folder, fresh, ignore=shutil.ignore_patterns(f"{SOCKET_NAME}*"))  # of another server
        for path in (fresh, *fresh.rglob("*")):
            path.chmod(0o700 if path.is_dir() else 0o600)
            if layout.user is not None:
                os.chown(path, layout.user.pw_uid, layout.user.pw_gid)
        os.sync()
        fresh.rename(layout.cluster)


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
