"""`python -m bench.load.start`: CPU seconds of `quire --help`; of `quire serve`, CPU seconds until it listens and memory
then and after 300 messages are indexed, at its first start and at a later one, with the local model and without.
"""

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

from bench.harness import Api
from bench.load.sizes import until_idle
from bench.words import history

QUIRE = str(Path(sys.executable).with_name("quire"))
ROUNDS = 5
MESSAGES = 300


def help_seconds() -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([QUIRE, "--help"], stdout=subprocess.DEVNULL, check=True)  # noqa: S603 - our own command
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def served(environment: dict[str, str], conversation: str) -> str:
    """Return the cost of a start. PostgreSQL and its start are other processes and do not count."""
    silent = subprocess.DEVNULL
    with subprocess.Popen(  # noqa: S603 - our own command
        [QUIRE, "serve"], env=environment, stdout=subprocess.PIPE, stderr=silent, text=True
    ) as quire:
        assert quire.stdout is not None
        port = next(int(line.split("/ui")[0].rsplit(":", 1)[1]) for line in quire.stdout if "/ui" in line)
        process = psutil.Process(quire.pid)
        used, listening = process.cpu_times(), process.memory_info().rss
        api = Api(port)
        api.append(conversation, history(MESSAGES, MESSAGES))
        until_idle(api)
        indexed = process.memory_info().rss
        quire.send_signal(signal.SIGINT)
        quire.wait()
    return (
        f"{used.user + used.system:.2f} s, {listening / 1e6:.0f} MB, {indexed / 1e6:.0f} MB after {MESSAGES} messages"
    )


def main() -> None:
    click.echo(f"quire --help: {median(help_seconds() for _ in range(ROUNDS)):.2f} s")
    kept = {n: v for n, v in os.environ.items() if not n.startswith(("QUIRE_", "MEMORY_", "DATABASE_"))}
    for model, more in (("the local model", {}), ("no embeddings", {"MEMORY_EMBEDDING_MODEL": "none"})):
        with tempfile.TemporaryDirectory(prefix="quire-start-") as folder:
            environment = {**kept, "QUIRE_DATA_DIR": folder, "QUIRE_PORT": "0", **more}
            for start in ("first", "second", "third"):
                click.echo(f"quire serve, {model}, {start} start: {served(environment, start)}")


if __name__ == "__main__":
    main()
