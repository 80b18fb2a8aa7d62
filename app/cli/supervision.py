"""Serve in a child process, and start another one at once if it crashes.

`quire serve` with its own database is two processes: the parent holds the sockets and PostgreSQL, the child does the
rest. A child is a fork of a process that has imported everything, so it listens after a fraction of a second, and
connections wait for it in the sockets' backlog. The parent also starts PostgreSQL again if it crashed. A child whose
parent dies dies too, so that another `quire serve` can start.
"""

from __future__ import annotations

import logging
import mmap
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import click

from app.core.edge.restarts import pause_seconds, quick_ends
from app.main import freeze_gc
from app.postgres import embedded
from app.postgres.programs import EmbeddedPostgresError
from app.signals import Stopping

LOOK_SECONDS = 0.1
"""Between two looks at the child and at PostgreSQL."""

_logger = logging.getLogger(__name__)


class Served:
    """A byte that parent and children share: it says that a child has listened."""

    def __init__(self) -> None:
        self._byte = mmap.mmap(-1, 1)

    def __bool__(self) -> bool:
        return self._byte[0] > 0

    def set(self) -> None:
        self._byte[0] = 1


@dataclass
class _Attempts:
    """Starts of one thing that keeps crashing."""

    quick: int = 0
    begun: float = 0.0

    def pause(self) -> float:
        """Return how long to wait before the next start, after an end now."""
        self.quick = quick_ends(self.quick, time.monotonic() - self.begun)
        return pause_seconds(self.quick)


def supervise(
    serve: Callable[[], object], served: Served, stopping: Stopping, sockets: Sequence[socket.socket], data_dir: Path
) -> None:
    """Run ``serve`` in children until one ends by itself or a signal comes.

    If none ever served, exits with the code of the first.
    """
    freeze_gc()
    lifeline = os.pipe()
    watch = _Postgres(data_dir, stopping)
    attempts = _Attempts()
    while True:
        stopping.check()
        attempts.begun = time.monotonic()
        pid = _fork(serve, lifeline)
        code = _wait(pid, stopping, sockets, watch)
        if stopping.is_told or code == 0:
            return
        if not served:
            raise SystemExit(code if code > 0 else 128 - code)
        _logger.error("the serving process %d ended (%s) and is started again", pid, _reason(code))
        _sleep(attempts.pause(), stopping)


def _reason(code: int) -> str:
    return f"exit code {code}" if code > 0 else f"signal {-code}"


def _wait(pid: int, stopping: Stopping, sockets: Sequence[socket.socket], watch: _Postgres) -> int:
    """Return the exit code of a child, negative for a signal; tell it to stop when this process is told.

    From then on the sockets are closed here too, so that new connections are refused and do not wait in vain.
    """

    def stop() -> None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)

    with stopping.telling(stop):
        while True:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            if stopping.is_told:
                for own in sockets:
                    own.close()
            watch.look()
            time.sleep(LOOK_SECONDS)


def _sleep(seconds: float, stopping: Stopping) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until and not stopping.is_told:
        time.sleep(LOOK_SECONDS)


class _Postgres:
    """The embedded server, started again after a crash; after repeated failures with pauses."""

    def __init__(self, data_dir: Path, stopping: Stopping) -> None:
        self._data_dir = data_dir
        self._stopping = stopping
        self._attempts = _Attempts()
        self._due = 0.0

    def look(self) -> None:
        if self._stopping.is_told or time.monotonic() < self._due or not embedded.has_crashed(self._data_dir):
            return
        self._due = time.monotonic() + self._attempts.pause()
        self._attempts.begun = time.monotonic()
        try:
            embedded.revive(self._data_dir)
        except (EmbeddedPostgresError, OSError) as error:
            _logger.critical("PostgreSQL crashed and cannot be started: %s", error)
        else:
            _logger.error("PostgreSQL crashed and was started again")


# --- The child --------------------------------------------------------------------------------------


def _fork(serve: Callable[[], object], lifeline: tuple[int, int]) -> int:
    """Return the id of a child that serves. Nothing runs in other threads of this process."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        _be_child(serve, lifeline)
    return pid


def _be_child(serve: Callable[[], object], lifeline: tuple[int, int]) -> NoReturn:
    """Serve and end. What the parent opened is the parent's to close, so nothing is unwound."""
    code = 1
    try:
        reading, writing = lifeline
        os.close(writing)
        threading.Thread(target=_die_with_parent, args=(reading,), daemon=True).start()
        serve()
        code = 0
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:  # noqa: BLE001 - reported as the interpreter would
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _die_with_parent(lifeline: int) -> None:
    """End at once when the parent has ended: it alone holds the other end of the pipe."""
    os.read(lifeline, 1)
    os.kill(os.getpid(), signal.SIGKILL)
