"""The HTTP server of `quire serve` and `quire worker`: sockets, security checks, start and stop."""

from __future__ import annotations

import errno
import logging
import os
import resource
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import click
import uvicorn
from fastapi import FastAPI

from app import heap
from app.api.http.deadlines import impatient
from app.assembly import access
from app.cli.shared import connected, errors_in_words
from app.core.edge.hosts import is_loopback
from app.core.messages import Limits
from app.postgres.tenants import is_keyed
from app.settings import Settings, taken
from app.signals import Stopping
from app.text import tokens

_logger = logging.getLogger(__name__)

GRACEFUL_SECONDS = 5
KEEP_ALIVE_SECONDS = 75
"""Of a connection between two requests: longer than load balancers and clients keep one, 60 as a rule. Who closes it
first can close it on a request that is under way.
"""
NOT_HERE = {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}
"""Errors of binding to several addresses of a name if this machine lacks some of them."""


LOOK_TICKS = 50
DESCRIPTORS_LEFT_MIN = 32


def descriptors_low() -> str:
    """Return a warning if file descriptors are running out, else "". Where /proc is missing nothing is known."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    try:
        used = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - it is counted, and quickly
    except FileNotFoundError:
        return ""
    except OSError as error:
        if error.errno not in (errno.EMFILE, errno.ENFILE):
            return ""
        used = most
    if most - used >= DESCRIPTORS_LEFT_MIN:
        return ""
    return (
        f"{used} of {most} file descriptors are in use: new connections are refused when none is left."
        " Raise the limit (`ulimit -n`, LimitNOFILE in systemd)."
    )


@contextmanager
def bound(host: str, port: int, setting: str) -> Iterator[list[socket.socket]]:
    """Yield sockets that are bound but not listening, so that a port in use is found before anything starts.

    ``setting`` is the name of the port's setting. Raises ClickException.
    """
    with ExitStack() as opened:
        try:
            sockets = _bound(host, port, opened)
        except OSError as error:
            raise click.ClickException(why_not(error, host, port, setting)) from error
        yield sockets


def _bound(host: str, port: int, opened: ExitStack) -> list[socket.socket]:
    sockets, away = [], None
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    for family, _, _, _, address in dict.fromkeys(addresses):
        try:
            own = opened.enter_context(socket.socket(family, socket.SOCK_STREAM))
            own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                own.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            own.bind(address)
        except OSError as error:
            if error.errno not in NOT_HERE:
                raise
            away = error
        else:
            sockets.append(own)
    if not sockets and away is not None:
        raise away
    return sockets


def why_not(error: OSError, host: str, port: int, setting: str) -> str:
    """Explain why nothing can listen there, and what to change."""
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} of {host} is in use. Stop what listens there, or set {setting} to another port (0: any)."
    if error.errno == errno.EACCES:
        return f"Port {port} of {host} is reserved. Set {setting} to a port from 1024 on."
    return f"Cannot listen on {host}: {error.strerror}. Set QUIRE_HOST to an address of this machine."


def check_database(settings: Settings, dsn: str, stopping: Stopping) -> bool:
    """Return whether callers need a key. Raises ClickException for an unsafe database or an open door.

    Uvicorn, which starts next, could only report these as a traceback.
    """

    async def ask() -> bool:
        async with connected(settings, dsn) as database:
            return await is_keyed(database)

    rules = access(settings)
    with errors_in_words():
        tokens.install(settings.quire_data_dir / "vocabularies")
        needs_key = stopping.run(ask()) or rules.requires_keys
    if not needs_key and not is_loopback(rules.host) and not rules.allows_unauthenticated:
        raise click.ClickException(
            f"QUIRE_HOST={settings.quire_host} can be reached from other machines and there are no API keys."
            " Make one with `quire keys create`, set QUIRE_REQUIRE_KEYS=true, listen on 127.0.0.1, or set"
            " QUIRE_ALLOW_UNAUTHENTICATED=true if something in front checks callers."
        )
    return needs_key


class Server(uvicorn.Server):
    """A uvicorn server that prints a greeting, ``hello(url)``, once it listens."""

    def __init__(self, app: FastAPI, settings: Settings, hello: Callable[..., str]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                loop="uvloop",
                **impatient(settings.quire_header_seconds, settings.quire_body_seconds, settings.quire_reading_seconds),
                ws_max_size=taken(settings, Limits).body_bytes,
                lifespan="on",
                log_config=None,
                log_level="debug" if settings.quire_log_level == "debug" else "warning",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=GRACEFUL_SECONDS,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
            )
        )
        self._hello = hello

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening; if the port is 0, it is known only from here on."""
        for own in sockets or ():
            try:
                own.listen(self.config.backlog)  # uvloop, which does so again, would not say that it failed
            except OSError as error:  # another process listens there since the port was bound
                raise click.ClickException(f"Cannot listen: {error.strerror}.") from error
        await super().startup(sockets)
        if not self.started:
            return
        heap.freeze()
        host, port = self.servers[0].sockets[0].getsockname()[:2]
        click.echo(self._hello(url=f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"))

    async def on_tick(self, counter: int) -> bool:
        """Do as uvicorn does ten times a second, and look at the descriptors every five seconds."""
        if counter % LOOK_TICKS == 0 and (words := descriptors_low()):
            _logger.error(words)
        return await super().on_tick(counter)

    def serve_until(self, stopping: Stopping, sockets: list[socket.socket]) -> None:
        """Serve until a signal. Uvicorn handles SIGINT and SIGTERM while it serves and raises them again afterwards."""

        def stop() -> None:
            self.should_exit = True

        stopping.check()
        with stopping.telling(stop):
            self.run(sockets)
