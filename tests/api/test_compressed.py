"""Bodies that come compressed: read on every route, and held to the same limits as plain ones."""

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import brotli
import httpx
import pytest
from backports import zstd

from tests.api.kit import history, problem, user

JSON = {"content-type": "application/json"}
BODY = json.dumps({"messages": [user("Which tea? " * 50_000)], "user_id": "ann"}).encode()
CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": lambda body: gzip.compress(body[:9]) + gzip.compress(body[9:]),
    "deflate": zlib.compress,
    "Deflate": lambda body: zlib.compress(body, wbits=-15),
    "zstd": zstd.compress,
    "ZSTD": lambda body: zstd.compress(body[:9]) + zstd.compress(body[9:]),
    "br": brotli.compress,
    "gzip, zstd": lambda body: zstd.compress(gzip.compress(body)),
    "br, gzip": lambda body: gzip.compress(brotli.compress(body)),
}
BOMBS: dict[str, Callable[[], bytes]] = {
    "gzip": lambda: gzip.compress(b" " * 50_000_000),
    "deflate": lambda: zlib.compress(b" " * 50_000_000),
    "zstd": lambda: zstd.compress(b" " * 500_000_000),
    "br": lambda: brotli.compress(b" " * 500_000_000, quality=4),
    "br, br": lambda: brotli.compress(brotli.compress(b" " * 500_000_000, quality=4)),
    "zstd, gzip": lambda: gzip.compress(zstd.compress(b" " * 500_000_000)),
}
"""Made by their tests: to make them takes seconds, and each worker imports this file."""


def post(client: httpx.Client, coding: str, body: Any, path: str = "/conversations/c/messages") -> httpx.Response:
    return client.post(path, content=body, headers={**JSON, "content-encoding": coding})


@pytest.mark.parametrize("coding", CODINGS)
def test_a_compressed_body_is_stored_like_a_plain_one(client: httpx.Client, coding: str) -> None:
    assert post(client, coding, CODINGS[coding](BODY)).status_code == 201
    [kept] = history(client, "c")
    assert kept["content"] == json.loads(BODY)["messages"][0]["content"]


def test_it_can_come_in_the_smallest_pieces(client: httpx.Client) -> None:
    packed = gzip.compress(json.dumps({"messages": [user("Which tea?")], "user_id": "ann"}).encode())
    assert post(client, "gzip", (packed[at : at + 1] for at in range(len(packed)))).status_code == 201
    assert history(client, "c")[0]["content"] == "Which tea?"


def test_lines_are_imported_and_bodies_of_nothing_taken(client: httpx.Client) -> None:
    lines = b'{"type":"header","format":"quire","version":1}\n{"type":"conversation","id":"c"}\n'
    headers = {"content-type": "application/x-ndjson", "content-encoding": "gzip"}
    assert client.post("/import", content=gzip.compress(lines), headers=headers).status_code == 200
    assert client.get("/conversations/c").status_code == 200
    assert client.request("DELETE", "/conversations/c", headers={"content-encoding": "gzip"}).status_code == 200


@pytest.mark.parametrize("coding", BOMBS)
def test_a_bomb_is_refused_at_the_limit_of_what_comes_out(client: httpx.Client, coding: str) -> None:
    problem(post(client, coding, BOMBS[coding]()), 413, "bytes")
    assert client.get("/conversations").json()["items"] == []


def nothing() -> Iterator[bytes]:
    """Members of gzip that are empty, without end."""
    while True:
        yield gzip.compress(b"") * 1000


@pytest.mark.parametrize(
    ("coding", "body", "status", "said"),
    [
        ("gzip", gzip.compress(BODY)[:-30], 400, "ended early"),
        ("zstd", zstd.compress(BODY)[:-3], 400, "ended early"),
        ("gzip", BODY, 400, "Content-Encoding"),
        ("zstd", BODY, 400, "Content-Encoding"),
        ("br", brotli.compress(BODY)[:-3], 400, "ended early"),
        ("br", BODY, 400, "Content-Encoding"),
        ("br", brotli.compress(BODY) + b"and more", 400, "Content-Encoding"),
        ("gzip", gzip.compress(BODY) + b"and more", 400, "Content-Encoding"),
        ("gzip", nothing(), 400, "hardly anything"),
        ("compress", BODY, 415, "gzip"),
        ("gzip, gzip, gzip", gzip.compress(gzip.compress(gzip.compress(BODY))), 415, "2"),
    ],
)
def test_what_cannot_be_decoded_is_said_and_nothing_is_stored(
    client: httpx.Client, coding: str, body: Any, status: int, said: str
) -> None:
    answer = post(client, coding, body)
    problem(answer, status, said)
    assert answer.headers.get("accept-encoding") == ("gzip, deflate, zstd, br" if status == 415 else None)
    assert client.get("/conversations").json()["items"] == []
