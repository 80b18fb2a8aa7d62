"""Find the folders that the server's user can enter.

PostgreSQL refuses to run as root, so under root it runs as a user of its own. That user must be able to enter
the data directory. Quire opens the folders it makes and the data directory itself; it never changes a folder
above them. Programs that the user cannot reach are copied into the data directory.
"""

import fcntl
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

USER_WHEN_ROOT = "pgserver"
SHARED = Path("/tmp")  # noqa: S108  # nosec B108 - what is made in it is our own, or refused
PASSABLE = 0o011

FIRST_CLOSED = 'for folder do test -x "$folder" || { printf %s "$folder"; break; }; done'


def server_user() -> pwd.struct_passwd | None:
    """Return the user that runs PostgreSQL, made if needed; None: the current one, which is not root."""
    if os.geteuid() != 0:
        return None
    with suppress(KeyError):
        return pwd.getpwnam(USER_WHEN_ROOT)
    folder = os.open("/etc", os.O_RDONLY)
    try:
        # Of two at once both would succeed, and the second would give the user another number under the first's server.
        fcntl.flock(folder, fcntl.LOCK_EX)
        with suppress(KeyError):
            return pwd.getpwnam(USER_WHEN_ROOT)
        subprocess.run(["useradd", "--system", "--shell", "/bin/sh", USER_WHEN_ROOT], check=True)  # nosec B607
        return pwd.getpwnam(USER_WHEN_ROOT)
    finally:
        os.close(folder)


def first_closed(user: pwd.struct_passwd, folders: Iterable[Path]) -> Path | None:
    """Return the outermost of these existing folders that the user cannot enter. The user itself tries."""
    outermost_first = sorted({str(folder) for folder in folders}, key=len)
    done = subprocess.run(
        ["/bin/sh", "-c", FIRST_CLOSED, "sh", *outermost_first],
        stdout=subprocess.PIPE,
        cwd="/",
        user=user.pw_uid,
        group=user.pw_gid,
        extra_groups=list[int](),
        check=True,
    )
    return Path(os.fsdecode(done.stdout)) if done.stdout else None


def make_passable(folder: Path) -> None:
    """Let every user through this folder, without letting them list it."""
    mode = folder.stat().st_mode
    if mode & PASSABLE != PASSABLE:
        folder.chmod(mode | PASSABLE)


def make_folder(folder: Path, user: pwd.struct_passwd | None) -> None:
    """Make a folder and its missing parents so that the user can enter them all."""
    missing = [above for above in (folder, *folder.parents) if not above.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    if user is not None:
        for made in missing:
            make_passable(made)


def temporary_folder(user: pwd.struct_passwd | None) -> Path:
    """Return the temporary folder if the user can enter it, and /tmp otherwise."""
    usual = Path(tempfile.gettempdir()).resolve()
    return usual if user is None or first_closed(user, (usual, *usual.parents)) is None else SHARED


def copy_programs(package: Path, release: str, folder: Path) -> Path:
    """Copy PostgreSQL and the libraries beside its package to this folder. Return the folder of the programs.

    The copy appears when it is complete. Only one process can do this at a time.
    """
    if not folder.exists():
        partial = folder.with_name(f"{folder.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        for part in (Path(package.name) / release, Path(f"{package.name}.libs")):
            if (package.parent / part).exists():
                shutil.copytree(package.parent / part, partial / part, ignore=shutil.ignore_patterns("include", "*.a"))
        for made in (folder.parent, partial, partial / package.name):
            make_passable(made)
        partial.rename(folder)
    return folder / package.name / release / "bin"
