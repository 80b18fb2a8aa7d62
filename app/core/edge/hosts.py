"""Check the host names and the addresses of requests.

While no keys are required, anyone who can send a request has full access. A web page can make its visitor's browser
send one to a service on the visitor's machine, under a host name that it points at that machine (DNS rebinding); the
request then carries that name. So only hosts are served that no web page can own: addresses, loopback names and
configured names.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv6Address, ip_address

ANY = "*"


@lru_cache(1_000)
def named_in(setting: str, *more: str) -> frozenset[str]:
    """Return the comma-separated names of a setting, and ``more``."""
    return frozenset(name.strip().lower() for name in (*setting.split(","), *more) if name.strip())


@lru_cache(1_000)
def is_ours(host: str, names: frozenset[str]) -> bool:
    """Return whether this service answers to a Host header. A name with a port stands for that port only."""
    given = host.strip().lower()
    bare = _without_port(given).rstrip(".")
    if ANY in names or given in names or bare in names:
        return True
    return bare == "localhost" or bare.endswith(".localhost") or _is_address(bare)


@lru_cache(1_000)
def is_loopback(host: str) -> bool:
    """Return whether a listening address is reachable from this machine only."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host == "localhost"
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def neighbourhood(address: str) -> str:
    """Return a client's network, for rate limits: in IPv6 the /64, because each household has one."""
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
