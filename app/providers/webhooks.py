"""Deliver webhooks, to public addresses only.

The address is judged when it is connected to, so neither a name nor a redirect can lead elsewhere: redirects are not
followed, and a name is resolved once for both judgement and connection.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Iterable, Mapping
from typing import Any

import certifi
import httpcore

from app.core.edge.addresses import is_public
from app.providers import RefusedInput, UndeliveredError

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 10.0
CONNECTIONS_MAX = 24
OK = range(200, 300)
FAILURES = (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError)
GONE = 410
PRIVATE = "its address is not one of the internet; QUIRE_WEBHOOK_PRIVATE_ADDRESSES allows it"


class _Guarded(httpcore.AsyncNetworkBackend):
    """Connects only to addresses that it has judged."""

    def __init__(self, *, allows_private: bool) -> None:
        self._inner = httpcore.AnyIOBackend()
        self._allows_private = allows_private

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's interface
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        address = await _resolved(host, port, allows_private=self._allows_private)
        return await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)


async def _resolved(host: str, port: int, *, allows_private: bool) -> str:
    """Return an address of a host. All its addresses must be allowed, so that their order cannot matter.

    Raises UndeliveredError, or ConnectError where it has none.
    """
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, TimeoutError):
        raise httpcore.ConnectError("its host has no address") from None
    addresses = [str(one[4][0]) for one in found]
    if not allows_private and not all(map(is_public, addresses)):
        raise UndeliveredError(f"the webhook was not sent: {PRIVATE}")
    return addresses[0]


class WebhookSender:
    """Sends webhooks, each attempt bounded in time."""

    def __init__(self, *, allows_private: bool) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=ssl.create_default_context(cafile=certifi.where()), max_connections=CONNECTIONS_MAX,
            max_keepalive_connections=0, network_backend=_Guarded(allows_private=allows_private),
        )  # fmt: skip

    async def send(self, url: str, headers: Mapping[str, str], text: str) -> None:
        """Deliver a body. Raises UndeliveredError, or RefusedInput from a receiver that wants no more."""
        timeouts = dict.fromkeys(("connect", "read", "write", "pool"), ANSWER_SECONDS)
        try:
            async with (
                asyncio.timeout(ANSWER_SECONDS + CONNECT_SECONDS),
                self._pool.stream(
                    "POST", url, headers=list(headers.items()), content=text.encode(), extensions={"timeout": timeouts}
                ) as response,
            ):
                status = response.status
        except (*FAILURES, TimeoutError, OSError) as error:
            raise UndeliveredError(f"the webhook was not delivered: {type(error).__name__}") from None
        except httpcore.UnsupportedProtocol:
            raise UndeliveredError("the webhook's URL is not one of HTTP") from None
        if status == GONE:
            raise RefusedInput("the webhook's receiver answered 410: it wants no more")
        if status not in OK:
            raise UndeliveredError(f"the webhook's receiver answered {status}")

    async def close(self) -> None:
        await self._pool.aclose()
