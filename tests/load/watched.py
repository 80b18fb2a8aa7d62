"""`quire serve` on an event loop that reports its long steps: see tests/probes.py.

It is a separate process, so that its caller does not run in it::

    python -m tests.load.watched     the environment holds the settings, with DATABASE_URL

It prints its URL, and serves until its input ends. Then it prints the steps that were too long, a JSON object a line.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import threading
from dataclasses import asdict

import click
from fastapi import FastAPI

from app.cli.server import Server, bound
from app.main import build_app
from app.settings import Settings
from app.telemetry import logs
from tests.probes import Named, WatchedLoop


def main() -> None:
    settings = Settings()
    assert settings.database_url is not None
    logs.set_up(settings.quire_log_level, settings.quire_log_format)
    app = build_app(settings, settings.database_url, with_worker=True)
    app.add_middleware(Named)
    with asyncio.Runner(loop_factory=WatchedLoop) as runner, bound("127.0.0.1", 0, "QUIRE_PORT") as sockets:
        loop = runner.get_loop()
        assert isinstance(loop, WatchedLoop)
        server = _Server(app, settings, loop)
        threading.Thread(target=server.stop_at_end_of_input, daemon=True).start()
        runner.run(server.serve(sockets))
        for step in loop.found:
            click.echo(json.dumps(asdict(step)))


class _Server(Server):
    """The server of `quire serve`. Steps before it listens do not count, because nobody waits for them."""

    def __init__(self, app: FastAPI, settings: Settings, loop: WatchedLoop) -> None:
        super().__init__(app, settings, "{url}".format)
        self._watched = loop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        await asyncio.sleep(0)
        self._watched.found.clear()

    def stop_at_end_of_input(self) -> None:
        sys.stdin.read()
        self.should_exit = True


if __name__ == "__main__":
    main()
