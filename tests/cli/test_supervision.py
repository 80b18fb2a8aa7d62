"""`quire serve` with its own database starts again whatever crashes, and leaves nothing behind."""

import subprocess
import sys
from pathlib import Path

import httpx
import psutil
import pytest

from tests.cli.kit import environment, read_until, running, url_of
from tests.conftest import wait_for

pytestmark = pytest.mark.slow

__all__ = ["environment"]

PROGRAM = """
import pathlib, signal, os, sys
from app.cli.supervision import Served, supervise
from app.signals import stop_on_signals
served = Served()
def serve():
    {serve}
with stop_on_signals() as stopping:
    supervise(serve, served, stopping, [], pathlib.Path({folder!r}))
"""


def child_of(process: "subprocess.Popen[str]") -> psutil.Process:
    [child] = psutil.Process(process.pid).children()
    return child


def messages(client: httpx.Client) -> int:
    return int(client.get("/conversations/c").raise_for_status().json()["messages"])


def test_a_killed_serving_process_is_replaced_and_callers_wait_for_it(environment: dict[str, str]) -> None:
    said = {"user_id": "u", "messages": [{"role": "user", "content": "Hello"}]}
    with running("serve", environment) as process, httpx.Client(base_url=url_of(process), timeout=60) as client:
        for number in range(1, 4):
            client.post("/conversations/c/messages", json=said).raise_for_status()
            child_of(process).kill()
            with httpx.Client(base_url=client.base_url, timeout=60) as anew:  # its connection waits in the backlog
                assert messages(anew) == number
            read_until(process.stdout, "Quire is up again")
        process.terminate()
        assert process.wait(timeout=60) == 0


def test_a_killed_postgresql_is_started_again(environment: dict[str, str]) -> None:
    pid_file = Path(environment["QUIRE_DATA_DIR"]) / "postgres" / "cluster" / "postmaster.pid"
    said = {"user_id": "u", "messages": [{"role": "user", "content": "Hello"}]}
    with running("serve", environment) as process, httpx.Client(base_url=url_of(process), timeout=60) as client:
        client.post("/conversations/c/messages", json=said).raise_for_status()
        child = child_of(process)
        psutil.Process(int(pid_file.read_text().split()[0])).kill()
        read_until(process.stderr, "PostgreSQL crashed and was started again")
        wait_for(lambda: client.get("/readyz").status_code == 200)
        assert messages(client) == 1
        assert child_of(process) == child
        process.terminate()
        assert process.wait(timeout=60) == 0


def test_the_serving_process_dies_with_its_parent(environment: dict[str, str]) -> None:
    with running("serve", environment) as process:
        url_of(process)
        child = child_of(process)
        process.kill()
        wait_for(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)
    with running("serve", environment) as process:  # joins the database, and stops it
        url_of(process)
        process.terminate()
        assert process.wait(timeout=60) == 0


@pytest.mark.parametrize(
    ("serve", "code"),
    [
        ("sys.exit(7)", 7),
        ("os.kill(os.getpid(), signal.SIGKILL)", 137),
        ("1 / 0", 1),
        ("pass", 0),
        ("served or served.set() or sys.exit(7)", 0),  # the second time it ends well
    ],
)
def test_the_exit_code_is_that_of_a_child_that_never_served(tmp_path: Path, serve: str, code: int) -> None:
    program = PROGRAM.format(serve=serve, folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == code, done.stderr
    assert ("is started again" in done.stderr) == ("served.set()" in serve)
