"""By which names a service is called, and from where.

While no keys are asked for, whoever can send a request may do everything. A web page can make its reader's browser send
one to a service on the reader's machine, by a name of its own that it lets stand for that machine (DNS rebinding); the
request then names that host. So only hosts are served that no page can have: addresses, loopback names, and those that
somebody configured.
"""

from __future__ import annotations

from collections.abc import Collection
from ipaddress import IPv6Address, ip_address

ANY = "*"


def named_in(setting: str, *more: str) -> frozenset[str]:
    """The names of a setting, joined by commas there, and some more."""
    return frozenset(name.strip().lower() for name in (*setting.split(","), *more) if name.strip())


def is_ours(host: str, names: Collection[str]) -> bool:
    """Whether a request with this Host header is for us. A name with a port stands for that port alone."""
    given = host.strip().lower()
    bare = _without_port(given).rstrip(".")
    if ANY in names or given in names or bare in names:
        return True
    return bare == "localhost" or bare.endswith(".localhost") or _is_address(bare)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens there."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host == "localhost"
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def neighbourhood(address: str) -> str:
    """Where a client asks from, as limits see it: a household has a whole /64 of IPv6."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address[:64]
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is None:
        return parsed.exploded[:19]
    return str(getattr(parsed, "ipv4_mapped", None) or parsed)


def _without_port(host: str) -> str:
    if host.startswith("["):
        name, bracket, _ = host.partition("]")
        return name + bracket
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() else host


def _is_address(host: str) -> bool:
    try:
        ip_address(host[1:-1] if host.startswith("[") and host.endswith("]") else host)
    except ValueError:
        return False
    return True
