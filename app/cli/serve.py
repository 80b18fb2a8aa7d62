"""`quire serve`."""

from __future__ import annotations

from functools import partial

import click
from uvicorn.config import STARTUP_FAILURE

from app import heap
from app.cli.server import Server, bound, check_database
from app.cli.shared import database_of, read_settings, warn_of_misspelt_settings
from app.main import build_app
from app.settings import Settings
from app.signals import stop_on_signals

WELCOME = """\
Quire is up. See what a model sees at {url}/ui and try the API at {url}/docs
Store a message: curl -s -X POST {url}/conversations/demo/messages -H 'content-type: application/json'{header} \
-d '{{"user_id":"me","messages":[{{"role":"user","content":"Hello"}}]}}'
{door} {where}Ctrl-C stops it."""
KEY_HEADER = ' -H "Authorization: Bearer $QUIRE_KEY"'
KEYS_NEEDED = "Every request needs an API key (`quire keys create`)."
NO_KEYS = "No API keys yet: anyone who can reach this address has full access (`quire keys create`)."


@click.command()
@click.option("--host", help="Address to listen on, instead of QUIRE_HOST.")
@click.option("--port", type=int, help="Port to listen on, instead of QUIRE_PORT; 0 picks a free one.")
def serve(host: str | None, port: int | None) -> None:
    """Serve the API and do its jobs, with a database of its own unless DATABASE_URL is set."""
    heap.share()
    settings = read_settings(quire_host=host, quire_port=port)
    warn_of_misspelt_settings()
    with (
        stop_on_signals() as stopping,
        bound(settings.quire_host, settings.quire_port, "QUIRE_PORT (or --port)") as sockets,
        database_of(settings, stopping) as dsn,
    ):
        needs_key = check_database(settings, dsn, stopping)
        app = build_app(settings, dsn, with_worker=settings.quire_worker)
        server = Server(app, settings, partial(_welcome, settings, needs_key))
        server.serve_until(stopping, sockets)
        if not server.started:
            raise SystemExit(STARTUP_FAILURE)


def _welcome(settings: Settings, needs_key: bool, *, url: str) -> str:
    where = f"The data is in {settings.quire_data_dir}. " if settings.database_url is None else ""
    header, door = (KEY_HEADER, KEYS_NEEDED) if needs_key else ("", NO_KEYS)
    return WELCOME.format(url=url, where=where, header=header, door=door)
