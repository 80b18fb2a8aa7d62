"""What a chat model's provider can do wrong, each through the real client, against a server on loopback."""

import re
from collections.abc import Sequence
from email.utils import formatdate
from typing import Any

import pytest

from app.providers import (
    ModelToolCall,
    ProviderError,
    RefusedCaller,
    RefusedInput,
    Reply,
    TemporaryError,
    UnusableReply,
)
from app.providers.calls import Clock
from app.providers.model_api import ModelApi
from app.providers.openai_chat import OpenAIChat
from tests.providers import fake_openai as fake
from tests.providers.conftest import EPOCH, KEY, MakeChat, Time
from tests.providers.fake_openai import Behaviour, FakeOpenAI

pytestmark = pytest.mark.anyio

ASKED = [{"role": "user", "content": "Sum it up, 请."}]


async def say(chat: OpenAIChat, *, json_object: bool = False, tools: Sequence[Any] = ()) -> Reply:
    return await chat.complete(ASKED, max_tokens=100, json_object=json_object, tools=tools)


async def test_a_completion_is_requested_and_parsed(chat: OpenAIChat, api: FakeOpenAI) -> None:
    reply = await say(chat)
    assert reply.text == "You said: Sum it up, 请."
    assert (reply.model, reply.tool_calls) == ("fake", ())
    assert reply.prompt_tokens > 0
    assert reply.completion_tokens > 0
    [request] = api.chat.requests
    assert request.body == {"model": "fake", "messages": ASKED, "max_tokens": 100}
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["accept-encoding"] == "identity"


async def test_json_is_requested_by_response_format(chat: OpenAIChat, api: FakeOpenAI) -> None:
    await say(chat, json_object=True)
    assert api.chat.requests[0].body["response_format"] == {"type": "json_object"}


async def test_tools_are_offered_and_calls_returned(chat: OpenAIChat, api: FakeOpenAI) -> None:
    function = {"name": "search", "arguments": '{"query": "x"}'}
    api.chat.default = fake.ok(
        {"content": None, "tool_calls": [{"id": "c1", "type": "function", "function": function}]}
    )
    tool = {"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}
    reply = await say(chat, tools=[tool])
    assert reply.tool_calls == (ModelToolCall("c1", "search", '{"query": "x"}'),)
    assert reply.text == ""
    assert api.chat.requests[0].body["tools"] == [tool]


async def test_without_a_key_none_of_the_environments_is_sent(
    make_chat: MakeChat, api: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    await say(make_chat(key=None))
    assert KEY not in str(api.chat.requests[0].headers)


async def test_unencodable_text_is_sent_with_replacements(chat: OpenAIChat, api: FakeOpenAI) -> None:
    await chat.complete([{"role": "user", "content": "a\ud800b\0"}], max_tokens=10)
    assert api.chat.requests[0].body["messages"][0]["content"] == "a\ufffdb\0"


async def test_tokens_are_counted_where_the_provider_reports_none(chat: OpenAIChat, api: FakeOpenAI) -> None:
    api.chat.default = Behaviour(reply="four", edit=lambda answer: {**answer, "usage": None})
    reply = await say(chat)
    assert reply.completion_tokens == len("four")
    assert reply.prompt_tokens == len("Sum it up, 请.") + 4


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        (fake.status(401), RefusedCaller),
        (fake.status(402), RefusedCaller),
        (fake.status(403), RefusedCaller),
        (fake.status(404, code="model_not_found"), RefusedCaller),
        (fake.status(400, code="model_not_found"), RefusedCaller),
        (fake.rate_limited(code="insufficient_quota"), RefusedCaller),
        (fake.redirect("/v1/elsewhere"), RefusedCaller),
        (fake.status(400), RefusedInput),
        (fake.status(413), RefusedInput),
        (fake.status(422), RefusedInput),
        (fake.status(403, code="content_policy_violation"), RefusedInput),
        (fake.status(400, code="context_length_exceeded", message="max_tokens"), RefusedInput),
        (fake.finished("content_filter"), RefusedInput),
        (fake.error_in_200(), UnusableReply),
        (fake.no_choices(), UnusableReply),
        (fake.null_content(), UnusableReply),
        (fake.reasoning_only(), UnusableReply),
        (fake.ok("<think>Let me see."), UnusableReply),
        (fake.ok("<think>Let me see.</think>\n"), UnusableReply),
        (fake.finished("length"), UnusableReply),
        (fake.ok(""), UnusableReply),
        (fake.ok(" \n"), UnusableReply),
        (fake.ok("None"), UnusableReply),
        (fake.ok({"content": "", "tool_calls": [{"id": "c1"}]}), UnusableReply),
        (fake.huge(), UnusableReply),
        (fake.compressed(), UnusableReply),
    ],
)
async def test_permanent_errors_are_not_retried(
    behaviour: Behaviour, error: type[ProviderError], chat: OpenAIChat, api: FakeOpenAI, time: Time
) -> None:
    api.chat.default = behaviour
    with pytest.raises(error):
        await say(chat)
    assert len(api.chat.requests) == 1
    assert time.slept == []


TEMPORARY = [
    fake.status(408),
    fake.status(409),
    fake.rate_limited(),
    fake.status(500),
    fake.status(503),
    fake.huge_error(),
    fake.html(502),
    fake.html(200),
    fake.empty_body(),
    fake.truncated(),
    fake.reset(),
    fake.reset_within(),
    fake.cut(),
    fake.error_in_200(429),
    fake.error_in_200("502"),
    Behaviour(edit=lambda _: ["a list"]),
    Behaviour(body=lambda _: b"[" * 100_000),
]


@pytest.mark.parametrize("behaviour", TEMPORARY)
async def test_transient_errors_are_retried_three_times(
    behaviour: Behaviour, chat: OpenAIChat, api: FakeOpenAI, time: Time
) -> None:
    api.chat.default = behaviour
    with pytest.raises(TemporaryError) as caught:
        await say(chat)
    assert caught.value.retry_after is None
    assert len(api.chat.requests) == 3
    assert time.slept == [0.25, 0.5], "half of 0.5 and 1 s, by the test's dice"


@pytest.mark.parametrize("behaviour", TEMPORARY)
async def test_a_successful_retry_is_invisible_to_the_caller(
    behaviour: Behaviour, chat: OpenAIChat, api: FakeOpenAI
) -> None:
    api.chat.queue.extend([behaviour, behaviour, fake.ok("here")])
    assert (await say(chat)).text == "here"


@pytest.mark.parametrize("asked", ["3", "3.0", formatdate(EPOCH + 3, usegmt=True)])
async def test_a_short_retry_after_is_waited_for(asked: str, chat: OpenAIChat, api: FakeOpenAI, time: Time) -> None:
    api.chat.queue.append(fake.rate_limited(asked))
    await say(chat)
    assert time.slept == [3.25]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("11", 11),
        ("86400", 3600),
        ("9" * 12, 3600),
        (formatdate(EPOCH + 60, usegmt=True), 60),
        (formatdate(EPOCH + 86_400, usegmt=True), 3600),
    ],
)
async def test_a_long_retry_after_is_left_to_the_caller(
    asked: str, told: float, chat: OpenAIChat, api: FakeOpenAI, time: Time
) -> None:
    api.chat.default = fake.rate_limited(asked)
    with pytest.raises(TemporaryError) as caught:
        await say(chat)
    assert caught.value.retry_after == told
    assert len(api.chat.requests) == 1
    assert time.slept == []


async def test_no_pause_reaches_past_the_time_of_the_call(make_chat: MakeChat, api: FakeOpenAI, time: Time) -> None:
    api.chat.default = fake.rate_limited("5")
    with pytest.raises(TemporaryError) as caught:
        await say(make_chat(timeout_seconds=8))
    assert time.slept == [5.25]
    assert caught.value.retry_after == 5


@pytest.mark.parametrize("behaviour", [fake.hang(), fake.drip(0.01), fake.late(30)])
async def test_a_call_ends_at_its_time_limit(behaviour: Behaviour, make_chat: MakeChat, api: FakeOpenAI) -> None:
    chat = make_chat(timeout_seconds=0.2, clock=Clock())
    api.chat.default = behaviour
    with pytest.raises(TemporaryError):
        await say(chat)
    await chat.close()
    api.wait_until(lambda: api.connections == 0)


@pytest.mark.parametrize("parameter", ["response_format", "max_tokens"])
@pytest.mark.parametrize("number", [400, 422])
async def test_a_parameter_that_is_not_taken_is_left_out_from_then_on(
    parameter: str, number: int, chat: OpenAIChat, api: FakeOpenAI
) -> None:
    api.chat.queue.append(fake.refuses_parameter(parameter, number))
    await say(chat, json_object=True)
    await say(chat, json_object=True)
    first, *others = [request.body for request in api.chat.requests]
    assert parameter in first
    assert len(others) == 2
    assert all(parameter not in body for body in others)
    assert all("max_tokens" in body or body["max_completion_tokens"] == 100 for body in others)


async def test_both_parameters_can_be_refused_in_turn(chat: OpenAIChat, api: FakeOpenAI) -> None:
    api.chat.queue.extend([fake.refuses_parameter("max_tokens"), fake.refuses_parameter("response_format")])
    await say(chat, json_object=True)
    assert api.chat.requests[-1].body == {"model": "fake", "messages": ASKED, "max_completion_tokens": 100}


async def test_a_provider_that_refuses_every_dialect_refuses_the_input_and_teaches_nothing(
    chat: OpenAIChat, api: FakeOpenAI
) -> None:
    api.chat.queue.extend([fake.refuses_parameter("max_tokens"), fake.refuses_parameter("max_completion_tokens")])
    with pytest.raises(RefusedInput):
        await say(chat)
    await say(chat)
    assert "max_tokens" in api.chat.requests[-1].body


async def test_a_redirect_is_not_followed(chat: OpenAIChat, api: FakeOpenAI) -> None:
    api.chat.default = fake.redirect(f"{api.url}/embeddings")
    with pytest.raises(RefusedCaller):
        await say(chat)
    assert api.embeddings.requests == []


async def test_an_unreachable_provider_is_a_temporary_error(make_chat: MakeChat) -> None:
    with FakeOpenAI() as gone:
        chat = make_chat(base_url=gone.url)
    with pytest.raises(TemporaryError, match="no connection"):
        await say(chat)


async def test_an_answer_below_the_limit_of_size_is_read(chat: OpenAIChat, api: FakeOpenAI) -> None:
    api.chat.default = fake.huge(512 * 1024)
    await say(chat)
    api.chat.default = fake.huge(512 * 1024 + 1)
    with pytest.raises(UnusableReply):
        await say(chat)


@pytest.mark.parametrize(
    "base_url", ["", "localhost:8000/v1", "ftp://a/v1", "http://user:hunter2@host/v1", "https://host/v1?key=hunter2"]
)
def test_a_base_url_that_cannot_work_or_holds_a_secret_is_refused_unquoted(base_url: str) -> None:
    with pytest.raises(ValueError, match="base URL") as caught:
        OpenAIChat(model="fake", api=ModelApi(base_url), context_window=8000, count=len)
    assert not re.search("hunter2|user:", str(caught.value))
