"""Addresses that webhooks can be sent to."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

URL_MAX = 2_000
NAT64 = IPv6Network("64:ff9b::/96")
"""Addresses that stand for an IPv4 address, which is in their last four bytes."""


def is_public(address: str) -> bool:
    """Return whether an IP address is public: not loopback, link-local, private, shared or reserved.

    An IPv6 address that embeds an IPv4 address is judged by that one.
    """
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, IPv6Address):
        inner = _inner(found)
        if inner is not None:
            return is_public(str(inner))
    return found.is_global and not found.is_multicast and not found.is_reserved


def _inner(address: IPv6Address) -> IPv4Address | None:
    if address in NAT64:
        return IPv4Address(address.packed[-4:])
    if int(address) >> 32 == 0 and int(address) > 1:  # "IPv4-compatible"
        return IPv4Address(address.packed[-4:])
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)


def url_problem(url: str) -> str | None:
    """Return what is wrong with a webhook's URL, apart from what its host resolves to; None if nothing is."""
    if len(url) > URL_MAX or not url.isascii() or not url.isprintable() or " " in url:
        return f"must be a URL of at most {URL_MAX} ASCII characters"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "must be a URL"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return "must begin with https:// or http:// and name a host"
    if port == 0:
        return "must have a port from 1 to 65535"
    if parts.username is not None or parts.password is not None:
        return "must not contain a user or password"
    return "must not have a fragment" if parts.fragment else None
