"""What a container's health check asks: `python -m app.healthcheck api`, `python -m app.healthcheck worker`.

The API is asked whether it is ready; a worker, at its QUIRE_WORKER_PORT, whether it lives. Standard library only, so
that the check costs no more than an interpreter.
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
    """Where what listens on ``host`` is asked from the same machine."""
    found = ANYWHERE.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{found}:{port}{path}"


def trouble(address: str) -> str | None:
    """Why the address is not well; None if it is."""
    try:
        urllib.request.urlopen(address, timeout=ANSWER_SECONDS).close()  # noqa: S310 - an address of our own settings
    except urllib.error.HTTPError as error:
        return f"{address} answers {error.code}: {error.read(2000).decode(errors='replace')}"
    except (OSError, ValueError) as error:
        return f"{address} does not answer: {error}"
    return None


def main(arguments: list[str], environment: Mapping[str, str]) -> int:
    """0: it is well; 1: it is not, and stderr says why; 2: there is nothing to ask."""
    host = environment.get("QUIRE_HOST") or "127.0.0.1"
    match arguments, environment.get("QUIRE_WORKER_PORT"):
        case ["api"], _:
            found = trouble(url(host, environment.get("QUIRE_PORT") or "8000", "/readyz"))
        case ["worker"], str(port) if port:
            found = trouble(url(host, port, "/healthz"))
        case _:
            sys.stderr.write("python -m app.healthcheck api, or worker with QUIRE_WORKER_PORT set\n")
            return 2
    if found:
        sys.stderr.write(f"{found}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
