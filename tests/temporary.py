"""Where a test run keeps its databases: in memory where there is room, since most tests wait for commits.

A commit that must reach a disk takes ten times as long, and the start and end of a server twice. Tests kill processes,
never the machine, so they find in memory what they would find on a disk.

    python3 tests/temporary.py    prints the folder for `.ci/run`, before anything is installed
"""

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
BYTES_FREE_MIN = 8 * 1024**3


def folder() -> Path:
    """Return the folder that TMPDIR names, or else memory or the system's temporary folder."""
    usual = Path(tempfile.gettempdir()).resolve()
    return MEMORY if "TMPDIR" not in os.environ and _has_room(MEMORY) else usual


def _has_room(memory: Path) -> bool:
    """Whether it takes databases, and programs too, which containers often forbid."""
    if not os.access(memory, os.W_OK | os.X_OK) or os.statvfs(memory).f_flag & os.ST_NOEXEC:
        return False
    available = re.search(r"MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text("ascii"))
    return available is not None and min(1024 * int(available[1]), shutil.disk_usage(memory).free) >= BYTES_FREE_MIN


if __name__ == "__main__":
    sys.stdout.write(f"{folder()}\n")
