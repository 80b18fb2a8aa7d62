"""A trace from the request that closes a page to the job that indexes it, sent to a collector on loopback."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from app.telemetry.tracing import Tracing
from tests.api.kit import append, ok, path, turn, user
from tests.conftest import serving, wait_for
from tests.providers.fake_openai import FakeOpenAI

trace_service = pytest.importorskip(
    "opentelemetry.proto.collector.trace.v1.trace_service_pb2", reason="the extra `otel` is not installed"
)
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


class Collector:
    """A collector that records the spans sent to it."""

    def __init__(self) -> None:
        self.spans: list[Any] = []

    def take(self, body: bytes) -> None:
        request = trace_service.ExportTraceServiceRequest.FromString(body)
        self.spans += [span for r in request.resource_spans for s in r.scope_spans for span in s.spans]


@pytest.fixture
def collector() -> Iterator[tuple[Collector, str]]:
    made = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            made.take(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield made, f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_job_belongs_to_the_trace_of_its_request_and_no_span_tells_content(
    collector: tuple[Collector, str],
    postgres: EmbeddedPostgres,
    settings: Settings,
    clean: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found, endpoint = collector
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
    wanted = Settings(
        quire_data_dir=settings.quire_data_dir, otel_exporter_otlp_endpoint=endpoint, memory_embedding_model="none"
    )
    for url in serving(build_app(wanted, postgres.app_dsn, with_worker=True)):
        headers = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}
        with httpx.Client(base_url=url, headers=headers, timeout=30) as client:
            append(client, "private", [*turn(1), user("the secret question")])
            wait_for(lambda: client.get("/jobs").json()["pending"] + client.get("/jobs").json()["running"] == 0)
            assert client.get(path("private", "status")).json()["unindexed"] == 0
            ok(client.post("/memories", json={"content": "The secret tea is green.", "user_id": "private"}), 201)
            ok(client.post("/memories/search", json={"query": "secret tea", "user_id": "private"}))
    names = {span.name for span in found.spans if span.trace_id.hex() == TRACE}
    assert {"POST /conversations/{conversation_id}/messages", "job page"} <= names
    assert {"create_memory", "search_memory"} <= names
    assert "private" not in str(found.spans)
    assert "secret" not in str(found.spans)


def test_a_call_of_the_proxys_model_tells_whose_it_is_and_what_it_used(
    collector: tuple[Collector, str], postgres: EmbeddedPostgres, settings: Settings, clean: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    found, endpoint = collector
    used: dict[str, Any] = {}
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
    with FakeOpenAI() as api:
        wanted = Settings(
            quire_data_dir=settings.quire_data_dir, otel_exporter_otlp_endpoint=endpoint,
            memory_embedding_model="none", quire_proxy_base_url=api.url,
        )  # fmt: skip
        for url in serving(build_app(wanted, postgres.app_dsn)):
            with httpx.Client(base_url=url, timeout=30) as client:
                body = {"model": "fake", "messages": [{"role": "user", "content": "the secret question"}]}
                used |= ok(client.post("/v1/chat/completions", json=body))["usage"]
    [span] = [span for span in found.spans if span.name == "chat fake"]
    told = {one.key: one.value.string_value or one.value.int_value for one in span.attributes}
    assert told == {
        "gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "fake",
        "gen_ai.usage.input_tokens": used["prompt_tokens"],
        "gen_ai.usage.output_tokens": used["completion_tokens"],
    }  # fmt: skip


def test_without_a_collector_there_is_nothing() -> None:
    with Tracing().span("x", kind="SERVER", size=1) as span:
        assert span is None
    assert Tracing().traceparent() is None
