"""As in a container: nobody's user, no home, no shell's path, and one folder to write to."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.api.kit import append, turn, window
from tests.cli.kit import read_until

NOBODY = 65534
ROOT = Path(__file__).parents[2]
# Everything is mounted read-only but the data directory. Tests' interpreter may be in a folder of root's, so reading
# is allowed everywhere; nothing else is.
SCRIPT = r"""
set -e
mount --make-rprivate /
mount --bind "$1" "$1"
for at in $(awk -v data="$1" '$2 !~ "^/(proc|sys|dev)" && $2 != data { print $2 }' /proc/mounts | sort -u); do
  mount -o remount,bind,ro "$at" 2>/dev/null || true
done
if touch "$1/../probe" /tmp/probe /var/tmp/probe 2>/dev/null; then echo "it can be written to"; exit 9; fi
shift
exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all,+dac_read_search \
  --ambient-caps=-all,+dac_read_search env -i PATH=/nowhere "$@"
"""


def _is_possible() -> bool:
    if os.geteuid() != 0 or not all(map(shutil.which, ("unshare", "setpriv", "mount", "awk"))):
        return False
    return subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode == 0


pytestmark = [pytest.mark.slow, pytest.mark.skipif(not _is_possible(), reason="needs root, unshare and setpriv")]


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="quire-ro-"))
    made.chmod(0o755)
    data = made / "data"
    data.mkdir()
    os.chown(data, NOBODY, NOBODY)
    yield data
    shutil.rmtree(made)


def test_quire_serves_with_a_single_writable_folder(folder: Path) -> None:
    settings = {"QUIRE_DATA_DIR": str(folder), "QUIRE_PORT": "0", "MEMORY_EMBEDDING_MODEL": "none"}
    command = ["unshare", "--mount", "sh", "-c", SCRIPT, "sh", str(folder), *(f"{k}={v}" for k, v in settings.items())]
    serve = [*command, sys.executable, "-m", "app", "serve"]
    with subprocess.Popen(serve, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            url = read_until(process.stdout, "Ctrl-C stops it").split("/docs")[0].split()[-1]
            with httpx.Client(base_url=url, timeout=30) as client:
                assert client.get("/readyz").status_code == 200
                assert client.get("/docs").status_code == 200
                append(client, "read-only", turn(1))
                assert window(client, "read-only")["messages"]
        finally:
            process.terminate()
        assert process.wait(timeout=60) == 0
