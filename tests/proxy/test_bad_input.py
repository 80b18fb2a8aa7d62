"""What is wrong with a client's list, or breaks on the way, is told in the client's own form, and nothing is lost."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.api.kit import Json, history, user
from tests.proxy.agents import DIALECTS
from tests.proxy.fakes import FakeApi
from tests.proxy.kit import Script
from tests.proxy.models import Model
from tests.proxy.test_messages import marks

PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}
LONG_ID = "c" * 9216
PDF = "JVBERi0x" * 2_500_000


def post(url: str, dialect: str, said: list[Json], **more: Any) -> httpx.Response:
    body = {"model": "fake", "max_tokens": 9, ("input" if dialect == "responses" else "messages"): said, **more}
    body = {name: value for name, value in body.items() if dialect != "responses" or name != "max_tokens"}
    headers = {"X-Quire-Conversation": "c"}
    return httpx.post(f"{url}{PATHS[dialect]}", json=body, headers=headers, timeout=30)


def is_told(answer: httpx.Response, dialect: str, status: int, says: str) -> bool:
    """Whether an answer is an error in the dialect's form."""
    error = answer.json()["error"]
    in_form = answer.json().get("type") == "error" if dialect == "messages" else {"param", "code"} <= set(error)
    return answer.status_code == status and in_form and bool(error["type"]) and says in error["message"]


def with_long_id(dialect: str) -> list[Json]:
    match dialect:
        case "chat":
            call = {"id": LONG_ID, "type": "function", "function": {"name": "f", "arguments": "{}"}}
            found = {"role": "tool", "tool_call_id": LONG_ID, "content": "x"}
            return [user("q"), {"role": "assistant", "tool_calls": [call]}, found]
        case "messages":
            use = {"type": "tool_use", "id": LONG_ID, "name": "f", "input": {}}
            result = {"type": "tool_result", "tool_use_id": LONG_ID, "content": "x"}
            return [user("q"), {"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    called = {"type": "function_call", "call_id": LONG_ID, "name": "f", "arguments": "{}"}
    return [user("q"), called, {"type": "function_call_output", "call_id": LONG_ID, "output": "x"}]


def with_file(dialect: str) -> list[Json]:
    match dialect:
        case "chat":
            file = {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}
            return [{"role": "user", "content": [{"type": "file", "file": file}]}]
        case "messages":
            source = {"type": "base64", "media_type": "application/pdf", "data": PDF}
            return [{"role": "user", "content": [{"type": "document", "source": source}]}]
    part = {"type": "input_file", "filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}
    return [{"role": "user", "content": [part]}]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_id_of_nine_kilobytes_is_refused_in_the_clients_form(
    client: httpx.Client, base_url: str, script: Script, dialect: str
) -> None:
    answer = post(base_url, dialect, with_long_id(dialect))
    assert is_told(answer, dialect, 400, "8192 characters"), answer.text[:500]
    assert script.asked == []
    assert client.get("/conversations/c").status_code == 404
    assert post(base_url, dialect, [user("hello")]).status_code == 200


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_file_of_twenty_megabytes_is_answered_or_refused_in_the_clients_form(
    client: httpx.Client, base_url: str, script: Script, dialect: str
) -> None:
    answer = post(base_url, dialect, with_file(dialect))
    if answer.status_code != 200:
        assert is_told(answer, dialect, 413, "bytes"), answer.text[:500]
        assert client.get("/conversations/c").status_code == 404
    assert post(base_url, dialect, [user("hello")]).status_code == 200
    assert PDF[:200] not in json.dumps(client.get("/conversations/c/context").json())


def test_a_mark_on_text_that_left_the_window_is_no_obstacle(
    client: httpx.Client, speaking_messages: str, messages_api: FakeApi
) -> None:
    mark = {"type": "ephemeral"}
    said: list[Json] = []
    for number in range(12):
        said.append({"role": "user", "content": [{"type": "text", "text": f"<{number}> " + "of the harbour " * 120}]})
        marked = [{**m, "content": [{**m["content"][0], "cache_control": mark}]} for m in (said[0], said[-1])]
        listed = [*marked[:1], *said[1:-1], *marked[1:]] if number else marked[:1]
        headers = {"X-Quire-Conversation": "c", "X-Quire-Budget": "3000"}
        body = {"model": "claude-sonnet-4-6", "max_tokens": 9, "messages": listed}
        answer = httpx.post(f"{speaking_messages}/v1/messages", json=body, headers=headers, timeout=30)
        assert answer.status_code == 200, answer.text
        said.append({"role": "assistant", "content": answer.json()["content"]})
    assert "<0> " + "of the harbour " * 60 not in str(messages_api.asked[-1]["messages"])
    assert all(1 <= len(marks(request)) <= 4 for request in messages_api.asked)
    assert messages_api.asked[-1]["messages"][-1]["content"][-1]["cache_control"] == mark


def test_signed_thinking_that_a_client_altered_goes_back_as_it_came(
    client: httpx.Client, speaking_messages: str, messages_api: FakeApi
) -> None:
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmVk"}
    use = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    messages_api.says([thinking, use])
    tools = [{"name": "look", "input_schema": {"type": "object"}}]
    first = post(speaking_messages, "messages", [user("Look.")], tools=tools)
    altered = [{**block, "thinking": "Ha!", "signature": "YWx0ZXJlZA"} if "thinking" in block else block
               for block in first.json()["content"]]  # fmt: skip
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "seen"}]}
    listed = [user("Look."), {"role": "assistant", "content": altered}, result]
    assert post(speaking_messages, "messages", listed, tools=tools).status_code == 200
    assert messages_api.asked[1]["messages"][1]["content"] == [thinking, use]
    assert [m["role"] for m in history(client, "c")] == ["user", "assistant", "user", "assistant"]


@pytest.mark.parametrize("model", DIALECTS[1:], indirect=True)
@pytest.mark.parametrize("phase", range(1, 8))
def test_a_stream_that_is_cut_in_any_phase_is_whole_or_an_error(client: httpx.Client, model: Model, phase: int) -> None:
    model.other.says(f"cut {phase}", "Whole.")
    answer = post(model.url, "chat", [user("hi")])
    stored = [(m["role"], m["content"]) for m in history(client, "c")]
    if answer.status_code == 200:
        assert stored[1] == ("assistant", answer.json()["choices"][0]["message"]["content"])
        return
    assert is_told(answer, "chat", 502, "cut off"), answer.text
    assert stored == [("user", "hi")]
    assert post(model.url, "chat", [user("hi")]).json()["choices"][0]["message"]["content"] == "Whole."
    assert len(history(client, "c")) == 2
