"""`pip install .` from a clean checkout gives a Quire that works anywhere."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import unhurried
from tests.cli.kit import read_until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def installed(data_dir: Path) -> Iterator[Path]:
    """A folder with what the wheel of a clean checkout holds: the files that git knows, and no others."""
    checkout, target = data_dir / "checkout", data_dir / "installed"
    for name in subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines():
        if (ROOT / name).is_file():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, checkout / name)
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target)]
    install += [str(checkout / "clients" / "python"), str(checkout / "clients" / "verify"), str(checkout)]
    machines = {name: value for name, value in os.environ.items() if name != "SSL_CERT_DIR"}  # pip asks a registry
    done = subprocess.run(install, env=machines, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    yield target
    shutil.rmtree(checkout)
    shutil.rmtree(target)


def test_quire_works_outside_of_its_repository(installed: Path, data_dir: Path) -> None:
    elsewhere = data_dir / "elsewhere"
    elsewhere.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("QUIRE_", "DATABASE_"))}
    settings = {"PYTHONPATH": str(installed), "QUIRE_DATA_DIR": str(elsewhere), "QUIRE_PORT": "0"}
    where = subprocess.check_output(
        [sys.executable, "-c", "import app; print(app.__file__)"], env=kept | settings, cwd=elsewhere, text=True
    )
    assert where.startswith(str(installed))
    with subprocess.Popen(
        [sys.executable, str(installed / "bin" / "quire"), "serve"],
        env=kept | settings, cwd=elsewhere, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            url = read_until(process.stdout, "/docs").split("/docs")[0].split()[-1]
            said = {"user_id": "u", "messages": [{"role": "user", "content": "Hello"}]}
            assert unhurried.post(f"{url}/conversations/c/messages", json=said).status_code == 201
            for path in ("/readyz", "/conversations/c/context?budget=8000", "/docs", "/ui"):
                assert unhurried.get(url + path, follow_redirects=True).status_code == 200, path
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=30)
    assert process.returncode == 0
