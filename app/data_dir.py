"""The default folder of an embedded database; QUIRE_DATA_DIR sets another."""

import os
import stat
from pathlib import Path

WHEN_ROOT = Path("/var/lib/quire")


def default_data_dir() -> Path:
    """Return ~/.quire, or for root, whose home is closed to the server's user, /var/lib/quire.

    A database that is in ~/.quire already stays the one that is used.
    """
    usual = Path.home() / ".quire"
    if os.geteuid() != 0 or (usual / "postgres").exists():
        return usual
    is_open = all(folder.stat().st_mode & stat.S_IXOTH for folder in usual.parents)
    return usual if is_open else WHEN_ROOT
