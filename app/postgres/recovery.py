"""Bring a copy of a backup to a later moment, by the log that followed it.

PostgreSQL replays the log in single-user mode, in a folder that is not the database yet: it ends with a database of a
new timeline, or fails and leaves nothing. A commit counts by the time in the log, which is before its acknowledgement.
"""

import gzip
import re
import shutil
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from app.postgres.followed import LOG
from app.postgres.programs import DataDirectory, EmbeddedPostgresError, run

FILES_OF_4_GB = 256
CHUNK_BYTES = 1 << 20
BEGAN = re.compile(r"^START TIME: (\S+ \S+) UTC$", re.MULTILINE)
LAST_COMMIT = re.compile(r"last completed transaction was at log time (\S+ [0-9:.]+)")
TOO_EARLY = "requested recovery stop point is before consistent recovery point"
TOO_LATE = "recovery ended before configured recovery target was reached"
# Written where Quire writes its own configuration at the next start, so it lasts for the recovery only.
CONFIGURATION = """\
restore_command = 'gzip -dc ../log.new/%f.gz > %p'
recovery_target_timeline = 'current'
recovery_target_action = 'promote'
hot_standby = off
log_timezone = 'UTC'
"""
TARGET = "recovery_target_time = '{to}'\n"


def recover(layout: DataDirectory, fresh: Path, backup: Path, to: datetime | Literal["latest"], first: str) -> None:
    """Recover the copy ``fresh``; ``first`` is the log's file in which the backup ends.

    Raises EmbeddedPostgresError if the backup is not followed, or its log does not reach back or forth to the time.
    """
    log = backup / LOG
    if not log.is_dir():
        raise EmbeddedPostgresError(
            f"{backup} has no log (`quire backup --follow` makes one), so it restores to its own end only."
        )
    if to != "latest":
        _require_after_beginning(backup, to)
    copies = layout.root / "log.new"
    shutil.rmtree(copies, ignore_errors=True)
    try:
        missing = _copy_log(log, copies, first)
        if missing and to == "latest":
            raise EmbeddedPostgresError(f"{missing} is missing or damaged, and later ones are there; name a time.")
        layout.give(copies)
        _replay(layout, fresh, log, to)
    finally:
        shutil.rmtree(copies, ignore_errors=True)


def _require_after_beginning(backup: Path, to: datetime) -> None:
    found = BEGAN.search((backup / "backup_label").read_text(encoding="utf-8"))
    if found is None:
        raise EmbeddedPostgresError(f"{backup / 'backup_label'} does not say when the backup began.")
    began = datetime.fromisoformat(found[1]).replace(tzinfo=UTC) + timedelta(seconds=1)  # its fraction is cut off
    if to < began:
        raise EmbeddedPostgresError(f"{_shown(to)} is before this backup, which began at {_shown(began)}.")


def _copy_log(log: Path, copies: Path, first: str) -> Path | None:
    """Copy the log's files from the first one up to a gap. Return the file that is missing or damaged, if any."""
    copies.mkdir(mode=0o700)
    for name in _names_from(first):
        path = log / f"{name}.gz"
        if not path.exists():
            later = [one for one in log.glob(f"{name[:8]}*.gz") if one.stem[:24] > name]
            return path if later else None
        if not _is_whole(path):
            return path
        shutil.copyfile(path, copies / path.name)
    return None


def _names_from(first: str) -> Iterator[str]:
    """Yield the names of the log's files of a timeline, from one on."""
    timeline, number = first[:8], int(first[8:16], 16) * FILES_OF_4_GB + int(first[16:], 16)
    while True:
        yield f"{timeline}{number // FILES_OF_4_GB:08X}{number % FILES_OF_4_GB:08X}"
        number += 1


def _is_whole(path: Path) -> bool:
    """Return whether a compressed file matches its checksum."""
    try:
        with gzip.open(path) as file:
            while file.read(CHUNK_BYTES):
                pass
    except (EOFError, OSError, zlib.error):
        return False
    return True


def _replay(layout: DataDirectory, fresh: Path, log: Path, to: datetime | Literal["latest"]) -> None:
    target = "" if to == "latest" else TARGET.format(to=to.astimezone(UTC).isoformat())
    for name, text in (("quire.conf", CONFIGURATION + target), ("recovery.signal", "")):
        (fresh / name).write_text(text, encoding="utf-8")
    layout.give(fresh)
    try:
        run(layout, "postgres", "--single", "-D", str(fresh), "postgres")
    except EmbeddedPostgresError as error:
        said = str(error)
        if to != "latest" and TOO_EARLY in said:
            raise EmbeddedPostgresError(f"{_shown(to)} is before the end of this backup.") from error
        if to != "latest" and TOO_LATE in said:
            last = LAST_COMMIT.search(said)
            until = f"its last write is of {last[1]} UTC" if last else "it holds no later write"
            raise EmbeddedPostgresError(
                f"{_shown(to)} is beyond the log in {log}: {until}. Name an earlier time, or `latest`."
            ) from error
        raise


def _shown(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
