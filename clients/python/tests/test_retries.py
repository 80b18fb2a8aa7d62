"""Property: a request is sent again, under the same key, exactly where that can help; everything else is raised."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from quire_client import (
    AsyncQuire,
    BudgetTooSmall,
    Conflict,
    ConnectionFailed,
    Fork,
    Invalid,
    NotFound,
    Problem,
    Quire,
    QuireError,
    RateLimited,
    Retries,
    Unauthorized,
    Unavailable,
)

DROP = 0
AT_ONCE = Retries(times=3, pause=0)
STORED = {"messages": [], "page": 1, "epoch": 0}


class Service:
    """Answers by a script of (status, headers, body), the last for ever; 0 breaks the connection."""

    def __init__(self) -> None:
        self.script: list[tuple[int, dict[str, str], Any]] = []
        self.requests: list[tuple[str, dict[str, str], Any]] = []

    def answers(self, status: int, body: Any = None, **headers: str) -> "Service":
        self.script.append((status, {name.replace("_", "-"): value for name, value in headers.items()}, body))
        return self

    @property
    def keys(self) -> list[str | None]:
        return [headers.get("idempotency-key") for _, headers, _ in self.requests]


@pytest.fixture
def service() -> Iterator[tuple[Service, str]]:
    made = Service()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or "null")
            made.requests.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            status, headers, answer = made.script.pop(0) if len(made.script) > 1 else made.script[0]
            if status == DROP:
                self.close_connection = True
                return
            data = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(data)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_DELETE = do_POST  # noqa: N815 - the names they have

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name it has
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield made, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def blocking(url: str, work: Callable[[Any], Any], **options: Any) -> Any:
    with Quire(url, retries=AT_ONCE, **options) as quire:
        return work(quire)


def awaiting(url: str, work: Callable[[Any], Any], **options: Any) -> Any:
    async def run() -> Any:
        async with AsyncQuire(url, retries=AT_ONCE, **options) as quire:
            return await work(quire)

    return asyncio.run(run())


Run = Callable[..., Any]
both = pytest.mark.parametrize("run", [blocking, awaiting])


@both
def test_what_may_pass_is_sent_again_under_the_same_key(service: tuple[Service, str], run: Run) -> None:
    made, url = service
    made.answers(503, {}, retry_after="0").answers(DROP).answers(429, {}).answers(201, STORED)
    assert run(url, lambda quire: quire.append("c", [{"role": "user", "content": "hi"}])) == STORED
    assert len(made.requests) == 4
    assert len(set(made.keys)) == 1
    assert made.keys[0]
    assert len({json.dumps(body) for _, _, body in made.requests}) == 1


@both
def test_two_requests_have_two_keys_unless_they_are_given_one(service: tuple[Service, str], run: Run) -> None:
    made, url = service
    made.answers(201, STORED)
    for key in (None, None, "mine"):
        run(url, lambda quire, key=key: quire.append("c", [], key=key))
    assert len(set(made.keys)) == 3
    assert made.keys[2] == "mine"


@both
def test_retries_end(service: tuple[Service, str], run: Run) -> None:
    made, url = service
    made.answers(503, {"detail": "away"})
    with pytest.raises(Unavailable, match="away"):
        run(url, lambda quire: quire.status("c"))
    assert len(made.requests) == 4


@both
def test_a_long_wait_is_left_to_the_caller(service: tuple[Service, str], run: Run) -> None:
    made, url = service
    made.answers(429, {}, retry_after="86400")
    with pytest.raises(RateLimited):
        run(url, lambda quire: quire.status("c"))
    assert len(made.requests) == 1


@both
def test_a_service_that_is_not_there_is_a_failed_connection(service: tuple[Service, str], run: Run) -> None:
    made, url = service
    made.answers(DROP)
    with pytest.raises(ConnectionFailed):
        run(url, lambda quire: quire.status("c"))
    with pytest.raises(ConnectionFailed, match=r"http://127\.0\.0\.1:1"):
        run("http://127.0.0.1:1", lambda quire: quire.status("c"))


@pytest.mark.parametrize("made", [Quire, AsyncQuire])
def test_an_address_that_cannot_work_is_refused_with_what_to_write(made: type[Quire] | type[AsyncQuire]) -> None:
    with pytest.raises(ValueError, match="write it with its scheme"):
        made("127.0.0.1:8000")
    with pytest.raises(ValueError, match=r"without `/v1`, as 'https://quire\.example'"):
        made("https://quire.example/v1/")


KINDS: list[tuple[int, str, type[QuireError]]] = [
    (401, "unauthorized", Unauthorized),
    (403, "forbidden", Unauthorized),
    (404, "not-found", NotFound),
    (409, "conflict", Conflict),
    (409, "fork", Fork),
    (422, "invalid", Invalid),
    (422, "budget-too-small", BudgetTooSmall),
    (500, "internal", Problem),
]


@both
@pytest.mark.parametrize(("status", "code", "kind"), KINDS)
def test_errors_are_raised_at_once_by_their_kind(
    service: tuple[Service, str], run: Run, status: int, code: str, kind: type[Problem]
) -> None:
    made, url = service
    errors = [{"loc": ["body", "messages", 0], "msg": "is wrong"}]
    more = {"index": 3, "seq": 4, "minimum_budget": 900}
    made.answers(status, {"type": f"urn:quire:problem:{code}", "detail": "No.", "errors": errors, **more})
    with pytest.raises(kind) as raised:
        run(url, lambda quire: quire.sync("c", []))
    assert type(raised.value) is kind
    assert len(made.requests) == 1
    assert str(raised.value) == f"{status} {code}: No. (body.messages.0 is wrong)"
    if isinstance(raised.value, Fork):
        assert (raised.value.index, raised.value.seq) == (3, 4)
    if isinstance(raised.value, BudgetTooSmall):
        assert raised.value.minimum_budget == 900


def test_an_error_that_is_no_problem_document_is_told_all_the_same(service: tuple[Service, str]) -> None:
    made, url = service
    made.answers(418, "<h1>teapot</h1>")
    with pytest.raises(Problem, match="teapot"):
        blocking(url, lambda quire: quire.status("c"))


@both
def test_the_key_is_sent_and_ids_are_escaped(service: tuple[Service, str], run: Run) -> None:
    made, url = service
    made.answers(200, {})
    run(url, lambda quire: quire.status("a/b c?#%"), api_key="secret")
    path, headers, _ = made.requests[0]
    assert path == "/conversations/a%2Fb%20c%3F%23%25/status"
    assert headers["authorization"] == "Bearer secret"


@pytest.mark.parametrize(
    ("status", "after", "failures", "waits"),
    [
        (503, "7", 1, (7, 7)),
        (503, None, 1, (0.5, 1)),
        (503, None, 3, (2, 4)),
        (None, None, 2, (1, 2)),
        (503, "Wed, 21 Oct 2026 07:28:00 GMT", 1, (0.5, 1)),
        (503, "99", 1, None),
        (503, "1", 4, None),
        (500, "1", 1, None),
        (404, None, 1, None),
    ],
)
def test_how_long_is_waited(
    status: int | None, after: str | None, failures: int, waits: tuple[float, float] | None
) -> None:
    answer = httpx.Response(status, headers={"Retry-After": after} if after else {}) if status else None
    found = Retries(times=3, pause=1).before_next(failures, answer)
    assert (found is None) if waits is None else (found is not None and waits[0] <= found <= waits[1])
