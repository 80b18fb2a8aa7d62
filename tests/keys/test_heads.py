"""What the head of a request may be: no trailer counts, and nothing in it can be read in two ways."""

from __future__ import annotations

import gzip
import json
import socket

import httpx
import pytest

from app.core.edge.request_head import fault_of
from tests.api.kit import history
from tests.keys.kit import Mint

BODY = json.dumps({"user_id": "u", "messages": [{"role": "user", "content": "hi"}]}).encode()


def send(base_url: str, *lines: str, body: bytes = b"", version: str = "1.1") -> tuple[int, str]:
    """The status and the body of the answer to a request that is sent in one packet."""
    url = httpx.URL(base_url)
    assert url.port is not None
    head = "\r\n".join([f"{lines[0]} HTTP/{version}", *lines[1:], "Connection: close", "", ""])
    with socket.create_connection((url.host, url.port)) as connection:
        connection.settimeout(30)
        connection.sendall(head.encode() + body)
        answer = b""
        while part := connection.recv(65536):
            answer += part
    top, _, rest = answer.partition(b"\r\n\r\n")
    return int(top.split()[1]), rest.decode()


def chunked(body: bytes, *trailers: str) -> bytes:
    end = "".join(f"{line}\r\n" for line in trailers)
    return f"{len(body):x}\r\n".encode() + body + f"\r\n0\r\n{end}\r\n".encode()


CHUNKED = (
    "POST /conversations/c/messages",
    "Host: localhost",
    "Content-Type: application/json",
    "Transfer-Encoding: chunked",
)


def test_a_trailer_is_no_header(base_url: str, clean: None) -> None:
    with httpx.Client(base_url=base_url, timeout=30) as client:
        for number in (1, 2):
            status, said = send(base_url, *CHUNKED, body=chunked(BODY, "Idempotency-Key: k", "Content-Encoding: gzip"))
            assert status == 201, said
            assert len(history(client, "c")) == number, "a key in the trailer would have had it replayed"
        packed = gzip.compress(BODY)
        assert send(base_url, *CHUNKED, body=chunked(packed, "Content-Encoding: gzip"))[0] == 400


@pytest.mark.parametrize("trailer", ["Authorization: Bearer {key}", "X-API-Key: {key}"])
def test_a_key_in_a_trailer_opens_nothing(locked: httpx.Client, locked_url: str, mint: Mint, trailer: str) -> None:
    line = trailer.format(key=mint())
    status, said = send(locked_url, *CHUNKED, body=chunked(BODY, line))
    assert status == 401, said
    status, said = send(locked_url, *CHUNKED, line, body=chunked(BODY))
    assert status == 201, said


def test_a_host_is_named_once(base_url: str, clean: None) -> None:
    get = "GET /healthz"
    assert send(base_url, get, "Host: x")[0] == 200
    assert send(base_url, get, version="1.0")[0] == 200
    for lines in ((), ("Host: x", "Host: evil.example"), ("Host: x", "Host: x")):
        status, said = send(base_url, get, *lines)
        assert status == 400, lines
        assert "header Host" in json.loads(said)["detail"]


def test_two_keys_for_one_request_are_refused(base_url: str, clean: None) -> None:
    two = (*CHUNKED, "Idempotency-Key: a", "Idempotency-Key: b")
    status, said = send(base_url, *two, body=chunked(BODY))
    assert (status, json.loads(said)["detail"]) == (400, "The header Idempotency-Key must not be repeated.")
    with httpx.Client(base_url=base_url, timeout=30) as client:
        assert client.get("/conversations/c").status_code == 404


def test_other_headers_may_be_repeated() -> None:
    assert fault_of([(b"host", b"x"), (b"accept", b"a"), (b"accept", b"b")], "1.1") is None
    assert fault_of([], "1.0") is None
