"""Clients that send a byte now and then, and answers that do not come: each ends, and says why where it can."""

import select
import socket
from collections.abc import Iterator

import asyncpg
import httpx
import psutil
import pytest

from app.postgres.embedded import EmbeddedPostgres
from tests.api.kit import append, problem, turn, user
from tests.cli.kit import own_environment, running, url_of
from tests.conftest import wait_for
from tests.keys.conftest import Serve

pytestmark = pytest.mark.slow

PACE = 0.02
BYTES_MAX = 3000
"""A minute of them: more would be a server that waits for ever."""


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, int]]:
    """Of a service that is impatient."""
    names = ("QUIRE_HEADER_SECONDS", "QUIRE_BODY_SECONDS", "QUIRE_READING_SECONDS")
    impatient = {**dict.fromkeys(names, "0.5"), "QUIRE_REQUIRE_KEYS": "false"}
    with own_environment() as environment, running("serve", {**environment, **impatient}) as process:
        url = httpx.URL(url_of(process))
        assert url.port is not None
        yield url.host, url.port
        process.terminate()
        assert process.wait(timeout=20) == 0


def drip(connection: socket.socket, sent: bytes) -> bytes:
    """Sends a byte at a time until there is an answer or the connection ends; all that was answered."""
    for at in range(BYTES_MAX):
        if select.select([connection], [], [], PACE)[0]:
            break
        connection.sendall(sent[at : at + 1] or b" ")
    else:
        raise AssertionError("it waits for ever")
    return rest(connection)


def rest(connection: socket.socket) -> bytes:
    """All until the other side ends the connection."""
    answered = b""
    connection.settimeout(30)
    try:
        while part := connection.recv(65536):
            answered += part
    except ConnectionResetError:
        pass
    return answered


def test_a_head_that_does_not_come_ends_the_connection(address: tuple[str, int]) -> None:
    head = b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: " + b"a" * BYTES_MAX
    with socket.create_connection(address) as connection:
        assert drip(connection, head) == b""
    with socket.create_connection(address) as connection:
        assert rest(connection) == b""  # nothing at all was sent
    with socket.create_connection(address) as connection:  # nor is a second request waited for longer than the first
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        answer = connection.recv(65536)
        assert answer.startswith(b"HTTP/1.1 200")
        while not answer.endswith(b"}"):
            answer += connection.recv(65536)
        assert b"HTTP/1.1" not in drip(connection, head)


def test_a_body_that_does_not_come_is_answered_408(address: tuple[str, int]) -> None:
    head = (
        b"POST /conversations HTTP/1.1\r\nHost: [::1]\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    ) % BYTES_MAX
    with socket.create_connection(address) as connection:
        connection.sendall(head)
        answer = drip(connection, b" " * BYTES_MAX)
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"urn:quire:problem:too-slow" in answer
    assert b"connection: close" in answer.lower()


def test_the_rest_of_an_unread_body_is_not_awaited(address: tuple[str, int]) -> None:
    head = b"POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % BYTES_MAX
    with socket.create_connection(address) as connection:
        connection.sendall(head)
        assert b"404" in connection.recv(65536)
        assert b"HTTP/1.1" not in drip(connection, b" " * BYTES_MAX)


def test_an_unread_response_is_dropped(address: tuple[str, int]) -> None:
    with httpx.Client(base_url=f"http://{address[0]}:{address[1]}", timeout=30) as client:
        for _ in range(8):
            append(client, "long", [user("x" * 900_000)])
    with socket.socket() as connection, socket.socket() as other:
        for each, path in ((connection, b"messages"), (other, b"export")):  # whole, and a stream
            each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            each.connect(address)
            each.sendall(b"GET /conversations/long/" + path + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert each.recv(10).startswith(b"HTTP/1.1 2")
        ours = {connection.getsockname(), other.getsockname()}
        # What is in the kernel's hands may still come; the service holds nothing of it.
        wait_for(lambda: not ours & {c.raddr for c in psutil.net_connections("tcp") if c.pid and c.laddr == address})


def test_a_websocket_that_is_not_read_is_dropped(address: tuple[str, int]) -> None:
    head = (
        b"GET /v1/responses HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(address)
        connection.sendall(head)
        assert connection.recv(12) == b"HTTP/1.1 101"
        connection.settimeout(30)
        with pytest.raises(OSError, match=r"reset|[Bb]roken|timed out"):
            while True:  # each is answered with an error, which nobody reads
                connection.sendall(b"\x81\x81mask!" * 1000)
        ours = connection.getsockname()
        wait_for(lambda: ours not in {c.raddr for c in psutil.net_connections("tcp") if c.pid and c.laddr == address})


def test_slow_clients_do_not_block_others(address: tuple[str, int]) -> None:
    url = f"http://{address[0]}:{address[1]}"
    slow = [socket.create_connection(address) for _ in range(50)]
    with httpx.Client(base_url=url, timeout=30) as client:
        body = '{"id": "c", "title": "' + "x" * 400 + '"}'
        sent = (part.encode() for part in body)  # chunked, a byte each, and yet in time
        answer = client.post("/conversations", content=sent, headers={"Content-Type": "application/json"})
        assert answer.status_code == 201, answer.text
    for connection in slow:
        assert rest(connection) == b""
        connection.close()


@pytest.mark.anyio
async def test_an_overdue_response_is_a_problem_and_the_service_continues(
    serve: Serve, postgres: EmbeddedPostgres
) -> None:
    client = serve(quire_request_seconds=1.5)  # shorter than the time-out of a lock
    append(client, "c", turn(1))
    other = await asyncpg.connect(postgres.superuser_dsn)
    async with other.transaction():
        await other.execute("SELECT FROM conversations FOR UPDATE")
        answer = client.delete("/conversations/c")
        problem(answer, 503, "1.5 seconds")
        assert answer.headers["retry-after"] == "1"
        assert answer.json()["type"] == "urn:quire:problem:overdue"
    await other.close()
    assert client.get("/conversations/c").status_code == 200
    assert client.delete("/conversations/c").status_code == 200
