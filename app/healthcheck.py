"""Health check for containers: `python -m app.healthcheck api`, `python -m app.healthcheck worker`.

Checks that the API is ready, or that a worker is alive (at its QUIRE_WORKER_PORT). Standard library only, so that the
check costs no more than starting an interpreter.
"""

from __future__ import annotations

import os
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping

ANSWER_SECONDS = 4.0
ANYWHERE = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - it is asked, not listened on


def url(host: str, port: str, path: str) -> str:
    """Return the address at which this machine reaches a server that listens on ``host``."""
    address = ANYWHERE.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{address}:{port}{path}"


def trouble(address: str) -> str | None:
    """Return why the address is unhealthy, or None if it is healthy."""
    try:
        urllib.request.urlopen(address, timeout=ANSWER_SECONDS).close()  # noqa: S310 - an address of our own settings
    except urllib.error.HTTPError as error:
        return f"{address} answers {error.code}: {error.read(2000).decode(errors='replace')}"
    except (OSError, ValueError) as error:
        return f"{address} does not answer: {error}"
    return None


def main(arguments: list[str], environment: Mapping[str, str]) -> int:
    """Return 0 if healthy, 1 if not (stderr gives the reason), 2 if there is nothing to check."""
    host = environment.get("QUIRE_HOST") or "127.0.0.1"
    match arguments, environment.get("QUIRE_WORKER_PORT"):
        case ["api"], _:
            problem = trouble(url(host, environment.get("QUIRE_PORT") or "8000", "/readyz"))
        case ["worker"], str(port) if port:
            problem = trouble(url(host, port, "/healthz"))
        case _:
            sys.stderr.write("python -m app.healthcheck api, or worker with QUIRE_WORKER_PORT set\n")
            return 2
    if problem:
        sys.stderr.write(f"{problem}\n")
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
