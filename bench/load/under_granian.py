"""The yardstick, or Quire, under Granian: `python -m bench.load.under_granian [DSN FILE]`, Quire if nothing is given.

As under uvicorn: one process that serves, uvloop, HTTP/1.1, no access log. For the benchmark only: nobody who sends or
reads too slowly is let go of, since Quire does that in uvicorn's protocol (`app/api/http/deadlines.py`).
"""

from __future__ import annotations

import socket
import sys
import time
from contextlib import suppress
from threading import Thread

from granian import Granian
from granian.constants import HTTPModes, Interfaces, Loops
from starlette.types import ASGIApp

from app import heap
from app.main import build_app
from app.settings import Settings
from bench.load import bare

POLL_SECONDS = 0.05


def main() -> None:
    with socket.socket() as kept:  # bound and not listening: it keeps the port, which workers bind themselves
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        kept.bind(("127.0.0.1", 0))
        port = kept.getsockname()[1]
        Thread(target=_say_when_up, args=(port,), daemon=True).start()
        server = Granian(
            "bench", port=port, interface=Interfaces.ASGI, loop=Loops.uvloop, http=HTTPModes.http1, websockets=False,
            log_enabled=False,
        )  # fmt: skip
        server.serve(target_loader=_loaded, wrap_loader=False)


def _loaded() -> ASGIApp:
    """Load the application in the worker's process."""
    if arguments := sys.argv[1:]:
        return bare.create_app(arguments[0], bare.read(arguments[1]))
    settings = Settings()
    assert settings.database_url is not None
    app = build_app(settings, settings.database_url)
    heap.freeze()
    return app


def _say_when_up(port: int) -> None:
    while True:
        with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
            break
        time.sleep(POLL_SECONDS)
    print(f"http://127.0.0.1:{port}", flush=True)  # noqa: T201 - read by who started it


if __name__ == "__main__":
    main()
