"""The process of a peer: `python -m bench.peers.peer NAME VARIANT DSN URL`, NAME the end of a module `bench.peers.peer_NAME`.

It may be another interpreter's, with other packages than Quire's: here and in those modules only the standard library
and the peer's own packages are imported.

The first line that it prints says what is there: versions, or what is missing. From then on it reads jobs from
standard input, a JSON object a line, and answers each with a line: latencies in seconds, how many messages or
memories the last request came to, and those themselves where the operation returns them.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from importlib.metadata import version
from typing import IO, Any, Protocol

Json = dict[str, Any]
Operation = Callable[[str, Any], Awaitable[int | list[Json]]]
"""Takes the target and the body. Returns the messages or memories, or their number."""


class Library(Protocol):
    """The interface of a module `bench.peers.peer_NAME`."""

    PACKAGES: tuple[str, ...]

    def opened(self, variant: str, dsn: str, url: str) -> AbstractAsyncContextManager[Mapping[str, Operation]]:
        """Open the library, and yield its operations. ``url``: of an embedding API."""


async def run(operation: Operation, targets: list[str], bodies: list[Any]) -> dict[str, Any]:
    """Run an operation for each target and body. The shorter list is repeated."""
    latencies: list[float] = []
    came: int | list[Json] = 0
    for n in range(max(len(targets), len(bodies))):
        target, body = targets[n % len(targets)], bodies[n % len(bodies)] if bodies else None
        begun = time.perf_counter()
        came = await operation(target, body)
        latencies.append(time.perf_counter() - begun)
    said = [] if isinstance(came, int) else came
    return {"latencies": latencies, "count": came if isinstance(came, int) else len(came), "said": said}


async def serve(library: Library, answers: IO[str], variant: str, dsn: str, url: str) -> None:
    async with library.opened(variant, dsn, url) as operations:
        say(answers, {"versions": {name: version(name) for name in library.PACKAGES}})
        while line := await asyncio.to_thread(sys.stdin.readline):
            job = json.loads(line)
            try:
                answer = await run(operations[job["operation"]], job["targets"], job["bodies"])
            except Exception as error:  # noqa: BLE001 - whatever a library raises is told, and ends the run there
                answer = {"error": f"{type(error).__name__}: {error}"}
            say(answers, answer)


def say(answers: IO[str], answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def main() -> None:
    name, variant, dsn, url = sys.argv[1:]
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)  # so that output of a library is not taken for an answer
        try:
            library: Any = import_module(f"bench.peers.peer_{name}")
            asyncio.run(serve(library, answers, variant, dsn, url))
        except ImportError as error:  # some libraries import a driver only when they use it
            say(answers, {"missing": error.name or str(error)})


if __name__ == "__main__":
    main()
