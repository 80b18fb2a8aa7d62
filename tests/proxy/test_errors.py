"""What cannot be answered, as OpenAI's clients know it; never a secret of the provider's, never a problem document."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import openai
import pytest

from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from tests import unhurried
from tests.api.kit import Json, user
from tests.conftest import serving, wait_for
from tests.providers import fake_openai as fake
from tests.providers.fake_openai import Behaviour, FakeOpenAI
from tests.proxy.kit import SECRET, Script, ask, openai_of, stored

Serve = Callable[..., str]


@pytest.fixture
def serve(postgres: EmbeddedPostgres, proxy_settings: Settings, clean: None) -> Iterator[Serve]:
    """Further services, with settings of their own."""
    running: list[Iterator[str]] = []

    def start(**changes: Any) -> str:
        running.append(serving(build_app(proxy_settings.model_copy(update=changes), postgres.app_dsn)))
        return next(running[-1])

    yield start
    for server in running:
        next(server, None)


def refused(answer: httpx.Response, status: int, code: str | None, says: str, param: str | None = None) -> Json:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-request-id"]
    [(name, error)] = answer.json().items()
    assert name == "error"
    assert set(error) == {"message", "type", "param", "code"}
    assert (error["code"], error["param"]) == (code, param)
    assert says in error["message"]
    found: Json = error
    return found


def post(client: httpx.Client, **body: Any) -> httpx.Response:
    return client.post("/v1/chat/completions", json={"model": "fake", "messages": [user()], **body})


@pytest.mark.parametrize(
    ("body", "code", "says", "param"),
    [
        ({"n": 2}, "invalid", "one answer per request", "n"),
        ({"functions": []}, "invalid", "use `tools`", "functions"),
        ({"messages": []}, "invalid", "at least one message", "messages"),
        ({"messages": "hi"}, "invalid", "list", "messages"),
        ({"messages": [{"role": "user"}]}, "invalid", "content parts", "messages[0].content"),
        ({"messages": [{"role": "system", "content": "s"}]}, "invalid", "system", "messages"),
        ({"stream": "yes"}, "invalid", "true or false", "stream"),
        ({"model": None}, "invalid", "`model` is required", "model"),
        ({"user": "\n"}, "invalid", "control character", "user"),
        ({"tools": [{}] * 201}, "invalid", "200", "tools"),
    ],
)
def test_an_invalid_request_is_400_and_stores_nothing(
    client: httpx.Client, api: FakeOpenAI, body: Json, code: str, says: str, param: str
) -> None:
    error = refused(post(client, **body), 400, code, says, param)
    assert error["type"] == "invalid_request_error"
    assert client.get("/conversations").json()["items"] == []
    assert api.chat.requests == []


def test_malformed_bodies_get_the_same_error_form(client: httpx.Client) -> None:
    broken = {"content": b"{", "headers": {"content-type": "application/json"}}
    refused(client.post("/v1/chat/completions", **broken), 400, "bad_request", "not valid JSON")  # type: ignore[arg-type]
    refused(client.post("/v1/completions", json={}), 404, None, "does not exist")
    refused(client.get("/v1/chat/completions"), 405, None, "does not allow")
    headers = {"X-Quire-Budget": "none"}
    refused(
        client.post("/v1/chat/completions", json={}, headers=headers), 400, "invalid", "whole number", "X-Quire-Budget"
    )
    headers = {"X-Quire-Conversation": "a%00"}
    refused(
        client.post("/v1/chat/completions", json={"model": "f", "messages": [user()]}, headers=headers),
        400, "invalid", "control character", "X-Quire-Conversation",
    )  # fmt: skip


def test_a_budget_that_is_too_small_is_a_context_that_is_too_long(chat: openai.OpenAI, client: httpx.Client) -> None:
    with pytest.raises(openai.BadRequestError, match="smallest budget") as caught:
        ask(chat, [user("why " * 500)], extra_headers={"X-Quire-Budget": "100"})
    assert caught.value.code == "context_length_exceeded"
    assert len(stored(client, "c")) == 1


REFUSALS: list[tuple[Behaviour, int, str, str]] = [
    (fake.status(400, message="bad seed", code="bad_seed", param="seed", type="x_error"), 400, "bad_seed", "bad seed"),
    (fake.status(404, message="no such model", code="model_not_found"), 404, "model_not_found", "no such model"),
    (fake.status(422, message=f"we know {SECRET}"), 400, "", "answered 422"),
    (fake.status(401, message=f"wrong key {SECRET}"), 502, "upstream_error", "does not take this service's"),
    (fake.status(403, message=f"wrong key {SECRET}", code="x"), 502, "upstream_error", "does not take this service's"),
    (fake.status(500, message=f"trace {SECRET}"), 502, "upstream_error", "answered 500"),
    (fake.status(503, message="later"), 503, "upstream_error", "answered 503"),
    (fake.redirect("http://127.0.0.1:1/"), 502, "upstream_error", "does not take this service's"),
    (fake.truncated(), 502, "upstream_error", "not a JSON object"),
    (fake.html(), 502, "upstream_error", "not a JSON object"),
    (fake.no_choices(), 502, "upstream_error", "no message"),
    (fake.huge(9_000_000), 502, "upstream_error", "larger than"),
    (fake.reset(), 502, "upstream_error", "no connection"),
    (fake.error_in_200(500), 502, "upstream_error", "answered 500"),
]


@pytest.mark.parametrize(("fault", "status", "code", "says"), REFUSALS)
def test_provider_errors_are_passed_on_without_secrets(
    client: httpx.Client, api: FakeOpenAI, fault: Behaviour, status: int, code: str, says: str
) -> None:
    api.chat.queue.append(fault)
    answer = post(client)
    assert SECRET[:12] not in answer.text
    error = refused(answer, status, code or None, says, param="seed" if code == "bad_seed" else None)
    assert error["type"] == ("x_error" if code == "bad_seed" else error["type"])
    assert (answer.headers.get("x-should-retry") == "false") is ("does not take" in says)
    assert api.chat.requests[-1].headers["authorization"] == f"Bearer {SECRET}"
    assert post(client).status_code == 200


@pytest.mark.parametrize("stream", [False, True])
def test_retry_after_is_passed_on(client: httpx.Client, api: FakeOpenAI, stream: bool) -> None:
    api.chat.queue.append(fake.rate_limited("7", message="slow down", code="rate_limit_exceeded"))
    answer = post(client, stream=stream)
    error = refused(answer, 429, "rate_limit_exceeded", "answered 429")
    assert (answer.headers["retry-after"], error["type"]) == ("7", "rate_limit_error")


@pytest.mark.slow
def test_an_answer_has_its_time(serve: Serve, api: FakeOpenAI) -> None:
    with httpx.Client(base_url=serve(quire_proxy_seconds=1.0), timeout=30) as client:
        api.chat.queue.append(fake.hang())
        refused(post(client), 504, "upstream_timeout", "more than 1 seconds")
        api.chat.queue.append(fake.held_within())
        events = post(client, stream=True)
        assert events.status_code == 200
        *_, last = (line for line in events.text.splitlines() if line)
        assert "upstream_timeout" in last
        assert len(client.get("/conversations").json()["items"]) == 2
        assert {c["messages"] for c in client.get("/conversations").json()["items"]} == {1}


@pytest.mark.parametrize(("path", "ping"), [("chat/completions", b": ping"), ("messages", b"event: ping")])
def test_a_silent_stream_gives_signs_of_life(serve: Serve, api: FakeOpenAI, path: str, ping: bytes) -> None:
    body = {"model": "fake", "max_tokens": 9, "stream": True, "messages": [{"role": "user", "content": "hi"}]}
    with httpx.Client(base_url=serve(quire_proxy_ping_seconds=0.05), timeout=30) as client:
        for behaviour in (fake.held(), fake.held_within()):
            api.hold()
            api.chat.queue.append(behaviour)
            with client.stream("POST", f"/v1/{path}", json=body) as answer:
                parts = answer.iter_bytes()
                assert answer.status_code == 200
                found = b""
                while found.count(ping) < 3:
                    found += next(parts)
                api.release()
                assert (b"message_stop" if path == "messages" else b"[DONE]") in found + b"".join(parts)


def test_too_many_concurrent_requests_get_a_retryable_error(serve: Serve, api: FakeOpenAI) -> None:
    url = serve(quire_proxy_concurrency=1)
    api.chat.queue.append(fake.held())
    with httpx.Client(base_url=url, timeout=30) as client, httpx.Client(base_url=url, timeout=30) as leaves:
        with pytest.raises(httpx.ReadTimeout):
            leaves.post("/v1/chat/completions", json={"model": "f", "messages": [user()]}, timeout=0.5)
        api.wait_until(lambda: api.chat.running == 1)
        answer = post(client)
        refused(answer, 503, "busy", "Try again")
        assert answer.headers["retry-after"] == "1"
        api.release()
        wait_for(lambda: post(client).status_code == 200)


def test_models_are_those_of_the_provider(client: httpx.Client, nameless: openai.OpenAI, api: FakeOpenAI) -> None:
    assert [model.id for model in nameless.models.list()] == ["fake"]
    assert [model.id for model in nameless.models.list()] == ["fake"]
    assert len(api.models.requests) <= 1, "it is remembered for a while"


def test_models_can_be_restricted_and_have_a_default(serve: Serve, api: FakeOpenAI, script: Script) -> None:
    url = serve(quire_proxy_models="other, else", quire_proxy_model="else")
    with httpx.Client(base_url=url, timeout=30) as client:
        assert client.get("/v1/models").json()["data"] == []
        refused(post(client, model="fake"), 404, "not_found", "not an available model", "model")
        assert post(client, model=None).json()["model"] == "else"
    api.models.queue.append(fake.status(401, message=SECRET))
    answer = unhurried.get(f"{serve()}/v1/models")
    refused(answer, 502, "upstream_error", "does not take")


def test_without_a_model_behind_it_there_is_no_proxy(serve: Serve) -> None:
    with httpx.Client(base_url=serve(quire_proxy_base_url=None, quire_proxy_api_key=None), timeout=30) as client:
        refused(post(client), 404, "not_found", "QUIRE_PROXY_BASE_URL")
        refused(client.get("/v1/models"), 404, "not_found", "QUIRE_PROXY_BASE_URL")


def test_the_proxy_requires_keys_like_every_route(serve: Serve, api: FakeOpenAI) -> None:
    url = serve(quire_require_keys=True)
    with pytest.raises(openai.AuthenticationError) as caught:
        ask(openai_of(url), [user()])
    assert caught.value.code == "invalid_api_key"
    assert api.chat.requests == []


@pytest.mark.slow
def test_a_memory_that_is_away_is_503_and_an_answer_waits_for_it(
    client: httpx.Client, api: FakeOpenAI, run_as_superuser: Callable[[str], Any]
) -> None:
    """The table is locked for longer than a statement may wait."""
    client.headers["X-Quire-Conversation"] = "c"
    api.chat.queue.append(fake.held_within())
    asked = {"model": "fake", "messages": [user("go")], "stream": True}
    with client.stream("POST", "/v1/chat/completions", json=asked) as answer:
        lines = answer.iter_lines()
        next(lines)
        run_as_superuser("BEGIN")
        run_as_superuser("LOCK TABLE conversations IN ACCESS EXCLUSIVE MODE")
        api.release()
        refused_ = unhurried.post(f"{client.base_url}/v1/chat/completions", json=asked)
        refused(refused_, 503, "storage_unavailable", "Try again")
        assert refused_.headers["retry-after"]
        run_as_superuser("ROLLBACK")
        assert "[DONE]" in "".join(lines)
    assert [role for role, _ in stored(client, "c")] == ["user", "assistant"]


def test_a_path_without_v1_says_where_it_is(client: httpx.Client) -> None:
    answer = client.post("/chat/completions", json={"model": "m", "messages": [user("hi")]})
    assert answer.status_code == 404
    assert "/v1/chat/completions" in answer.json()["detail"]
    assert "/v1/" not in client.get("/nothing").json()["detail"]


def test_overloaded_within_a_stream_stays_so(clean: None, base_url: str, api: FakeOpenAI) -> None:
    error = {"error": {"type": "overloaded_error", "message": "Overloaded"}}
    api.chat.queue.append(Behaviour(reply="Some words.", edit=lambda told: told["events"].insert(2, error)))
    body = {"model": "fake", "max_tokens": 9, "stream": True, "messages": [{"role": "user", "content": "hi"}]}
    answer = httpx.post(f"{base_url}/v1/messages", json=body, timeout=30)
    assert answer.status_code == 200
    last = json.loads(answer.text.strip().rpartition("data: ")[2])
    assert (last["type"], last["error"]["type"]) == ("error", "overloaded_error")


def test_overloaded_stays_overloaded_and_messages_carry_a_request_id(client: httpx.Client, api: FakeOpenAI) -> None:
    api.chat.default = fake.status(529)
    asked = {"model": "m", "max_tokens": 10, "messages": [user("hi")]}
    answer = client.post("/v1/messages", json=asked)
    assert answer.status_code == 529
    assert answer.json()["error"]["type"] == "overloaded_error"
    assert answer.headers["request-id"] == answer.headers["x-request-id"]
    assert "request-id" not in client.get("/healthz").headers
