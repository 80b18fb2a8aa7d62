"""Requests of chat UIs in the background are answered and leave no memory."""

from __future__ import annotations

import json
from typing import Any

import httpx
import openai
import pytest

from app.core.dialects.background import PROMPTS, is_background
from app.core.dialects.inbound_chat import question
from tests.api.kit import Json, ok
from tests.proxy.fakes import FakeApi
from tests.proxy.kit import AnthropicOf, Script, ask, calling, conversations, openai_of, said_by, stored, tool

TITLE = "### Task:\nGenerate a concise, 3-5 word title with an emoji.\n### Chat History:\nuser: I like longjing."


def asked(prompt: Json) -> Json:
    """A request that has a prompt of the table."""
    end = "" if prompt.get("whole") else " and so on"
    where = next(name for name in ("system", "user", "last") if name in prompt)
    said = {"role": "system" if where == "system" else "user", "content": f"{prompt[where]}{end}"}
    talk = [{"role": "user", "content": "I like longjing."}, {"role": "assistant", "content": "Noted."}]
    messages = {"system": [said, *talk[:1]], "user": [said], "last": [*talk, said]}[where]
    return {"model": "m", "messages": messages, "max_tokens": prompt.get("answer_tokens_max")}


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: f"{prompt['ui']}")
def test_prompts_of_the_common_uis_are_recognised(prompt: Json) -> None:
    assert is_background(question(asked(prompt)))


@pytest.mark.parametrize(
    "body",
    [
        {"messages": [{"role": "user", "content": "quota"}]},
        {"messages": [{"role": "user", "content": "quota please"}], "max_tokens": 1},
        {"messages": [{"role": "user", "content": "Please generate a title for my essay."}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}, "odd"]},
        {"messages": [{"role": "user", "content": TITLE}, {"role": "assistant", "content": "x"}, {"role": "user"}]},
    ],
)
def test_other_requests_are_not(body: Json) -> None:
    assert not is_background(question({"model": "m", **body}))


@pytest.mark.parametrize("stream", [False, True])
def test_a_title_is_answered_and_not_stored(
    base_url: str, client: httpx.Client, script: Script, chat: openai.OpenAI, stream: bool
) -> None:
    ask(chat, [{"role": "user", "content": "I like longjing."}])
    before = stored(client, "c")
    script.says("Tea")
    assert ask(chat, [{"role": "user", "content": TITLE}], stream=stream).content == "Tea"
    assert script.asked[-1]["messages"] == [{"role": "user", "content": TITLE}]
    assert "tools" not in script.asked[-1]
    assert (stored(client, "c"), conversations(client)) == (before, ["c"])
    found = ok(client.post("/memories/search", json={"user_id": "default", "query": "concise word title emoji"}))
    assert found["results"] == []


def test_a_header_keeps_any_request_out_and_any_prompt_in(base_url: str, client: httpx.Client, script: Script) -> None:
    off, on = ({"X-Quire-Store": value} for value in ("off", "on"))
    listed: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hello"}]
    with openai_of(base_url, "c", headers=off) as chat:
        script.says(calling(("look", {})))
        call = ask(chat, listed, tools=[tool("look")])
        assert call.tool_calls[0].function.name == "look"
    assert script.asked[-1]["messages"] == listed
    assert [t["function"]["name"] for t in script.asked[-1]["tools"]] == ["look"]
    assert conversations(client) == []
    with openai_of(base_url, "c", headers=on) as chat:
        ask(chat, [{"role": "user", "content": TITLE}])
    assert len(stored(client, "c")) == 2
    assert httpx.post(f"{base_url}/v1/chat/completions", json={}, headers={"X-Quire-Store": "x"}).status_code in (
        400,
        422,
    )


def test_a_request_that_is_passed_through_can_be_kept_out(base_url: str, client: httpx.Client, script: Script) -> None:
    headers = {"X-Quire-Mode": "pass-through", "X-Quire-Store": "off"}
    with openai_of(base_url, "c", headers=headers) as chat:
        ask(chat, [{"role": "user", "content": "hello"}])
    with openai_of(base_url, "d", headers={"X-Quire-Mode": "pass-through"}) as chat:
        ask(chat, [{"role": "user", "content": TITLE}])
    assert conversations(client) == []


def test_a_request_that_is_kept_out_is_translated(
    speaking_messages: str, client: httpx.Client, messages_api: FakeApi
) -> None:
    messages_api.says("Tea")
    with openai_of(speaking_messages, "c", headers={"X-Quire-Store": "off"}) as chat:
        assert (
            ask(chat, [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]).content == "Tea"
        )
    [sent] = messages_api.asked
    assert sent["system"][0]["text"] == "Be brief."
    assert sent["messages"] == [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]
    assert conversations(client) == []


def test_a_quota_probe_leaves_nothing(
    base_url: str, client: httpx.Client, script: Script, anthropic_of: AnthropicOf
) -> None:
    claude = anthropic_of(base_url)
    script.says("q")
    found = claude.messages.create(model="m", max_tokens=1, messages=[{"role": "user", "content": "quota"}])
    assert said_by(found) == "q"
    assert conversations(client) == []


def test_parts_that_are_only_quoted_are_named_in_a_header(base_url: str, client: httpx.Client, script: Script) -> None:
    body = {
        "model": "m", "max_tokens": 9,
        "messages": [{"role": "user", "content": [
            {"type": "text", "text": "hi"}, {"type": "container_upload", "file_id": "f"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0="}},
        ]}],
    }  # fmt: skip
    answer = httpx.post(f"{base_url}/v1/messages", json=body, headers={"X-Quire-Conversation": "c"}, timeout=30)
    assert answer.headers["X-Quire-Dropped"] == "container_upload"
    assert "container_upload" in json.dumps(script.asked[-1]["messages"][-1])
