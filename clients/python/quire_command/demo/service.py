"""A Quire for the demo: the running one, or one started for it."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx

START_SECONDS = 60


class NotStartedError(Exception):
    """The demo's own service did not start; the text is its output."""


@contextmanager
def some_service(url: str) -> Iterator[str]:
    """Yield the URL of a Quire: the given one if it answers, else one started for the block on an empty database."""
    if _is_ready(url):
        yield url
        return
    with own_service({}) as own:
        yield own


@contextmanager
def own_service(changes: Mapping[str, str]) -> Iterator[str]:
    """Yield the URL of a Quire on an empty database, which is thrown away; ``changes`` to the environment."""
    with _folder() as folder, (folder / "log").open("wb") as log:
        port = _free_port()
        settings = {"QUIRE_DATA_DIR": str(folder), "QUIRE_PORT": str(port), "QUIRE_LOG_LEVEL": "warning"}
        process = subprocess.Popen(
            [sys.executable, "-m", "app", "serve"], env={**os.environ, **settings, **changes}, stdout=log, stderr=log
        )
        try:
            own = f"http://127.0.0.1:{port}"
            _wait(own, process, folder / "log")
            yield own
        finally:
            process.terminate()
            process.wait()


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="quire-demo-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz", timeout=5).is_success
    except httpx.TransportError:
        return False


def _wait(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not _is_ready(url):
        if process.poll() is not None or time.monotonic() > deadline:
            raise NotStartedError(log.read_text(errors="replace")[-2000:])
        time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
