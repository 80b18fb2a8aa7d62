"""Copy the embedded database while it is in use, and put a copy in place.

A backup is PostgreSQL's base backup with the log (WAL) written meanwhile, so it holds everything that was committed
before it ended. Its manifest has a checksum of each file, checked after writing and before restoring.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from app.postgres import embedded
from app.postgres.embedded import EmbeddedPostgres
from app.postgres.programs import (
    POSTGRES_MAJOR,
    SOCKET_NAME,
    DataDirectory,
    EmbeddedPostgresError,
    binary,
    failed,
    locked,
    run,
)

MANIFEST = "backup_manifest"
SEGMENT_BYTES = 16 * 1024 * 1024


def back_up(data_dir: Path, folder: Path) -> int:
    """Write a checked backup to a folder that does not exist yet, and return its bytes.

    The folder appears when the backup is whole. Starts the server if it does not run. Raises EmbeddedPostgresError.
    """
    folder = folder.expanduser().absolute()
    if folder.exists():
        raise EmbeddedPostgresError(f"{folder} exists already; name a new folder.")
    if not embedded.exists(data_dir):
        raise EmbeddedPostgresError(f"{data_dir} holds no database; set QUIRE_DATA_DIR to the folder that does.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    server = embedded.start(data_dir)
    try:
        _copy(server, folder)
    finally:
        server.stop()
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _copy(server: EmbeddedPostgres, folder: Path) -> None:
    """Copy under another name, check the copy, then rename it."""
    partial = Path(tempfile.mkdtemp(prefix=f"{folder.name}.partial-", dir=folder.parent))  # nobody else's
    try:
        options = ("--wal-method=stream", "--checkpoint=fast", "--manifest-checksums=SHA256", "--no-password")
        _run("pg_basebackup", "-d", server.superuser_dsn, "-D", str(partial), *options)
        _verify(partial)
        partial.rename(folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def restore(data_dir: Path, folder: Path) -> tuple[int, str]:
    """Put a backup into a data folder without a database. Return the number of its messages, and the time of the last
    one ("" without any). Raises EmbeddedPostgresError.

    PostgreSQL replays the copy's log before the copy is put in place: what cannot be replayed to the backup's end never
    becomes the database.
    """
    manifest = _require_usable(folder)
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
        try:
            shutil.copytree(folder, fresh, ignore=shutil.ignore_patterns(f"{SOCKET_NAME}*"))
            for path in (fresh, *fresh.rglob("*")):
                path.chmod(0o700 if path.is_dir() else 0o600)
            layout.give(fresh)
            restored = _replayed(layout, fresh, manifest)
            os.sync()
            fresh.rename(layout.cluster)
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            raise
    return restored


# For single-user mode, which takes a statement a line. The second fails where no schema was made yet.
HELD = """\
SELECT pg_current_wal_insert_lsn()::text AS lsn;
SELECT count(*)::text AS messages, coalesce(max(created_at)::text, '') AS last FROM messages;
"""
_VALUE = re.compile(r'\d+: (\w+) = "([^"]*)"')


def _replayed(layout: DataDirectory, fresh: Path, manifest: Mapping[str, Any]) -> tuple[int, str]:
    """Replay the log of a copy in single-user mode and return what it holds. Raises EmbeddedPostgresError."""
    try:
        said = run(layout, "postgres", "--single", "-D", str(fresh), "quire", stdin=HELD)
    except EmbeddedPostgresError as error:
        raise EmbeddedPostgresError(
            f"The backup's log cannot be replayed, so nothing was restored. Use another backup. {error}"
        ) from error
    held = dict(_VALUE.findall(said))
    end = max(position_of(one["End-LSN"]) for one in manifest["WAL-Ranges"])
    if "lsn" not in held or position_of(held["lsn"]) < end:
        raise EmbeddedPostgresError(
            "The backup's log ends before the backup does, so nothing was restored. Use another backup."
        )
    return int(held.get("messages", 0)), held.get("last", "")


def _require_usable(folder: Path) -> Mapping[str, Any]:
    """Return the manifest of a whole backup of this version. Raises EmbeddedPostgresError."""
    if not (folder / MANIFEST).is_file():
        raise EmbeddedPostgresError(f"{folder} is no backup: it has no {MANIFEST}.")
    version = (folder / "PG_VERSION").read_text(encoding="utf-8").strip()
    if version != str(POSTGRES_MAJOR):
        raise EmbeddedPostgresError(f"{folder} is of PostgreSQL {version}; this Quire brings {POSTGRES_MAJOR}.")
    return _verify(folder)


def _verify(folder: Path) -> Mapping[str, Any]:
    """Check every file against the manifest and the manifest against itself, read the log, and return the manifest.

    Done here, since the package's pg_verifybackup crashes.
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
    for one in manifest["WAL-Ranges"]:
        options = ("-p", str(folder / "pg_wal"), "-t", str(one["Timeline"]))
        _run("pg_waldump", "-q", *options, "-s", one["Start-LSN"], "-e", one["End-LSN"])
    return dict(manifest)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _segments(ranges: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for one in ranges:
        first, end = (position_of(one[f"{name}-LSN"]) for name in ("Start", "End"))
        for number in range(first // SEGMENT_BYTES, (end - 1) // SEGMENT_BYTES + 1):
            yield f"{one['Timeline']:08X}{number >> 8:08X}{number & 0xFF:08X}"


def position_of(lsn: str) -> int:
    high, low = lsn.split("/")
    return (int(high, 16) << 32) + int(low, 16)


def _run(program: str, *arguments: str) -> None:
    """Run a program as the current user, root included."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    done = subprocess.run(
        [binary(program), *arguments], env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if done.returncode != 0:
        raise failed(program, done.stderr.decode(errors="replace"))
