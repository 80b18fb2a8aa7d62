"""Requests as Dify, FastGPT, Coze Studio and AstrBot send them to an API of Chat Completions.

Each shape is read from the platform's code, named beside it; every text is ours. A session is two questions in streams,
the second with the list that the platform has kept.
"""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.api.kit import Json, ok
from tests.proxy.kit import KEY, Script, conversations, stored

SYSTEM = {"role": "system", "content": "You know tea."}
STREAMED = {"stream": True, "stream_options": {"include_usage": True}}
# langgenius/dify-plugin-sdks, python/dify_plugin/interfaces/model/openai_compatible/llm.py
DIFY = {"temperature": 0.7, "top_p": 1, "max_tokens": 512, **STREAMED, "user": "8f2c"}
# labring/FastGPT, packages/service/core/ai/llm/request.ts
FASTGPT = {"temperature": 0, "max_tokens": 4000, **STREAMED}
# coze-dev/coze-studio, backend/bizpkg/llm/modelbuilder/openai.go; cloudwego/eino-ext, libs/acl/openai/chat_model.go
COZE = {
    "temperature": 0.7, "max_tokens": 4096, "max_completion_tokens": 4096, **STREAMED,
    "response_format": {"type": "text"},
}  # fmt: skip
# AstrBotDevs/AstrBot, astrbot/core/provider/sources/openai_source.py, with its `custom_headers`
ASTRBOT = {"stream": True}
PLATFORMS: dict[str, tuple[Json, Json, str]] = {
    "Dify": (DIFY, {"Accept-Charset": "utf-8"}, "8f2c"),
    "FastGPT": (FASTGPT, {"Accept": "application/json, text/plain, */*"}, "default"),
    "Coze": (COZE, {}, "default"),
    "AstrBot": (ASTRBOT, {"X-Quire-User": "ann"}, "ann"),
}


def sent(url: str, body: Json, headers: Json) -> str:
    """Send a request and return the streamed answer's text."""
    own = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json", **headers}
    answer = httpx.post(f"{url}/v1/chat/completions", json=body, headers=own, timeout=30)
    assert answer.status_code == 200, answer.text
    lines = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: ")]
    assert lines.pop() == "[DONE]"
    choices = [choice for line in lines for choice in json.loads(line)["choices"]]
    return "".join(choice["delta"].get("content") or "" for choice in choices)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_session_becomes_one_conversation_of_its_user(
    client: httpx.Client, base_url: str, script: Script, platform: str
) -> None:
    more, headers, user = PLATFORMS[platform]
    script.says("Longjing.", "In spring.")
    talk: list[Any] = [SYSTEM, {"role": "user", "content": "Which tea comes from Hangzhou?"}]
    first = sent(base_url, {"model": "fake", "messages": talk, **more}, headers)
    talk += [{"role": "assistant", "content": first}, {"role": "user", "content": "When is it picked?"}]
    assert sent(base_url, {"model": "fake", "messages": talk, **more}, headers) == "In spring."
    [conversation] = conversations(client)
    assert [text for _, text in stored(client, conversation)] == [
        "Which tea comes from Hangzhou?", "Longjing.", "When is it picked?", "In spring."
    ]  # fmt: skip
    found = ok(client.get(f"/conversations/{conversation}"))
    assert (found["user_id"], found["system"]) == (user, "You know tea.")
    passed_on = script.asked[-1]
    assert {name: passed_on[name] for name in more if name in ("temperature", "response_format")} == {
        name: value for name, value in more.items() if name in ("temperature", "response_format")
    }


def test_an_answer_that_comes_back_with_its_thinking_continues_the_conversation(
    client: httpx.Client, base_url: str, script: Script
) -> None:
    """As Dify shows the thinking of a model that reasons."""
    script.says("Longjing.", "In spring.")
    talk: list[Any] = [SYSTEM, {"role": "user", "content": "Which tea comes from Hangzhou?"}]
    sent(base_url, {"model": "fake", "messages": talk, **DIFY}, {})
    thought = {"role": "assistant", "content": "<think>\nWest Lake …\n</think>\n\nLongjing."}
    sent(base_url, {"model": "fake", "messages": [*talk, thought, {"role": "user", "content": "When?"}], **DIFY}, {})
    [conversation] = conversations(client)
    assert [text for _, text in stored(client, conversation)][1] == "Longjing."


def test_difys_check_of_its_settings_leaves_no_memory(client: httpx.Client, base_url: str, script: Script) -> None:
    ping = {"model": "fake", "max_tokens": 5, "messages": [{"role": "user", "content": "ping"}]}
    answer = ok(httpx.post(f"{base_url}/v1/chat/completions", json=ping, timeout=30))
    assert answer["object"] == "chat.completion", "Dify looks at it"
    assert conversations(client) == []
