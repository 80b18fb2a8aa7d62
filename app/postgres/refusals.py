"""Explain why a database cannot be used, naming its host and never its password."""

from __future__ import annotations

import socket
from typing import Final
from urllib.parse import parse_qs, urlsplit

import asyncpg

CONNECT_SECONDS: Final = 5.0
"""Time limit for opening a connection."""

KINDS: Final = (OSError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
"""The exceptions that opening a connection can raise."""


def why_not(error: Exception, dsn: str) -> str:
    """Return why there is no connection, without anything that could be a password."""
    return next(words for kinds, words in WHY_NOT if isinstance(error, kinds)).format(
        where=_place(dsn), kind=type(error).__name__, seconds=CONNECT_SECONDS
    )


WHY_NOT: Final = (
    (
        (asyncpg.InvalidPasswordError, asyncpg.InvalidAuthorizationSpecificationError),
        "{where} rejects the role or its password.",
    ),
    (asyncpg.InvalidCatalogNameError, "{where} has no database of this name."),
    (asyncpg.TooManyConnectionsError, "{where} has no free connections."),
    (ConnectionRefusedError, "Nothing listens at {where}."),
    (socket.gaierror, "The host name of {where} cannot be resolved."),
    (TimeoutError, "{where} did not answer within {seconds:.0f} s."),
    (Exception, "{where} cannot be used ({kind})."),
)


def _place(dsn: str) -> str:
    try:
        parts = urlsplit(dsn)
        port = parts.port or 5432
    except ValueError:
        return "The database"
    host = parts.hostname or next(iter(parse_qs(parts.query).get("host", ())), None)
    if host is None:
        return "The database"
    return f"{host}:{port}" if not host.startswith("/") else f"{host} (a socket)"
