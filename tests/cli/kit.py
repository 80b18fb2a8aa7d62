"""Run commands: in this process, which is quick, or as processes of their own."""

import logging
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import psutil
import pytest
from click.testing import CliRunner, Result

from app.cli import main
from app.postgres import folder_permissions

QUIRE = [sys.executable, "-m", "app"]


def settings_of(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(("QUIRE_", "MEMORY_", "DATABASE_"))}


def invoke(env: Mapping[str, str], *arguments: str, stdin: str | None = None) -> Result:
    """Run a command in this process, with no settings but those of ``env``."""
    unset: dict[str, str | None] = dict.fromkeys(settings_of(os.environ))
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        return CliRunner().invoke(main, arguments, input=stdin, env={**unset, **settings_of(env)})
    finally:  # the command's handler writes to the runner's streams, which are closed now
        root.handlers[:] = handlers
        root.setLevel(level)


def quire(env: Mapping[str, str], *arguments: str) -> str:
    """What a command prints that succeeds."""
    done = invoke(env, *arguments)
    assert done.exit_code == 0, done.output
    return done.stdout.strip()


@contextmanager
def own_environment() -> Iterator[dict[str, str]]:
    """The environment of a service with an empty folder and a free port; at the end no process is left of it."""
    folder = Path(tempfile.mkdtemp(prefix="quire-cli-"))
    folder_permissions.make_passable(folder)
    kept = {name: value for name, value in os.environ.items() if name not in settings_of(os.environ)}
    yield {**kept, "QUIRE_DATA_DIR": str(folder), "QUIRE_PORT": "0", "MEMORY_EMBEDDING_MODEL": "none"}
    left = {
        process: command
        for process in psutil.process_iter(["cmdline"])
        if str(folder) in (command := " ".join(process.info["cmdline"] or ()))
    }
    for process in left:
        process.kill()
    shutil.rmtree(folder)
    assert not left, left.values()


@pytest.fixture
def environment() -> Iterator[dict[str, str]]:
    with own_environment() as found:
        yield found


@contextmanager
def running(command: str, environment: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [*QUIRE, command], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def read_until(stream: IO[str] | None, wanted: str) -> str:
    """Return what was printed up to the line that holds the wanted words."""
    assert stream is not None
    printed = ""
    for line in stream:
        printed += line
        if wanted in line:
            return printed
    raise AssertionError(f"it ended without saying {wanted!r}: {printed}")


def url_of(process: subprocess.Popen[str]) -> str:
    return url_in(read_until(process.stdout, "Ctrl-C stops it"))


def url_in(hello: str) -> str:
    assert "/conversations/demo/messages -H 'content-type: application/json'" in hello
    return hello.split("/docs", maxsplit=1)[0].rsplit(maxsplit=1)[-1]


def refused(env: Mapping[str, str], *arguments: str) -> str:
    """Return what a command that must fail, in one sentence, writes to stderr."""
    done = invoke(env, *arguments)
    assert done.exit_code == 1, done.output
    assert isinstance(done.exception, SystemExit), done.exception
    assert "Error: " in done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr
