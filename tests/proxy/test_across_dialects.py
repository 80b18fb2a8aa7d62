"""One conversation in every dialect, and every dialect before every API."""

from __future__ import annotations

from typing import Any

import httpx
import openai
import pytest

from tests.api.kit import history, ok
from tests.proxy.fakes import FakeApi
from tests.proxy.kit import AnthropicOf, Script, ask, openai_of, said_by, stored, tool

SERVICES = ["base_url", "speaking_messages", "speaking_responses"]
LONG = "The kettle log says 96 degrees. " * 600
LOOK: Any = {"name": "look", "input_schema": {"type": "object"}}


def test_a_conversation_is_one_in_all_dialects(
    client: httpx.Client, base_url: str, script: Script, anthropic_of: AnthropicOf
) -> None:
    """Begun by Messages, continued by Responses, finished by Chat: one budget, one prefix, one archive."""
    ok(client.post("/conversations", json={"id": "c", "user_id": "u", "budget": 6000}), 201)
    call: Any = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    script.says({"content": None, "tool_calls": [call]}, "It is hot.", "Quite.", "Bye.")
    claude, system = anthropic_of(base_url, "c"), "Be brief."
    asked: Any = {"model": "fake", "max_tokens": 99, "system": system, "tools": [LOOK]}
    listed: list[Any] = [{"role": "user", "content": "Look."}]
    first = claude.messages.create(messages=listed, **asked)
    listed.append({"role": "assistant", "content": first.content})
    result = {"type": "tool_result", "tool_use_id": "call_1", "content": LONG}
    listed.append({"role": "user", "content": [result]})
    assert said_by(claude.messages.create(messages=listed, **asked)) == "It is hot."
    look: Any = {**tool("look")["function"], "type": "function"}
    with openai_of(base_url, "c") as gpt:
        again = gpt.responses.create(model="fake", input="Is it?", instructions=system, tools=[look])
        assert again.output_text == "Quite."
        assert (
            ask(
                gpt,
                [{"role": "system", "content": system}, {"role": "user", "content": "Thanks."}],
                tools=[{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}],
            ).content
            == "Bye."
        )
    roles = [role for role, _ in stored(client, "c")]
    assert roles == ["user", "assistant", "user", "assistant", "user", "assistant", "user", "assistant"]
    shown = [request["messages"] for request in script.asked]
    assert shown[3][: len(shown[2])] == shown[2], "the window goes on as it was"
    [archived] = [m for m in history(client, "c") if m["archived"]]
    assert all("96 degrees" in str(request) for request in shown[1:])
    assert archived["archive_id"] in str(shown[3])
    assert all(len(str(request)) < 6000 * 4 for request in shown)


@pytest.fixture
def service(request: pytest.FixtureRequest, clean: None, messages_api: FakeApi, script: Script) -> str:
    url: str = request.getfixturevalue(request.param)
    return url


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("service", SERVICES, indirect=True)
def test_every_dialect_is_served_before_every_api(
    client: httpx.Client, service: str, anthropic_of: AnthropicOf, stream: bool
) -> None:
    claude: Any = anthropic_of(service, "c").messages
    asked: Any = {"model": "fake", "max_tokens": 9, "messages": [{"role": "user", "content": "one"}]}
    if stream:
        with claude.stream(**asked) as events:
            answer = said_by(events.get_final_message())
    else:
        answer = said_by(claude.create(**asked))
    assert answer.startswith("Answer 1")
    with openai_of(service, "c") as gpt:
        if stream:
            with gpt.responses.stream(model="fake", input="two") as parts:
                list(parts)
                second: Any = parts.get_final_response()
        else:
            second = gpt.responses.create(model="fake", input="two")
        assert second.output_text.startswith("Answer 2")
        assert second.usage.total_tokens > 0
        third = ask(gpt, [{"role": "user", "content": "three"}], stream=stream)
        assert third.content.startswith("Answer 3")
        whole = gpt.chat.completions.create(model="fake", messages=[{"role": "user", "content": "four"}])
        assert (whole.object, whole.choices[0].finish_reason) == ("chat.completion", "stop")
        assert whole.usage is not None
    assert [text for role, text in stored(client, "c") if role == "user"] == ["one", "two", "three", "four"]


@pytest.mark.parametrize("service", SERVICES[1:], indirect=True)
def test_options_of_chat_completions_are_translated_or_refused(
    service: str, messages_api: FakeApi, clean: None
) -> None:
    shape: Any = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}, "strict": True}}
    asked: Any = {"model": "fake", "messages": [{"role": "user", "content": "hi"}], "tools": [tool("look")]}
    with openai_of(service, "c") as gpt:
        raw = gpt.chat.completions.with_raw_response.create(
            **asked, max_tokens=7, temperature=0.5, seed=1, response_format=shape, tool_choice="required"
        )
        assert raw.headers["X-Quire-Dropped"] == "seed"
        with pytest.raises(openai.BadRequestError, match="logprobs"):
            gpt.chat.completions.create(**asked, logprobs=True)
    [sent] = messages_api.asked
    assert (sent.get("max_tokens") or sent["max_output_tokens"], sent["temperature"]) == (7, 0.5)
    form = (sent.get("output_config") or sent["text"])["format"]
    assert (form["type"], form["schema"]) == ("json_schema", {"type": "object"})
    assert sent["tool_choice"] in ({"type": "any"}, "required")
    assert {t["name"] for t in sent["tools"]} >= {"look", "recall_page"}
