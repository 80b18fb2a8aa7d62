"""The first ten minutes, as a newcomer has them: every command of README and tutorial, from a fresh clone.

    .venv/bin/python tests/docs/minutes.py

Each page's commands run in order in one shell, against a service of their own on an empty database; any status from 400
on ends the script. Then the demo, whose link must lead to its conversation. Only the installation is taken from here.
The examples, the clients' code and the buttons of /docs have tests beside this one.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

HERE = Path(__file__).parents[2]
PAGES = ("README.md", "docs/tutorial.md")
"""Their Chinese pages have the same commands: test_tutorial.py."""
USUAL = "http://127.0.0.1:8000"
START_SECONDS, PAGE_SECONDS = 120, 300


def clone(into: Path) -> Path:
    """Clone what is committed. The installed packages are these here; the code is the clone's."""
    folder = into / "quire"
    subprocess.run(["git", "clone", "--quiet", str(HERE), str(folder)], check=True)
    (folder / ".venv").symlink_to(Path(sys.prefix))
    return folder


def blocks(page: Path) -> list[str]:
    """Return a page's shell commands, without those that start the service."""
    found = re.findall(r"```sh\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    return [block for block in found if "make run" not in block]


@contextmanager
def service(folder: Path, data: Path) -> Iterator[dict[str, str]]:
    """Run a fresh service; the environment for its commands."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    env = {name: value for name, value in os.environ.items() if not name.startswith(("QUIRE_", "MEMORY_", "DATABASE_"))}
    env |= {"QUIRE_DATA_DIR": str(data), "QUIRE_PORT": str(port), "PYTHONPATH": str(folder)}
    env |= {"QUIRE_URL": f"http://127.0.0.1:{port}"}
    with (data.parent / f"{data.name}.log").open("w") as log:
        command = [sys.executable, "-m", "app", "serve"]
        process = subprocess.Popen(command, cwd=folder, env=env, stdout=log, stderr=subprocess.STDOUT)
        try:
            wait_for(env["QUIRE_URL"], process)
            yield env
        finally:
            process.terminate()
            process.wait(60)


def wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(f"{url}/healthz").is_success:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    sys.exit(f"the service at {url} did not start")


def shell(folder: Path, env: dict[str, str], script: str, what: str) -> str:
    """Run commands as they stand, and return what they print."""
    strict = 'set -e\ncurl() { command curl --fail-with-body "$@"; }\n' + script.replace(USUAL, env["QUIRE_URL"])
    done = subprocess.run(
        ["sh"], input=strict, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=PAGE_SECONDS
    )
    if done.returncode:
        sys.exit(f"{what} failed ({done.returncode}):\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout


def walk(folder: Path, data: Path, page: str) -> None:
    commands = blocks(folder / page)
    with service(folder, data) as env:
        printed = shell(folder, env, "\necho\n".join(commands), page)
    assert '"seq":1' in printed, f"{page}: the first message is not acknowledged"
    assert '"usage":' in printed, f"{page}: there is no window"
    sys.stdout.write(f"{page}: {len(commands)} blocks ran\n")


def demo(folder: Path, data: Path) -> None:
    with service(folder, data) as env:
        printed = shell(folder, env, f".venv/bin/quire demo --url {USUAL}", "the demo")
        link = re.findall(rf"{env['QUIRE_URL']}/ui/conversations/\S+", printed)[-1]
        assert printed.rstrip().endswith(link), "the demo does not end with its link"
        assert httpx.get(link).raise_for_status().text.count("<svg"), "the link shows no window"
    sys.stdout.write(f"the demo ends with {link.replace(env['QUIRE_URL'], USUAL)}\n")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="quire-minutes-", ignore_cleanup_errors=True) as made:
        Path(made).chmod(0o755)  # as root, PostgreSQL runs as another user
        folder = clone(Path(made))
        for number, page in enumerate(PAGES):
            walk(folder, Path(made) / f"data{number}", page)
        demo(folder, Path(made) / "data-demo")
    sys.stdout.write("everything that a newcomer runs works\n")


if __name__ == "__main__":
    main()
