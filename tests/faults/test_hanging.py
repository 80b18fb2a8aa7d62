"""PostgreSQL hangs: it is there, and answers nothing. Requests and probes say so soon."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Iterator
from contextlib import suppress

import asyncpg
import httpx
import psutil
import pytest

from tests.api.kit import append, assistant, ok, problem, user, window
from tests.conftest import wait_for
from tests.faults.test_database import Postgres, client, own
from tests.test_embedded import servers_of

__all__ = ["client", "own"]

pytestmark = pytest.mark.slow

WAIT_SECONDS = 3.0
"""What an answer may take."""
SLACK_SECONDS = 1.0
"""On a busy machine."""


def processes(own: Postgres) -> list[psutil.Process]:
    """The server first, so that it starts no other."""
    return [each for server in servers_of(own.folder) for each in (server, *server.children(recursive=True))]


def wake(stopped: list[psutil.Process]) -> None:
    for process in stopped:
        with suppress(psutil.NoSuchProcess):  # its connection was closed meanwhile
            process.send_signal(signal.SIGCONT)


@pytest.fixture
def hanging(own: Postgres, client: httpx.Client) -> Iterator[None]:
    append(client, "c", [user("hello")], user_id="u")
    ok(client.get("/conversations/c/context"))
    stopped = processes(own)
    for process in stopped:
        process.send_signal(signal.SIGSTOP)
    yield
    wake(stopped)


@pytest.mark.parametrize("path", ["/readyz", "/conversations/c/context", "/conversations/c/messages", "/jobs"])
def test_the_first_answer_is_503_within_seconds(client: httpx.Client, hanging: None, path: str) -> None:
    for _ in range(2):
        begun = time.monotonic()
        answer = client.get(path)
        assert time.monotonic() - begun < WAIT_SECONDS + SLACK_SECONDS
        problem(answer, 503)
        assert int(answer.headers["retry-after"]) >= 1


def test_many_at_once_wait_no_longer(client: httpx.Client, hanging: None) -> None:
    """More than there are connections."""

    async def ask() -> list[float]:
        async with httpx.AsyncClient(base_url=client.base_url, timeout=30) as many:

            async def one() -> float:
                begun = time.monotonic()
                assert (await many.get("/conversations/c/context")).status_code == 503
                return time.monotonic() - begun

            return await asyncio.gather(*(one() for _ in range(30)))

    assert max(asyncio.run(ask())) < WAIT_SECONDS + SLACK_SECONDS


def test_it_serves_again_when_the_database_does(own: Postgres, client: httpx.Client, hanging: None) -> None:
    problem(client.get("/conversations/c/context"), 503)
    wake(processes(own))
    wait_for(lambda: client.get("/readyz").status_code == 200)
    ok(client.get("/conversations/c/context"))


HELD = {
    "the search": "LOCK TABLE memories IN ACCESS EXCLUSIVE MODE",
    "what keeps the choice": "LOCK TABLE conversations IN EXCLUSIVE MODE",
}
"""Both leave the window itself to be read."""


@pytest.mark.parametrize("statement", HELD.values(), ids=HELD)
def test_a_window_that_recalls_waits_once_and_the_next_is_whole(
    own: Postgres, client: httpx.Client, statement: str
) -> None:
    append(client, "before", [user("The boiler's service code is KX-2291."), assistant("Noted.")], user_id="u")
    append(client, "c", [user("hello"), assistant("hi")], user_id="u")
    window(client, "c")  # its cut is made
    append(client, "c", [user("What is the boiler's service code?")])
    with asyncio.Runner() as runner:
        other = runner.run(asyncpg.connect(own.server.superuser_dsn))
        runner.run(other.execute(f"BEGIN; {statement}"))
        begun = time.monotonic()
        answer = client.get("/conversations/c/context")
        assert time.monotonic() - begun < WAIT_SECONDS + SLACK_SECONDS
        runner.run(other.close())
    problem(answer, 503, "Try again")
    assert "KX-2291" in str(window(client, "c")["messages"])
