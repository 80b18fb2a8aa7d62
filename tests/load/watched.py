"""`quire serve` on an event loop that says which of its steps held it up: see tests/probes.py.

As a process of its own, so that who calls it is not in it::

    python -m tests.load.watched     the environment says the settings, with DATABASE_URL

It says its URL, and serves until its input ends; then it says the steps that were too long, a JSON object a line.
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
    """That of `quire serve`. Nobody waits for it before it listens, so what comes before does not count."""

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
