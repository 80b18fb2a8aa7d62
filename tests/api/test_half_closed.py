"""A client that closes its side of the connection once its request is out is answered."""

import json
import socket
from urllib.parse import urlsplit

import httpx

from tests.api.kit import ok, path, user

BODY = json.dumps({"user_id": "u", "messages": [user("Hello.")]}).encode()
HEAD = (
    b"POST /conversations/c/messages HTTP/1.1\r\nHost: %b\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n"
)


def sent(base_url: str, *parts: bytes) -> bytes:
    at = urlsplit(base_url)
    with socket.create_connection((str(at.hostname), int(at.port or 0)), timeout=30) as connection:
        head = HEAD % (at.netloc.encode(), len(BODY))
        connection.sendall(head + b"".join(parts))
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while some := connection.recv(65536):
            answer += some
    return answer


def test_a_whole_request_is_answered_after_the_client_closed_its_side(client: httpx.Client, base_url: str) -> None:
    answer = sent(base_url, BODY)
    assert answer.startswith(b"HTTP/1.1 201 ")
    assert b'"seq":1' in answer
    assert ok(client.get(path("c")))["messages"] == 1


def test_half_a_request_is_not_waited_for(client: httpx.Client, base_url: str) -> None:
    assert sent(base_url, BODY[:10]) == b""
    assert client.get(path("c")).status_code == 404
