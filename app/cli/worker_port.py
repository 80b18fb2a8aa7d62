"""The port of `quire worker`: a module of its own, since a worker without one does without the API."""

from __future__ import annotations

from app.cli.server import Server, bound, check_database
from app.cli.shared import database_of
from app.main import OPERATIONS, build_app
from app.settings import Settings
from app.signals import Stopping


def work_and_serve(settings: Settings, port: int, hello: str, stopping: Stopping) -> None:
    """Do the jobs and answer at the port until a signal; print ``hello`` with its ``{url}`` once it listens."""
    with bound(settings.quire_host, port, "QUIRE_WORKER_PORT") as sockets, database_of(settings, stopping) as dsn:
        check_database(settings, dsn, stopping)
        app = build_app(settings, dsn, with_worker=True, routers=OPERATIONS)
        Server(app, settings, hello.format).serve_until(stopping, sockets)
