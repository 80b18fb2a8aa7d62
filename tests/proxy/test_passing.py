"""Pass-through: the request goes on as it is, and is stored beside; the model is asked whatever becomes of that."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import httpx
import openai
import pytest

from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from tests import unhurried
from tests.api.kit import append, history
from tests.conftest import Served, serve, wait_for
from tests.providers.fake_openai import FakeOpenAI, held_within, ok, status
from tests.proxy.fakes import FakeApi, Refusal
from tests.proxy.kit import SECRET, AnthropicOf, arriving, said_by, stored
from tests.proxy.test_messages import LOOK, asked

PASS = {"X-Quire-Mode": "pass-through"}
ODD = b'{ "model":"fake", "max_tokens" : 9,"messages": [ {"role":"user","content":"caf\\u00e9 1.0"} ], "x":1.50 }'


def post(url: str, path: str, body: bytes, **headers: str) -> httpx.Response:
    sent = {"content-type": "application/json", **PASS, **headers}
    return unhurried.post(f"{url}{path}", content=body, headers=sent)


def roles(client: httpx.Client, conversation: str) -> list[str]:
    answer = client.get(f"/conversations/{conversation}/messages")
    return [m["role"] for m in answer.json().get("items", [])]


def test_the_bytes_go_on_unchanged_and_the_answer_comes_back_unchanged(
    client: httpx.Client, speaking_messages: str, messages_api: FakeApi
) -> None:
    answer = post(speaking_messages, "/v1/messages", ODD, **{"X-Quire-Conversation": "c", "anthropic-beta": "b"})
    assert answer.status_code == 200
    assert answer.json()["id"].startswith("msg_upstream")
    assert answer.headers.get_list("request-id") == ["req_upstream"]
    assert messages_api.bodies == [ODD]
    [headers] = messages_api.headers
    assert (headers["x-api-key"], headers["anthropic-beta"]) == (SECRET, "b")
    assert not [name for name in headers if name.startswith("x-quire")]
    wait_for(lambda: roles(client, "c") == ["user", "assistant"])
    assert stored(client, "c")[0][1] == "café 1.0"


def test_a_compressed_body_goes_on_compressed_and_is_stored_decoded(
    client: httpx.Client, speaking_messages: str, messages_api: FakeApi
) -> None:
    packed = gzip.compress(ODD)
    named = {"X-Quire-Conversation": "c", "content-encoding": "gzip"}
    assert post(speaking_messages, "/v1/messages", packed, **named).status_code == 200
    assert messages_api.bodies == [packed]
    assert messages_api.headers[0]["content-encoding"] == "gzip"
    wait_for(lambda: roles(client, "c") == ["user", "assistant"])
    assert stored(client, "c")[0][1] == "café 1.0"


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_list_is_stored_by_delta_and_large_results_are_archived(
    client: httpx.Client, speaking_messages: str, messages_api: FakeApi, anthropic_of: AnthropicOf, stream: bool
) -> None:
    """By the path alone."""
    claude = anthropic_of(f"{speaking_messages}/p/my%2Fcoding")
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    call = {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": "a"}}
    messages_api.says([thinking, {"type": "text", "text": "Looking."}, call], "Done.")
    listed: list[Any] = [{"role": "user", "content": "Look."}]
    first = asked(claude, listed, stream=stream, tools=[LOOK])
    wait_for(lambda: roles(client, "my%2Fcoding") == ["user", "assistant"])
    large = "The kettle is at 96 degrees. " * 600
    listed += [
        {"role": "assistant", "content": first.content},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": large}]},
    ]
    assert said_by(asked(claude, listed, stream=stream, tools=[LOOK])) == "Done."
    wait_for(lambda: len(roles(client, "my%2Fcoding")) == 4)
    kept = history(client, "my/coding")
    assert [m["role"] for m in kept] == ["user", "assistant", "user", "assistant"]
    assert kept[1]["content"] == [thinking, {"type": "text", "text": "Looking."}, call]
    assert kept[2]["archived"]
    assert messages_api.asked[1]["messages"][-1]["content"][0]["content"] == large


def test_responses_are_passed_through_too(client: httpx.Client, speaking_responses: str, messages_api: FakeApi) -> None:
    with openai.OpenAI(base_url=f"{speaking_responses}/p/c/v1", api_key="any", max_retries=0) as gpt:
        assert gpt.responses.create(model="fake", input="hi").output_text == "Answer 1."
        with gpt.responses.stream(model="fake", input=[{"role": "user", "content": "hi"}]) as events:
            assert [event.type for event in events][-1] == "response.completed"
    wait_for(lambda: roles(client, "c")[:2] == ["user", "assistant"])


def test_at_most_one_block_is_recalled_and_only_if_asked_for(
    client: httpx.Client, speaking_messages: str, messages_api: FakeApi
) -> None:
    past = [
        {"role": "user", "content": "My favourite kettle is the copper Marchwood."},
        {"role": "assistant", "content": "Noted."},
    ]
    append(client, "before", past, user_id="me")
    question = (
        b'{"model":"fake","max_tokens":9,"messages":[{"role":"user","content":"Which kettle is my favourite?"}] }'
    )
    for recall in ({}, {"X-Quire-Recall": "auto"}):
        headers = {"X-Quire-Conversation": "now", "X-Quire-User": "me", **recall}
        assert post(speaking_messages, "/v1/messages", question, **headers).status_code == 200
    plain, with_recall = messages_api.bodies
    assert plain == question
    at = question.rindex(b"]")
    assert with_recall.startswith(question[:at])
    assert with_recall.endswith(question[at:])
    [_, block] = json.loads(with_recall)["messages"]
    assert "Marchwood" in block["content"]
    assert block["role"] == "user"
    wait_for(lambda: "assistant" in roles(client, "now"))
    assert "Marchwood" not in str(stored(client, "now"))


def test_another_dialect_or_an_api_that_is_away_is_said(
    client: httpx.Client, base_url: str, speaking_messages: str, messages_api: FakeApi
) -> None:
    answer = post(base_url, "/v1/messages", ODD)
    assert answer.status_code == 400
    assert "QUIRE_PROXY_UPSTREAM_DIALECT" in answer.text
    messages_api.says(429)
    refused = post(speaking_messages, "/v1/messages", ODD)
    assert (refused.status_code, refused.json()["error"]["message"]) == (429, "error 429")


def test_a_question_that_is_refused_for_good_is_marked_and_leaves(
    client: httpx.Client, speaking_messages: str, messages_api: FakeApi
) -> None:
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": "no such picture"}}
    messages_api.refuses = lambda asked: Refusal(error, 400) if "a picture" in str(asked) else None

    def say(*texts: str) -> int:
        messages = [{"role": "user", "content": text} for text in texts]
        body = json.dumps({"model": "fake", "max_tokens": 9, "messages": messages}).encode()
        return post(speaking_messages, "/v1/messages", body, **{"X-Quire-Conversation": "c"}).status_code

    def marked() -> list[bool]:
        return [m["refused"] for m in client.get("/conversations/c/messages").json().get("items", [])]

    assert say("a picture") == 400
    wait_for(lambda: marked() == [True])
    assert say("never mind") == 200
    wait_for(lambda: marked() == [True, False, False])
    assert "a picture" not in client.get("/conversations/c/context").text
    messages_api.says(429)  # not for good
    assert say("never mind", "and on") == 429
    assert say("never mind", "and on") == 200
    wait_for(lambda: "assistant" in roles(client, "c")[-1:])
    assert not any(marked()[1:])


@pytest.mark.parametrize("told", ["top_k: Extra inputs are not permitted", "thinking.budget_tokens: must be larger"])
def test_a_field_that_is_refused_is_not_the_questions_fault(
    client: httpx.Client, speaking_messages: str, messages_api: FakeApi, told: str
) -> None:
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": told}}
    messages_api.refuses = lambda asked: Refusal(error, 400) if "top_k" in asked else None
    thinking = {"type": "enabled", "budget_tokens": 9}
    body = {"model": "fake", "max_tokens": 9, "messages": [{"role": "user", "content": "Sum it up"}]}
    for more, code in (({"top_k": 5, "thinking": thinking}, 400), ({}, 200)):
        sent = json.dumps({**body, **more}).encode()
        headers = {"X-Quire-Conversation": "c"}
        assert post(speaking_messages, "/v1/messages", sent, **headers).status_code == code
        wait_for(lambda: len(client.get("/conversations/c/requests").json().get("items", [])) == 1 + (code == 200))  # noqa: B023
        assert not any(m["refused"] for m in history(client, "c"))
    assert roles(client, "c") == ["user", "assistant"]


@pytest.fixture
def forgetful(
    postgres: EmbeddedPostgres, proxy_settings: Settings, spoken: tuple[FakeApi, str], clean: None
) -> Iterator[Served]:
    """A service of its own, whose connections to the database a test can take away."""
    update = {
        "quire_proxy_base_url": spoken[1], "quire_proxy_upstream_dialect": "messages", "quire_proxy_client_keys": True,
        "quire_proxy_models": "fake",
    }  # fmt: skip
    with serve(build_app(proxy_settings.model_copy(update=update), postgres.app_dsn)) as served:
        yield served


def test_the_model_is_asked_while_the_database_is_away(forgetful: Served, messages_api: FakeApi) -> None:
    headers = {"X-Quire-Conversation": "c", "authorization": "Bearer the client's own", "X-Quire-Recall": "auto"}
    assert post(forgetful.url, "/v1/messages", ODD, **headers).status_code == 200
    database = forgetful.app.state.runtime.database
    asyncio.run_coroutine_threadsafe(database.close(), forgetful.loop).result(timeout=30)
    answer = post(forgetful.url, "/v1/messages", ODD, **headers)
    assert (answer.status_code, answer.json()["content"][0]["text"]) == (200, "Answer 2.")
    assert [h["authorization"] for h in messages_api.headers] == ["Bearer the client's own"] * 2
    assert not [h for h in messages_api.headers if "x-api-key" in h]


def test_a_client_that_goes_on_at_once_leaves_each_message_once(
    client: httpx.Client, speaking_messages: str, messages_api: FakeApi
) -> None:
    """An answer is stored after it was passed on, and the client's next list can be there first."""
    listed: list[Any] = []
    for turn in range(12):
        listed.append({"role": "user", "content": f"Question {turn}."})
        body = json.dumps({"model": "fake", "max_tokens": 9, "messages": listed}).encode()
        answer = post(speaking_messages, "/v1/messages", body, **{"X-Quire-Conversation": "c"})
        listed.append({"role": "assistant", "content": answer.json()["content"]})
    wait_for(lambda: len(client.get("/conversations/c/requests").json().get("items", [])) == 12)
    assert roles(client, "c") == ["user", "assistant"] * 12
    assert client.get("/conversations/c/branches").json()["items"] == []


def test_an_answer_that_the_next_list_brought_first_is_stored_once(
    client: httpx.Client, base_url: str, api: FakeOpenAI
) -> None:
    """As where another process takes the next request."""

    def asked(*said: str, **more: Any) -> bytes:
        listed = [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(said)]
        return json.dumps({"model": "fake", "messages": listed, **more}).encode()

    api.chat.queue.append(replace(held_within(), reply="It is boiling now."))
    headers = {"X-Quire-Conversation": "c"}
    with ThreadPoolExecutor() as pool:
        first = pool.submit(post, base_url, "/v1/chat/completions", asked("The kettle?", stream=True), **headers)
        wait_for(lambda: roles(client, "c") == ["user"])
        following = asked("The kettle?", "It is boiling now.", "And the pan?")
        assert post(base_url, "/v1/chat/completions", following, **headers).status_code == 200
        wait_for(lambda: roles(client, "c") == ["user", "assistant"] * 2)
        api.release()
        assert "boiling" in first.result().text
    wait_for(lambda: len(client.get("/conversations/c/requests").json()["items"]) == 2)
    assert roles(client, "c") == ["user", "assistant"] * 2


def test_a_question_that_is_stored_later_than_the_next_one_is_stored_once(
    client: httpx.Client, base_url: str, api: FakeOpenAI
) -> None:
    """As where another process, which stores at once, takes the next request: here the first one's body is late."""
    late = json.dumps({"model": "fake", "messages": [{"role": "user", "content": "The kettle?"}]}).encode()
    with arriving(client, late, {"X-Quire-Conversation": "c", "X-Quire-Mode": "pass-through"}) as first:
        said = zip(("user", "assistant", "user"), ("The kettle?", "On.", "And the pan?"), strict=True)
        following = {"model": "fake", "messages": [{"role": role, "content": text} for role, text in said]}
        api.chat.queue += [ok("Off."), ok("On.")]
        post(base_url, "/v1/chat/completions", json.dumps(following).encode(), **{"X-Quire-Conversation": "c"})
        wait_for(lambda: roles(client, "c") == ["user", "assistant"] * 2)
        first.sendall(late)
        answer = b""
        while b"On." not in answer and (more := first.recv(65536)):
            answer += more
        assert b"On." in answer
        wait_for(lambda: len(client.get("/conversations/c/requests").json()["items"]) == 2)
    assert [one["content"] for one in history(client, "c")] == ["The kettle?", "On.", "And the pan?", "Off."]


def test_models_are_restricted_here_too(forgetful: Served, messages_api: FakeApi) -> None:
    other = ODD.replace(b"fake", b"dear")
    assert post(forgetful.url, "/v1/messages", other).status_code == 404
    assert post(forgetful.url, "/v1/messages", b'{"model":"dear","model":"fake"}').status_code == 400
    key = "qk_" + "0" * 32 + "_" + "0" * 32 + "_" + "0" * 64
    assert post(forgetful.url, "/v1/messages", ODD, authorization=f"Bearer {key}").status_code == 200
    assert len(messages_api.headers) == 1
    assert key not in str(messages_api.headers)


@pytest.mark.parametrize("body", [b"{}", b'{"model":"fake"}', b'{"messages":[],"tools":1}', b'{"messages":1}'])
def test_a_request_that_is_no_request_is_left_to_the_models_api(
    client: httpx.Client, base_url: str, api: FakeOpenAI, body: bytes
) -> None:
    """Found by fuzzing: without `messages` the answer was 500."""
    api.chat.default = replace(status(400), reply="")
    assert post(base_url, "/v1/chat/completions", body).status_code == 400
    assert api.chat.requests[-1].body == json.loads(body)


UNTYPED = (
    b'{"model":"fake","input":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"text":"no type"}]}]}'
)


@pytest.mark.parametrize("body", [b'{"model":"fake","input":1}', b'{"model":"fake","input":"hi","tools":[1]}', UNTYPED])
def test_a_request_of_responses_that_is_none_is_left_to_the_models_api_too(
    client: httpx.Client, speaking_responses: str, messages_api: FakeApi, body: bytes
) -> None:
    assert post(speaking_responses, "/v1/responses", body).status_code < 500
    assert messages_api.bodies == [body]
