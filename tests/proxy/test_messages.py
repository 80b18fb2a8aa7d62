"""Anthropic's client in front of Quire, before an API that speaks Chat Completions and one that speaks Messages."""

from __future__ import annotations

import re
from typing import Any

import anthropic
import httpx
import pytest

from tests.api.kit import Json, history, ok, user
from tests.proxy.fakes import FakeApi
from tests.proxy.kit import KEY, SECRET, AnthropicOf, Script, calling, said_by

both = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
LOOK = {"name": "look", "description": "Look.", "input_schema": {"type": "object"}}
THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmVk"}


def asked(client: anthropic.Anthropic, messages: list[Any], *, stream: bool = False, **body: Any) -> Any:
    if not stream:
        return client.messages.create(model="fake", max_tokens=100, messages=messages, **body)
    with client.messages.stream(model="fake", max_tokens=100, messages=messages, **body) as events:
        return events.get_final_message()


def test_system_blocks_and_options_reach_a_chat_model(base_url: str, script: Script, anthropic_of: AnthropicOf) -> None:
    system: Any = [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Be kind."}]
    asked(anthropic_of(base_url, "c"), [user("Look.")], system=system, stop_sequences=["x"])
    [one] = script.asked
    assert one["messages"][0]["content"].startswith("Be brief.\n\nBe kind.")
    assert (one["stop"], one["max_tokens"]) == (["x"], 100)


@both
def test_a_calls_id_is_one_that_a_client_of_messages_keeps(
    base_url: str, script: Script, anthropic_of: AnthropicOf, stream: bool
) -> None:
    """Messages refuses others (`^[a-zA-Z0-9_-]+$`), so langchain-anthropic 1.7.10 sends `functions.look:0`, as Kimi
    names a call, back as `toolu_…`: its result would answer nothing.
    """
    claude, listed = anthropic_of(base_url, "c"), [user("Look.")]
    calls = calling(("look", {}), ("look", {"at": 1}))
    for place, call in enumerate(calls["tool_calls"]):
        call["id"] = f"functions.look:{place}"
    script.says(calls)
    blocks = asked(claude, listed, stream=stream, tools=[LOOK]).content
    assert len({block.id for block in blocks}) == 2
    assert all(re.fullmatch("[a-zA-Z0-9_-]+", block.id) for block in blocks)
    results: Any = [{"type": "tool_result", "tool_use_id": b.id, "content": f"Seen {b.input}."} for b in blocks]
    asked(claude, [*listed, {"role": "assistant", "content": blocks}, user(results)], stream=stream, tools=[LOOK])
    assert [m["content"] for m in script.asked[-1]["messages"][-2:]] == ["Seen {}.", "Seen {'at': 1}."]


def test_what_only_messages_has_is_refused_or_dropped_by_name(
    base_url: str, script: Script, anthropic_of: AnthropicOf
) -> None:
    claude = anthropic_of(base_url, "c")
    search: Any = [{"type": "web_search_20250305", "name": "web_search"}]
    with pytest.raises(anthropic.BadRequestError, match="web_search_20250305"):
        asked(claude, [user("hi")], tools=search)
    with pytest.raises(anthropic.BadRequestError, match="mcp_servers"):
        asked(claude, [user("hi")], extra_body={"mcp_servers": [{"url": "x"}]})
    assert not script.asked
    raw = claude.messages.with_raw_response.create(
        model="fake", max_tokens=9, messages=[{"role": "user", "content": "hi"}], extra_body={"top_k": 3},
        thinking={"type": "enabled", "budget_tokens": 1024},
    )  # fmt: skip
    assert raw.headers["X-Quire-Dropped"] == "top_k"
    assert "thinking" not in script.asked[0]


def test_images_documents_and_errors_reach_a_chat_model(
    base_url: str, script: Script, anthropic_of: AnthropicOf
) -> None:
    claude = anthropic_of(base_url, "c")
    png = {"type": "base64", "media_type": "image/png", "data": "iVBORw0="}
    pdf = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
    script.says(calling(("look", {})))
    listed: list[Any] = [user([{"type": "image", "source": png}, {"type": "document", "source": pdf}])]
    first = asked(claude, listed, tools=[LOOK])
    shot = [{"type": "text", "text": "There."}, {"type": "image", "source": png}]
    listed += [
        {"role": "assistant", "content": first.content},
        user([{"type": "tool_result", "tool_use_id": first.content[0].id, "content": shot, "is_error": False}]),
    ]
    asked(claude, listed, tools=[LOOK])
    one, two = (request["messages"] for request in script.asked)
    url = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0="}}
    file = {"filename": "document", "file_data": "data:application/pdf;base64,JVBERi0="}
    assert one[-1]["content"] == [url, {"type": "file", "file": file}]
    assert two[-2]["content"] == [{"type": "text", "text": "There."}]
    assert two[-1] == {"role": "user", "content": [url]}


def test_errors_have_anthropics_form(base_url: str, script: Script, anthropic_of: AnthropicOf) -> None:
    claude = anthropic_of(base_url, "c")
    with pytest.raises(anthropic.BadRequestError) as refused:
        claude.messages.create(model="fake", max_tokens=1, messages=[])
    body: Any = refused.value.body
    assert (body["type"], body["error"]["type"]) == ("error", "invalid_request_error")
    with httpx.Client(base_url=base_url, timeout=30) as plain:
        for answer in (plain.get("/v1/messages"), plain.post("/v1/messages", content=b"{")):
            assert set(answer.json()) == {"type", "error"}


def test_a_key_is_taken_from_either_header(base_url: str, script: Script, anthropic_of: AnthropicOf) -> None:
    claude = anthropic_of(base_url, auth_token=KEY)
    assert said_by(asked(claude, [user("hi")])) == "Answer 1 to hi."


def test_tokens_are_counted_as_sent(
    client: httpx.Client, base_url: str, script: Script, anthropic_of: AnthropicOf
) -> None:
    claude = anthropic_of(base_url, "c")
    short = claude.messages.count_tokens(model="fake", messages=[{"role": "user", "content": "hi"}])
    longer: Any = {"messages": [user("hi " * 50)], "system": "Be brief.", "tools": [LOOK]}
    long = claude.messages.count_tokens(model="fake", **longer)
    assert 4 < short.input_tokens < 10
    assert 60 < long.input_tokens < 120
    assert not ok(client.get("/conversations"))["items"]


# --- Before an API of the same dialect ------------------------------------------------------------------


@both
def test_thinking_and_hosted_tools_return_in_their_place(
    client: httpx.Client, speaking_messages: str, messages_api: FakeApi, stream: bool, anthropic_of: AnthropicOf
) -> None:
    claude = anthropic_of(speaking_messages, "c")
    called = {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": "a"}}
    redacted = {"type": "redacted_thinking", "data": "opaque"}
    server = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "tea"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
    text = {"type": "text", "text": "Looking now."}
    blocks: list[Json] = [THINKING, redacted, server, found, text, called]
    messages_api.says(blocks)
    body: Any = {"tools": [LOOK, {"type": "web_search_20250305", "name": "web_search"}]}
    body["thinking"] = {"type": "enabled", "budget_tokens": 1024}
    listed: list[Any] = [user("Look.")]
    first = asked(claude, listed, stream=stream, **body)
    sent = [b.model_dump(exclude_none=True, exclude_unset=True) for b in first.content]
    assert [{name: b[name] for name in wanted} for b, wanted in zip(sent, blocks, strict=True)] == blocks
    assert (first.usage.input_tokens, first.usage.cache_read_input_tokens) == (100, 30)
    listed += [
        {"role": "assistant", "content": first.content},
        user([{"type": "tool_result", "tool_use_id": "t1", "content": "seen"}]),
    ]
    asked(claude, listed, stream=stream, **body)
    one, two = messages_api.asked
    assert one["thinking"] == body["thinking"]
    assert one["tools"][:2] == body["tools"]
    assert two["messages"][-2] == {"role": "assistant", "content": blocks}
    assert two["messages"][-1]["content"][0]["type"] == "tool_result"
    assert two["messages"][: len(one["messages"])] == one["messages"]


def test_the_head_of_a_request_goes_on_and_the_key_is_the_deployments(
    speaking_messages: str, messages_api: FakeApi, anthropic_of: AnthropicOf
) -> None:
    claude = anthropic_of(speaking_messages, "c")
    raw = claude.messages.with_raw_response.create(
        model="fake", max_tokens=9, messages=[{"role": "user", "content": "hi"}],
        extra_headers={"anthropic-beta": "one,two"},
    )  # fmt: skip
    [headers] = messages_api.headers
    sent = raw.http_request.headers["anthropic-version"]
    assert (headers["anthropic-beta"], headers["anthropic-version"]) == ("one,two", sent)
    assert headers["x-api-key"] == SECRET
    assert "authorization" not in headers
    assert raw.headers["X-Quire-Conversation"] == "c"


def marks(value: Any) -> list[Any]:
    if isinstance(value, dict):
        inner = [mark for item in value.values() for mark in marks(item)]
        return [*([value["cache_control"]] if "cache_control" in value else []), *inner]
    return [mark for item in value for mark in marks(item)] if isinstance(value, list) else []


def test_the_prompt_is_cached_if_the_client_wants_it_and_as_long(
    speaking_messages: str, messages_api: FakeApi, anthropic_of: AnthropicOf
) -> None:
    claude = anthropic_of(speaking_messages, "c")
    asked(claude, [user("hi")], system="Be brief.")
    hour = {"type": "ephemeral", "ttl": "1h"}
    asked(claude, [user("hi"), user("ho")], system=[{"type": "text", "text": "Be brief.", "cache_control": hour}])
    without, with_ = (marks(request) for request in messages_api.asked)
    assert without == []
    assert 2 <= len(with_) <= 4
    assert all(mark == hour for mark in with_)


@both
def test_a_recall_keeps_the_thinking_before_it(
    client: httpx.Client, speaking_messages: str, messages_api: FakeApi, stream: bool, anthropic_of: AnthropicOf
) -> None:
    claude = anthropic_of(speaking_messages, "c")
    recall = {"type": "tool_use", "id": "r1", "name": "recall_page", "input": {"page": 1}}
    messages_api.says([THINKING, {"type": "text", "text": "Let me see."}, recall], "Done.")
    answer = asked(claude, [user("Go.")], stream=stream)
    assert said_by(answer) == "Let me see.\n\nDone."
    assert messages_api.asked[1]["messages"][-2]["content"] == [THINKING, recall]
    assert answer.usage.output_tokens == 14
    assert [m["role"] for m in history(client, "c")] == ["user", "assistant", "tool", "assistant"]


def test_the_api_counts_where_it_can(speaking_messages: str, messages_api: FakeApi, anthropic_of: AnthropicOf) -> None:
    claude = anthropic_of(speaking_messages, "c")
    assert claude.messages.count_tokens(model="fake", messages=[{"role": "user", "content": "hi"}]).input_tokens == 42


def test_a_sub_agent_that_names_itself_has_a_conversation_of_its_own(
    base_url: str, client: httpx.Client, script: Script, anthropic_of: AnthropicOf
) -> None:
    claude = anthropic_of(base_url, "c")
    asked(claude, [user("Fix the login")])
    for text in ("Run the tests and report", "Run them again"):
        asked(claude, [user(text)], extra_headers={"x-claude-code-agent-id": "a1"})
    assert "Fix the login" not in str(script.asked[-1]["messages"])
    assert "Run the tests" in str(script.asked[-1]["messages"])
    assert "Run the tests" not in str(history(client, "c"))
    made = ok(client.get("/conversations/c:a1"))
    assert made["parent"] == "c"


def create(url: str, said: list[Any], headers: Any = None, **more: Any) -> httpx.Response:
    body = {"model": "fake", "max_tokens": 100, "messages": said, **more}
    named = {"X-Quire-Conversation": "c", "x-api-key": KEY, **(headers or {})}
    return httpx.post(f"{url}/v1/messages", json=body, headers=named, timeout=30)


def test_a_thread_goes_on_from_its_last_answer_with_its_tools_and_system(
    client: httpx.Client, speaking_messages: str, messages_api: FakeApi
) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "look", "input": {}, "caller": {"type": "direct"}}
    messages_api.says([call], "It is hot.")
    begun = create(speaking_messages, [user("Look.")], tools=[LOOK], system="Be brief.", thread={"type": "create"})
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "96 degrees"}]}
    goes_on = {"type": "continue", "previous_message_id": begun.json()["id"]}
    ended = create(speaking_messages, [result], thread=goes_on)
    assert ended.status_code == 200, ended.text
    sent = messages_api.asked[1]
    assert "thread" not in sent
    assert sent["tools"][0]["name"] == "look"
    assert sent["system"][0]["text"].startswith("Be brief.")
    assert [m["content"][0]["type"] for m in sent["messages"]] == ["text", "tool_use", "tool_result"]
    assert sent["messages"][1]["content"] == [call]
    assert [m["role"] for m in history(client, "c")] == ["user", "assistant", "user", "assistant"]


@pytest.mark.parametrize(
    ("thread", "headers", "code"),
    [
        ({"type": "continue", "previous_message_id": "msg_" + "0" * 32}, {}, "thread_not_found"),
        ({"type": "continue", "previous_message_id": "msg_1"}, {}, "thread_not_found"),
        ({"type": "other"}, {}, "thread_unsupported_request"),
        ("create", {}, "thread_unsupported_request"),
        ({"type": "create"}, {"X-Quire-Store": "off"}, "thread_unsupported_request"),
    ],
)
def test_a_thread_that_cannot_be_served_is_named_so_that_clients_send_their_list(
    speaking_messages: str, messages_api: FakeApi, thread: Any, headers: Any, code: str
) -> None:
    answer = create(speaking_messages, [user("Look.")], headers, thread=thread)
    assert answer.json()["error"]["details"] == {"error_code": code}
    assert messages_api.asked == []


@pytest.mark.usefixtures("client")
def test_a_system_message_within_the_list_goes_on_as_one(speaking_messages: str, messages_api: FakeApi) -> None:
    blocks = [
        {"type": "text", "text": "You are an agent.", "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "Be brief."},
    ]
    create(speaking_messages, [user("Look."), {"role": "system", "content": "Use the tools."}], system=blocks)
    [sent] = messages_api.asked
    assert sent["messages"][1]["role"] == "system"
    assert sent["messages"][1]["content"][0]["text"] == "Use the tools."
    assert [block["text"] for block in sent["system"]][:2] == ["You are an agent.", "Be brief."]


@both
def test_blocks_and_members_that_are_new_come_and_go_whole(
    speaking_messages: str, messages_api: FakeApi, stream: bool, anthropic_of: AnthropicOf
) -> None:
    new = {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}}
    messages_api.says([new, {"type": "text", "text": "Hm."}], "Done.")
    claude = anthropic_of(speaking_messages, "c")
    first = asked(claude, [user("Go.")], stream=stream)
    assert first.content[0].type == "fallback"
    assert first.usage.cache_creation_input_tokens == 20
    again = {"role": "assistant", "content": [new, {"type": "text", "text": "Hm."}]}
    asked(claude, [user("Go."), again, user("And?")], stream=stream)
    assert messages_api.asked[1]["messages"][1]["content"][0] == new
