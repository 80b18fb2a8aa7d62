"""Choose the API that serves a model, by a table of patterns: for deployments in front of several APIs.

The longest pattern that matches a model's name wins; without a match the proxy's own API serves it. A request carries
the services that it came through, so that each of them notices a loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from typing import Any, get_args
from urllib.parse import urlsplit

from app.core.canonical import loads
from app.core.dialects.question import Dialect

VIA, OWN = "Via", "1.1 quire-"
"""The header of RFC 9110, and how services of Quire are named in it."""
SERVICES_MAX = 4
"""Services of Quire that a request can pass: a longer way is a circle whose services have several names."""


@dataclass(frozen=True, slots=True)
class ServedApi:
    base_url: str
    api_key: str | None = None
    dialect: Dialect = "chat"


def sound_url(base_url: str) -> str:
    """Return a valid base URL. Raises ValueError without quoting the URL, which can hold a password."""
    parts = urlsplit(base_url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("the base URL of a provider begins with http:// or https:// and names a host")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("the base URL of a provider has no user, password, query or fragment; the key is set apart")
    return base_url


def read_upstreams(text: str) -> dict[str, ServedApi]:
    """Read the table from JSON. Raises ValueError, which never quotes an API key."""
    given = loads(text or "{}")
    if not isinstance(given, dict):
        raise ValueError("it must be a JSON object of APIs by patterns of models' names")  # noqa: TRY004
    return {pattern: _read(pattern, members) for pattern, members in given.items()}


def _read(pattern: str, members: Any) -> ServedApi:
    names = [member.name for member in fields(ServedApi)]
    if not isinstance(members, dict) or not {"base_url"} <= members.keys() <= set(names):
        raise ValueError(f"{pattern!r} must have `base_url`, and can have `api_key` and `dialect`")
    if not all(isinstance(value, str) and value for value in members.values()):
        raise ValueError(f"each member of {pattern!r} must be a text")
    sound_url(members["base_url"])
    if members.get("dialect", "chat") not in get_args(Dialect):
        raise ValueError(f"`dialect` of {pattern!r} must be {', '.join(get_args(Dialect))}")
    return ServedApi(**members)


def pattern_of(patterns: Iterable[str], model: str) -> str | None:
    return max((one for one in patterns if fnmatchcase(model, one)), key=len, default=None)


def way_of(headers: Mapping[str, str], own: str) -> str | None:
    """Return the ``VIA`` header to send on: the services that a request came through; None if it was here before."""
    names = [name for name in map(str.strip, headers.get(VIA, "").split(",")) if name.startswith(OWN)]
    passed = f"{OWN}{own}"
    return None if passed in names or len(names) >= SERVICES_MAX else ", ".join([*names, passed])
