"""Events as they are told: to a receiver on loopback, and to whoever reads the stream."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from app.core.edge.webhooks import signature
from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.queue.loop import Pace
from app.settings import Settings
from tests.api.kit import Json, append, call, ok, path, problem, result, user
from tests.conftest import patient, serve, wait_for, working
from tests.keys.kit import Sql

QUICK = Pace(poll=0.05, reap=0.5)


class Receiver(ThreadingHTTPServer):
    """Keeps what it is sent, and answers with the statuses that it is given, the last one for ever."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.got: list[tuple[dict[str, str], str]] = []
        self.statuses = [200]
        self.location: str | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/hook"

    def bodies(self, type_: str | None = None) -> list[Json]:
        found = [json.loads(body) for _, body in list(self.got)]
        return [body for body in found if type_ in (None, body["type"])]


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server: Any = self.server
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        status = server.statuses.pop(0) if len(server.statuses) > 1 else server.statuses[0]
        self.send_response(status)
        if server.location is not None:
            self.send_header("location", server.location)
        self.send_header("content-length", "0")
        self.end_headers()
        server.got.append(({name.lower(): value for name, value in self.headers.items()}, body))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


Serve = Callable[..., httpx.Client]


@pytest.fixture
def serving(postgres: EmbeddedPostgres, settings: Settings, clean: None) -> Iterator[Serve]:
    """Servers with a worker each."""
    with ExitStack() as stack:

        def start(**changes: object) -> httpx.Client:
            served = stack.enter_context(serve(build_app(settings.model_copy(update=changes), postgres.app_dsn)))
            stack.enter_context(working(served, QUICK))
            return stack.enter_context(patient(served.url))

        yield start


@pytest.fixture
def client(serving: Serve) -> httpx.Client:
    return serving(quire_webhook_private_addresses=True)


def hook(client: httpx.Client, receiver: Receiver, *types: str) -> Json:
    return ok(client.post("/webhooks", json={"url": receiver.url, "types": list(types)}), 201)


def test_what_happens_is_told_signed_and_numbered(client: httpx.Client, receiver: Receiver) -> None:
    made = hook(client, receiver)
    append(client, "c", [user("look"), call("a"), result("a", "word " * 4000)])
    wait_for(lambda: len(receiver.got) == 2)
    ok(client.delete(path("c", "messages", "1")))
    ok(client.post("/archive", json={"user_id": "u", "tool_name": "f", "tool_input": {}, "result": "x" * 20_000}), 201)
    ok(client.delete("/users/u"))
    wait_for(lambda: len(receiver.bodies("archive.made")) == 2)
    wait_for(lambda: {"messages", "conversation", "user"} <= {b["data"]["of"] for b in receiver.bodies("erasure.done")})
    wait_for(lambda: max(body["seq"] for body in receiver.bodies()) == len(receiver.got))
    stored = receiver.bodies("message.stored")[0]
    assert set(stored) == {"id", "seq", "type", "timestamp", "data"}
    assert stored["data"] == {"conversation_id": "c", "first_seq": 1, "last_seq": 3}
    erased = {body["data"]["of"]: body["data"]["id"] for body in receiver.bodies("erasure.done")}
    assert erased.items() >= {"messages": "c", "conversation": "c", "user": "u"}.items()
    assert sorted(body["seq"] for body in receiver.bodies()) == list(range(1, len(receiver.got) + 1))
    assert "word" not in str(receiver.got)
    for headers, body in receiver.got:
        at = headers["webhook-timestamp"]
        assert headers["webhook-id"] == json.loads(body)["id"]
        assert headers["webhook-signature"] == signature(made["secret"], headers["webhook-id"], int(at), body)


def test_a_cut_is_told(client: httpx.Client, receiver: Receiver) -> None:
    hook(client, receiver, "cut.made")
    ok(client.post("/conversations", json={"id": "c", "user_id": "u", "budget": 2000}), 201)
    for number in range(12):
        append(client, "c", [user(f"question {number} " + "why " * 300)])
    ok(client.get("/conversations/c/context"))
    wait_for(lambda: bool(receiver.got))
    assert receiver.bodies()[0]["data"].keys() == {"conversation_id", "epoch"}
    assert {body["type"] for body in receiver.bodies()} == {"cut.made"}


def test_a_failed_delivery_is_repeated_with_the_same_id(
    client: httpx.Client, receiver: Receiver, run_as_superuser: Sql
) -> None:
    receiver.statuses = [500, 204]
    hook(client, receiver)
    append(client, "c", [user("hi")])
    wait_for(lambda: bool(run_as_superuser("SELECT FROM work WHERE error LIKE '%answered 500'")))
    [job] = run_as_superuser("SELECT attempts, due > now() AS later FROM work WHERE kind = 'webhook'")
    assert (job["attempts"], job["later"]) == (1, True)
    run_as_superuser("UPDATE work SET due = now() WHERE kind = 'webhook'")
    wait_for(lambda: run_as_superuser("SELECT FROM work WHERE kind = 'webhook'") == [])
    assert len({headers["webhook-id"] for headers, _ in receiver.got}) == 1
    assert len(receiver.got) == 2


def test_a_receiver_that_wants_no_more_gets_no_more(client: httpx.Client, receiver: Receiver) -> None:
    receiver.statuses = [410]
    hook(client, receiver)
    append(client, "c", [user("hi")])
    wait_for(lambda: ok(client.get("/webhooks"))["items"][0]["disabled_at"] is not None)
    assert "answered 410" in ok(client.get("/webhooks"))["items"][0]["last_status"]
    append(client, "c", [user("there")])
    wait_for(lambda: len(backlog(client)) == 3)
    assert [event["type"] for event in backlog(client)].count("webhook.disabled") == 1
    assert len(receiver.got) == 1
    assert ok(client.get("/jobs"))["items"] == []


def test_a_receiver_that_fails_for_three_days_is_turned_off(
    client: httpx.Client, receiver: Receiver, run_as_superuser: Sql
) -> None:
    receiver.statuses = [500]
    hook(client, receiver)
    append(client, "c", [user("hi")])
    wait_for(lambda: ok(client.get("/webhooks"))["items"][0]["failing_since"] is not None)
    assert ok(client.get("/webhooks"))["items"][0]["disabled_at"] is None
    run_as_superuser("UPDATE webhooks SET failing_since = now() - interval '73 hours'")
    run_as_superuser("UPDATE work SET due = now() WHERE kind = 'webhook' AND token IS NULL")
    wait_for(lambda: ok(client.get("/webhooks"))["items"][0]["disabled_at"] is not None)


def test_receivers_that_hang_delay_no_other_and_each_gets_its_events_in_order(
    client: httpx.Client, receiver: Receiver, run_as_superuser: Sql
) -> None:
    with ExitStack() as stack:
        for _ in range(5):
            deaf = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            url = f"http://127.0.0.1:{deaf.getsockname()[1]}/"
            ok(client.post("/webhooks", json={"url": url}), 201)
        hook(client, receiver)
        for number in range(30):
            append(client, "c", [user(f"message {number}")])
        wait_for(lambda: len(receiver.got) == 30)
        assert [body["seq"] for body in receiver.bodies()] == list(range(1, 31))
        assert len(run_as_superuser("SELECT FROM work WHERE kind = 'webhook'")) <= 6


@pytest.mark.slow
def test_a_redirect_leads_nowhere(client: httpx.Client, receiver: Receiver, run_as_superuser: Sql) -> None:
    receiver.statuses, receiver.location = [307], "http://169.254.169.254/latest/meta-data"
    hook(client, receiver)
    append(client, "c", [user("hi")])
    wait_for(lambda: bool(run_as_superuser("SELECT FROM work WHERE error LIKE '%answered 307'")))
    assert len(receiver.got) == 1


FORBIDDEN = (
    "http://127.0.0.1:{port}/", "http://127.1:{port}/", "http://2130706433:{port}/", "http://0x7f000001:{port}/",
    "http://[::1]:{port}/", "http://[::ffff:127.0.0.1]:{port}/", "http://localhost:{port}/", "http://a.localhost/",
    "http://169.254.169.254/latest", "http://10.0.0.1/", "https://192.168.0.1/", "http://[fd00::1]/", "http://0.0.0.0/",
)  # fmt: skip


@pytest.mark.slow
def test_private_addresses_are_refused_unless_they_are_allowed(
    serving: Serve, receiver: Receiver, run_as_superuser: Sql
) -> None:
    client, port = serving(), receiver.server_address[1]
    for url in FORBIDDEN:
        problem(client.post("/webhooks", json={"url": url.format(port=port)}), 422, "`url` must not be a loopback")
    ok(client.post("/webhooks", json={"url": "https://example.com/", "types": ["cut.made"]}), 201)
    # A name that leads there is found out when it is connected to.
    run_as_superuser(f"UPDATE webhooks SET url = 'http://localhost:{port}/', types = '{{}}'")
    append(client, "c", [user("hi")])
    wait_for(lambda: ok(client.get("/webhooks"))["items"][0]["failing_since"] is not None)
    assert "its address is not one of the internet" in ok(client.get("/webhooks"))["items"][0]["last_status"]
    assert receiver.got == []


def test_webhooks_are_listed_without_their_secrets_and_deleted(client: httpx.Client, receiver: Receiver) -> None:
    body, once = {"url": receiver.url}, {"Idempotency-Key": "k"}
    made, again = (ok(client.post("/webhooks", json=body, headers=once), 201) for _ in range(2))
    assert made["secret"].startswith("whsec_")
    assert again == {**made, "secret": None}
    shown = {name: value for name, value in made.items() if name != "secret"}
    assert ok(client.get("/webhooks"))["items"] == [shown]
    assert ok(client.delete(f"/webhooks/{made['id']}")) == shown
    problem(client.delete(f"/webhooks/{made['id']}"), 404, "no such webhook")
    problem(client.post("/webhooks", json={"url": receiver.url, "types": ["tea"]}), 422, "types")
    append(client, "c", [user("hi")])
    assert receiver.got == []


def events(text: str) -> list[Json]:
    return [json.loads(line[6:]) for line in text.split("\n") if line.startswith("data: ")]


def backlog(client: httpx.Client, **headers: str) -> list[Json]:
    answer = client.get("/events?wait=false&after=0", headers={k.replace("_", "-"): v for k, v in headers.items()})
    assert answer.headers["content-type"].startswith("text/event-stream")
    return events(answer.text)


@contextmanager
def streaming(client: httpx.Client, **headers: str) -> Iterator[Iterator[str]]:
    with client.stream("GET", "/events", headers=headers) as answer:
        lines = answer.iter_lines()
        assert next(lines) == "retry: 1000"
        yield lines


@pytest.mark.slow
def test_the_stream_tells_what_comes_and_is_resumed(client: httpx.Client) -> None:
    append(client, "before", [user("hi")])
    with streaming(client) as lines:
        append(client, "c", [user("one")])
        append(client, "c", [user("two")])
        told = [line for line in (next(lines) for _ in range(9)) if line]
    assert [line for line in told if line.startswith("id: ")] == ["id: 1", "id: 2"]
    assert "event: message.stored" in told
    append(client, "c", [user("three")])
    wait_for(lambda: len(backlog(client)) == 3)
    assert [event["seq"] for event in backlog(client, Last_Event_ID="1")] == [2, 3]
    assert [event["data"]["last_seq"] for event in backlog(client)] == [1, 2, 3]
    problem(client.get("/events", headers={"Last-Event-ID": "x"}), 422, "Last-Event-ID")


def test_a_stream_ends_and_frees_its_place_when_its_client_leaves(
    postgres: EmbeddedPostgres, settings: Settings, clean: None
) -> None:
    """At once: nothing is written to it before. A list of what is stored is sent whole nevertheless."""
    with serve(build_app(settings, postgres.app_dsn)) as served, patient(served.url) as client:
        assert left(client, "/events?wait=false").endswith("0\r\n\r\n")
        meters = served.app.state.runtime.meters
        with asked(client, "/events") as stream:
            assert b"200 OK" in stream.recv(4096)
            wait_for(lambda: meters.streams == 1)
            stream.shutdown(socket.SHUT_WR)
            assert "still here" not in rest(stream)
            wait_for(lambda: meters.streams == 0)
        assert "still here" not in left(client, "/events")


def asked(client: httpx.Client, target: str) -> socket.socket:
    """A connection that has sent a request."""
    connection = socket.create_connection((client.base_url.host, client.base_url.port or 0), timeout=30)
    connection.sendall(f"GET {target} HTTP/1.1\r\nHost: {client.base_url.netloc.decode()}\r\n\r\n".encode())
    return connection


def rest(connection: socket.socket) -> str:
    """What comes until the connection ends, or is found to be kept."""
    got = ""
    while "still here" not in got and (more := connection.recv(4096)):
        got += more.decode()
    return got


def left(client: httpx.Client, target: str) -> str:
    """What a client is sent that closes its side once it has asked."""
    with asked(client, target) as connection:
        connection.shutdown(socket.SHUT_WR)
        return rest(connection)


def test_nothing_is_written_where_nobody_listens(client: httpx.Client, run_as_superuser: Sql) -> None:
    append(client, "c", [user("hi"), call("a"), result("a", "word " * 4000)])
    ok(client.delete(path("c")))
    assert run_as_superuser("SELECT FROM events") == []
