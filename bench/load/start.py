"""`python -m bench.load.start`: CPU seconds of `quire --help`, and of `quire serve` until it listens."""

import os
import resource
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import click
import psutil

QUIRE = str(Path(sys.executable).with_name("quire"))
ROUNDS = 5


def help_seconds() -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([QUIRE, "--help"], stdout=subprocess.DEVNULL, check=True)  # noqa: S603 - our own command
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def serve_seconds(environment: dict[str, str]) -> float:
    """PostgreSQL and its start are other processes, so they do not count."""
    silent = subprocess.DEVNULL
    with subprocess.Popen(  # noqa: S603 - our own command
        [QUIRE, "serve"], env=environment, stdout=subprocess.PIPE, stderr=silent, text=True
    ) as quire:
        assert quire.stdout is not None
        for line in quire.stdout:
            if "/docs" in line:
                break
        process = psutil.Process(quire.pid)
        times = [one.cpu_times() for one in (process, *process.children())]  # it serves in a child
        quire.send_signal(signal.SIGINT)
        quire.wait()
    return sum(one.user + one.system for one in times)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="quire-start-") as folder:
        kept = {n: v for n, v in os.environ.items() if not n.startswith(("QUIRE_", "MEMORY_", "DATABASE_"))}
        environment = {**kept, "QUIRE_DATA_DIR": folder, "QUIRE_PORT": "0"}
        serve_seconds(environment)  # makes the database
        click.echo(f"quire --help: {median(help_seconds() for _ in range(ROUNDS)):.2f} s")
        click.echo(f"quire serve: {median(serve_seconds(environment) for _ in range(ROUNDS)):.2f} s")
        without = {**environment, "MEMORY_EMBEDDING_MODEL": "none"}
        click.echo(f"quire serve without embeddings: {median(serve_seconds(without) for _ in range(ROUNDS)):.2f} s")


if __name__ == "__main__":
    main()
